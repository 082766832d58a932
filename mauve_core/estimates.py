"""Partitions to scores with their spread: a standard deviation over k-means seeds, a bootstrap interval over texts.

Works on the labels that a comparison keeps, so that another scaling constant or smoothing needs no new clustering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.config import HUMAN, SCORES, PartitionKind
from mauve_core.numerics.bootstrap import centred_interval, resample_weights, resampled_counts
from mauve_core.numerics.scores import score_counts
from mauve_core.result import Comparison, Estimate

SCORE_BOUNDS = {"mauve": (0.0, 1.0), "mauve_star": (0.0, 1.0), "frontier_integral": (0.0, 1.0), "mid": (0.0, np.log(2))}
"""Range of each score; the last is in nats."""


_PURPOSES = ("clustering", "bootstrap", "projection")


def stream(seed: int, purpose: str) -> SeedSequence:
    """The seed sequence of one purpose ("clustering", "bootstrap" or "projection"), spawned from the one seed."""
    return SeedSequence(seed).spawn(len(_PURPOSES))[_PURPOSES.index(purpose)]


@dataclass(frozen=True)
class CountSamples:
    """Histograms of one candidate: of the texts as they are, and of the bootstrap's resamples.

    Attributes
    ----------
    p, q : (seeds, k) int64 arrays
        Human and candidate counts under each k-means seed.
    p_resampled, q_resampled : (B, seeds, k) int64 arrays
        The same for each resample of the texts, which all seeds share.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    p_resampled: NDArray[np.int64]
    q_resampled: NDArray[np.int64]


def sample_counts(comparison: Comparison, kind: PartitionKind = "pairwise") -> dict[str, CountSamples]:
    """Histograms and bootstrap histograms of every candidate; texts of each side are resampled independently.

    One resample of the human texts serves all candidates, so that their intervals move together. Depends on the
    stored labels and ``config.score`` alone: the same comparison gives the same numbers every time.
    """
    score = comparison.config.score
    streams = stream(score.seed, "bootstrap").spawn(1 + len(comparison.candidates))
    weights = [
        resample_weights(source.n, score.bootstrap, np.random.default_rng(child))
        for source, child in zip(comparison.sources, streams, strict=True)
    ]
    samples = {}
    for candidate, candidate_weights in zip(comparison.candidates, weights[1:], strict=True):
        partitions = comparison.joint if kind == "joint" else candidate.partitions
        name = candidate.name
        samples[name] = CountSamples(
            p=np.stack([part.counts(HUMAN) for part in partitions]),
            q=np.stack([part.counts(name) for part in partitions]),
            p_resampled=np.stack([resampled_counts(p.labels[HUMAN], p.k, weights[0]) for p in partitions], axis=1),
            q_resampled=np.stack(
                [resampled_counts(p.labels[name], p.k, candidate_weights) for p in partitions], axis=1
            ),
        )
    return samples


def estimate_scores(
    samples: CountSamples, *, scale: float = 5.0, smoothing: str = "none", confidence: float = 0.95
) -> dict[str, Estimate]:
    """The scores of one candidate with their spread, from its histograms.

    The mean and standard deviation are over k-means seeds; the interval is the bootstrap's for the seed mean, centred
    on it (see :func:`mauve_core.numerics.bootstrap.centred_interval`).

    Parameters
    ----------
    samples : CountSamples
    scale : float > 0
        The constant c of MAUVE.
    smoothing : {"none", "krichevsky-trofimov"}
        For every score but MAUVE*, which is always smoothed.
    confidence : float in (0, 1)
    """
    values = score_counts(samples.p, samples.q, scale=scale, smoothing=smoothing)
    resampled = score_counts(samples.p_resampled, samples.q_resampled, scale=scale, smoothing=smoothing)
    estimates = {}
    for score in SCORES:
        mean = float(values[score].mean())
        low, high = centred_interval(mean, resampled[score].mean(axis=1), confidence, bounds=SCORE_BOUNDS[score])
        sd = float(values[score].std(ddof=1)) if len(values[score]) > 1 else None
        estimates[score] = Estimate(mean, sd, low, high, tuple(float(value) for value in values[score]))
    return estimates
