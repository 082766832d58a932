"""Human vs. human from histograms by group of prompts, and a candidate like for like with it.

Under each seed the groups are put in random order. Human texts of the first ones are compared with human texts of the
last ones, and with the candidate's texts of the last ones: about equally many on every side, and no text continues a
prompt of the other side. The partition is that of all texts, which does not know of this division.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.scoring.estimates import ScoreBasis
from mauve_core.scoring.grouped import basis_of_groups
from mauve_core.scoring.streams import half_seeds

LEAST_GROUPS = 30
"""Fewest groups with texts of each side: their resamples tell the spread, and none is empty by chance."""

LEAST_SHARE = 0.95
"""Least share of the wanted number of texts that each side has; groups are taken as wholes."""


class HalvesBasis(NamedTuple):
    """Some of the human texts against others, and against the candidate's.

    Attributes
    ----------
    n : int
        Texts a side, about: the human texts of the first groups, on average over the seeds.
    human, candidate : ScoreBasis
    """

    n: int
    human: ScoreBasis
    candidate: ScoreBasis


def halves_of_groups(p: NDArray[np.integer], q: NDArray[np.integer], score: ScoreConfig) -> HalvesBasis | None:
    """Compare human texts with other human texts, and with as many of a candidate.

    Parameters
    ----------
    p, q : (s, G, k) int arrays
        Texts of the human side and of the candidate by k-means seed, group and cluster.
    score : ScoreConfig

    Returns
    -------
    HalvesBasis or None
        Of half of the human texts, or fewer if the candidate has fewer texts than the human side. None if a side would
        have fewer than ``LEAST_GROUPS`` groups, or too few texts because a group of prompts has too many.
    """
    human, candidate = (side[0].sum(axis=1, dtype=np.int64) for side in (p, q))
    seeds, masks = half_seeds(score), np.zeros((3, score.seeds, len(human)), dtype=np.bool_)
    rng = np.random.default_rng(seeds.cut)
    for of_seed in np.moveaxis(masks, 1, 0):
        order = rng.permutation(len(human))
        most = _most(human[order], candidate[order])
        for of, sizes, way in zip(of_seed, (human, human, candidate), (order, order[::-1], order[::-1]), strict=True):
            of[_up_to(most, sizes, way)] = True
            if np.count_nonzero(sizes[of]) < LEAST_GROUPS or sizes[of].sum() < LEAST_SHARE * most:
                return None
    firsts, lasts, of_candidates = masks
    against_human = basis_of_groups(p, p, score, seeds.resampling, (firsts, lasts))
    against_candidate = basis_of_groups(p, q, score, seeds.resampling, (firsts, of_candidates))
    return HalvesBasis(round(float((firsts * human).sum(axis=1).mean())), against_human, against_candidate)


def _most(human: NDArray[np.int64], candidate: NDArray[np.int64]) -> int:
    """The most texts that the human side has in the first groups, and both sides have in the others."""
    before = np.cumsum(human)
    behind = [side.sum() - np.cumsum(side) for side in (human, candidate)]
    return int(np.minimum(before, np.minimum(*behind)).max())


def _up_to(most: int, sizes: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first groups of an order that together have no more than so many texts."""
    return order[: np.searchsorted(np.cumsum(sizes[order]), most, side="right")]
