"""Means over groups in a circle, of which neighbors share prompts, with intervals.

Resampled are blocks of neighbors (circular block bootstrap: Politis and Romano, *A circular block-resampling procedure
for stationary data*, 1992). With blocks of one it is the usual bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean and its range.

    Attributes
    ----------
    value : float
        The mean.
    low, high : float
        Its 95% interval, unless another range is named.
    """

    value: float
    low: float
    high: float


def block_mean(values: ArrayLike, block: int, seed: SeedSequence) -> Mean:
    """Mean of values, with the interval from resampled blocks (percentiles).

    Parameters
    ----------
    values : (g,) array
        In their order around the circle.
    block : int
        Neighbors that are resampled together. Values this far apart must be independent.
    seed : SeedSequence
        Of the resamples.

    Notes
    -----
    Blocks see a covariance at distance h with the weight 1 - h / block. If it falls as 1 - h / block itself, as that of
    groups that share fewer and fewer prompts, their variance is (2 block² + 1) / (3 block²) of the right one, and by
    its root the interval is widened. Where neighbors are independent it is too wide by that, at most 22%.

    Raises
    ------
    InputError
        There are no values, or not all are finite.
    """
    x = _checks.numbers(values, "values").astype(np.float64)
    block = _checks.whole("the block", block, low=1)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise InputError("The values have no mean", allowed="one or more finite numbers", received=f"shape {x.shape}")
    widened = np.sqrt(3 * block**2 / (2 * block**2 + 1))
    sums = np.sum([np.roll(x, -step) for step in range(block)], axis=0)
    drawn = np.random.default_rng(seed).integers(x.size, size=(RESAMPLES, -(-x.size // block)))
    tails = (1 - CONFIDENCE) / 2
    mean = x.mean()
    ends = mean + widened * (np.quantile(sums[drawn].mean(axis=1) / block, [tails, 1 - tails]) - mean)
    low, high = ends.clip(x.min(), x.max())  # widened, they could leave the range of the measure
    return Mean(float(mean), float(low), float(high))
