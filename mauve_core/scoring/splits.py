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


@dataclass(frozen=True)
class Split:
    """Rows of the texts, ascending; all (n,) for the same n in every split of a run.

    Attributes
    ----------
    one, other : int64 arrays
        Two parts of the human texts, without a common prompt.
    candidates : mapping of str to int64 array
        By candidate, the texts in the place of ``other``. A candidate is absent if too few of its texts answer other
        prompts than those of ``one``.
    """

    one: Rows
    other: Rows
    candidates: Mapping[str, Rows]


def splits(
    sizes: Mapping[str, int], prompts: Mapping[str, NDArray[np.int32]] | None, score: ScoreConfig
) -> tuple[Split, ...]:
    """Draw one split for each k-means seed.

    A part has half of the human texts, or as many texts as the smallest candidate if that is less. Prompts are drawn as
    wholes; where they cannot be divided evenly, the parts are smaller. The other part prefers prompts that all
    candidates answer which share any with the human side.

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
    common = _answered_by_all(own, others)
    rng = np.random.default_rng(seeds.cut)
    orders = [_by_prompt(rng.permutation(human), own, common) for _ in range(score.seeds)]
    n = min([size if name != HUMAN else size // 2 for name, size in sizes.items()])
    n = min([n, *(_largest_part(own[order]) for order in orders)])
    found = []
    for order, seed in zip(orders, seeds.texts, strict=True):
        one, other = np.sort(order[:n]), np.sort(order[human - n :])
        drawn = {
            name: _in_place_of(own[other], own[one], codes, sizes[name], np.random.default_rng(seed))
            for name, codes in others.items()
        }
        enough = {name: np.sort(rows[:n]) for name, rows in drawn.items() if rows.size >= n}
        found.append(Split(one, other, enough))
    return tuple(found)


def _answered_by_all(own: NDArray[np.int64], others: Mapping[str, NDArray[np.int32] | None]) -> NDArray[np.bool_]:
    """Whether every candidate with any prompt of the human side answers that of each human text."""
    answered = [np.isin(own, codes) for codes in others.values() if codes is not None]
    shared = [each for each in answered if each.any()]
    return np.all(shared, axis=0) if shared else np.ones(own.size, dtype=bool)


def _by_prompt(order: Rows, own: NDArray[np.int64], common: NDArray[np.bool_]) -> Rows:
    """Reorder texts so that those of a prompt stand together, at the place of the first, and the common ones last."""
    _, first, prompt = np.unique(own[order], return_index=True, return_inverse=True)
    return order[np.lexsort((first[prompt], common[order]))]


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
