"""The frontier integral without most of the bias of finite samples, and the value that two equal sources show.

Two samples of one source fall into clusters unequally by chance, so a score of finite samples is never that of equal
sources. For independent texts and p near q, the integral is about sum (p - q)^2 / (6 m), m = (p + q) / 2, whose mean
under P = Q is the :func:`floor`. The delete-a-group jackknife over units (Quenouille 1956) removes what falls as 1/n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import SCORE_DECIMALS, interval, written
from mauve_core.scoring.result import Candidate, Comparison
from mauve_core.scoring.streams import stream


class Reduced(NamedTuple):
    """The estimate, and its interval: that of the plain integral, less the bias.

    Negative where the sides are more alike than two samples of one source are on average.
    """

    value: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """Such as ``-0.013 to 0.018``."""
        return interval(self.low, self.high, SCORE_DECIMALS)


def reduced_integral(comparison: Comparison, name: str) -> Reduced | None:
    """Estimate the frontier integral of the sources of the human side and a candidate, in the pairwise clusters.

    Returns
    -------
    Reduced or None
        In [-1, 1]; None where units support no interval, and on a leaderboard of two runs, whose texts are not at hand.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    from mauve_core.numerics.resampling.jackknife import jackknife_estimate  # both import SciPy, which few callers need
    from mauve_core.scoring.differences import FOLDS, deal_to_groups, generation_codes, left_out_scores

    candidate, score = comparison.candidate(name), comparison.config.score
    if name not in candidate.partitions[0].labels or comparison.why_no_interval(HUMAN, name):
        return None
    folds = deal_to_groups(comparison.units(HUMAN, name), stream(score.seed, "differences"), most=FOLDS)
    generations, _ = generation_codes(comparison, name)
    left_out = left_out_scores(candidate.partitions, folds, generations, name, score.scale)
    whole, *without = left_out["frontier_integral"].mean(axis=1).tolist()
    sizes = np.bincount(np.concatenate([*folds.values()]), minlength=len(without))
    plain = candidate.scores["frontier_integral"]
    bias = whole - jackknife_estimate(whole, np.array(without), sizes)
    return Reduced(plain.mean - bias, plain.low - bias, plain.high - bias)


def floor(comparison: Comparison, candidate: Candidate) -> float:
    """The mean frontier integral of two samples of one source at this n and k: (k - 1)(1/n + 1/m)/6.

    For independent texts; of those that are alike within units it is larger.
    """
    n, m = comparison.human.n_scored, candidate.source.n_scored
    return (candidate.partitions[0].k - 1) * (1 / n + 1 / m) / 6


def floor_sentence(comparison: Comparison) -> str:
    """Say what two samples of one source show, and what takes it off."""
    floors = sorted({written(floor(comparison, each), SCORE_DECIMALS) for each in comparison.candidates})
    least = floors[0] if len(floors) == 1 else f"{floors[0]} to {floors[-1]}"
    return (
        f"Two samples of one source have a frontier integral of about {least} at this n and k, not 0. Bias-reduced: "
        "the frontier integral less this bias, by a jackknife; 0 for one source."
    )
