"""Intervals of the clusters' shares of the frontier integral, from the resamples that the scores have.

Prompts are drawn, and texts exchanged between the sides until the mean frontier integral of the resamples is the
observed one (``mauve_core.stats.units``), so a ledger and a leaderboard agree. The intervals hold for
all clusters at once, hence also for the one that leads (``mauve_core.stats.resampling``). They cover a
share's expectation at this n and k with these clusters; ``benchmarks/ledger_coverage.py`` also measures how often they
cover the share in the distributions themselves.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analysis.cluster_table import CONFIDENCE, cluster_table, of_total, with_intervals
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.scoring.estimates import TwoSides, two_sides
from mauve_core.scoring.result import Comparison
from mauve_core.stats.divergences import integral_terms, probabilities
from mauve_core.stats.resampling import simultaneous_intervals
from mauve_core.stats.units import centred_interval, draw_blocks

_BOUNDS = (0.0, 1.0)


@dataclass(frozen=True)
class CostIntervals:
    """Intervals of the shares of one frontier integral, in [0, 1], at ``CONFIDENCE``.

    Attributes
    ----------
    low, high : (k,) float64 arrays
        Of each cluster's share, for all clusters at once.
    adds : (float, float)
        Of the share of all clusters of which the model writes more than people do.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    adds: tuple[float, float]

    @property
    def of_clusters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high."""
        return self.low, self.high


def exchange_rate(comparison: Comparison, kind: PartitionKind, candidate: str) -> float:
    """Return the exchange rate of the candidate's resamples, which is the same for every seed and smoothing."""
    return two_sides(comparison, kind, candidate).exchange_rate(comparison.config.score.bootstrap)


def cost_intervals(
    comparison: Comparison,
    kind: PartitionKind,
    candidate: str,
    seed: int,
    smoothing: str = "none",
    *,
    rate: float | None = None,
) -> CostIntervals:
    """Return the interval of each cluster's share of the frontier integral.

    Parameters
    ----------
    seed : int
        Index of the k-means seed whose clusters are meant.
    smoothing : str
        As in :func:`mauve_core.analysis.cluster_table.cluster_table`.
    rate : float, optional
        From :func:`exchange_rate`, if it is known.

    Raises
    ------
    InputError
        The candidate or the partition is unknown.
    """
    shown = comparison.partition(kind, candidate, seed)
    rate = exchange_rate(comparison, kind, candidate) if rate is None else rate
    sides = dataclasses.replace(two_sides(comparison, kind, candidate), partitions=(shown,))
    return intervals_of(sides, comparison.config.score.bootstrap, rate, smoothing)


def costed_table(
    comparison: Comparison,
    kind: PartitionKind,
    candidate: str,
    seed: int,
    weight: float,
    *,
    rate: float | None = None,
) -> pd.DataFrame:
    """Return the table of one partition, with intervals: ``cluster_table`` and ``with_intervals`` in one.

    Whether there is a gap to explain is not asked (``mauve_core.analysis.gap_test``). ``rate`` is as in
    :func:`cost_intervals`.
    """
    part = comparison.partition(kind, candidate, seed)
    table = cluster_table(part.counts(HUMAN), part.counts(candidate), weight)
    return with_intervals(table, *cost_intervals(comparison, kind, candidate, seed, rate=rate).of_clusters)


def intervals_of(sides: TwoSides, replicates: int, rate: float, smoothing: str = "none") -> CostIntervals:
    """:func:`cost_intervals` of two sides with one partition."""
    shares = signed_shares(*sides.counts(), smoothing)[0]
    drawn = resampled_shares(sides, replicates, rate, smoothing)
    low, high = simultaneous_intervals(np.abs(shares), np.abs(drawn), CONFIDENCE, bounds=_BOUNDS)
    return CostIntervals(low, high, centred_interval(added(shares), added(drawn), CONFIDENCE, bounds=_BOUNDS))


def resampled_shares(sides: TwoSides, replicates: int, rate: float, smoothing: str = "none") -> NDArray[np.float64]:
    """(B, k) signed shares in resamples of two sides with one partition."""
    blocks = draw_blocks(sides.units, replicates, np.random.default_rng(sides.seed))
    return np.concatenate([signed_shares(*sides.resampled(draws, rate), smoothing)[:, 0] for draws in blocks])


def signed_shares(
    human: NDArray[np.integer], model: NDArray[np.integer], smoothing: str = "none"
) -> NDArray[np.float64]:
    """(..., k) shares of the frontier integral, from counts (..., k); negative where the model misses texts."""
    p, q = probabilities(human, smoothing), probabilities(model, smoothing)
    return np.copysign(of_total(integral_terms(p, q)), q - p)


def added(signed: NDArray[np.float64]) -> Any:
    """(...) share of what the model adds, from (..., k) signed shares."""
    return np.maximum(signed, 0.0).sum(axis=-1)
