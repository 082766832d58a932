"""Recommend how many texts a score needs, from the measured resampling error.

The search doubles the given numbers of texts and measures the error each time, until it is small enough. The error
promised for n texts is the largest measured at n or more, so more texts never promise a larger error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_spread
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.resampling.sampling_error import (
    FRONTIER,
    POPULATION,
    REPLICATES,
    PlugIn,
    SamplingError,
    counts_pair,
    measured_errors,
)

# Doublings of the given texts, a million times as many, after which the search ends.
MOST_DOUBLINGS = 20

# Halvings and doublings of the given texts that are always measured: a slope rests on four points or more.
DOUBLINGS = 3

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Slope:
    """Slope of a line through log value against log size; standard error 0 if the values have none."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class TextAdvice:
    """Advice on the number of texts.

    Parameters
    ----------
    n, m, k : int
        Given human texts and candidate texts, bins.
    error, standard_error : float
        Promised error at n and m, the largest measured there or with more texts, and its standard error.
    target : float
        Half of ``error``.
    needed_n, needed_m : int or None
        Texts that reach the target, rounded up to two digits; None if the search ended before.
    slope : Slope or None
        Slope of the error over the sizes from n on; None if an error is zero.
    curve : SamplingError
        All measurements.
    promised : (s,) float64 array
        At every size of the curve, the largest error measured there or with more texts.
    reason : str
        The advice in plain words.
    """

    n: int
    m: int
    k: int
    error: float
    standard_error: float
    target: float
    needed_n: int | None
    needed_m: int | None
    slope: Slope | None
    curve: SamplingError
    promised: _Floats
    reason: str


