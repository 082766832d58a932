"""Errors of the divergence frontier without most of the bias of a finite sample.

Both errors of a frontier are too large on average, because each sample differs from its source by chance; MAUVE is
therefore too small. The bootstrap estimates that bias: errors of resamples exceed those of the sample by about as much
on average as those of the sample exceed those of the sources. Twice an error less its mean over the resamples is then
an estimate for the sources on these bins (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, section
10.6). An estimate below 0 becomes 0; nothing keeps the corrected errors monotone in the weight. The frontier integral
and the mid-point are linear in the errors and are corrected in the same way.

This is not from the papers on MAUVE. ``benchmarks/bias_reduction.py`` measures how far the estimates are from the
scores of the sources. Units are drawn as wholes: texts of one prompt are alike, so that two samples of the same prompts
differ less than independent ones, and have less bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.count_pairs import CountPairs, count_pairs
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier
from mauve_core.numerics.divergences.kl import integral_terms, mixture_terms
from mauve_core.numerics.resampling.bootstrap import resampled_counts
from mauve_core.numerics.resampling.units import Units, draw_blocks

# Default number of resamples.
REPLICATES = 100


@dataclass(frozen=True)
class Corrected:
    """Bias-reduced estimates of one pair of histograms, or of many.

    Attributes
    ----------
    frontier : Frontier
        KL(Q || R) and KL(P || R) on the reference weights, (..., 25), at least 0.
    frontier_integral, mid : (...) float64 arrays
        In [0, 1] and in [0, log 2] nats.
    """

    frontier: Frontier
    frontier_integral: NDArray[np.float64]
    mid: NDArray[np.float64]


def bias_reduced(
    p_labels: ArrayLike,
    q_labels: ArrayLike,
    k: int,
    units: Units,
    *,
    seed: SeedSequence,
    replicates: int = REPLICATES,
) -> Corrected:
    """Estimate the frontier, the frontier integral and the mid-point of the sources of two samples in bins.

    Parameters
    ----------
    p_labels, q_labels : (n,) and (m,) arrays of int
        Bin of each text of the human side and of the candidate, 0 to k - 1.
    k : int
        Bins.
    units : Units
        Of the n and m texts.
    seed : SeedSequence
        Of the resamples; the same seed gives the same estimate.
    replicates : int
        Resamples, at least 1.

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, their number differs from that of the units', or there is no resample.
    """
    count = _checks.whole("The number of resamples", replicates, low=1)
    parts = []
    for draws in draw_blocks(units, count, np.random.default_rng(seed)):
        on_p, on_q = draws.weights(0.0)
        of_p = resampled_counts(p_labels, k, on_p[:, : units.n])
        parts.append((of_p, resampled_counts(q_labels, k, on_q[:, units.n :])))
    p_resampled, q_resampled = (np.concatenate(side) for side in zip(*parts, strict=True))
    p, q = (np.bincount(labels, minlength=k) for labels in (p_labels, q_labels))
    return corrected(p, q, p_resampled, q_resampled)


def corrected(
    p_counts: NDArray[np.integer],
    q_counts: NDArray[np.integer],
    p_resampled: NDArray[np.integer],
    q_resampled: NDArray[np.integer],
) -> Corrected:
    """:func:`bias_reduced` from (..., k) counts of either side and (..., replicates, k) counts of their resamples."""
    own, again = _sums(count_pairs(p_counts, q_counts)), _sums(count_pairs(p_resampled, q_resampled))
    found = np.maximum(2 * own - again.mean(axis=-2), 0.0)
    size = REFERENCE_WEIGHTS.size
    return Corrected(
        Frontier(REFERENCE_WEIGHTS, found[..., :size], found[..., size : 2 * size]),
        np.minimum(found[..., -2], 1.0),
        np.minimum(found[..., -1], np.log(2)),
    )


def _sums(pairs: CountPairs) -> NDArray[np.float64]:
    """(..., 52) both errors on the reference weights, the frontier integral and the mid-point of each histogram."""
    p, q = pairs.probabilities(0.0)
    weights = REFERENCE_WEIGHTS[:, np.newaxis]
    middle = np.add(*mixture_terms(p, q, 0.5, 0.5)) / 2
    return pairs.sums(np.vstack([*mixture_terms(p, q, weights, 1 - weights), integral_terms(p, q), middle]).T)
