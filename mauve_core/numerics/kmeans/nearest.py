"""Rows and their nearest centers: the matrix product that takes most of the time of k-means.

Squared distances are |x|^2 - 2 x.c + |c|^2 in float32. For rows of length about 1, such as features after reduction,
this is exact to about 1e-7, some ten-thousandths of the distance between a text and its center. Two centers closer
than that in distance tie, and the row stays. NumPy and torch name these operations alike: one code for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.threads import parallel_map

ROWS_AT_ONCE = 1024
"""Rows of one product: few enough to spread 10,000 evenly over the cores, enough to keep each busy."""

DEVICE_ROWS_AT_ONCE = 65536
"""The same on a device, which works on one block at a time."""

_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Squared distances below this share of the squared lengths are rounding error."""


class Rows:
    """Rows in the memory of the device that computes distances to them.

    Parameters
    ----------
    array : (n, d) float32 array
    device : str
        "cpu" is NumPy; anything else is a torch device ("torch:cpu" is torch's own CPU).

    Attributes
    ----------
    host : (n, d) float32 array
        The given rows.
    xp : module
        numpy or torch.
    array, squares : (n, d) and (n,) arrays of ``xp``
        The rows and their squared lengths.
    """

    def __init__(self, array: NDArray[np.float32], device: str = "cpu") -> None:
        self.host, self.device = array, device
        if device == "cpu":
            self.xp: Any = np
            self.array: Any = array
        else:
            self.xp, self.array = _on_device(array, device)
        self.squares = (self.array * self.array).sum(1) if device != "cpu" else np.einsum("ij,ij->i", array, array)

    def __len__(self) -> int:
        return len(self.host)

    def some(self, rows: NDArray[np.int64]) -> Rows:
        """The given rows alone, on the same device."""
        return Rows(self.host[rows], self.device)

    def distances(self, rows: NDArray[np.int64]) -> Any:
        """(m, n) squared distances of the m given rows to all rows; rounding can make them negative."""
        xp, chosen, squares = self.xp, self.array[rows], self.squares[rows][:, None]
        result = xp.empty((len(rows), len(self)), dtype=xp.float32, **({} if xp is np else {"device": chosen.device}))

        def fill(part: slice) -> None:
            measured = (-2 * chosen) @ self.array[part].T
            measured += squares
            measured += self.squares[part]
            result[:, part] = measured

        parallel_map(fill, self._blocks(len(self)))
        return result

    def indistinct(self, row: int) -> Any:
        """(n,) squared distances to ``row`` below which rounding hides a difference from it."""
        return (self.squares + self.squares[row]) * _ROUNDING

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
        turned, squares = self._centers(centers)

        def fill(part: slice) -> None:
            chosen = part if rows is None else rows[part]
            distances = self.array[chosen] @ turned
            distances += squares
            best = distances.argmin(1)
            row = self._move(np.arange(len(distances)))
            least = distances[row, best]
            if own is not None:
                mine = self._move(own[part])
                stays = distances[row, mine] <= least
                best = self.xp.where(stays, mine, best)
            least = least + self.squares[chosen]
            index[part], distance[part] = self.to_host(best), self.to_host(least)

        parallel_map(fill, self._blocks(count))
        return index, np.maximum(distance, 0, out=distance)

    def to_host(self, values: Any) -> NDArray[Any]:
        """Convert a result of this class's operations to a NumPy array."""
        return values if self.xp is np else values.cpu().numpy()  # type: ignore[no-any-return]

    def _blocks(self, count: int) -> list[slice]:
        return _checks.row_blocks(count, ROWS_AT_ONCE if self.xp is np else DEVICE_ROWS_AT_ONCE)

    def _move(self, values: NDArray[Any]) -> Any:
        return values if self.xp is np else self.xp.from_numpy(np.ascontiguousarray(values)).to(self.array.device)

    def _centers(self, centers: NDArray[np.float32]) -> tuple[Any, Any]:
        """-2 times the centers, as columns, and their squared lengths."""
        squares = np.einsum("ij,ij->i", centers, centers)
        return self._move(-2 * centers).T, self._move(squares)


def _on_device(array: NDArray[np.float32], device: str) -> tuple[Any, Any]:
    import torch

    name = device.removeprefix("torch:")
    _checks.require_device(name)
    return torch, torch.from_numpy(np.ascontiguousarray(array)).to(name)
