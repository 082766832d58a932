"""How large an effect a test could have detected: what a result that is not significant leaves open."""

from __future__ import annotations

import math

from scipy.special import ndtri

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
    return float(ndtri(1 - level / (sides * tests)) + ndtri(POWER)) * sd if math.isfinite(sd) else math.inf
