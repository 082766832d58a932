"""How large an effect a test could have detected: what a result that is not significant leaves open.

At fixed n/k a standard deviation falls about as 1 / sqrt(n), so that four times as many texts halve the effect
(``benchmarks/detectable.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Probability with which an effect of the detectable size is detected.
POWER = 0.8

# Probability in each of several splits, if twice the mean of their p-values is small enough with ``POWER``: that of
# independent noncentral chi-squared scores in 2 to 10 splits, 0.83 to 0.92, at any level and number of clusters.
POWER_EACH = 0.87


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


def detectable_divergence(null: NDArray[np.float64], level: float) -> float:
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
        The mean of the statistic above that of exchanged sides; nan if exchange changes nothing.
    """
    mean, variance = float(null.mean()), float(null.var())
    if not variance > 0:
        return math.nan
    unit, _, shift = _noncentral(mean, variance, level, POWER)
    return unit * shift


def detectable_drop(
    nulls: Sequence[NDArray[np.float64]], level: float, *, tests: int = 1, lowest: float = 0.0
) -> float:
    """The drop of MAUVE that exchanged texts find with probability ``POWER``, one-sided.

    The spread of MAUVE grows with its distance from 1, so (z(1 - alpha) + z(POWER)) sd would be half of what it takes.
    But near P = Q, sqrt(-log MAUVE) is about proportional to a chi-squared score, as in :func:`detectable_divergence`.
    Simulations find 70% to 90% of drops of this size in halves of 50 texts or more, and more in smaller ones. At fixed
    n/k it falls faster than 1 / sqrt(n).

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
    import numpy as np

    roots = [np.sqrt(-np.log(np.minimum(null, 1))) for null in nulls]
    mean, variance = float(np.mean(roots)), float(np.mean([np.var(root) for root in roots]))
    if not variance > 0:
        return math.nan
    power = POWER if len(nulls) == 1 else POWER_EACH
    unit, freedom, shift = _noncentral(mean, variance, level / tests / min(len(nulls), 2), power)

    def score(away: float) -> float:
        return math.exp(-(unit**2) * ((freedom + away) ** 2 + 2 * (freedom + 2 * away)))

    return score(0) - score(shift) if score(shift) > lowest else 1.0


def _noncentral(mean: float, variance: float, level: float, power: float) -> tuple[float, float, float]:
    """Unit and degrees of freedom of a chi-squared variable of these moments, and the noncentrality of that power."""
    from scipy.special import chdtri, chndtrinc

    unit, freedom = variance / (2 * mean), 2 * mean**2 / variance
    return unit, freedom, float(chndtrinc(chdtri(freedom, level), freedom, 1 - power))
