"""Intervals of the difference of two shares: plain (Newcombe, Statistics in Medicine 1998, method 10) and in strata."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, norm

from mauve_core.base.errors import InputError


def share_difference(first: int, of_first: int, second: int, of_second: int, confidence: float) -> tuple[float, float]:
    """Interval of first / of_first - second / of_second, from Wilson's intervals of both.

    It takes the two samples for independent; for pairs that are alike it is too wide.

    Parameters
    ----------
    first, of_first, second, of_second : int
        Successes and trials of either sample; at least one trial each.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : float
        In [-1, 1].

    Raises
    ------
    InputError
        There is no trial, or there are more successes than trials.
    """
    if not (0 <= first <= of_first and 0 <= second <= of_second and of_first and of_second):
        received = f"{first} of {of_first} and {second} of {of_second}"
        raise InputError(
            "The counts are not usable", allowed="at least one trial, no more successes", received=received
        )
    ends = [
        binomtest(successes, trials).proportion_ci(confidence, method="wilson")
        for successes, trials in ((first, of_first), (second, of_second))
    ]
    one, other = first / of_first, second / of_second
    low = one - other - np.hypot(one - ends[0].low, ends[1].high - other)
    high = one - other + np.hypot(ends[0].high - one, other - ends[1].low)
    return float(max(low, -1.0)), float(min(high, 1.0))


def stratified_difference(
    has: ArrayLike, first: ArrayLike, strata: ArrayLike, confidence: float
) -> tuple[float, float, float] | None:
    """Difference of two samples' shares among cases of one stratum, the mean over strata (Mantel and Haenszel).

    A stratum of n and m cases has the weight n m / (n + m), and the variance of a share is that of a binomial with half
    a success and half a failure added, so that strata without variation are not taken for certain.

    Parameters
    ----------
    has, first : (n,) bool array
        Which cases are successes, and which are of the first sample.
    strata : (n,) array
        Stratum of each case.
    confidence : float in (0, 1)

    Returns
    -------
    difference, low, high : float
        Share of the first sample less that of the second, in [-1, 1]; None if no stratum has cases of both.
    """
    has, first, strata = np.asarray(has), np.asarray(first), np.asarray(strata)
    weights, differences, variances = [], [], []
    for stratum in np.unique(strata):
        inside = strata == stratum
        sides = has[inside & first], has[inside & ~first]
        n, m = (side.size for side in sides)
        if n and m:
            weights.append(n * m / (n + m))
            differences.append(sides[0].mean() - sides[1].mean())
            shares = [(side.sum() + 0.5) / (side.size + 1) for side in sides]
            variances.append(sum(p * (1 - p) / side.size for p, side in zip(shares, sides, strict=True)))
    if not weights:
        return None
    share = np.array(weights) / np.sum(weights)
    difference = float(share @ np.array(differences))
    reach = float(norm.ppf((1 + confidence) / 2) * np.sqrt(share**2 @ np.array(variances)))
    return difference, max(difference - reach, -1.0), min(difference + reach, 1.0)
