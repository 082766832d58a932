"""Parts of k-means, for the host and for a device: rows with their distances, k-means++ starts, Lloyd's iterations.

Squared distances are |x|^2 - 2 x.c + |c|^2 in float32: for rows of length about 1, exact to about 1e-7, some
ten-thousandths of the distance between a text and its center. Two centers closer than that tie, and the row stays.

k-means++ (Arthur and Vassilvitskii 2007) draws each next center with probability proportional to the squared distance
from the existing ones; the best of several draws leads to better partitions. Draws for a batch of centers use the
distances before the batch and are measured in one product; the batch grows with the number of centers, so that
distances are never far out of date, and a draw made useless by the same batch lowers the sum least and loses.

On the host, a row whose center has not moved is compared only with centers that have, so late iterations cost next to
nothing and the partition is that of full ones. A device measures every distance, for (g, r) runs at once (r runs on
each of g tables), which it does in no time. Random numbers and rules for ties are equal; results differ where rounding
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.clusters.devices import in_blocks
from mauve_core.stats import _checks
from mauve_core.stats.threads import parallel_map

if TYPE_CHECKING:
    from torch import Tensor


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


# Draws per center. More of them lower the objective by less than they cost.
DRAWS = 3

# Largest batch of centers.
BATCH = 32


@dataclass(frozen=True)
class Start:
    """A first partition.

    Attributes
    ----------
    labels : (n,) int64 array
        Nearest center of each row.
    distances : (n,) float32 array
        Squared distance to that center.
    centers : int
        Number of centers; fewer than requested if all other rows are copies of centers.
    """

    labels: NDArray[np.int64]
    distances: NDArray[np.float32]
    centers: int


def first_partition(rows: Rows, k: int, random: np.random.Generator) -> Start:
    """Assign the rows to k of them, at least 1, drawn as initial centers."""
    chosen = [int(random.integers(len(rows)))]
    best = _lowered(rows, None, rows.distances(np.array(chosen))[0], chosen[0])
    labels = np.zeros(len(rows), dtype=np.int64)
    while len(chosen) < k:
        batch = min(k - len(chosen), len(chosen), BATCH)
        candidates = _draw(best, random.random(batch * DRAWS))
        if candidates is None:
            break
        measured = rows.distances(candidates)
        for step in range(batch):
            offered = measured[step * DRAWS : (step + 1) * DRAWS]
            taken = int(np.minimum(offered, best).sum(1).argmin())
            row = int(candidates[step * DRAWS + taken])
            if float(best[row]) == 0:  # the draws of this step are copies of centres by now
                continue
            labels[offered[taken] < best] = len(chosen)
            best = _lowered(rows, best, offered[taken], row)
            chosen.append(row)
    return Start(labels, best, len(chosen))


def _lowered(
    rows: Rows, best: NDArray[np.float32] | None, measured: NDArray[np.float32], row: int
) -> NDArray[np.float32]:
    """Distances with ``row`` as an additional center, 0 for its copies."""
    lower = measured if best is None else np.minimum(best, measured)
    return np.where(measured <= rows.indistinct(row), np.float32(0), lower)


def _draw(best: NDArray[np.float32], random: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Draw rows in proportion to ``best``; None if all are 0."""
    cumulated = np.cumsum(best, dtype=np.float64)
    if cumulated[-1] <= 0:
        return None
    indices: NDArray[np.int64] = np.searchsorted(cumulated, random * cumulated[-1], side="right")
    return np.minimum(indices, len(best) - 1)


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


