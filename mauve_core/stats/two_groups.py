"""How two groups of texts differ in one number, in a yes-or-no property, or in words.

**AUC**: the chance that a number of the first group exceeds one of the second, ties counted as half; Cliff's delta is
2 AUC - 1. :func:`auc_of` has DeLong's variance (Biometrics 1988) on the logit scale, Newcombe's hybrid score interval
for yes and no (Statistics in Medicine 1998, method 10) or where numbers do not overlap, the test of Mann and Whitney or
Fisher's, and for numbers that belong together (texts of one prompt) Obuchowski's design effect (Biometrics 1997),
within a group alone: where pairs across groups are alike, it is too careful. :func:`effect` has Newcombe's interval for
a single number (Statistics in Medicine 2006, method 5), too wide with many ties.
**Shares**: intervals of a difference by units (Newcombe 1998) and in strata (Mantel and Haenszel).
**Exchange test**: if a property has nothing to do with the side, units can be exchanged as wholes. For single texts and
pairs the distribution is computed, not drawn (Fisher; McNemar 1947). Where one side's own units have several texts, it
is a gamma with the first three moments of all exchanges (Pearson's type III), its variance at least the cluster-robust
one; below ``FEW_UNITS`` units with the property, the exact test of units that have it or not.
**Words**: log odds with a Dirichlet prior (Monroe, Colaresi and Quinn, Political Analysis 2008), which keeps chance
from putting rare words first; the variance has the term that the paper omits, which is not small for documents.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.special import expit, gammaln, logit, ndtr, ndtri
from scipy.stats import fisher_exact, hypergeom, norm, pearson3, rankdata

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.units import by_appearance

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Auc:
    """How well a number tells two groups apart.

    Attributes
    ----------
    n, m : int
        Numbers in the first and in the second group.
    auc, low, high : float
        Chance that one of the first exceeds one of the second, and its interval; all in [0, 1], 1/2 for nothing.
    p : float
        Two-sided p-value of equal distributions.
    """

    n: int
    m: int
    auc: float
    low: float
    high: float
    p: float


def auc_of(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_groups: ArrayLike | None = None,
    second_groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Auc:
    """Compare two groups of numbers.

    Parameters
    ----------
    first, second : (n,), (m,) arrays
        Finite numbers. With fewer than two on a side nothing is known: the interval is [0, 1] and p is 1.
    first_groups, second_groups : (n,), (m,) arrays of int, optional
        Numbers of equal code belong together; None if each stands alone.
    confidence : float in (0, 1)

    Raises
    ------
    InputError
        Numbers are not finite, codes do not fit, or the confidence lies outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    x, y = (_row(side) for side in (first, second))
    n, m = x.size, y.size
    groups = [_codes(codes, size) for codes, size in ((first_groups, n), (second_groups, m))]
    if n == 0 or m == 0:
        return Auc(n, m, 0.5, 0.0, 1.0, 1.0)
    ranks = rankdata(np.concatenate([x, y]))
    beats = (ranks[:n] - rankdata(x)) / m
    beaten = 1 - (ranks[n:] - rankdata(y)) / n
    auc = float(np.clip(beats.mean(), 0, 1))
    if any(np.unique(codes).size < 2 for codes in groups):
        return Auc(n, m, auc, 0.0, 1.0, 1.0)
    spreads = float(beats.var(ddof=1)), float(beaten.var(ddof=1))
    effects = [_design_effect(each, codes) for each, codes in zip((beats, beaten), groups, strict=True)]
    sizes = n / effects[0], m / effects[1]
    z = float(ndtri((1 + confidence) / 2))
    answers = _answers(x, y)
    if answers is not None or max(spreads) == 0:
        shares = answers or ((1.0, 0.0) if auc == 1 else (0.0, 1.0))
        low, high = _interval_of_shares(*shares, *sizes, z)
    else:
        sd = float(np.sqrt(spreads[0] / sizes[0] + spreads[1] / sizes[1]))
        width = z * sd / (auc * (1 - auc))
        low, high = (float(expit(logit(auc) + step)) for step in (-width, width))
    p = _mann_whitney(auc, ranks, n, m, (1 / sizes[0] + 1 / sizes[1]) / (1 / n + 1 / m))
    if answers is not None:
        yes = round(answers[0] * n), round(answers[1] * m)
        p = max(p, float(fisher_exact([[yes[0], n - yes[0]], [yes[1], m - yes[1]]])[1]))
    least = 2 * float(np.exp(gammaln(n + 1) + gammaln(m + 1) - gammaln(n + m + 1)))
    return Auc(n, m, auc, min(low, auc), max(high, auc), min(max(p, least), 1.0))


