"""Many tests at once: p-values that hold for all of them together.

Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of Statistics 1979. Whatever the
tests share, the chance that any true hypothesis gets an adjusted value of at most a is at most a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values: of m tests in ascending order, the i-th times m - i + 1, and never below the one before.

    Parameters
    ----------
    p_values : (m,) array of numbers in [0, 1]

    Returns
    -------
    (m,) float64 array
        In [0, 1], in the order given, each at least as large as its p-value.

    Raises
    ------
    InputError
        Not one row of numbers in [0, 1].
    """
    array = _checks.numbers(p_values, "The array of p-values").astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise InputError("The p-values are not usable", allowed="one row of numbers from 0 to 1")
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * np.arange(array.size, 0, -1)), 1.0)
    return adjusted
