"""Repeated splits of a source's texts into a reference half and a comparison half.

No unit (:mod:`mauve_core.stats.units`) has texts in both, unless units are too few for a test.

Perturbations that pair texts, such as ``swap-halves``, pair them within the comparison half, so that no part of the
reference half enters it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.streams import stream
from mauve_core.stats.units import together
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.pairing import keys_of, prompt_names, units_to_draw

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """One split.

    Attributes
    ----------
    reference, comparison : (n,) int64 arrays
        Disjoint rows of the source, ascending.
    others : mapping of str to (n,) int64 array
        Rows of other sources that replace the comparison half; sources with fewer than n texts are missing.
    units : (2 n,) int64 array
        Unit of each text of the reference and of the comparison half.
    seeds : tuple of SeedSequence
        k-means seeds, the same for every comparison with the reference half.
    exchange : SeedSequence
        Seed of the test, which deals the units of both halves anew; the same for every perturbation.
    """

    reference: Rows
    comparison: Rows
    others: Mapping[str, Rows]
    units: Rows
    seeds: tuple[SeedSequence, ...]
    exchange: SeedSequence


def usable_rows(corpus: Corpus, rows: Sequence[int] | None) -> Rows:
    """The chosen rows of a source, ascending; all by default.

    InputError if a row is out of range or repeated, or if there are too few for two halves.
    """
    chosen = np.arange(len(corpus)) if rows is None else np.sort(np.asarray(list(rows)))
    in_range = chosen.dtype.kind in "iu" and np.all((chosen >= 0) & (chosen < len(corpus)))
    if chosen.size and not (in_range and len(np.unique(chosen)) == len(chosen)):
        raise InputError(
            "The rows do not select texts", allowed=f"whole numbers from 0 to {len(corpus) - 1}, each once"
        )
    if len(chosen) < 2 * MIN_TEXTS:
        raise InputError(
            f"Too few {kind_of(corpus.kind).words.items} of {corpus.name!r} for two halves",
            allowed=f"at least {2 * MIN_TEXTS}",
            received=str(len(chosen)),
        )
    return chosen.astype(np.int64)


def split_rows(
    corpora: Mapping[str, Corpus], source: str, rows: Rows, seed: int, splits: int, seeds: int
) -> tuple[Split, ...]:
    """Split the rows of a source into random halves of equal size.

    Rows are left out so that units stay whole: as many as the largest unit has less one, and one more of an odd number.
    Another source is represented by its first text for each of the comparison half's prompts if it has them all,
    otherwise by texts drawn without replacement, those of the reference half's units last.
    """
    cuts, draws, starts, exchanges = (child.spawn(splits) for child in stream(seed, "probes").spawn(4))
    units = np.full(len(corpora[source]), -1)
    units[rows] = units_to_draw({source: corpora[source].take(rows)})[source]
    n = (len(rows) - int(np.bincount(units[rows]).max()) + 1) // 2
    prompts = prompt_names(keys_of(corpora))
    indices = {
        name: {prompt: row for row, prompt in reversed(list(enumerate(prompts[name])))}
        for name, corpus in corpora.items()
        if name != source and len(corpus) >= n
    }
    known = {name: units_to_draw({source: corpora[source], name: corpora[name]}) for name in indices}
    result = []
    for cut, draw, start, exchange in zip(cuts, draws, starts, exchanges, strict=True):
        order = together(np.random.default_rng(cut).permutation(rows), units)
        free = order[~np.isin(units[order], units[order[:n]])]
        reference, comparison = np.sort(order[:n]), np.sort(free[:n])
        wanted = [prompts[source][row] for row in comparison]
        others = {}
        for name, index in indices.items():
            if len(set(wanted)) == n and all(prompt in index for prompt in wanted):
                others[name] = np.array([index[prompt] for prompt in wanted], dtype=np.int64)
            else:
                drawn = np.random.default_rng(draw).permutation(len(corpora[name]))
                near = np.isin(known[name][name][drawn], known[name][source][reference])
                others[name] = np.sort(drawn[np.argsort(near, kind="stable")][:n]).astype(np.int64)
        of_halves = units[np.concatenate([reference, comparison])]
        result.append(Split(reference, comparison, others, of_halves, tuple(start.spawn(seeds)), exchange))
    return tuple(result)
