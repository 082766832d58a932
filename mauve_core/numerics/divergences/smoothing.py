"""Counts to probabilities.

Add-b smoothing adds b texts to every bin, (c + b) / (n + b k), so that no bin is empty and every divergence is finite.
b = 1/2 is the Krichevsky-Trofimov estimator of MAUVE* (JMLR 2023, equation 9 and table 2), and b = 1 the Laplace
estimator. In Braess-Sauer, b depends on the bin's own count. The modified Good-Turing estimator also uses the number
of bins with that count (Orlitsky and Suresh, NeurIPS 2015, as given in JMLR 2023, section 4.1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Smoothings of published MAUVE and of MAUVE*: name -> texts added to every bin.
ADDED_COUNT = {"none": 0.0, "krichevsky-trofimov": 0.5}

# Every named smoothing -> its title. ``add-<b>``, such as ``add-0.1``, is also accepted.
SMOOTHINGS = {
    "none": "Empirical frequencies",
    "krichevsky-trofimov": "Krichevsky-Trofimov (add 1/2)",
    "laplace": "Laplace (add 1)",
    "braess-sauer": "Braess-Sauer",
    "good-turing": "Modified Good-Turing",
}

_ADD = "add-"
_CONSTANTS = {**ADDED_COUNT, "laplace": 1.0}
# Texts added to a bin with no text, with one text, with more (JMLR 2023, table 2).
_BRAESS_SAUER = (0.5, 1.0, 0.75)


def added_count(smoothing: str) -> float | None:
    """The constant b of an add-b smoothing, or None if the added amount depends on the counts.

    Parameters
    ----------
    smoothing : str
        A key of :data:`SMOOTHINGS`, or ``add-<b>`` with a positive finite b.

    Raises
    ------
    InputError
        The name is unknown.
    """
    if smoothing in SMOOTHINGS:
        return _CONSTANTS.get(smoothing)
    try:
        b = float(smoothing.removeprefix(_ADD)) if smoothing.startswith(_ADD) else np.nan
    except ValueError:
        b = np.nan
    if not 0 < b < np.inf:
        allowed = f"{', '.join(SMOOTHINGS)} or {_ADD}<b> with a positive number b"
        raise InputError("Unknown smoothing", allowed=allowed, received=repr(smoothing))
    return b


def probabilities(counts: ArrayLike, smoothing: str = "none") -> NDArray[np.float64]:
    """The probability of each bin.

    Parameters
    ----------
    counts : (..., k) array
        Texts in each bin, not negative. Weighted counts need not be whole, except for ``braess-sauer`` and
        ``good-turing``, which use the number of bins with one text, two texts and so on.
    smoothing : str
        As in :func:`added_count`.

    Returns
    -------
    (..., k) float64 array
        Rows sum to 1. Bins of equal counts have equal probabilities; all but ``good-turing`` keep the order of counts.

    Raises
    ------
    InputError
        A count is negative, not finite or, if required, not whole; an unsmoothed row is empty; the name is unknown.
    """
    added = added_count(smoothing)
    array = _checks.numbers(counts, "The array of counts").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError("Counts have no bins", allowed="an array of shape (..., k)", received=f"shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("Counts are not usable", allowed="finite numbers that are not negative")
    if added is None:
        if (array != np.floor(array)).any():
            raise InputError(f"Counts are not usable with {smoothing} smoothing", allowed="whole numbers")
        array = _BY_COUNT[smoothing](array)
    else:
        array += added
    totals = array.sum(axis=-1, keepdims=True)
    if (totals <= 0).any():
        raise InputError("A histogram is empty", allowed="at least one text in it", todo="Give texts on both sides")
    return np.asarray(array / totals)


def _braess_sauer(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts + np.array(_BRAESS_SAUER)[np.minimum(counts, 2).astype(np.intp)])


def _good_turing(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) unnormalized masses.

    With phi(t) the number of bins with t texts, a bin with c texts keeps the mass c if c > phi(c + 1). Otherwise the
    phi(c) bins like it share (phi(c + 1) + 1) (c + 1).
    """
    rows = counts.reshape(-1, counts.shape[-1])
    order = np.argsort(rows, axis=-1)
    ascending = np.take_along_axis(rows, order, axis=-1)
    first = np.ones(rows.shape, dtype=np.bool_)
    first[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    start = np.flatnonzero(first)  # of each run of equal counts within a row
    values, bins = ascending.ravel()[start], np.diff(start, append=rows.size)
    follows = np.flatnonzero((np.diff(values) == 1) & (start[1:] % rows.shape[1] > 0))
    with_one_more = np.zeros(values.size)
    with_one_more[follows] = bins[follows + 1]
    mass = np.where(values > with_one_more, values, (with_one_more + 1) * (values + 1) / bins)
    masses = np.empty_like(rows)
    np.put_along_axis(masses, order, np.repeat(mass, bins).reshape(rows.shape), axis=-1)
    return masses.reshape(counts.shape)


_BY_COUNT: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "braess-sauer": _braess_sauer,
    "good-turing": _good_turing,
}
