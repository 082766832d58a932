"""Theoretical bounds on the error of a divergence between histograms of finite samples.

JMLR 2023, section 4.1 and appendix B. P and Q are distributions over at most k bins, from which n and m texts are
drawn. The error is the expected |D_f(P^, Q^) - D_f(P, Q)| for the histograms P^ and Q^ of the texts. Up to constants
of the generator f it is at most

- (10): (alpha_n(P) + alpha_m(Q)) log n + beta_n(P) + beta_m(Q), where alpha_n(P) = sum sqrt(p / n) and beta_n(P) = sum
  (1 - p)^n p max(1, log 1/p), the mass of the bins that n texts miss;
- (12): (sqrt(k/n) + k/n) log n for any P and Q.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Texts from which the theorems hold: log n is above 1 there.
FEWEST = 3

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
        The rows are not probability vectors, or numbers of texts are not whole or below 3.
    """
    vector, _ = _checks.distributions(p, p)
    return np.asarray(np.sqrt(vector).sum(axis=-1) / np.sqrt(_texts(n)))


def beta(p: ArrayLike, n: ArrayLike) -> _Floats:
    """beta_n(P) = sum (1 - p)^n p max(1, log 1/p), the missing mass of n texts, rare bins weighted more (theorem 10).

    Parameters and errors are those of :func:`alpha`.

    Returns
    -------
    (...) float64 array
        In [0, k log(n) / n]; terms below the least float64 are 0.
    """
    vector, _ = _checks.distributions(p, p)
    present = vector > 0
    surprise = np.maximum(1.0, -np.log(np.where(present, vector, 1.0)))
    missed = np.exp(xlog1py(_texts(n)[..., None], -np.minimum(vector, 1.0)))
    return np.asarray((missed * np.where(present, vector * surprise, 0.0)).sum(axis=-1))


def oracle_rate(p: ArrayLike, q: ArrayLike, n: ArrayLike, m: ArrayLike | None = None) -> _Floats:
    """(...) oracle bound of figure 21 without its constant, (alpha_n(P) + alpha_n(Q)) log n + beta_n(P) + beta_n(Q).

    Parameters
    ----------
    p, q : (..., k) array
        The distributions from which the texts are drawn.
    n, m : (...) array
        Texts of P and of Q, 3 or more; ``m`` defaults to ``n``.

    Raises
    ------
    InputError
        As :func:`alpha`, or the numbers of bins differ.
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
        k is below 1, n is below 3, or a number is not whole.
    """
    ratio = _bins(k) / _texts(n)
    return np.asarray((np.sqrt(ratio) + ratio) * np.log(_texts(n)))


def _both(n: ArrayLike, m: ArrayLike | None) -> tuple[_Floats, _Floats]:
    return _texts(n), _texts(n if m is None else m)


def _texts(n: ArrayLike) -> _Floats:
    return _counts(n, "The number of texts", FEWEST)


def _bins(k: ArrayLike) -> _Floats:
    return _counts(k, "The number of bins", 1)


def _counts(values: ArrayLike, what: str, low: int) -> _Floats:
    """Whole numbers of at least ``low`` as float64, which keeps 16 digits beyond 2^53."""
    array = _checks.numbers(values, what).astype(np.float64, copy=False)
    usable = np.isfinite(array) & (array >= low) & (array == np.floor(array))
    if not usable.all():
        raise InputError(
            f"{what} is not usable",
            allowed=f"whole numbers of at least {low}",
            received=str(array[~usable].flat[0]),
        )
    return array
