"""The closest pairs of two sets of points, by exact distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Distances held at once.
_ENTRIES = 1 << 22


def nearest_pairs(x: ArrayLike, y: ArrayLike, top: int) -> list[tuple[int, int, float]]:
    """The closest pairs of a row of x and a row of y, with each row in at most one pair.

    Parameters
    ----------
    x, y : (a, d), (b, d) arrays
    top : int
        Largest number of pairs.

    Returns
    -------
    list of (row of x, row of y, Euclidean distance)
        The closest first; each is the closest pair of the remaining rows. Ties go by row.

    Raises
    ------
    InputError
        Features are not usable or differ in dimension.
    """
    top = _checks.whole("The number of pairs", top, low=1)
    left, right = _checks.features(x), _checks.features(y)
    if left.shape[1] != right.shape[1]:
        received = f"{left.shape[1]} and {right.shape[1]}"
        raise InputError("The two sides have different dimensions", allowed="the same", received=received)
    # At most t - 1 rows of y are taken before pair t, so it is among the nearest ``top`` of its row of x.
    near, rows = min(top, len(right)), max(1, _ENTRIES // len(right))
    indices: list[NDArray[np.intp]] = []
    distances: list[NDArray[np.float64]] = []
    for start in range(0, len(left), rows):
        table = cdist(left[start : start + rows], right)
        chosen = np.argsort(table, axis=1, kind="stable")[:, :near]
        indices.append(chosen)
        distances.append(np.take_along_axis(table, chosen, axis=1))
    columns, lengths = np.concatenate(indices), np.concatenate(distances)
    owners = np.repeat(np.arange(len(left)), near)
    pairs: list[tuple[int, int, float]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for index in np.lexsort((columns.ravel(), owners, lengths.ravel())).tolist():
        i, j = int(owners[index]), int(columns.ravel()[index])
        if i not in taken[0] and j not in taken[1]:
            pairs.append((i, j, float(lengths.ravel()[index])))
            taken[0].add(i)
            taken[1].add(j)
            if len(pairs) == top:
                break
    return pairs
