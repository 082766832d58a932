"""Lloyd's iterations of many runs at once: every distance in each, sums by the rows that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.memory import in_blocks
from mauve_core.numerics.device.rows import DeviceRows

if TYPE_CHECKING:
    from torch import Tensor


class DeviceLloyd:
    """State of (g, r) k-means partitions; see :class:`mauve_core.numerics.kmeans.lloyd.Lloyd`.

    Parameters
    ----------
    rows : DeviceRows
    k : int
    labels, distances : (g, r, n) int64 and float32 tensors
        First partitions and squared distances; taken over.

    Attributes
    ----------
    iterations : (g, r) int64 array
        Iterations that each run has completed.
    settled : (g, r) bool array
        Whether its last iteration moved no row.
    sizes : (g, r, k) int64 tensor
        Rows of each cluster.
    """

    def __init__(self, rows: DeviceRows, k: int, labels: Tensor, distances: Tensor) -> None:
        import torch

        self._rows, self._k = rows, k
        self.labels, self.distances = labels, distances
        self.sizes = self._counted()
        if bool((self.sizes == 0).any()):
            self._fill_empty()
        tables, runs, n = labels.shape
        self._sums = torch.zeros((tables * runs * k, rows.shape[2]), dtype=torch.float64, device=labels.device)
        every = torch.arange(n, device=labels.device)
        for table in range(tables):
            for run in range(runs):
                self._add(table * runs + run, every + table * n, labels[table, run], 1)
        self.iterations: NDArray[np.int64] = np.zeros((tables, runs), dtype=np.int64)
        self.settled: NDArray[np.bool_] = np.zeros((tables, runs), dtype=np.bool_)

    def centers(self) -> Tensor:
        """(g, r, k, d) float64 means of the rows of each cluster; 0 for one without rows."""
        tables, runs, k = self.sizes.shape
        return self._sums.view(tables, runs, k, -1) / self.sizes.clamp(min=1)[..., None]

    def objectives(self) -> NDArray[np.float64]:
        """(g, r) sums of squared distances to the last assigned centers, in float32 accuracy."""
        import torch

        found: NDArray[np.float64] = self.distances.sum(2, dtype=torch.float64).cpu().numpy()
        return found

    def only(self, runs: NDArray[np.int64]) -> DeviceLloyd:
        """The given runs of the single table, in their present state."""
        import torch

        kept = torch.from_numpy(runs).to(self.labels.device)
        other = object.__new__(DeviceLloyd)
        other._rows, other._k = self._rows, self._k
        other.labels, other.distances = self.labels[:, kept], self.distances[:, kept]
        other.sizes = self.sizes[:, kept]
        other._sums = self._sums.view(*self.sizes.shape, -1)[:, kept].flatten(0, 2)
        other.iterations, other.settled = self.iterations[:, runs], self.settled[:, runs]
        return other

    def step(self) -> None:
        """One iteration of every run; one that has settled stays as it is."""
        import torch

        before = self.labels
        self.labels, self.distances = self._rows.nearest(self.centers().float(), self.sizes > 0, before)
        self.sizes = self._counted()
        # One wait for the device: how many rows moved in each run, and whether a cluster is empty.
        moved, empty = self._moved(before), (self.sizes == 0).any()
        state = torch.cat([moved.flatten(), empty[None].long()]).cpu().numpy()
        if state[-1]:
            self._fill_empty()
            state = self._moved(before).flatten().cpu().numpy()
        counts = state[: moved.numel()].reshape(moved.shape)
        if counts.any():
            table, run, row = (self.labels != before).nonzero(as_tuple=True)
            runs, n = before.shape[1:]
            self._add(table * runs + run, row + table * n, self.labels[table, run, row], 1)
            self._add(table * runs + run, row + table * n, before[table, run, row], -1)
        self.iterations += ~self.settled
        self.settled = counts == 0

    def _moved(self, before: Tensor) -> Tensor:
        return (self.labels != before).sum(2)

    def _counted(self) -> Tensor:
        """(g, r, k) rows of each cluster."""
        import torch

        tables, runs, _ = self.labels.shape
        counts = torch.zeros((tables, runs, self._k), dtype=torch.int64, device=self.labels.device)
        return counts.scatter_add_(2, self.labels, torch.ones_like(self.labels))

    def _add(self, run: Tensor | int, row: Tensor, label: Tensor, sign: int) -> None:
        """Add rows, counted over all tables, to the sums of their clusters, or take them away."""
        flat = self._rows.x.flatten(0, 1)
        add_rows(self._sums, flat, run * self._k + label, rows=row, sign=sign)

    def _fill_empty(self) -> None:
        """Give each empty cluster the row farthest from its center, if one can be spared."""
        import torch

        for table, run in (self.sizes == 0).any(2).nonzero().tolist():
            sizes, labels, distances = (part[table, run] for part in (self.sizes, self.labels, self.distances))
            for empty in (sizes == 0).nonzero()[:, 0].tolist():
                farthest = int(torch.where(sizes[labels] > 1, distances, 0.0).argmax())
                if float(distances[farthest]) == 0:
                    break
                sizes[labels[farthest]] -= 1
                labels[farthest], distances[farthest], sizes[empty] = empty, 0, 1


def add_rows(sums: Tensor, x: Tensor, labels: Tensor, *, rows: Tensor | None = None, sign: int = 1) -> None:
    """Add rows of (n, d) to the (k, d) float64 sums of their labels, always in one order, so that results repeat."""
    import torch

    def add(part: slice) -> None:
        own, order = labels[part].sort(stable=True)
        chosen = order + part.start if rows is None else rows[part][order]
        clusters, lengths = torch.unique_consecutive(own, return_counts=True)
        sums[clusters] += sign * torch.segment_reduce(x[chosen].double(), "sum", lengths=lengths, axis=0, unsafe=True)

    in_blocks(add, len(labels), 16 * x.shape[1])
