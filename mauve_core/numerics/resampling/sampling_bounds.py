"""What the theory says about the error of a divergence between histograms of finite samples.

JMLR 2023, section 4.1 and appendix B. P and Q are distributions over at most k bins, of which n and m texts are drawn;
the error is the expected |D_f(P^, Q^) - D_f(P, Q)| of the histograms P^ and Q^ of the texts. It is at most

- (10): (C1 log n + c) alpha_n(P) + (C1* log m + c*) alpha_m(Q) + (C1 + c) beta_n(P) + (C1* + c*) beta_m(Q), where
  alpha_n(P) = sum sqrt(p / n) and beta_n(P) = sum (1 - p)^n p max(1, log 1/p), the mass of the bins that n texts miss;
- (11): (C1 log n + c) (sqrt(k/n) + k/n) and the same of m with C1* and c*, whatever P and Q are;
- (15), (16): the same two for histograms with b texts added to every bin.

The partition into bins itself costs at most (f(0) + f*(0)) / j if it is the best one into 2 j bins (proposition 13).
What is drawn beside a measured error (JMLR 2023, figure 21) are the rates, (10) and (11) with every constant left out.

The constants C come from three assumptions about the generator f, :class:`Smoothness`. Here c = max(C0*, 2 C2) and
c* = max(C0, 2 C2*). The paper has C2 in place of 2 C2: the remainder of Taylor's formula in the proof of its lemma 20,
the integral of f''(s) (x - s), stands there with a factor 1/2 that the formula does not have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.smoothness import FRONTIER_INTEGRAL, Smoothness

FEWEST = 3
"""Texts from which on the theorems hold: log n is above 1 there."""

_Floats = NDArray[np.float64]


def alpha(p: ArrayLike, n: ArrayLike) -> _Floats:
    """alpha_n(P) = sum sqrt(p / n), at least the expected sum of |p^ - p| (JMLR 2023, lemma 21).

    Parameters
    ----------
    p : (..., k) array
        Probability vectors.
    n : (...) array
        Texts, 3 or more; broadcasts with the leading axes of ``p``.

    Returns
    -------
    (...) float64 array
        In [1 / sqrt(n), sqrt(k / n)].

    Raises
    ------
    InputError
        Not probability vectors, or numbers of texts that are not whole or below 3.
    """
    vector, _ = _checks.distributions(p, p)
    return np.asarray(np.sqrt(vector).sum(axis=-1) / np.sqrt(_texts(n)))


def beta(p: ArrayLike, n: ArrayLike) -> _Floats:
    """beta_n(P) = sum (1 - p)^n p max(1, log 1/p), the missing mass of n texts, rare bins counted more (theorem 10).

    Parameters
    ----------
    p : (..., k) array
        Probability vectors.
    n : (...) array
        Texts, 3 or more; broadcasts with the leading axes of ``p``.

    Returns
    -------
    (...) float64 array
        In [0, k log(n) / n]; terms below the least float64 are 0.

    Raises
    ------
    InputError
        As :func:`alpha`.
    """
    vector, _ = _checks.distributions(p, p)
    held = vector > 0
    surprise = np.maximum(1.0, -np.log(np.where(held, vector, 1.0)))
    missed = np.exp(xlog1py(_texts(n)[..., None], -np.minimum(vector, 1.0)))
    return np.asarray((missed * np.where(held, vector * surprise, 0.0)).sum(axis=-1))


def oracle_rate(p: ArrayLike, q: ArrayLike, n: ArrayLike, m: ArrayLike | None = None) -> _Floats:
    """(alpha_n(P) + alpha_n(Q)) log n + beta_n(P) + beta_n(Q), the oracle bound of figure 21 without its constant.

    Parameters
    ----------
    p, q : (..., k) array
        The distributions that the texts are drawn from.
    n, m : (...) array
        Texts of P and of Q, 3 or more; as many of Q as of P unless ``m`` is given.

    Returns
    -------
    (...) float64 array

    Raises
    ------
    InputError
        As :func:`alpha`, or different numbers of bins.
    """
    left, right = _checks.distributions(p, q)
    drawn, others = _both(n, m)
    own = alpha(left, drawn) * np.log(drawn) + beta(left, drawn)
    return np.asarray(own + alpha(right, others) * np.log(others) + beta(right, others))


def uniform_rate(k: ArrayLike, n: ArrayLike) -> _Floats:
    """(sqrt(k/n) + k/n) log n, the bound (12) for any P and Q over k bins without its constant (figure 21: "Bound").

    Raises
    ------
    InputError
        k below 1, n below 3, or numbers that are not whole.
    """
    ratio = _bins(k) / _texts(n)
    return np.asarray((np.sqrt(ratio) + ratio) * np.log(_texts(n)))


def oracle_bound(
    p: ArrayLike,
    q: ArrayLike,
    n: ArrayLike,
    m: ArrayLike | None = None,
    *,
    added: float = 0.0,
    smoothness: Smoothness = FRONTIER_INTEGRAL,
) -> _Floats:
    """The bound (10), or (15) of smoothed histograms, with its constants.

    Parameters
    ----------
    p, q : (..., k) array
        The distributions that the texts are drawn from.
    n, m : (...) array
        Texts of P and of Q, 3 or more; as many of Q as of P unless ``m`` is given.
    added : float >= 0
        Texts that the estimate adds to every bin, b: 0 for plain histograms, 1/2 for Krichevsky-Trofimov smoothing.
    smoothness : Smoothness
        Of the divergence.

    Returns
    -------
    (...) float64 array

    Raises
    ------
    InputError
        As :func:`oracle_rate`, or ``added`` negative.
    """
    left, right = _checks.distributions(p, q)
    b, k = _added(added), left.shape[-1]
    total = np.zeros(())
    for side, size, constants in zip((left, right), _both(n, m), (smoothness, smoothness.conjugate), strict=True):
        distance = alpha(side, size)
        if b:
            distance = (size * distance + b * k * np.abs(side - 1 / k).sum(axis=-1)) / (size + b * k)
        total = total + _factor(size, k, b, constants) * distance
        if not b:
            total = total + (constants.slope + constants.offset) * beta(side, size)
    return np.asarray(total)


def uniform_bound(
    k: ArrayLike,
    n: ArrayLike,
    m: ArrayLike | None = None,
    *,
    added: float = 0.0,
    smoothness: Smoothness = FRONTIER_INTEGRAL,
) -> _Floats:
    """The bound (11), or (16) of smoothed histograms, with its constants: for any P and Q over k bins.

    Parameters
    ----------
    k : (...) array
        Bins.
    n, m, added, smoothness
        As of :func:`oracle_bound`; shapes broadcast.

    Returns
    -------
    (...) float64 array

    Raises
    ------
    InputError
        As :func:`uniform_rate`, or ``added`` negative.
    """
    bins, b = _bins(k), _added(added)
    total = np.zeros(())
    for size, constants in zip(_both(n, m), (smoothness, smoothness.conjugate), strict=True):
        if b:
            distance = (np.sqrt(bins * size) + 2 * b * (bins - 1)) / (size + b * bins)
        else:
            distance = np.sqrt(bins / size) + bins / size
        total = total + _factor(size, bins, b, constants) * distance
    return np.asarray(total)


def quantisation_bound(k: ArrayLike, smoothness: Smoothness = FRONTIER_INTEGRAL) -> _Floats:
    """(f(0) + f*(0)) / floor(k / 2), the most that the best partition into k bins loses (JMLR 2023, proposition 13).

    One bin loses all, f(0) + f*(0) at most. A partition in use, k-means say, may lose more than the best one.

    Raises
    ------
    InputError
        k below 1 or not whole.
    """
    most = smoothness.at_zero + smoothness.conjugate_at_zero
    return np.asarray(most / np.maximum(np.floor(_bins(k) / 2), 1.0))


def _factor(size: _Floats, k: float | _Floats, added: float, constants: Smoothness) -> _Floats:
    """C1 log(1 / least probability of a filled bin) + c: that is 1/n, or b / (n + k b) with b texts added to every bin.

    With so many added that the logarithm falls below 1, 1 takes its place, as lemma 20 asks.
    """
    logarithm = np.log(size / added + k) if added else np.log(size)
    return np.asarray(constants.slope * np.maximum(logarithm, 1.0) + constants.offset)


def _added(added: float) -> float:
    return added if added == 0 else _checks.positive("The number of added texts", added)


def _both(n: ArrayLike, m: ArrayLike | None) -> tuple[_Floats, _Floats]:
    return _texts(n), _texts(n if m is None else m)


def _texts(n: ArrayLike) -> _Floats:
    return _whole(n, "The number of texts", FEWEST)


def _bins(k: ArrayLike) -> _Floats:
    return _whole(k, "The number of bins", 1)


def _whole(values: ArrayLike, what: str, low: int) -> _Floats:
    """Whole numbers of at least ``low`` as float64, which holds them beyond 2^53 to 16 digits."""
    array = _checks.numbers(values, what).astype(np.float64, copy=False)
    usable = np.isfinite(array) & (array >= low) & (array == np.floor(array))
    if not usable.all():
        raise InputError(
            f"{what} is not usable",
            allowed=f"whole numbers of at least {low}",
            received=str(array[~usable].flat[0]),
        )
    return array
