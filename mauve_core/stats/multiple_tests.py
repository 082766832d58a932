"""Many tests at once: Holm's adjustment, letters for all pairs, and the effect that a test could have found.

Holm (Scandinavian Journal of Statistics 1979), for tests with any dependence: the chance that any true hypothesis gets
an adjusted p-value of at most a is at most a.

In a compact letter display, two items share a letter if and only if they are not told apart (Piepho, Journal of
Computational and Graphical Statistics 2004). His algorithm may need exponentially many letters on the way, so letters
are grown one by one (clique growing: Gramm et al., Computational Statistics & Data Analysis 2007), and a last pass
removes superfluous ones. They are few, but not always the fewest, which are as hard to find as a smallest clique cover.

What a result that is not significant leaves open is the effect that the test would have found with a probability of
:data:`POWER`. At fixed n/k a standard deviation falls about as 1 / sqrt(n), as that of a mean of n texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values by Holm's method: the i-th of m in ascending order times m - i + 1, and at least the one before.

    Parameters
    ----------
    p_values : (m,) array of numbers in [0, 1]

    Returns
    -------
    (m,) float64 array
        In [0, 1], in the order given, each at least as large as its p-value.

    Raises
    ------
    InputError
        The input is not one row of numbers in [0, 1].
    """
    array = _checks.numbers(p_values, "The array of p-values").astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise InputError("The p-values are not usable", allowed="one row of numbers from 0 to 1")
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * np.arange(array.size, 0, -1)), 1.0)
    return adjusted


_Pairs = NDArray[np.bool_]


def shared_letters(apart: ArrayLike) -> _Pairs:
    """Give items letters such that two share one if and only if they are not told apart.

    Parameters
    ----------
    apart : (m, m) array of bool
        Symmetric; whether two items are told apart. The diagonal is ignored.

    Returns
    -------
    (m, letters) array of bool
        Which item has which letter. Every item has one. A letter comes before another if its first item does; if both
        have the same, the next items decide. No letter can be left out, and no item could be given a letter that it
        lacks.

    Raises
    ------
    InputError
        The array is not a symmetric square of truth values.
    """
    told = np.asarray(apart)
    count = len(told) if told.ndim else 0
    if told.ndim != 2 or told.dtype != np.bool_ or told.shape[1] != count or (told != told.T).any():
        raise InputError(
            "The comparisons are not usable",
            allowed="a symmetric square array of truth values",
            received=f"an array of {told.dtype} of shape {told.shape}",
        )
    together = ~told
    np.fill_diagonal(together, True)
    letters = _swept(_grown(together), count)
    letters.sort(key=lambda letter: np.flatnonzero(letter).tolist())
    return np.array(letters, dtype=np.bool_).reshape(len(letters), count).T


def _grown(together: _Pairs) -> list[_Pairs]:
    """Letters that cover all pairs: each starts from a pair without one and takes in whom it can.

    Whoever has the most pairs without a letter with those in it comes first; of equals, the first item.
    """
    missing = together.copy()
    letters: list[_Pairs] = []
    alone = together.sum(axis=1) == 1
    for one, other in np.argwhere(np.triu(together, 1) | np.diag(alone)):
        if not missing[one, other]:
            continue
        letter = np.zeros(len(together), dtype=np.bool_)
        letter[[one, other]] = True
        open_to = together[one] & together[other] & ~letter
        while open_to.any():
            added = int(np.where(open_to, missing[letter].sum(axis=0), -1).argmax())
            letter[added] = True
            open_to &= together[added] & ~letter
        missing &= ~np.outer(letter, letter)
        letters.append(letter)
    return letters


def _swept(letters: list[_Pairs], count: int) -> list[_Pairs]:
    """Without each letter whose every pair of items shares another one; the last ones are tried first."""
    shared = sum((np.outer(letter, letter).astype(np.intp) for letter in letters), np.zeros((count, count), np.intp))
    kept = []
    for letter in reversed(letters):
        pairs = np.outer(letter, letter)
        if (shared[pairs] > 1).all():
            shared -= pairs
        else:
            kept.append(letter)
    return kept


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
