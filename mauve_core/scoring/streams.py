"""Random streams of a run from its one seed, one per purpose, and the splits of human texts that are drawn from them.

No stream depends on what another draws. A candidate's score at full size cannot be held against that of human texts
with human texts: it comes from more texts in more clusters, and a candidate usually continues the prompts of the human
side. In a split, *one* part of the human texts is P. Its Q is the *other* part, or, like for like, equally many texts
of a candidate, which answer the prompts of the other part. No text of Q is of a unit of P.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig

if TYPE_CHECKING:
    from mauve_core.scoring.result import Comparison


# Append only: a purpose's position decides what it draws, and with it every score of the same seed.
_PURPOSES = (
    "clustering",
    "bootstrap",
    "projection",
    "subsets",
    "methods",
    "permutations",
    "halves",
    "probes",
    "attributes",
    "pairs",
    "exchange",
    "gap",
    "correction",
    "gate",
    "findings",
    "diversity",
    "differences",
)


def stream(seed: int, purpose: str) -> SeedSequence:
    """Return the seed sequence of one of the purposes above."""
    return SeedSequence(seed).spawn(len(_PURPOSES))[_PURPOSES.index(purpose)]


@dataclass(frozen=True)
class HalfSeeds:
    """Streams of human vs. human and its like: ``cut`` splits the human texts, ``texts`` draws those of a candidate.

    ``clustering`` and ``texts`` have one entry per k-means seed.
    """

    cut: SeedSequence
    clustering: tuple[SeedSequence, ...]
    resampling: SeedSequence
    texts: tuple[SeedSequence, ...]


def half_seeds(score: ScoreConfig) -> HalfSeeds:
    """Return these streams under the run's seed."""
    cut, clustering, resampling, texts = stream(score.seed, "halves").spawn(4)
    return HalfSeeds(cut, tuple(clustering.spawn(score.seeds)), resampling, tuple(texts.spawn(score.seeds)))


Rows = NDArray[np.int64]

# Least share of a part that a candidate must fill: some of its answers may be missing.
LEAST_SHARE = 0.95


@dataclass(frozen=True)
class Split:
    """Rows of the texts, ascending.

    Attributes
    ----------
    one, other : (n,) int64 arrays
        Two parts of the human texts, without a common unit; n is the same in every split of a run.
    candidates : mapping of str to int64 array
        By candidate, the texts in the place of ``other``: at most n, and at least ``LEAST_SHARE`` of them. A candidate
        is absent if fewer of its texts are of other units than those of ``one``.
    """

    one: Rows
    other: Rows
    candidates: Mapping[str, Rows]


def splits(
    human: NDArray[np.integer],
    candidates: Mapping[str, tuple[NDArray[np.integer], NDArray[np.integer]]],
    score: ScoreConfig,
) -> tuple[Split, ...]:
    """Draw one split for each k-means seed.

    A part has half of the human texts. Units are drawn as wholes; where they cannot be divided evenly, the parts are
    smaller. No candidate decides what the human parts are.

    Parameters
    ----------
    human : (n,) array of int
        Unit of each human text among these alone.
    candidates : mapping of str to ((n,), (m,)) arrays of int
        Units of the human texts and of the candidate's together.
    """
    seeds, n_human = half_seeds(score), human.size
    rng = np.random.default_rng(seeds.cut)
    orders = [_by_unit(rng.permutation(n_human), human) for _ in range(score.seeds)]
    n = min([n_human // 2, *(_largest_part(human[order]) for order in orders)])
    found = []
    for order, seed in zip(orders, seeds.texts, strict=True):
        one, other = np.sort(order[:n]), np.sort(order[n_human - n :])
        drawn = {
            name: _in_place_of(own[other], own[one], codes, np.random.default_rng(seed))
            for name, (own, codes) in candidates.items()
        }
        enough = {name: np.sort(rows[:n]) for name, rows in drawn.items() if rows.size >= LEAST_SHARE * n}
        found.append(Split(one, other, enough))
    return tuple(found)


def splits_of(comparison: Comparison) -> tuple[Split, ...]:
    """Draw the splits of a comparison; of several generations, only the first counts, by number within it."""
    pairs = {each.name: comparison.units(HUMAN, each.name) for each in comparison.candidates}
    return splits(
        comparison.units(HUMAN)[HUMAN],
        {name: (own[HUMAN], own[name][comparison.generation_rows(name)[0]]) for name, own in pairs.items()},
        comparison.config.score,
    )


def _by_unit(order: Rows, own: NDArray[np.integer]) -> Rows:
    """Reorder texts so that those of a unit stand together, at the place of the first."""
    _, first, unit = np.unique(own[order], return_index=True, return_inverse=True)
    return order[np.argsort(first[unit], kind="stable")]


def _largest_part(codes: NDArray[np.integer]) -> int:
    """The most texts that the front and the back can both have without a common unit, in this order of texts."""
    ends = np.flatnonzero(np.diff(codes)) + 1
    return int(np.minimum(ends, codes.size - ends).max(initial=0))


def _in_place_of(
    other: NDArray[np.integer], one: NDArray[np.integer], codes: NDArray[np.integer], rng: np.random.Generator
) -> Rows:
    """A candidate's texts of no unit of ``one``, in the order in which they take the place of ``other``.

    Those of its units come first, and of these a first text of each unit before a second one.
    """
    order = rng.permutation(codes.size)
    order = order[~np.isin(codes[order], one)]
    drawn = codes[order]
    by_unit, turns = np.argsort(drawn, kind="stable"), np.empty(drawn.size, dtype=np.int64)
    turns[by_unit] = np.arange(drawn.size) - np.searchsorted(drawn[by_unit], drawn[by_unit])
    return order[np.lexsort((turns, ~np.isin(drawn, other)))]
