"""Intervals of the difference of two shares: by units (Newcombe 1998) and in strata."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from mauve_core.base.errors import InputError
from mauve_core.numerics.resampling.units import by_appearance


def share_difference(
    has: ArrayLike, first: ArrayLike, units: ArrayLike, confidence: float, p: float | None = None
) -> tuple[float, float]:
    """Interval of the difference of two samples' shares.

    Newcombe's hybrid of Wilson's intervals (Statistics in Medicine 17, 1998, 873-890, method 10), with the correlation
    of the two shares for paired samples (2635-2650, method 10). Texts of a unit are not independent: a sample of n
    texts counts as n / e, e the ratio of its cluster-robust variance to the binomial one, at least 1; and the
    correlation is that of the sums over units.

    Parameters
    ----------
    has, first : (n,) bool array
        Which cases are successes, and which are of the first sample; at least one of each sample.
    units : (n,) array of int
    confidence : float in (0, 1)
    p : float, optional
        Of the test that is reported with it. The two then agree about 0: the nearer end is moved to it, or just off it;
        of equal shares, whose difference the interval holds, it stays.

    Returns
    -------
    low, high : float
        In [-1, 1].

    Raises
    ------
    InputError
        A sample has no case.
    """
    has, first = np.asarray(has, dtype=np.bool_), np.asarray(first, dtype=np.bool_)
    if not (first.any() and not first.all()):
        raise InputError("A sample has no case", allowed="at least one of each")
    codes = by_appearance(units)
    count = int(codes.max()) + 1
    ends, sums, shares = [], [], []
    for side in (first, ~first):
        n, share = int(side.sum()), float(has[side].mean())
        sum_of_unit = np.bincount(codes[side], weights=has[side] - share, minlength=count) / n
        filled = int((np.bincount(codes[side], minlength=count) > 0).sum())
        variance = float((sum_of_unit**2).sum()) * filled / max(1, filled - 1)
        binomial = share * (1 - share) / max(1, n - 1)
        effect = max(1.0, variance / binomial) if binomial else n / filled
        ends.append(_wilson(share, n / effect, confidence))
        sums.append(sum_of_unit)
        shares.append(share)
    spread = float(np.sqrt((sums[0] ** 2).sum() * (sums[1] ** 2).sum()))
    phi = float(sums[0] @ sums[1]) / spread if spread else 0.0
    one, other = shares
    if phi > 0:  # less a half success and a half failure, or pairs that all agree would leave no doubt
        both = np.intersect1d(codes[first], codes[~first]).size
        phi = max(0.0, phi - 1 / (2 * both * np.sqrt(one * (1 - one) * other * (1 - other))))
    (one_low, one_high), (other_low, other_high) = ends
    below, above = one - one_low, other_high - other
    low = one - other - np.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    below, above = other - other_low, one_high - one
    high = one - other + np.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    low, high = max(float(low), -1.0), min(float(high), 1.0)
    if p is None or (p <= 1 - confidence and one == other):
        return low, high
    if p > 1 - confidence:
        return min(low, 0.0), max(high, 0.0)
    off = float(np.finfo(np.float64).tiny)
    return (max(low, off), high) if one > other else (low, min(high, -off))


def _wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share of n cases, which may be no whole number."""
    z = float(norm.ppf((1 + confidence) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))


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
