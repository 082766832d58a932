"""Draw equal numbers of texts from sides of unequal sizes: a score depends on how many texts each side has.

Every side is drawn alike: each text gets a random number that depends on the seed, its prompt and its place among the
side's texts of that prompt alone, and the texts with the lowest are drawn. So sides that share prompts keep the same
ones, all generations of a text stay together, and the draw of a side does not depend on the order of its prompts.

Source: bottom-k sampling with coordinated ranks (Cohen and Kaplan, PODC 2007).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import verb
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.pairing import keys_of, prompt_names

# A prompt, and how many texts of it come before on the same side, in the same generation.
Unit = tuple[str, int]


def equal_draws(corpora: Mapping[str, Corpus], seed: int, most: int | None = None) -> dict[str, NDArray[np.int64]]:
    """Return, by side, the positions of the texts that are drawn, in ascending order.

    Each side has as many as the smallest has texts, and at most ``most``; with generations, as many of each.
    """
    names = prompt_names(keys_of(corpora))
    units = {side: _units(names[side], corpora[side].generations) for side in corpora}
    least = min(len(set(own)) for own in units.values())
    least = least if most is None else min(least, most)
    drawn = {side: set(sorted(set(own), key=lambda unit: _rank(unit, seed))[:least]) for side, own in units.items()}
    return {
        side: np.array([index for index, unit in enumerate(own) if unit in drawn[side]], dtype=np.int64)
        for side, own in units.items()
    }


def equalized(corpora: Mapping[str, Corpus], seed: int) -> dict[str, Corpus]:
    """Return the corpora with what is drawn of each; a note says how much of a side that is."""
    return drawn(corpora, equal_draws(corpora, seed), seed)


def drawn(corpora: Mapping[str, Corpus], draws: Mapping[str, NDArray[np.int64]], seed: int) -> dict[str, Corpus]:
    """Return the texts of each side at these positions, with what is counted of all."""
    if all(draws[side].size == len(corpus) for side, corpus in corpora.items()):
        return dict(corpora)
    human = frozenset(corpora[HUMAN].contents) if HUMAN in corpora else None
    return {side: _drawn(corpus, draws[side], seed, human) for side, corpus in corpora.items()}


def _drawn(corpus: Corpus, positions: NDArray[np.int64], seed: int, human: frozenset[str] | None) -> Corpus:
    chosen = corpus.drawn(positions, None if human is None else sum(each in human for each in corpus.contents))
    if positions.size == len(corpus):
        return chosen
    note = (
        f"{positions.size:,} of {len(corpus):,} texts {verb(positions.size, 'was', 'were')} drawn, with seed {seed}, "
        "so that all sides have as many as the smallest."
    )
    return replace(chosen, notes=(*corpus.notes, note))


def _units(names: tuple[str, ...], generations: tuple[str, ...]) -> list[Unit]:
    before: Counter[tuple[str, str]] = Counter()
    units = []
    for name, generation in zip(names, generations or [""] * len(names), strict=True):
        units.append((name, before[name, generation]))
        before[name, generation] += 1
    return units


def _rank(unit: Unit, seed: int) -> bytes:
    name, turn = unit
    return hashlib.sha256(f"{seed} {turn} {name}".encode()).digest()
