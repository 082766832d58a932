"""Interval of the difference of two shares (Newcombe, Statistics in Medicine 1998, method 10)."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest

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
