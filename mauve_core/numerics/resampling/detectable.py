"""How large an effect a test could have detected: what a result that is not significant leaves open."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

POWER = 0.8
"""Probability with which an effect of the detectable size is detected."""

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
    z = NormalDist().inv_cdf
    return (z(1 - level / (sides * tests)) + z(POWER)) * sd if math.isfinite(sd) else math.inf


def detectable_divergence(null: ArrayLike, level: float) -> float:
    """As :func:`detectable`, of a one-sided test of P = Q by exchanged texts whose statistic is a divergence.

    Near P = Q a divergence of histograms is a quadratic form of normal deviations, so its draws are about a multiple of
    a chi-squared variable, and noncentral chi-squared where the sources differ: it varies more the farther they are
    apart. Mean and variance of the draws give the multiple and the degrees of freedom.

    Parameters
    ----------
    null : (B,) array
        The statistic of exchanged sides, B >= 2.
    level : float in (0, 1)

    Returns
    -------
    float
        The mean of the statistic above that of exchanged sides; 0 if exchange changes nothing.
    """
    import numpy as np
    from scipy.special import chdtri, chndtrinc

    values = np.asarray(null, dtype=np.float64)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance <= 0:
        return 0.0
    multiple, degrees = variance / (2 * mean), 2 * mean**2 / variance
    return multiple * float(chndtrinc(chdtri(degrees, level), degrees, 1 - POWER))