def _row(values: ArrayLike) -> _Floats:
    row = np.asarray(values, dtype=np.float64) if np.size(values) == 0 else _checks.numbers(values, "The numbers")
    row = row.astype(np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise InputError("The numbers are not usable", allowed="two rows of finite numbers")
    return row


def _codes(codes: ArrayLike | None, size: int) -> NDArray[np.int64]:
    if codes is None:
        return np.arange(size)
    row = np.asarray(codes)
    if row.shape != (size,) or row.dtype.kind not in "iu":
        raise InputError("The groups do not fit the numbers", allowed=f"{size} whole numbers")
    return np.unique(row, return_inverse=True)[1].astype(np.int64)


def _design_effect(values: _Floats, codes: NDArray[np.int64]) -> float:
    """Return Obuchowski's variance of the mean by DeLong's, at least 1; without spread, texts per group."""
    n, groups = values.size, int(codes.max()) + 1
    plain = float(values.var(ddof=1)) / n
    if groups == n or plain == 0:
        return n / groups
    sums = np.bincount(codes, values - values.mean(), minlength=groups)
    return max(1.0, groups / (groups - 1) * float(sums @ sums) / n**2 / plain)


def _answers(x: _Floats, y: _Floats) -> tuple[float, float] | None:
    """Return both shares of the larger number if there are at most two: yes and no, whatever they are called."""
    least, most = min(x.min(), y.min()), max(x.max(), y.max())
    if not all(((side == least) | (side == most)).all() for side in (x, y)):
        return None
    return (0.0, 0.0) if least == most else (float((x == most).mean()), float((y == most).mean()))


def _interval_of_shares(share: float, other: float, n: float, m: float, z: float) -> tuple[float, float]:
    """Return the ends of the AUC of two shares, (1 + their difference) / 2."""
    (low, high), (other_low, other_high) = _wilson(share, n, z), _wilson(other, m, z)
    difference = share - other
    below = float(np.hypot(share - low, other_high - other))
    above = float(np.hypot(high - share, other - other_low))
    return max((1 + difference - below) / 2, 0.0), min((1 + difference + above) / 2, 1.0)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _mann_whitney(auc: float, ranks: _Floats, n: int, m: int, design_effect: float) -> float:
    """Return the two-sided p-value; 1 if all numbers are equal."""
    total = n + m
    tied = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    variance = n * m / 12 * (total + 1 - float((tied**3 - tied).sum()) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    beyond = max(abs(auc - 0.5) * n * m - 0.5, 0.0)
    return float(2 * ndtr(-beyond / np.sqrt(variance * design_effect)))


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
        ends.append(_wilson_interval(share, n / effect, confidence))
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


def _wilson_interval(share: float, n: float, confidence: float) -> tuple[float, float]:
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


# Outcomes whose probabilities differ by less, relatively, are equally likely: they are sums of many products.
TIE = 1e-7

# Products of distributions of more terms go by Fourier transforms, whose rounding hides probabilities below 1e-16.
DIRECT = 4096

# Where fewer units have the property, those aside that cannot change the sum, three moments do not describe it.
FEW_UNITS = 10


def exchange_test(has: ArrayLike, of_p: ArrayLike, units: ArrayLike) -> NDArray[np.float64]:
    """Two-sided p-values of properties.

    Parameters
    ----------
    has : (s, n) array of bool
        Whether each text has each property.
    of_p : (n,) array of bool
        Whether a text is on side P.
    units : (n,) array of int
        Unit of each text.

    Returns
    -------
    (s,) float64 array
        In (0, 1]: of an exact test, the probability of all outcomes that are at most as likely as the observed one.

    Raises
    ------
    InputError
        The shapes do not fit together.
    """
    table, sides = np.atleast_2d(np.asarray(has, dtype=np.bool_)), np.asarray(of_p, dtype=np.bool_)
    if sides.ndim != 1 or table.shape[1:] != sides.shape or np.shape(units) != sides.shape:
        received = f"shapes {table.shape}, {sides.shape} and {np.shape(units)}"
        raise InputError("The texts do not match", allowed="one side and unit per text", received=received)
    _checks.require_rows(sides.size, 1, "texts")
    codes = by_appearance(units)
    count = int(codes.max()) + 1
    own, other = (np.bincount(codes[side], minlength=count) for side in (sides, ~sides))
    alone = (own == 0) | (other == 0)
    in_units = bool(((own + other)[alone] > 1).any() and (own[alone] > 0).any() and (other[alone] > 0).any())
    found = np.empty(len(table))
    for index, row in enumerate(table):
        if in_units and row.mean() > 1 / 2:  # the same test, and few units may be without the property
            row = ~row
        of_own, of_other = (np.bincount(codes[row & side], minlength=count) for side in (sides, ~sides))
        shared = Counter(zip(*(each[~alone].tolist() for each in (own, other, of_own, of_other)), strict=True))
        if in_units:
            having = of_own + of_other
            found[index] = _of_units(shared, (own + other)[alone], having[alone], own[alone] > 0)
            continue
        low, chances = _distribution(shared)
        if alone.any():
            least, one = _dealt(*(int(each[alone].sum()) for each in (own, other, of_own, of_other)))
            low, chances = low + least, _convolved(chances, one)
        found[index] = _as_unlikely(chances, int((row & sides).sum()) - low)
    return np.clip(found, np.finfo(np.float64).tiny, 1.0)


# Numbers of blocks by P's texts, Q's texts, and those of either with the property.
_Kinds = Counter[tuple[int, int, int, int]]


def _distribution(kinds: _Kinds) -> tuple[int, NDArray[np.float64]]:
    """Least number of P's texts with the property, and the chances of this number and the following ones."""
    low, chances = 0, np.ones(1)
    for (own, other, of_own, of_other), times in sorted(kinds.items()):
        least, one = _of_block(own, other, of_own, of_other)
        low += times * least
        if one.size > 1:
            chances = _convolved(chances, _power(one, times))
    return low, chances


def _of_block(own: int, other: int, of_own: int, of_other: int) -> tuple[int, NDArray[np.float64]]:
    """The same of one block: a unit of equally many texts swaps its sides, those of another are dealt anew."""
    if own == other and own > 1:
        least, most = sorted((of_own, of_other))
        chances = np.zeros(most - least + 1)
        chances[0] += 1 / 2
        chances[-1] += 1 / 2
        return least, chances
    return _dealt(own, other, of_own, of_other)


def _dealt(own: int, other: int, of_own: int, of_other: int) -> tuple[int, NDArray[np.float64]]:
    """The same of texts that are dealt one by one."""
    having = of_own + of_other
    least, most = max(0, having - other), min(having, own)
    return least, hypergeom.pmf(np.arange(least, most + 1), own + other, having, own)


def _of_units(shared: _Kinds, sizes: NDArray[np.int64], having: NDArray[np.int64], of_p: NDArray[np.bool_]) -> float:
    """p-value where units of one side alone have several texts."""
    with_any, first, all_units = having > 0, int(of_p.sum()), of_p.size
    low, chances = _distribution(shared)
    observed = sum(of_own * times for (_, _, of_own, _), times in shared.items())
    movable = sum(times for kind, times in shared.items() if _of_block(*kind)[1].size > 1)
    if with_any.sum() + movable < FEW_UNITS:
        mine = int(with_any[of_p].sum())
        least, one = _dealt(first, all_units - first, mine, int(with_any.sum()) - mine)
        return _as_unlikely(_convolved(chances, one), observed + mine - low - least)
    total, n = int(sizes.sum()), int(sizes[of_p].sum())
    beyond = having - sizes * having.sum() / total  # 0 on average
    of_draws = first * (all_units - first) / (all_units - 1) * float((beyond**2).mean())
    q_share = 1 - n / total
    robust = q_share**2 * float((beyond[of_p] ** 2).sum()) + (1 - q_share) ** 2 * float((beyond[~of_p] ** 2).sum())
    third = (
        first
        * (all_units - first)
        * (all_units - 2 * first)
        / ((all_units - 1) * max(1, all_units - 2))
        * float((beyond**3).mean())
    )
    values = low + np.arange(chances.size)
    mean = float(values @ chances)
    statistic = float(beyond[of_p].sum()) + observed - mean
    variance = max(of_draws, robust) + float((values - mean) ** 2 @ chances)
    if variance == 0:
        return 1.0
    third += float((values - mean) ** 3 @ chances)
    law = pearson3(third / variance**1.5, scale=np.sqrt(variance))
    return float(min(1.0, 2 * min(law.cdf(statistic), law.sf(statistic))))


def _as_unlikely(chances: NDArray[np.float64], place: int) -> float:
    """The probability of all outcomes that are at most as likely as the one at this place."""
    return float(chances[chances <= chances[place] * (1 + TIE)].sum())


def _power(chances: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """The distribution of a sum of so many independent numbers."""
    if times == 1:
        return chances
    half = _power(chances, times // 2)
    whole = _convolved(half, half)
    return _convolved(whole, chances) if times % 2 else whole


def _convolved(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    if min(one.size, other.size) <= DIRECT:
        return np.convolve(one, other)
    product: NDArray[np.float64] = np.maximum(fftconvolve(one, other), 0.0)
    return product


def log_odds(
    first: ArrayLike, second: ArrayLike, totals: tuple[float, float], background: ArrayLike, prior: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much more often each word occurs in the first group than in the second, as log odds.

    Parameters
    ----------
    first, second : (w,) arrays
        Count of each word in each group.
    totals : (float, float)
        All counts of each group that a word could have: its tokens, or its documents.
    background : (w,) array
        Share of each word in the background, in (0, 1).
    prior : float > 0
        Weight of the prior in each group, in counts.

    Returns
    -------
    difference, sd : (w,) float64 arrays
        Difference of the log odds, natural logarithm, positive if the first group has the word more often; and its
        standard deviation. Finite.

    Raises
    ------
    InputError
        Counts are negative or above their total, shares lie outside (0, 1), or arrays do not fit each other.
    """
    prior = _checks.positive("The weight of the prior", prior)
    shares = _checks.numbers(background, "The array of background shares").astype(np.float64)
    if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
        raise InputError("The background shares are not usable", allowed="one row of numbers between 0 and 1")
    odds, variance = [], np.zeros_like(shares)
    for side, total in zip((first, second), totals, strict=True):
        counts = _checks.numbers(side, "The array of counts").astype(np.float64)
        if counts.shape != shares.shape or not ((counts >= 0) & (counts <= total)).all():
            raise InputError("The counts are not usable", allowed=f"one for each share, from 0 to {total}")
        have = counts + prior * shares
        lack = total - counts + prior * (1 - shares)
        odds.append(np.log(have / lack))
        variance += 1 / have + 1 / lack
    return odds[0] - odds[1], np.sqrt(variance)
