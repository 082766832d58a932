"""Test of whether a yes-or-no property of texts has to do with the side that they are on.

If it has not, who is on which side is an accident, and units can be exchanged as wholes
(:func:`mauve_core.numerics.resampling.units.draw_slots`). Where texts are units, or units are those of both sides, the
number of P's texts with the property is a sum of independent numbers whose distribution is computed, not drawn. For
pairs it is the sign test (McNemar 1947), for single texts Fisher's exact test.

Where one side's own units have several texts, the test is that of the sum over P's units of what they have beyond the
common share. Its distribution is a gamma with the first three moments of all exchanges (Pearson's type III, after
Mielke and Berry's moment approximations), and its variance is at least the cluster-robust one, as units of either side
may differ in size. Below ``FEW_UNITS`` units with the property, the exact test takes its place, in which one side's own
units count as having it or not.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve
from scipy.stats import hypergeom, pearson3

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.resampling.units import by_appearance

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
