"""Counts to probabilities.

Add-b smoothing puts b extra texts into every bin, (c + b) / (n + b k), so that no bin is empty and every divergence
is finite. b = 1/2 is the Krichevsky-Trofimov estimator, the one behind MAUVE* (JMLR 2023, section 4.1 and appendix C).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.errors import InputError
from mauve_core.numerics import _checks

ADDED_COUNT = {"none": 0.0, "krichevsky-trofimov": 0.5}
"""Smoothing's name -> texts added to every bin."""


def probabilities(counts: ArrayLike, smoothing: str = "none") -> NDArray[np.float64]:
    """The probability of each bin.

    Parameters
    ----------
    counts : (..., k) array
        Texts in each bin, not negative; weighted counts need not be whole.
    smoothing : {"none", "krichevsky-trofimov"}
        What is added to every bin before dividing by the total.

    Returns
    -------
    (..., k) float64 array
        Rows sum to 1.

    Raises
    ------
    InputError
        A count is negative or not finite, a row without smoothing is empty, or the smoothing has no such name.
    """
    if smoothing not in ADDED_COUNT:
        raise InputError("No smoothing of that name", allowed=", ".join(ADDED_COUNT), received=repr(smoothing))
    array = _checks.numbers(counts, "The array of counts").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError("Counts have no bins", allowed="an array of shape (..., k)", received=f"shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("Counts are not usable", allowed="finite numbers that are not negative")
    array += ADDED_COUNT[smoothing]
    totals = array.sum(axis=-1, keepdims=True)
    if (totals <= 0).any():
        raise InputError("A histogram is empty", allowed="at least one text in it", todo="Give texts on both sides")
    return np.asarray(array / totals)
