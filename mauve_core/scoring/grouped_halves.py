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
        have fewer than two groups.
    """
    human, candidate = (side[0].sum(axis=1, dtype=np.int64) for side in (p, q))
    n, m = int(human.sum()), int(candidate.sum())
    most = min(n // 2, n * m // (n + m))
    seeds, masks = half_seeds(score), np.zeros((3, score.seeds, len(human)), dtype=np.bool_)
    rng = np.random.default_rng(seeds.cut)
    for first, last, of_candidate in zip(*masks, strict=True):
        order = rng.permutation(len(human))
        first[_up_to(most, human, order)] = True
        last[_up_to(most, human, order[::-1])] = True
        of_candidate[_up_to(most, candidate, order[::-1])] = True
        of_candidate &= ~first
    firsts, lasts, of_candidates = masks
    fewest = [((sizes > 0) & of).sum(axis=1).min() for sizes, of in zip((human, human, candidate), masks, strict=True)]
    if min(fewest) < 2:
        return None
    against_human = basis_of_groups(p, p, score, seeds.resampling, (firsts, lasts))
    against_candidate = basis_of_groups(p, q, score, seeds.resampling, (firsts, of_candidates))
    return HalvesBasis(round(float((firsts * human).sum(axis=1).mean())), against_human, against_candidate)


def _up_to(most: int, sizes: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first groups of an order that together have no more than so many texts."""
    return order[: np.searchsorted(np.cumsum(sizes[order]), most, side="right")]
