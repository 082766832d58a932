"""Simultaneous bootstrap intervals of many estimates.

An interval of a single estimate does not hold for the largest of many: it was picked because chance raised it. These
intervals are wide enough for all estimates at once, hence also for any picked one. Their half-widths have the ratios of
the scales s_j, and their size is that of the largest deviation |x_j - mean x_j| / s_j among the estimates of a
resample (Romano and Wolf, Econometrica 2005, section 5).

s_j is the standard deviation of the replicates plus its mean over the estimates. With the standard deviation alone, the
skewed estimates that hardly vary would decide the largest deviation and make the intervals of the others up to twice as
wide; ``benchmarks/ledger_coverage.py`` measures how often they cover.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError


def simultaneous_intervals(
    estimates: ArrayLike,
    replicates: ArrayLike,
    confidence: float,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals around the estimates that hold for all of them together, clipped to the bounds.

    Parameters
    ----------
    estimates : (k,) array
    replicates : (B, k) array
        The estimates of each resample; only their deviations from their own mean matter.
    confidence : float in (0, 1)
        Share of the resamples that deviate by less in every estimate.
    bounds : (float, float)
        Range of an estimate.

    Returns
    -------
    low, high : (k,) float64 arrays

    Raises
    ------
    InputError
        There are fewer than two resamples, the shapes do not match, values are not finite, or the confidence lies
        outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    values, drawn = np.asarray(estimates, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    matching = values.ndim == 1 and values.size > 0 and drawn.ndim == 2 and drawn.shape[1] == values.size
    if not matching or len(drawn) < 2 or not (np.isfinite(values).all() and np.isfinite(drawn).all()):
        raise InputError(
            "Bootstrap values are not usable",
            allowed="k finite estimates and two or more resamples of k finite values",
            received=f"shapes {values.shape} and {drawn.shape}",
        )
    deviations = np.abs(drawn - drawn.mean(axis=0))
    spread = drawn.std(axis=0)
    scale = spread + spread.mean()
    if not scale.any():
        return np.clip(values, *bounds), np.clip(values, *bounds)
    reach = np.quantile((deviations / scale).max(axis=1), confidence) * scale
    return np.clip(values - reach, *bounds), np.clip(values + reach, *bounds)
