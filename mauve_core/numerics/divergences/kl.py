"""Kullback-Leibler divergences between histograms and their linear summaries, accurate even if p is close to q.

R = l P + (1 - l) Q is the mixture with weight l on P (JMLR 2023, section 3). The errors of the frontier are
KL(Q || R), type I: the model writes what humans do not, and KL(P || R), type II: humans write what the model misses.

A divergence is computed as the sum over bins of x log(x / y) - x + y. This equals the usual sum of x log(x / y),
because both sides sum to 1. Every term is non-negative and depends on x and y - x only, so nothing turns negative and
nothing cancels if the histograms nearly agree. Logarithms are natural; P = 0 < Q and Q = 0 < P follow the limits. Only
:func:`error_shares`, which splits an error by bin, uses the signed term x log(x / y).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr, xlogy

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

_Array = NDArray[np.float64]
# (x, step, y) with y = x + step -> y f(x / y) element by element; arrays of one shape.
Terms = Callable[[_Array, _Array, _Array], _Array]

# |y / x - 1| below which a series replaces the logarithm; at 0.1 the logarithm has lost one digit of sixteen.
_NEAR = 0.1
# Terms of that series: the first omitted one is below (0.1 / 1.9)^14 / 17 = 8e-20 of the value.
_LOG_TERMS = 7
# Cap on y / x against overflow; beyond it x log(y / x) is far below the rounding of y - x.
_LARGEST_RATIO = 1e300
# |y / x - 1| below which a signed term uses y - x; beyond it y / x keeps the digits.
_SIGNED_NEAR = 0.5
# |p - q| / (p + q) below which the frontier integral is a series.
_INTEGRAL_NEAR = 0.5
# Terms of that series, all positive: the first omitted one is below 0.25^24 / 1200 = 3e-18 of the value.
_INTEGRAL_TERMS = 24


def kl_divergence(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """KL(P || Q) = sum p log(p / q) in nats.

    Parameters
    ----------
    p, q : (..., k) array
        Probability vectors; leading axes broadcast.

    Returns
    -------
    (...) float64 array
        In [0, inf]; inf if a bin has p > 0 and q = 0.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins.
    """
    left, right = _checks.distributions(p, q)
    return np.asarray(relative_terms(left, right - left, right).sum(axis=-1))


def error_shares(p: ArrayLike, q: ArrayLike, weight: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each bin's share of the two errors at one point of the frontier (JMLR 2023, section 3.1).

    With r = weight p + (1 - weight) q, a bin's term is q log(q / r) for KL(Q || R) (type I) and p log(p / r) for
    KL(P || R) (type II). It is positive if its side, Q or P, has more than the mixture, negative if it has less (the
    bin then offsets part of the error), and zero if both agree or the side is empty. Type I thus points to what the
    model writes too often, type II to what it misses. The terms sum to the two divergences.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate.
    weight : float in [0, 1]
        Weight of P in the mixture.

    Returns
    -------
    type_1, type_2 : (..., k) float64 arrays
        In nats, relative error of each term below 1e-13; at least -weight p and -(1 - weight) q, and at most
        -q log(1 - weight) and -p log(weight), so inf only at weight 1 and 0.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the weight lies outside [0, 1].
    """
    if not 0 <= weight <= 1:
        raise InputError("The mixture weight is not usable", allowed="a number from 0 to 1", received=repr(weight))
    left, right = _checks.distributions(p, q)
    rest = 1 - weight
    difference, mixture = left - right, weight * left + rest * right
    return _signed_terms(right, weight * difference, mixture), _signed_terms(left, -rest * difference, mixture)


