"""From resampled texts to histograms and to an interval, with the clusters kept.

The interval is that of the score at this sample size. A divergence between two finite samples is too large on average
(each sample differs from its source by chance), so the score at n texts is not its limit. A bootstrap replicate, a
sample of a sample, has that bias twice, and a percentile interval may miss the estimate altogether.
:func:`centred_interval` takes only the spread of the replicates about their own mean and puts it around the estimate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def resampled_counts(labels: ArrayLike, k: int, weights: NDArray[np.integer]) -> NDArray[np.int64]:
    """The histogram of each resample.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    weights : (B, n) array of int
        How often each resample has each text, for example from ``Draws.weights`` in
        :mod:`mauve_core.numerics.resampling.units`; the same weights serve every partition of the same texts.

    Returns
    -------
    (B, k) int64 array
        Texts of each resample in each cluster.

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, or their number differs from the columns of ``weights``.
    """
    k = _checks.whole("The number of clusters", k, low=1)
    array = np.asarray(labels)
    usable = array.ndim == 1 and array.dtype.kind in "iu" and array.size > 0
    if not usable or array.min() < 0 or array.max() >= k:
        raise InputError("Labels are not usable", allowed=f"one row of whole numbers from 0 to {k - 1}")
    if weights.ndim != 2 or weights.shape[1] != array.size:
        raise InputError(
            "Weights and labels do not match",
            allowed=f"weights of shape (B, {array.size})",
            received=f"shape {weights.shape}",
        )
    ones = np.ones(array.size, dtype=np.int32)  # int64 would widen a copy of all weights; a count is at most n
    member = csr_array((ones, (array, np.arange(array.size))), shape=(k, array.size))
    return np.ascontiguousarray((member @ weights.T).T, dtype=np.int64)


def centred_interval(
    estimate: float,
    replicates: ArrayLike,
    confidence: float,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """Estimate plus the central quantiles of the replicates about their mean, clipped to the score's bounds.

    Parameters
    ----------
    estimate : float
        Score of the texts.
    replicates : (B,) array
        Score of each resample.
    confidence : float in (0, 1)
        Share of the replicates between the two quantiles.
    bounds : (float, float)
        Range of the score.

    Returns
    -------
    low, high : float

    Raises
    ------
    InputError
        There are fewer than two replicates, values are not finite, or the confidence lies outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    values = _checks.numbers(replicates, "The array of replicates").astype(np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all() or not np.isfinite(estimate):
        raise InputError(
            "Bootstrap values are not usable", allowed="a finite estimate and two or more finite replicates"
        )
    tail = (1 - confidence) / 2
    low, high = estimate + np.quantile(values, [tail, 1 - tail]) - values.mean()
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
