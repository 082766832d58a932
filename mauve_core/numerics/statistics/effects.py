"""Scale-free distance between two groups of numbers: AUC and Cliff's delta.

The AUC is the chance that a number of the first group exceeds one of the second, with ties counted as half. Cliff's
delta is twice the AUC minus 1.

The interval of the AUC is Newcombe's (2006, Statistics in Medicine 25, method 5): all values t within z standard
deviations of the estimate, with the variance at t after Hanley and McNeil (1982). It stays in [0, 1] and has positive
width even if the groups do not overlap. It is too wide for numbers with many ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import rankdata

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# No end of an interval lies nearer to 0 or 1; with n numbers it stays about 1 / n away.
_EDGE = 1e-9


@dataclass(frozen=True)
class Effect:
    """Comparison of two groups of numbers.

    Attributes
    ----------
    n, m : int
        Numbers in the first and in the second group.
    first, second : float
        Their means.
    auc, low, high : float
        Chance that one of the first exceeds one of the second, and its interval; all in [0, 1], 1/2 for no effect.
    """

    n: int
    m: int
    first: float
    second: float
    auc: float
    low: float
    high: float

    @property
    def delta(self) -> float:
        """Cliff's delta, from -1 to 1."""
        return 2 * self.auc - 1

    @property
    def delta_interval(self) -> tuple[float, float]:
        """The interval of Cliff's delta."""
        return 2 * self.low - 1, 2 * self.high - 1

    def separates(self, threshold: float) -> bool:
        """Whether the whole interval of the AUC lies above ``threshold`` or below 1 - ``threshold``."""
        return self.low >= threshold or self.high <= 1 - threshold


def effect(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Effect:
    """Compare two groups of numbers.

    Parameters
    ----------
    first, second : (n,), (m,) arrays
        Finite numbers, at least one each.
    confidence : float in (0, 1)

    Raises
    ------
    InputError
        A group is empty, numbers are not finite, or the confidence lies outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    groups = [_checks.numbers(group, "The array of numbers").astype(np.float64) for group in (first, second)]
    if any(group.ndim != 1 or group.size == 0 or not np.isfinite(group).all() for group in groups):
        raise InputError("The groups are not usable", allowed="two nonempty rows of finite numbers")
    n, m = (group.size for group in groups)
    ranks = rankdata(np.concatenate(groups))
    auc = (float(ranks[:n].sum()) - n * (n + 1) / 2) / (n * m)
    low, high = auc_interval(auc, n, m, confidence)
    return Effect(n, m, float(groups[0].mean()), float(groups[1].mean()), auc, low, high)


def auc_interval(auc: float, n: int, m: int, confidence: float = 0.95) -> tuple[float, float]:
    """Newcombe's interval of an AUC of n numbers against m."""
    z = float(ndtri((1 + confidence) / 2))
    middle = (n + m) / 2 - 1

    def beyond(t: float) -> float:
        """(estimate - t)^2 minus z^2 times the variance at t: positive outside the interval."""
        variance = t * (1 - t) * (1 + middle * ((1 - t) / (2 - t) + t / (1 + t))) / (n * m)
        return (auc - t) ** 2 - z * z * variance

    # At 0 and 1 the variance vanishes and the estimate itself is a spurious root.
    low = float(brentq(beyond, 0.0, min(auc, 1 - _EDGE))) if auc > 0 else 0.0
    high = float(brentq(beyond, max(auc, _EDGE), 1.0)) if auc < 1 else 1.0
    return low, high