def mid_point(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Mid_KL: half the sum of the two errors at weight 1/2, the Jensen-Shannon divergence (JMLR 2023, section 3.2).

    Parameters and errors are those of :func:`kl_divergence`.

    Returns
    -------
    (...) float64 array
        In nats, in [0, log 2]; symmetric in p and q.
    """
    type_1, type_2 = mixture_terms(*_checks.distributions(p, q), 0.5, 0.5)
    return np.asarray(np.minimum((type_1 + type_2).sum(axis=-1) / 2, np.log(2)))


def frontier_integral(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """FI_KL: twice the integral over the weight l of l KL(P || R) + (1 - l) KL(Q || R) (JMLR 2023, section 3.2).

    The closed form is a sum over bins of (p + q) / 2 - p q log(p / q) / (p - q). With m = (p + q) / 2 and
    u = (p - q) / (p + q) a term is m (1 - (1 - u^2) atanh(u) / u) = m sum_j 2 u^(2 j) / (4 j^2 - 1), j = 1, 2, ...
    This series of positive terms is used where the closed form cancels. Parameters and
    errors are those of :func:`kl_divergence`.

    Returns
    -------
    (...) float64 array
        In [0, 1]; symmetric in p and q; 0 only for equal and 1 only for disjoint histograms.
    """
    terms = integral_terms(*_checks.distributions(p, q))
    return np.asarray(np.minimum(terms.sum(axis=-1), 1.0))


def integral_terms(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) non-negative terms whose sum is :func:`frontier_integral`, unchecked; symmetric in p and q."""
    total = p + q
    u = np.divide(np.abs(p - q), total, out=np.zeros_like(total), where=total > 0)
    near = np.minimum(u, _INTEGRAL_NEAR) ** 2
    series = np.zeros_like(near)
    for j in range(_INTEGRAL_TERMS, 0, -1):
        series = (series + 2 / (4 * j * j - 1)) * near
    far = np.maximum(u, _INTEGRAL_NEAR)
    closed = 1 - (1 + far) * ((1 - far) * np.log1p(far) - xlogy(1 - far, 1 - far)) / (2 * far)
    return np.asarray(total / 2 * np.where(u < _INTEGRAL_NEAR, series, closed))


def mixture_terms(
    p: _Array, q: _Array, weight: float | _Array, rest: float | _Array, terms: Terms | None = None
) -> tuple[_Array, _Array]:
    """Non-negative terms of both errors for r = weight p + rest q with weight + rest = 1, unchecked; shapes broadcast.

    They are q log(q / r) - q + r of KL(Q || R), then p log(p / r) - p + r of KL(P || R). Use them for sums only;
    :func:`error_shares` gives shares. ``rest`` keeps a weight close to 1 exact, which ``1 - weight`` would round.
    ``terms`` of another f-divergence replace :func:`relative_terms`.
    """
    terms = terms or relative_terms
    difference, mixture = p - q, weight * p + rest * q
    shape = mixture.shape
    type_1 = terms(np.broadcast_to(q, shape), weight * difference, mixture)
    type_2 = terms(np.broadcast_to(p, shape), -rest * difference, mixture)
    return type_1, type_2


def mixture_errors(
    p: _Array, q: _Array, weight: float | _Array, rest: float | _Array, terms: Terms | None = None
) -> tuple[_Array, _Array]:
    """KL(Q || R) and KL(P || R), or those of ``terms``: sums over bins of :func:`mixture_terms`, unchecked."""
    type_1, type_2 = mixture_terms(p, q, weight, rest, terms)
    return np.asarray(type_1.sum(axis=-1)), np.asarray(type_2.sum(axis=-1))


def _signed_terms(x: NDArray[np.float64], step: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x log(x / y) for y = x + step, element by element; -x log(1 + step / x) near x = y, to avoid cancellation."""
    t = np.full_like(step, np.inf)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(step, x, out=t, where=x > 0)
        near = np.abs(t) < _SIGNED_NEAR
        terms = rel_entr(x, y)
    np.copyto(terms, -x * np.log1p(np.where(near, t, 0.0)), where=near)
    return np.asarray(terms + 0.0)  # no -0.0


def relative_terms(
    x: NDArray[np.float64], step: NDArray[np.float64], y: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """x log(x / y) - x + y for y = x + step, element by element, unchecked: the kernel of every divergence here.

    For t = step / x it is x (t - log(1 + t)). With s = t / (2 + t), log(1 + t) = 2 atanh(s) and t - 2 s = t s give
    t - log(1 + t) = s (t - 2 s^2 (1/3 + s^2/5 + s^4/7 + ...)), which keeps full precision for small t.

    Parameters
    ----------
    x : array of numbers >= 0
    step : array of the same shape, >= -x
    y : array of the same shape, >= 0, optional
        Give it if known: where y is far smaller than x, x + step loses its digits.

    Returns
    -------
    float64 array
        Non-negative; y where x = 0, inf where y = 0 < x.
    """
    y = x + step if y is None else y
    positive = x > 0
    t, ratio = np.zeros_like(step), np.ones_like(step)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(step, x, out=t, where=positive)
        np.divide(y, x, out=ratio, where=positive)
    near = positive & (np.abs(t) < _NEAR)
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.minimum(ratio, _LARGEST_RATIO, out=ratio))
    lost = (ratio < 1 / _LARGEST_RATIO) & positive & (y > 0)
    if lost.any():
        logarithm[lost] = np.log(y[lost]) - np.log(x[lost])
    logarithm *= x
    terms = np.subtract(step, logarithm, out=logarithm)
    np.copyto(terms, y, where=~positive)
    np.copyto(t, 0.0, where=~near)
    s = t / (2 + t)
    square = s * s
    series = np.full_like(square, 1 / (2 * _LOG_TERMS + 1))
    for j in range(_LOG_TERMS - 1, 0, -1):
        series *= square
        series += 1 / (2 * j + 1)
    series *= square
    series *= 2
    np.copyto(terms, x * s * (t - series), where=near)
    return terms
