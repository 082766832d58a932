"""p-values adjusted for many tests at once.

Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of Statistics 1979. For tests
with any dependence, the chance that any true hypothesis gets an adjusted value of at most a is at most a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values by Holm's method: the i-th of m in ascending order times m - i + 1, and at least the one before.

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
        The input is not one row of numbers in [0, 1].
    """
    array = _checks.numbers(p_values, "The array of p-values").astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise InputError("The p-values are not usable", allowed="one row of numbers from 0 to 1")
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * np.arange(array.size, 0, -1)), 1.0)
    return adjusted
