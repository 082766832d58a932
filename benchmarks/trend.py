"""Whether a measure of a long run goes on rising: a slope with an honest interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

# Parts of the time whose means are fitted: what lasts much shorter than one of them averages out; fewest with a sample.
BLOCKS, FEWEST = 6, 4


@dataclass(frozen=True)
class Slope:
    """Units a minute, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def in_words(self) -> str:
        """Where the interval lies."""
        if self.low > 0:
            return "above zero"
        return "below zero" if self.high < 0 else "includes zero"


def slope(seconds: Sequence[float], values: Sequence[float]) -> Slope:
    """Least squares through the means of ``BLOCKS`` blocks of equal duration.

    Neighboring samples are alike, so their number says nothing about precision: the interval has the degrees of freedom
    of the block means. It is wider by sqrt((1 + r) / (1 - r)) if the means' residuals still follow one another, with r
    their lag-1 correlation, to which 1 / ``BLOCKS`` is added for what the fit takes off it. ``tests/test_trend.py``
    simulates how often it holds the truth. A block without a sample is left out; ValueError if fewer than ``FEWEST``
    are left.
    """
    x, y = np.asarray(seconds, dtype=np.float64) / 60, np.asarray(values, dtype=np.float64) - values[0]
    u, v = stats.binned_statistic(x, [x, y], bins=BLOCKS).statistic
    filled = ~np.isnan(u)
    if filled.sum() < FEWEST:
        raise ValueError(f"{filled.sum()} of {BLOCKS} blocks have a sample, and a slope needs {FEWEST}")
    u, v = u[filled] - u[filled].mean(), v[filled] - v[filled].mean()
    fitted = float(u @ v / (u @ u))
    rest = v - fitted * u
    squares, free = float(rest @ rest), len(u) - 2
    alike = float(rest[1:] @ rest[:-1]) / squares if squares else 0.0
    alike = min(max(alike + 1 / BLOCKS, 0.0), 0.9)
    error = math.sqrt(squares / free / float(u @ u) * (1 + alike) / (1 - alike))
    reach = float(stats.t.ppf(0.975, free)) * error
    return Slope(fitted, fitted - reach, fitted + reach)
