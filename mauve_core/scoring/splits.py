"""Split the human texts at random, and find each candidate's texts that take the place of one part.

A candidate's score at full size cannot be held against that of human texts with human texts: it comes from more texts
in more clusters, and a candidate usually continues the prompts of the human side. In a split, *one* part of the human
texts is P. Its Q is the *other* part, or, like for like, equally many texts of a candidate, which answer the prompts of
the other part. No text of Q answers a prompt of P.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.scoring.streams import half_seeds

Rows = NDArray[np.int64]

LEAST_SHARE = 0.95
"""Least share of a part that a candidate must fill: some of its answers may be missing."""


@dataclass(frozen=True)
class Split:
    """Rows of the texts, ascending.

    Attributes
    ----------
    one, other : (n,) int64 arrays
        Two parts of the human texts, without a common prompt; n is the same in every split of a run.
    candidates : mapping of str to int64 array
        By candidate, the texts in the place of ``other``: at most n, and at least ``LEAST_SHARE`` of them. A candidate
        is absent if fewer of its texts answer other prompts than those of ``one``.
    """

    one: Rows
    other: Rows
    candidates: Mapping[str, Rows]


def splits(
    sizes: Mapping[str, int], prompts: Mapping[str, NDArray[np.int32]] | None, score: ScoreConfig
) -> tuple[Split, ...]:
    """Draw one split for each k-means seed.

    A part has half of the human texts. Prompts are drawn as wholes; where they cannot be divided evenly, the parts are
    smaller. No candidate decides what the human parts are.

    Parameters
    ----------
    sizes : mapping of str to int
        Number of texts of every source, the human side first.
    prompts : mapping of str to (n,) int32 array, or None
        As in ``Comparison.prompts``. With None, every text has a prompt of its own.
    """
    seeds, human = half_seeds(score), sizes[HUMAN]
    own = np.arange(human) if prompts is None else prompts[HUMAN].astype(np.int64)
    others = {name: None if prompts is None else prompts[name] for name in sizes if name != HUMAN}
    rng = np.random.default_rng(seeds.cut)
    orders = [_by_prompt(rng.permutation(human), own) for _ in range(score.seeds)]
    n = min([human // 2, *(_largest_part(own[order]) for order in orders)])
    found = []
    for order, seed in zip(orders, seeds.texts, strict=True):
        one, other = np.sort(order[:n]), np.sort(order[human - n :])
        drawn = {
            name: _in_place_of(own[other], own[one], codes, sizes[name], np.random.default_rng(seed))
            for name, codes in others.items()
        }
        enough = {name: np.sort(rows[:n]) for name, rows in drawn.items() if rows.size >= LEAST_SHARE * n}
        found.append(Split(one, other, enough))
    return tuple(found)


def _by_prompt(order: Rows, own: NDArray[np.int64]) -> Rows:
    """Reorder texts so that those of a prompt stand together, at the place of the first."""
    _, first, prompt = np.unique(own[order], return_index=True, return_inverse=True)
    return order[np.argsort(first[prompt], kind="stable")]


def _largest_part(codes: NDArray[np.int64]) -> int:
    """The most texts that the front and the back can both have without a common prompt, in this order of texts."""
    ends = np.flatnonzero(np.diff(codes)) + 1
    return int(np.minimum(ends, codes.size - ends).max(initial=0))


def _in_place_of(
    other: NDArray[np.int64],
    one: NDArray[np.int64],
    codes: NDArray[np.int32] | None,
    size: int,
    rng: np.random.Generator,
) -> Rows:
    """A candidate's texts that answer no prompt of ``one``, in the order in which they take the place of ``other``.

    Those that answer its prompts come first, and of these a first answer to each prompt before a second one.
    """
    order = rng.permutation(size)
    if codes is None:
        return order
    order = order[~np.isin(codes[order], one)]
    drawn = codes[order]
    by_prompt, turns = np.argsort(drawn, kind="stable"), np.empty(drawn.size, dtype=np.int64)
    turns[by_prompt] = np.arange(drawn.size) - np.searchsorted(drawn[by_prompt], drawn[by_prompt])
    return order[np.lexsort((turns, ~np.isin(drawn, other)))]
