"""How far two orders, or two series of answers, agree: Spearman's correlation, its worst case, and Cohen's kappa.

The worst case (JMLR 2023, equation 30) is the least correlation with h when each a_i moves by its deviation s_i:

    rho_min(a, s, h) = min over sigma in {-1, 1}^n of rho((a_i + sigma_i s_i)_i, h)

All patterns of the items whose move can change an order are enumerated up to ``ENUMERATED``; beyond, a search gives a
value that is reached, and a bound one that is not passed: the numerator is const + sum over i < j of [a_i above a_j]
(t_i - t_j) with centered ranks t of h, and each term is at least its least value over the positions of that pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Largest number of moving items for full enumeration: 65,536 patterns, a fraction of a second.
ENUMERATED = 16

# Searches if there are too many patterns to enumerate.
STARTS = 12

# The bound is lowered by this, so that rounding cannot lift it above an attained value.
SLACK = 1e-12

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class WorstCase:
    """The least correlation within one standard deviation.

    Attributes
    ----------
    value : float
        Least correlation found; some pattern of signs reaches it. nan if no pattern has a correlation.
    exact : bool
        Whether all patterns were tried. If not, the least correlation lies in [``lower_bound``, ``value``].
    lower_bound : float
        No pattern goes below it; equal to ``value`` if that is exact.
    """

    value: float
    exact: bool
    lower_bound: float


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation; equal values share their mean rank, and infinite values are allowed.

    Parameters
    ----------
    a, b : (n,) array_like
        n at least 2.

    Returns
    -------
    float
        In [-1, 1]; nan if all values of one side are equal.

    Raises
    ------
    InputError
        The inputs are not two rows of equal length, or contain NaN.
    """
    left, right = _rows(a=a, b=b)
    return float(_correlations(left[None, :], _centred_ranks(right))[0])


def worst_case_spearman(a: ArrayLike, sd: ArrayLike, h: ArrayLike) -> WorstCase:
    """The least Spearman correlation between a, each value moved by its deviation up or down, and h (equation 30).

    Parameters
    ----------
    a : (n,) array_like
        Values of the indicator, finite; n at least 2.
    sd : (n,) array_like
        Their standard deviations, finite and not negative.
    h : (n,) array_like
        Reference values, such as Bradley-Terry scores; may be infinite.

    Raises
    ------
    InputError
        The inputs are not rows of usable numbers of equal length.
    """
    values, deviations, scores = _rows(a=a, sd=sd, h=h)
    if not np.isfinite(values).all() or not np.isfinite(deviations).all() or (deviations < 0).any():
        raise InputError(
            "The worst case is undefined", allowed="finite values, finite standard deviations of 0 or more"
        )
    target = _centred_ranks(scores)
    if not target.any():
        return WorstCase(float("nan"), True, float("nan"))
    ends = np.stack([values - deviations, values + deviations])
    moving = _moving(ends)
    if moving.size <= ENUMERATED:
        least = _least(_all_patterns(ends, moving), target)
        return WorstCase(least, True, least)
    minimum = _search(ends, moving, target)
    return WorstCase(minimum, False, min(minimum, _bound(ends, target)))


def _rows(**arrays: ArrayLike) -> list[_Array]:
    rows = [_checks.numbers(values, f"The array {name}").astype(np.float64) for name, values in arrays.items()]
    if any(row.ndim != 1 or row.size != rows[0].size or row.size < 2 for row in rows):
        raise InputError(
            "A rank correlation needs rows of equal length",
            allowed="at least two values in each",
            received=", ".join(f"{name} of shape {row.shape}" for name, row in zip(arrays, rows, strict=True)),
        )
    if any(np.isnan(row).any() for row in rows):
        raise InputError("The values of a rank correlation include NaN", todo="Leave those items out")
    return rows


def _centred_ranks(values: _Array) -> _Array:
    """Mean ranks minus their mean, over the last axis."""
    ranks: _Array = rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2
    return ranks


