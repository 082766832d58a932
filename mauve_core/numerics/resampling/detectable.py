"""How large an effect a test could have detected: what a result that is not significant leaves open."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import chi2, ncx2

POWER = 0.8
"""Probability with which an effect of the detectable size is detected."""

POWER_EACH = 0.87
"""Probability in each of several splits, if twice the mean of their p-values is small enough with ``POWER``: that of
independent noncentral chi-squared scores in 2 to 10 splits, 0.83 to 0.92, at any level and number of clusters."""

TEXTS_FOR_HALF = 4
"""Times as many texts for half the effect: at fixed n/k a deviation falls as 1 / sqrt(n) (benchmarks/detectable.py)."""


def detectable(sd: float, level: float, *, tests: int = 1, sides: int = 2) -> float:
    """The true effect that a test finds with probability ``POWER``: (z(1 - alpha) + z(POWER)) sd.

    Parameters
    ----------
    sd : float >= 0
        Standard deviation of the estimate that is tested, about normal.
    level : float in (0, 1)
        Of all tests together.
    tests : int
        Tests that share the level by Holm's method, whose strictest step is taken.
    sides : {1, 2}
        Of the test.

    Returns
    -------
    float
        In units of ``sd``'s.
    """
    return float(ndtri(1 - level / (sides * tests)) + ndtri(POWER)) * sd if math.isfinite(sd) else math.inf


def detectable_drop(
    nulls: Sequence[NDArray[np.float64]], level: float, *, tests: int = 1, lowest: float = 0.0
) -> float:
    """The drop of MAUVE that exchanged texts find with probability ``POWER``, one-sided.

    The spread of MAUVE grows with its distance from 1, so (z(1 - alpha) + z(POWER)) sd would be half of what it takes.
    But near P = Q, sqrt(-log MAUVE) is about proportional to a chi-squared score: with as many degrees of freedom as
    its moments under exchange show, and noncentral where P and Q differ. Simulations find 70% to 90% of drops of this
    size in halves of 50 texts or more, and more in smaller ones. At fixed n/k it falls faster than 1 / sqrt(n).

    Parameters
    ----------
    nulls : sequence of (B,) arrays
        MAUVE of exchanged texts, in (0, 1], of every split. Twice the mean of several p-values is tested, so each needs
        half the level.
    level : float in (0, 1)
        Of all tests together.
    tests : int
        Tests that share the level by Holm's method, whose strictest step is taken.
    lowest : float
        MAUVE of sides without a common cluster.

    Returns
    -------
    float
        Of the expected score; 1 if none is large enough, nan if every exchange gives the same score.
    """
    roots = [np.sqrt(-np.log(np.minimum(null, 1))) for null in nulls]
    mean, variance = float(np.mean(roots)), float(np.mean([np.var(root) for root in roots]))
    if not variance > 0:
        return math.nan
    freedom, unit = 2 * mean**2 / variance, variance / (2 * mean)
    critical = chi2.isf(level / tests / min(len(nulls), 2), freedom)
    power = POWER if len(nulls) == 1 else POWER_EACH

    def score(shift: float) -> float:
        return math.exp(-(unit**2) * ((freedom + shift) ** 2 + 2 * (freedom + 2 * shift)))

    shift = brentq(lambda each: ncx2.sf(critical, freedom, each) - power, 0, 4 * critical + 100)
    return score(0) - score(shift) if score(shift) > lowest else 1.0