class DeviceRows:
    """Tables of rows on one device.

    Parameters
    ----------
    x : (g, n, d) float32 tensor

    Attributes
    ----------
    squares : (g, n) float32 tensor
        Squared lengths of the rows.
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.squares = (x * x).sum(2)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Tables, rows and columns."""
        tables, rows, columns = self.x.shape
        return tables, rows, columns

    def distances(self, chosen: Tensor) -> Tensor:
        """(g, r, c, n) squared distances of the rows at (g, r, c) to all of their table; rounding can make them < 0."""
        import torch

        tables, runs, count = chosen.shape
        flat = chosen.reshape(tables, runs * count, 1)
        rows = self.x.gather(1, flat.expand(-1, -1, self.shape[2]))
        found = torch.baddbmm(self.squares[:, None], rows, self.x.transpose(1, 2), alpha=-2)
        found += self.squares.gather(1, flat[..., 0])[..., None]
        return found.view(tables, runs, count, -1)

    def indistinct(self, chosen: Tensor) -> Tensor:
        """(g, r, n) squared distances from the rows at (g, r) below which rounding hides a difference."""
        return (self.squares[:, None] + self.squares.gather(1, chosen)[..., None]) * ROUNDING

    def nearest(self, centers: Tensor, used: Tensor, own: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The nearest center of each row in each run.

        Parameters
        ----------
        centers : (g, r, k, d) float32 tensor
        used : (g, r, k) bool tensor
            Centers that count.
        own : (g, r, n) int64 tensor, optional
            Current center of each row; the row stays unless another is nearer.

        Returns
        -------
        index : (g, r, n) int64 tensor
        distance : (g, r, n) float32 tensor
            Squared, not negative.
        """
        import torch

        tables, runs, k, columns = centers.shape
        turned = (-2 * centers).view(tables, runs * k, columns).transpose(1, 2)
        squares = torch.where(used, (centers * centers).sum(3), torch.inf).view(tables, 1, runs * k)
        shape = (tables, runs, self.shape[1])
        index = torch.empty(shape, dtype=torch.int64, device=self.x.device)
        distance = torch.empty(shape, dtype=torch.float32, device=self.x.device)

        def fill(part: slice) -> None:
            measured = _plus(squares, self.x[:, part], turned).view(tables, -1, runs, k)
            least, best = measured.min(3)
            if own is not None:
                mine = own[:, :, part].transpose(1, 2)
                stays = measured.gather(3, mine[..., None])[..., 0] <= least
                best = torch.where(stays, mine, best)
            least += self.squares[:, part, None]
            index[:, :, part], distance[:, :, part] = best.transpose(1, 2), least.transpose(1, 2)

        in_blocks(fill, self.shape[1], 4 * tables * runs * k)
        return index, distance.clamp_(min=0)


def _plus(bias: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Products (g, n, m) plus (g, 1, m); for one table in one kernel."""
    import torch

    if len(x) == 1:
        return torch.addmm(bias[0, 0], x[0], y[0])[None]
    return torch.baddbmm(bias, x, y)


def first_partitions(
    rows: DeviceRows, k: int, randoms: Sequence[Sequence[np.random.Generator]]
) -> tuple[Tensor, Tensor, NDArray[np.int64]]:
    """Assign the rows to k of them in each of (g, r) runs, each with its own random numbers.

    Returns
    -------
    labels, distances : (g, r, n) int64 and float32 tensors
        Nearest center of each row, and the squared distance to it.
    centers : (g, r) int64 array
        Centers of each run; fewer than k if all other rows are copies of centers.
    """
    import torch

    device, n = rows.x.device, rows.shape[1]
    chosen = torch.tensor([[int(random.integers(n)) for random in each] for each in randoms], device=device)
    best = _lowered_in_runs(rows, None, rows.distances(chosen[..., None])[:, :, 0], chosen)
    labels = torch.zeros(best.shape, dtype=torch.int64, device=device)
    count = torch.ones_like(chosen)
    counts, spread = np.ones(chosen.shape, dtype=np.int64), np.ones(chosen.shape, dtype=np.bool_)
    while True:
        batches = np.where(spread, np.minimum(np.minimum(k - counts, counts), BATCH), 0)
        steps = int(batches.max())
        if not steps:
            return labels, best, counts
        cumulated = best.cumsum(2, dtype=torch.float64)
        totals = cumulated[:, :, -1:]
        points = torch.from_numpy(_drawn_in_runs(randoms, batches * DRAWS)).to(device)
        candidates = torch.searchsorted(cumulated, points * totals, right=True).clamp_(max=n - 1)
        taking = torch.arange(steps, device=device) < torch.from_numpy(batches).to(device)[..., None]
        taking &= totals > 0
        measured = rows.distances(candidates)
        for step in range(steps):
            part = slice(step * DRAWS, (step + 1) * DRAWS)
            offered = measured[:, :, part]
            taken = torch.minimum(offered, best[:, :, None]).sum(3).argmin(2, keepdim=True)
            near = offered.gather(2, taken[..., None].expand(-1, -1, 1, n))[:, :, 0]
            row = candidates[:, :, part].gather(2, taken)
            # Where the distance is 0 by now, the draws of this step are copies of centers.
            fresh = taking[..., step : step + 1] & (best.gather(2, row) > 0)
            labels = torch.where(fresh & (near < best), count[..., None], labels)
            best = torch.where(fresh, _lowered_in_runs(rows, best, near, row[..., 0]), best)
            count += fresh[..., 0]
        counts, left = (part.cpu().numpy() for part in (count, totals[..., 0] > 0))
        spread &= left


def _drawn_in_runs(randoms: Sequence[Sequence[np.random.Generator]], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(g, r, most) uniform numbers: as many of each run's own as ``counts`` says, then zeros."""
    drawn = np.zeros((*counts.shape, int(counts.max())))
    for table, each in enumerate(randoms):
        for run, random in enumerate(each):
            drawn[table, run, : counts[table, run]] = random.random(counts[table, run])
    return drawn


def _lowered_in_runs(rows: DeviceRows, best: Tensor | None, measured: Tensor, chosen: Tensor) -> Tensor:
    """Distances with the chosen row of each run as an additional center, 0 for its copies."""
    import torch

    lower = measured if best is None else torch.minimum(best, measured)
    return torch.where(measured <= rows.indistinct(chosen), 0.0, lower)


class DeviceLloyd:
    """State of (g, r) k-means partitions; see :class:`mauve_core.clusters.lloyd.Lloyd`.

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
