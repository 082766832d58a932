"""Histograms of bootstrap resamples, computed in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.numerics.divergences.count_pairs import count_pairs
from mauve_core.numerics.divergences.kl import integral_terms
from mauve_core.numerics.resampling.units import RATE_REPLICATES, Draws, Units, draw_blocks, exchange_rate, fits
from mauve_core.scoring.result import Partition

# Memory of the resamples' histograms that are held at once.
COUNT_BYTES = 2**27

# Numbers taken for every pair of counts; where resamples have unequally many texts, hardly two bins share a pair.
PAIR_NUMBERS = 52


@dataclass(frozen=True)
class CountSamples:
    """Histograms of one candidate, for the texts and for the bootstrap resamples.

    Attributes
    ----------
    p, q : (seeds, k) int64 arrays
        Human and candidate counts under each k-means seed.
    p_resampled, q_resampled : (B, seeds, k) int64 arrays
        The same for each resample of the texts; all seeds share the resamples.
    rate : float
        The exchange rate of the resamples.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    p_resampled: NDArray[np.int64]
    q_resampled: NDArray[np.int64]
    rate: float = 1.0


@dataclass(frozen=True)
class TwoSides:
    """The partitions of the human side with one candidate, and how their texts are drawn.

    Attributes
    ----------
    candidate : str
    partitions : tuple of Partition
        One per seed, all of the same texts.
    units : Units
        The human side is P.
    seed : numpy.random.SeedSequence
    device : str
        Where resamples are counted, as in :func:`mauve_core.numerics.kmeans.clustering.kmeans`.
    """

    candidate: str
    partitions: tuple[Partition, ...]
    units: Units
    seed: np.random.SeedSequence
    device: str = "cpu"

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Histograms of the texts under each seed, (seeds, k) for either side."""
        p, q = (np.stack([part.counts(side) for part in self.partitions]) for side in (HUMAN, self.candidate))
        return p, q

    def resampled(self, draws: Draws, rate: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Histograms of resamples at an exchange rate, (B, seeds, k) for either side."""
        labels = [np.concatenate([part.labels[side] for side in (HUMAN, self.candidate)]) for part in self.partitions]
        table, k = np.stack(labels), self.partitions[0].k
        if self.device == "cpu":
            return draws.counts(table, k, rate)
        from mauve_core.numerics.device.resampling import weighted_counts_on

        p, q = (weighted_counts_on(self.device, table, k, weights) for weights in draws.weights(rate))
        return p, q

    def draws(self, replicates: int, most: int | None = None) -> Iterator[Draws]:
        """Yield the resamples, at most ``most`` at once."""
        return draw_blocks(self.units, replicates, np.random.default_rng(self.seed), most=most)

    def exchange_rate(self, replicates: int) -> float:
        """The exchange rate at which the mean frontier integral over seeds is that of the texts.

        It is found without smoothing and serves every score, smoothing and scaling constant.
        """
        count = min(replicates, RATE_REPLICATES)
        kept = list(self.draws(count)) if fits(self.units, count) else None

        def mean_at(rate: float) -> float:
            blocks = kept or self.draws(count)  # what does not fit is drawn again
            return float(np.concatenate([_integrals(*self.resampled(draws, rate)) for draws in blocks]).mean())

        return exchange_rate(float(_integrals(*self.counts()).mean()), mean_at)


def _integrals(p_counts: NDArray[np.int64], q_counts: NDArray[np.int64]) -> NDArray[np.float64]:
    pairs = count_pairs(p_counts, q_counts)
    return pairs.sums(integral_terms(*pairs.probabilities(0.0))[:, np.newaxis])


def count_blocks(sides: TwoSides, score: ScoreConfig) -> Iterator[CountSamples]:
    """Yield the counts of one candidate in blocks of resamples, so that memory does not grow with their number."""
    p, q = sides.counts()
    rate = sides.exchange_rate(score.bootstrap)
    numbers = 2 if sides.units.even else PAIR_NUMBERS
    most = max(1, COUNT_BYTES // (8 * numbers * p.size))
    for draws in sides.draws(score.bootstrap, most):
        yield CountSamples(p, q, *sides.resampled(draws, rate), rate)