def errors_against_n(
    p_counts: ArrayLike,
    q_counts: ArrayLike,
    n: Sequence[int] | None = None,
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """Measure the error at other numbers of texts, with the clusters kept.

    Parameters
    ----------
    p_counts, q_counts : (k,) array of int
        Human texts and candidate texts in each bin.
    n : sequence of int, optional
        Human texts to draw; candidate texts are in the given proportion. By default an eighth of the given texts,
        doubled up to eight times as many.
    population : str
        Smoothing that turns the counts into the population.
    estimator, replicates, seed
        See :func:`mauve_core.numerics.resampling.sampling_error.measured_errors`.

    Returns
    -------
    SamplingError

    Raises
    ------
    InputError
        As ``measured_errors``, or the counts are not whole numbers with at least one text per side over the same bins.
    """
    counts = counts_pair(p_counts, q_counts)
    own = int(counts[0].sum())
    sizes = (
        doublings(own, -DOUBLINGS, DOUBLINGS)
        if n is None
        else [_checks.whole("The number of texts", size, low=1) for size in n]
    )
    p, q = (probabilities(side, population) for side in counts)
    settings = [(p, q, size, _other_size(size, counts)) for size in sizes]
    return measured_errors(settings, estimator=estimator, replicates=replicates, seed=seed)


def recommend_texts(
    p_counts: ArrayLike,
    q_counts: ArrayLike,
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> TextAdvice:
    """Find how many texts halve the error, with the same clusters.

    Parameters
    ----------
    p_counts, q_counts, population, estimator, replicates, seed
        See :func:`errors_against_n`.

    Returns
    -------
    TextAdvice

    Raises
    ------
    InputError
        As :func:`errors_against_n`.
    """
    own = int(counts_pair(p_counts, q_counts)[0].sum())

    def measure(sizes: Sequence[int]) -> SamplingError:
        return errors_against_n(
            p_counts, q_counts, sizes, population=population, estimator=estimator, replicates=replicates, seed=seed
        )

    curve = measure(doublings(own, -DOUBLINGS, DOUBLINGS))
    current = int(np.searchsorted(curve.n, own))
    power = DOUBLINGS
    while True:
        promised = np.maximum.accumulate(curve.mean[::-1])[::-1]
        if promised[-1] <= promised[current] / 2 or power == MOST_DOUBLINGS:
            return _text_advice(curve, current, promised, estimator.title)
        power += 1
        curve = _joined(curve, measure([own * 2**power]))


def log_slope(sizes: ArrayLike, values: ArrayLike, standard_errors: ArrayLike | None = None) -> Slope:
    """Exponent of a power law of the values in the sizes: unweighted least squares of log value on log size.

    Parameters
    ----------
    sizes, values : (s,) array
        Positive, two or more different sizes.
    standard_errors : (s,) array, optional
        Independent standard errors of the values, propagated to the slope to first order.

    Returns
    -------
    Slope
        Its standard error is that of the values alone and ignores how far they lie from a line.

    Raises
    ------
    InputError
        Values are not positive or not finite, or all sizes are equal.
    """
    x, y = (_checks.numbers(array, "The array").astype(np.float64) for array in (sizes, values))
    errors = np.zeros(y.shape) if standard_errors is None else _checks.numbers(standard_errors, "The array of errors")
    usable = x.ndim == 1 and x.shape == y.shape == errors.shape
    usable = usable and bool(((x > 0) & (x < np.inf) & (y > 0) & (y < np.inf) & (errors >= 0)).all())
    if not usable or np.unique(x).size < 2:
        raise InputError("A slope cannot be fitted", allowed="positive finite values at two or more positive sizes")
    off = np.log(x) - np.log(x).mean()
    weights = off / (off @ off)
    return Slope(float(weights @ np.log(y)), float(np.linalg.norm(weights * errors / y)))


def doublings(n: int, first: int, last: int) -> list[int]:
    """n times 2^first, ..., 2^last, rounded up to whole texts, without duplicates."""
    return sorted({math.ceil(n * 2.0**power) for power in range(first, last + 1)})


def _joined(first: SamplingError, second: SamplingError) -> SamplingError:
    pairs = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("n", "m", "k", "truth", "mean", "spread", "bias", "sd")
    }
    return SamplingError(**pairs, replicates=first.replicates)


def _text_advice(curve: SamplingError, current: int, promised: _Floats, title: str) -> TextAdvice:
    error, target = float(promised[current]), float(promised[current] / 2)
    n, m, k = (int(array[current]) for array in (curve.n, curve.m, curve.k))
    largest = current + int(curve.mean[current:].argmax())
    positive = bool((curve.mean[current:] > 0).all())
    slope = log_slope(curve.n[current:], curve.mean[current:], curve.standard_error[current:]) if positive else None
    met = np.flatnonzero(promised <= target)
    needed_n = needed_m = None
    if met.size:
        needed_n = _rounded_up(_crossing(curve.n, promised, target, int(met[0])))
        needed_m = -(-needed_n * m // n)
    standard_error = float(curve.standard_error[largest])
    sizes = (needed_n, needed_m, int(curve.n[-1]))
    reason = _text_reason((n, m, k), (error, standard_error), sizes, slope, title)
    return TextAdvice(n, m, k, error, standard_error, target, needed_n, needed_m, slope, curve, promised, reason)


def _crossing(sizes: NDArray[np.int64], promised: _Floats, target: float, index: int) -> float:
    """Size where the promised errors reach the target, by log-log interpolation; ``index`` is the first one below."""
    if index == 0 or promised[index] <= 0:
        return float(sizes[index])
    high, low = np.log(promised[index - 1 : index + 1])
    share = (high - np.log(target)) / (high - low)
    return float(sizes[index - 1] ** (1 - share) * sizes[index] ** share)


def _rounded_up(size: float) -> int:
    """Round up to two digits, but not a number that exceeds two digits by rounding error alone."""
    unit: int = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return int(math.ceil(size * (1 - 1e-12) / unit) * unit)


def _text_reason(
    own_sizes: tuple[int, int, int],
    measured: tuple[float, float],
    needed: tuple[int | None, int | None, int],
    slope: Slope | None,
    title: str,
) -> str:
    n, m, k = own_sizes
    (error, standard_error), (needed_n, needed_m, last) = measured, needed
    start = f"At {sizes_in_words(n, m)}, k = {k:,} the resampling error of the {title} is"
    if error == 0:
        return f"{start} 0: no draw of texts changes the score."
    start = f"{start} {with_spread(error, standard_error)}"
    if needed_n is None or needed_m is None:
        return f"{start}; halving it requires more than n = {last:,}, the largest n tried."
    power = ""
    if slope is not None:
        power = f" From there on, the error scales as n to the power {slope.value:.3f} ± {slope.standard_error:.3f}."
    return f"{start}; halving it requires about {sizes_in_words(needed_n, needed_m)} with the same k.{power}"


def sizes_in_words(n: int, m: int) -> str:
    """``n = 512``, or both numbers if they differ."""
    return f"n = {n:,}" if n == m else f"n = {n:,} human and {m:,} candidate texts"


def _other_size(n: int, counts: tuple[_Counts, _Counts]) -> int:
    """Candidate texts for n human texts in the proportion of the counts, rounded up."""
    own, other = int(counts[0].sum()), int(counts[1].sum())
    return -(-n * other // own)
