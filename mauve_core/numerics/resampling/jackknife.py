"""Delete-a-group jackknife: how much any statistic of n texts varies between samples of texts.

The texts fall into G groups. The statistic is computed on all texts, and G times with one group left out. These G + 1
numbers give a standard deviation for any statistic that changes smoothly with the texts. Groups may differ in size:
Busing, Meijer and van der Leeden, *Delete-m Jackknife for Unequal m*, Statistics and Computing 9, 1999, (8) and (9).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

_Array = NDArray[np.float64]

_SEED = 50


def jackknife_sd(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> float:
    """Standard deviation of a statistic over samples of texts.

    Parameters
    ----------
    estimate : float
        The statistic of all texts.
    left_out : (G,) array
        The statistic without each group.
    sizes : (G,) array of int
        Texts in each group, at least 1; their sum is n.

    Returns
    -------
    float
        For a mean of independent values and groups of equal size, its square is an unbiased estimate of s^2/n.

    Raises
    ------
    InputError
        There are fewer than two groups, a group is empty, or values are not finite.
    """
    return float(np.sqrt((jackknife_parts(estimate, left_out, sizes) ** 2).sum()))


def jackknife_parts(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> NDArray[np.float64]:
    """Part of each group in :func:`jackknife_sd`, with its sign: the root of the sum of their squares.

    Statistics of several samples whose groups belong together (the same prompts) are combined by adding their parts:
    the root of the sum of squares is then the standard deviation of the combination, also where groups of one sample
    are larger than those of another.

    Returns
    -------
    (G,) float64 array

    Raises
    ------
    InputError
        As :func:`jackknife_sd`.
    """
    pseudo, ratio = _pseudo_values(estimate, left_out, sizes)
    centre = (pseudo / ratio).sum()
    parts: NDArray[np.float64] = (pseudo - centre) / np.sqrt((ratio - 1) * ratio.size)
    return parts


def jackknife_estimate(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> float:
    """The statistic without the part of its bias that falls as 1/n.

    For groups of equal size, a line in 1/n through the statistic of all texts and the mean of those without a group, at
    1/n = 0: Quenouille, *Notes on Bias in Estimation*, Biometrika 43, 1956. For others, Busing et al. (1999).

    Parameters
    ----------
    estimate, left_out, sizes
        As for :func:`jackknife_sd`.

    Returns
    -------
    float
        Outside the range of the statistic where that is near its bound.

    Raises
    ------
    InputError
        As :func:`jackknife_sd`.
    """
    pseudo, ratio = _pseudo_values(estimate, left_out, sizes)
    return float((pseudo / ratio).sum())


def difference_of_means(
    first: ArrayLike,
    second: ArrayLike,
    first_units: ArrayLike,
    second_units: ArrayLike,
    *,
    groups: int = 50,
    confidence: float = 0.95,
) -> tuple[float, float, float] | None:
    """Mean of ``first`` less that of ``second``, with an interval over units, which are never divided.

    Units are put into groups at random, such that groups have nearly as many texts of either side.

    Parameters
    ----------
    first, second : (n,) and (m,) array
        A number of each text, in [0, 1].
    first_units, second_units : (n,) and (m,) array of int
        Unit of each text; texts of one unit depend on each other, also across the sides.

    Returns
    -------
    (float, float, float) or None
        The difference and the ends of its interval; None if a side has texts of fewer than two groups.
    """
    sides = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    codes = np.unique(np.concatenate([np.asarray(first_units), np.asarray(second_units)]), return_inverse=True)[1]
    units = np.split(codes, [sides[0].size])
    many = int(codes.max(initial=-1)) + 1
    sizes = [np.bincount(own, minlength=many) for own in units]
    order = np.lexsort((np.random.default_rng(_SEED).permutation(many), *sizes))
    group_of = np.empty(many, dtype=np.int64)
    group_of[order[::-1]] = np.arange(many) % max(min(groups, many), 1)
    parts, filled = np.zeros((2, groups)), []
    for part, values, own in zip(parts, sides, units, strict=True):
        counts, sums = (np.bincount(group_of[own], weights, groups) for weights in (np.ones(own.size), values))
        there = counts > 0
        filled.append(int(there.sum()))
        if filled[-1] < 2:
            return None
        left_out = (sums.sum() - sums[there]) / (counts.sum() - counts[there])
        part[there] = jackknife_parts(float(values.mean()), left_out, counts[there])
    difference = float(sides[0].mean() - sides[1].mean())
    sd = float(np.sqrt(((parts[0] - parts[1]) ** 2).sum()))
    return difference, *t_interval(difference, sd, min(filled), confidence, bounds=(-1.0, 1.0))


def t_interval(
    estimate: float,
    sd: float,
    groups: int,
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """``estimate`` +- quantile of Student's t with ``groups - 1`` degrees of freedom x ``sd``, within ``bounds``.

    Raises
    ------
    InputError
        There are fewer than two groups, ``sd`` is negative, or the confidence lies outside (0, 1).
    """
    groups = _checks.whole("The number of groups", groups, low=2)
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    if not (0 <= sd < np.inf and np.isfinite(estimate)):
        raise InputError("The interval cannot be computed", allowed="a finite estimate and a finite sd of at least 0")
    reach = float(stdtrit(groups - 1, (1 + confidence) / 2)) * sd
    return float(np.clip(estimate - reach, *bounds)), float(np.clip(estimate + reach, *bounds))


def _pseudo_values(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> tuple[_Array, _Array]:
    """(G,) pseudo-value of each group, and n over its size, checked."""
    estimates = _checks.numbers(left_out, "The array of estimates with a group left out").astype(np.float64)
    counts = _checks.numbers(sizes, "The array of group sizes").astype(np.float64)
    if estimates.ndim != 1 or estimates.size < 2 or counts.shape != estimates.shape or counts.min() < 1:
        raise InputError(
            "The groups of the jackknife are not usable",
            allowed="two or more groups, each with an estimate and at least one text",
            received=f"estimates of shape {estimates.shape}, sizes of shape {counts.shape}",
        )
    if not (np.isfinite(estimates).all() and np.isfinite(estimate)):
        raise InputError("The estimates of the jackknife are not usable", allowed="finite numbers")
    ratio = counts.sum() / counts
    return ratio * estimate - (ratio - 1) * estimates, ratio
