"""Lloyd's iterations without distances that cannot have changed.

A row whose center has not moved can only switch to a center that has, so it is compared with those alone. Few centers
still move in later iterations, so the last ones cost next to nothing. The partition equals that of full iterations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.numerics import _checks
from mauve_core.numerics.kmeans.nearest import Rows


class Lloyd:
    """State of one k-means partition.

    Parameters
    ----------
    rows : Rows
    k : int
    labels : (n,) int64 array
        First partition; changed in place.
    distances : (n,) float32 array
        Squared distance of each row to its center; changed in place.

    Attributes
    ----------
    iterations : int
        Number of completed iterations.
    settled : bool
        Whether the last iteration moved no row.
    """

    def __init__(self, rows: Rows, k: int, labels: NDArray[np.int64], distances: NDArray[np.float32]) -> None:
        self._rows, self._k = rows, k
        self.labels, self.distances = labels, distances
        self._fill_empty()
        self._sums = self._sums_of(np.arange(len(rows)), self.labels)
        self._moved = np.ones(k, dtype=np.bool_)
        self._centers = np.zeros((k, rows.array.shape[1]), dtype=np.float32)
        self.iterations = 0
        self.settled = False

    def run(self, iterations: int) -> None:
        """Run this many more iterations, or until nothing moves."""
        for _ in range(iterations):
            if self.settled:
                return
            self._step()

    def objective(self) -> float:
        """Sum of squared distances to the last assigned centers, in float32 accuracy."""
        return float(self.distances.sum(dtype=np.float64))

    def centers(self) -> NDArray[np.float64]:
        """(k, d) means of the rows of each cluster."""
        return self._sums / np.bincount(self.labels, minlength=self._k)[:, None]

    def _step(self) -> None:
        moved = self._moved
        sizes = np.bincount(self.labels, minlength=self._k)
        self._centers[moved] = self._sums[moved] / sizes[moved, None]
        before = self.labels.copy()
        displaced = moved[before]
        self._measure_all(np.flatnonzero(displaced))
        self._measure_moved(np.flatnonzero(~displaced), np.flatnonzero(moved))
        self._fill_empty()
        changed = np.flatnonzero(self.labels != before)
        self._moved = np.zeros(self._k, dtype=np.bool_)
        self._moved[before[changed]] = self._moved[self.labels[changed]] = True
        self._sums += self._sums_of(changed, self.labels[changed]) - self._sums_of(changed, before[changed])
        self.iterations += 1
        self.settled = not changed.size

    def _measure_all(self, chosen: NDArray[np.int64]) -> None:
        """Compare rows whose center has moved with all centers."""
        every = None if len(chosen) == len(self.labels) else chosen
        self.labels[chosen], self.distances[chosen] = self._rows.nearest(self._centers, self.labels[chosen], every)

    def _measure_moved(self, chosen: NDArray[np.int64], moved: NDArray[np.int64]) -> None:
        """Compare the other rows with the centers that have moved."""
        if not len(chosen) or not len(moved):
            return
        index, distance = self._rows.nearest(self._centers[moved], None, chosen)
        nearer = distance < self.distances[chosen]
        self.labels[chosen[nearer]] = moved[index[nearer]]
        self.distances[chosen[nearer]] = distance[nearer]

    def _fill_empty(self) -> None:
        """Give each empty cluster the row farthest from its center, if one can be spared."""
        sizes = np.bincount(self.labels, minlength=self._k)
        for empty in np.flatnonzero(sizes == 0):
            farthest = int(np.where(sizes[self.labels] > 1, self.distances, 0).argmax())
            if self.distances[farthest] == 0:
                return
            sizes[self.labels[farthest]] -= 1
            self.labels[farthest], self.distances[farthest], sizes[empty] = empty, 0, 1

    def _sums_of(self, chosen: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
        return _sums(self._rows.array, chosen, labels, self._k)


def means_by_label(rows: NDArray[np.float32], labels: NDArray[np.integer], k: int) -> NDArray[np.float64]:
    """(k, d) means of the (n, d) rows of each label; none may be empty."""
    return sums_by_label(rows, labels, k) / np.bincount(labels, minlength=k)[:, None]


def sums_by_label(rows: NDArray[np.float32], labels: NDArray[np.integer], k: int) -> NDArray[np.float64]:
    """(k, d) sums of the (n, d) rows of each label."""
    return _sums(rows, np.arange(len(rows)), labels, k)


def _sums(
    rows: NDArray[np.float32], chosen: NDArray[np.int64], labels: NDArray[np.integer], k: int
) -> NDArray[np.float64]:
    """(k, d) sums of the chosen rows by label."""
    sums = np.zeros((k, rows.shape[1]))
    for part in _checks.row_blocks(len(chosen)):
        count = len(chosen[part])
        member = csr_array((np.ones(count), (labels[part], np.arange(count))), shape=(k, count))
        sums += member @ rows[chosen[part]].astype(np.float64)
    return sums
