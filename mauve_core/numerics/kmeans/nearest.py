"""Rows and their nearest centers: the matrix product that takes most of the time of k-means.

Squared distances are |x|^2 - 2 x.c + |c|^2 in float32. For rows of length about 1, such as features after reduction,
this is exact to about 1e-7, some ten-thousandths of the distance between a text and its center. Two centers closer
than that in distance tie, and the row stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.threads import parallel_map

# Rows of one product: few enough to spread 10,000 evenly over the cores, enough to keep each busy.
ROWS_AT_ONCE = 1024

# Squared distances below this share of the squared lengths are rounding error.
ROUNDING = 4 * float(np.finfo(np.float32).eps)


class Rows:
    """Rows whose distances are measured.

    Parameters
    ----------
    array : (n, d) float32 array

    Attributes
    ----------
    array : (n, d) float32 array
        The given rows.
    squares : (n,) float32 array
        Their squared lengths.
    """

    def __init__(self, array: NDArray[np.float32]) -> None:
        self.array = array
        self.squares: NDArray[np.float32] = np.einsum("ij,ij->i", array, array)

    def __len__(self) -> int:
        return len(self.array)

    def some(self, rows: NDArray[np.int64]) -> Rows:
        """The given rows alone."""
        return Rows(self.array[rows])

    def distances(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(m, n) squared distances of the m given rows to all rows; rounding can make them negative."""
        turned, squares = -2 * self.array[rows], self.squares[rows][:, None]
        result = np.empty((len(rows), len(self)), dtype=np.float32)

        def fill(part: slice) -> None:
            measured = _product(turned, self.array[part].T)
            measured += squares
            measured += self.squares[part]
            result[:, part] = measured

        parallel_map(fill, _checks.row_blocks(len(self), ROWS_AT_ONCE))
        return result

    def indistinct(self, row: int) -> NDArray[np.float32]:
        """(n,) squared distances to ``row`` below which rounding hides a difference from it."""
        hidden: NDArray[np.float32] = (self.squares + self.squares[row]) * ROUNDING
        return hidden

    def nearest(
        self, centers: NDArray[np.float32], own: NDArray[np.int64] | None = None, rows: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest center of each row.

        Parameters
        ----------
        centers : (m, d) float32 array
        own : (r,) int64 array, optional
            Current center of each row; the row stays unless another is nearer.
        rows : (r,) int64 array, optional
            Rows to assign, all by default.

        Returns
        -------
        index : (r,) int64 array
        distance : (r,) float32 array
            Squared, not negative.
        """
        count = len(self) if rows is None else len(rows)
        index, distance = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.float32)
        turned, squares = (-2 * centers).T, np.einsum("ij,ij->i", centers, centers)

        def fill(part: slice) -> None:
            chosen = part if rows is None else rows[part]
            distances = _product(self.array[chosen], turned)
            distances += squares
            best = distances.argmin(1)
            row = np.arange(len(distances))
            least = distances[row, best]
            if own is not None:
                mine = own[part]
                best = np.where(distances[row, mine] <= least, mine, best)
            index[part], distance[part] = best, least + self.squares[chosen]

        parallel_map(fill, _checks.row_blocks(count, ROWS_AT_ONCE))
        return index, np.maximum(distance, 0, out=distance)


def _product(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """``left @ right`` of finite numbers, whatever flags the processor has raised.

    With five coordinates and one row, OpenBLAS 0.3.31 also adds up lanes that it never filled (sgemv_kernel_t_5,
    AVX-512), and drops that sum. The product is right, but now and then NumPy would warn of an invalid value.
    """
    with np.errstate(invalid="ignore"):
        product: NDArray[np.float32] = left @ right
    return product