def _correlations(rows: _Array, target: _Array) -> _Array:
    """(B,) correlation of each row's ranks with centered ranks; nan where either side is constant."""
    ranks = _centred_ranks(rows)
    norms = np.sqrt((ranks**2).sum(axis=1) * (target**2).sum())
    result = np.full(len(rows), np.nan)
    np.divide(ranks @ target, norms, out=result, where=norms > 0)
    return result.clip(-1, 1)


def _moving(ends: _Array) -> NDArray[np.intp]:
    """Items whose interval overlaps another's; the others keep their rank either way."""
    low, high = ends
    meets = (low[:, None] <= high) & (low <= high[:, None])
    np.fill_diagonal(meets, False)
    return np.flatnonzero(meets.any(axis=1) & (high > low))


def _all_patterns(ends: _Array, moving: NDArray[np.intp]) -> _Array:
    """(2^m, n) values under every combination of ends of the moving items."""
    upper = np.zeros((2**moving.size, ends.shape[1]), dtype=np.bool_)
    upper[:, moving] = np.arange(len(upper))[:, None] >> np.arange(moving.size) & 1
    rows: _Array = np.where(upper, ends[1], ends[0])
    return rows


def _least(rows: _Array, target: _Array) -> float:
    """The least correlation of the rows; nan if none has one."""
    found = _correlations(rows, target)
    defined = found[~np.isnan(found)]
    return float(defined.min()) if defined.size else float("nan")


def _search(ends: _Array, moving: NDArray[np.intp], target: _Array) -> float:
    """Least correlation found by flipping one item at a time, from starts that compress h's order."""
    flips = np.zeros((moving.size, ends.shape[1]), dtype=np.bool_)
    flips[np.arange(moving.size), moving] = True
    least = float("inf")
    levels = np.unique(target)
    for threshold in levels[np.linspace(0, levels.size - 1, STARTS).astype(int)]:
        upper, value = target < threshold, float("inf")
        while True:
            patterns = np.vstack([upper, upper ^ flips])
            correlations = np.nan_to_num(_correlations(np.where(patterns, ends[1], ends[0]), target), nan=np.inf)
            if not correlations.min() < value:
                break
            upper, value = patterns[correlations.argmin()], float(correlations.min())
        least = min(least, value)
    return least if np.isfinite(least) else float("nan")


def _bound(ends: _Array, target: _Array) -> float:
    n = ends.shape[1]
    above = ends[:, None, :, None] > ends[None, :, None, :]
    same = ends[:, None, :, None] == ends[None, :, None, :]
    terms = (above + same / 2) * (target[:, None] - target)  # (2, 2, n, n): both ends of i against both of j
    upper = np.triu_indices(n, k=1)
    # The constant: if a_i is not above a_j, a_j adds its t_j, and item j comes second in j pairs.
    least = terms.min(axis=(0, 1))[upper].sum() + (np.arange(n) * target).sum()
    tied = same.any(axis=(0, 1)) & ~np.eye(n, dtype=bool)
    groups = np.bincount(connected_components(tied, directed=False)[1]).astype(np.float64)
    untied = (n**3 - n) / 12
    # Equal values shrink the spread of the ranks, which moves a negative correlation away from 0.
    spread = untied if least >= 0 else untied - (groups**3 - groups).sum() / 12
    norm = np.sqrt(spread * (target**2).sum())
    return float(max(-1.0, least / norm - SLACK)) if norm > 0 else -1.0


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement beyond that by chance (Cohen 1960), (o - e) / (1 - e).

    Parameters
    ----------
    first, second : (n,) arrays of bool
        n >= 1.

    Returns
    -------
    float
        In [-1, 1]: 1 if all answers are equal, 0 if as many are as by chance; nan if one answer is the only one given.

    Raises
    ------
    InputError
        The shapes differ, or there are no answers.
    """
    one, two = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if one.ndim != 1 or one.shape != two.shape or not one.size:
        received = f"shapes {one.shape} and {two.shape}"
        raise InputError("The answers do not match", allowed="two of each text, of one text or more", received=received)
    equal = float((one == two).mean())
    by_chance = float(one.mean() * two.mean() + (~one).mean() * (~two).mean())
    return float("nan") if by_chance == 1 else (equal - by_chance) / (1 - by_chance)
