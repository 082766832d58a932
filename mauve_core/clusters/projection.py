"""The map: features on a plane by UMAP (McInnes et al. 2018), for navigation only, and regions of its points.

UMAP takes minutes for tens of thousands of rows. Beyond ``MOST_FITTED`` it is fitted on a sample with rows of every
stratum (source and cluster), and each other row is placed at its nearest fitted neighbors. scikit-learn finds neighbors
exactly; UMAP's own search compiles in every process.

umap-learn moves rows one edge at a time, which a device cannot do in parallel. There, all moves of a quarter of an
epoch's edges come from the same positions and are added in whole numbers of 2^-32, whose sums do not depend on the
order, so equal input and seed give equal positions on equal devices. All else is UMAP's. Nearest rows are found in
float64: float32 would hide who is nearest within a group.

The region of probability s is the smallest with the share s of the density (Hyndman, The American Statistician 1996);
the bandwidth is half of Scott's (1992, equation 6.42), which is made for one normal hump and smooths several into one.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError, MauveLensError, library_errors, words_of
from mauve_core.clusters.devices import DeviceTable, device_work, in_blocks, torch_device
from mauve_core.clusters.features import Stacked, stacked
from mauve_core.clusters.reduction import with_signs
from mauve_core.stats import _checks
from mauve_core.stats.threads import openmp_threads_kept

if TYPE_CHECKING:
    import torch
    from torch import Tensor


NEIGHBOURS = 15
LEAST_ROWS = 3
# Most rows for fitting the map; further rows are placed among them.
MOST_FITTED = 20_000

# Fitted neighbors that determine the position of another row.
PLACED_BY = 5


def _silent(done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Map:
    """Positions of rows on the plane.

    Attributes
    ----------
    positions : (n, 2) float32 array
        Finite, without unit; distances between far points mean nothing.
    fitted : int
        Rows on which UMAP was fitted; the others were placed.
    """

    positions: NDArray[np.float32]
    fitted: int


def map_of(
    x: ArrayLike | Stacked,
    strata: ArrayLike,
    *,
    seed: int,
    most: int = MOST_FITTED,
    device: str = "cpu",
    progress: Callable[[int, int], None] = _silent,
) -> Map:
    """Place any number of rows on a plane; equal input and seed give equal positions on equal devices.

    Parameters
    ----------
    x : (n, d) array or Stacked
        Rows, usually ``reduce_features(...).array``; read in blocks.
    strata : (n,) array of int
        Group of each row, such as source and cluster; the fit includes rows of every group.
    seed : int
        At least 0, below 2**32.
    most : int
        Most rows to fit UMAP on, except that every stratum has at least one.
    device : str
        "cpu" for umap-learn; otherwise where torch does the same (:mod:`mauve_core.clusters.projection`).
    progress : callable, optional
        Called with the number of placed rows, and of all rows; while UMAP fits, in proportion to its epochs. What it
        raises stops the fit.

    Raises
    ------
    InputError
        There are no rows, values are not finite, strata are not one per row, or the seed is not a whole number.
    """
    table, seed = stacked(x), _checks.whole("The seed", seed, low=0)
    groups = np.asarray(strata)
    if groups.shape != (len(table),) or groups.dtype.kind not in "iu":
        raise InputError(
            "The strata do not match the rows", allowed=f"{len(table)} whole numbers", received=str(groups.shape)
        )
    most = _checks.whole("The number of rows to fit", most, low=PLACED_BY)
    rows = sampled_rows(groups, most, np.random.default_rng([seed, len(table)]))
    fitted = table.block(0, len(table)) if len(rows) == len(table) else table.take(rows)
    progress(0, len(table))
    own = project(
        fitted,
        seed=seed,
        device=device,
        progress=lambda done, epochs: progress(len(rows) * done // epochs, len(table)),
    )
    progress(len(rows), len(table))
    if len(rows) == len(table):
        return Map(own, len(table))
    positions = np.empty((len(table), 2), dtype=np.float32)
    others = np.ones(len(table), dtype=np.bool_)
    others[rows], positions[rows] = False, own
    left = Stacked([table], rows=np.flatnonzero(others))
    positions[others] = placed(left, fitted, own, lambda done, _: progress(len(rows) + done, len(table)), device)
    return Map(positions, len(rows))


def project(
    x: ArrayLike, *, seed: int, device: str = "cpu", progress: Callable[[int, int], None] = _silent
) -> NDArray[np.float32]:
    """Place rows on a plane so that neighbors stay neighbors; equal input and seed give equal positions.

    Parameters
    ----------
    x : (n, d) array
    seed : int
    device : str
        As in :func:`map_of`.
    progress : callable, optional
        Called with UMAP's epoch and their number.

    Returns
    -------
    (n, 2) float32 array
        As ``Map.positions``.

    Raises
    ------
    InputError
        There are no rows, values are not finite, or the seed is not a whole number.
    MauveLensError
        UMAP fails.
    """
    rows = _checks.features(x, least_rows=1)
    seed = _checks.whole("The seed", seed, low=0)
    if len(rows) < LEAST_ROWS:  # no neighbourhood to keep: side by side
        return np.stack([np.arange(len(rows)), np.zeros(len(rows))], axis=1).astype(np.float32)
    if device != "cpu":
        return project_on(device, rows, _neighbours(rows), seed=seed % 2**32, progress=progress)
    with warnings.catch_warnings(), openmp_threads_kept():
        _silence()
        reported = {"file": _Epochs(progress), "disable": False, "leave": False, "bar_format": _Epochs.FORMAT}
        nearby = nearest(rows, _neighbours(rows))
        with library_errors(lambda error: MauveLensError(f"UMAP cannot make the map: {words_of(error)}")):
            reducer = reducer_of(rows, seed, precomputed_knn=nearby, tqdm_kwds=reported)
            positions = reducer.fit_transform(rows)
    return np.ascontiguousarray(positions, dtype=np.float32)


def reducer_of(rows: NDArray[np.float32], seed: int, **options: Any) -> Any:
    """The unfitted UMAP estimator for these rows; ``options`` are UMAP's own."""
    from umap import UMAP

    _keep_compiled()
    return UMAP(
        n_neighbors=_neighbours(rows),
        n_components=2,
        init="pca" if min(rows.shape) > 2 else "random",
        random_state=seed % 2**32,
        n_jobs=1,
        **options,
    )


class _Epochs:
    """The file into which UMAP's progress bar writes; it passes the numbers on."""

    FORMAT = "{n_fmt}/{total_fmt}"

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress

    def write(self, text: str) -> None:
        found = re.search(r"(\d+)/(\d+)", text)
        if found is not None:
            self._progress(int(found[1]), int(found[2]))

    def flush(self) -> None:
        """Keep nothing back."""


def nearest(rows: NDArray[np.float32], count: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """(n, count) indices of the nearest rows and their Euclidean distances; each row is its own first neighbor."""
    from sklearn.neighbors import NearestNeighbors

    distances, others = NearestNeighbors(n_neighbors=count - 1, algorithm="brute").fit(rows).kneighbors()
    itself = np.arange(len(rows))
    return (
        np.column_stack([itself, others]).astype(np.int32),
        np.column_stack([np.zeros(len(rows)), distances]).astype(np.float32),
    )


def sampled_rows(strata: NDArray[np.integer], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sorted rows, each stratum in proportion to its size and with at least one row; all rows if there are few."""
    n = len(strata)
    if n <= most:
        return np.arange(n)
    order = rng.permutation(n)
    order = order[np.argsort(strata[order], kind="stable")]
    _, firsts = np.unique(strata[order], return_index=True)
    # Rows are in random order within strata; even steps take each stratum's share.
    steps = np.linspace(0, n, max(most - len(firsts), 0), endpoint=False).astype(np.int64)
    return np.unique(order[np.union1d(firsts, steps)])


def placed(
    x: ArrayLike | Stacked,
    fitted: NDArray[np.float32],
    positions: NDArray[np.float32],
    progress: Callable[[int, int], None] = _silent,
    device: str = "cpu",
) -> NDArray[np.float32]:
    """Positions of further rows: the median of those of the nearest fitted rows, per coordinate.

    A mean would put a row with neighbors in two groups into the empty space between them.

    Parameters
    ----------
    x : (m, d) array or Stacked
    fitted : (n, d) float32 array
        At least ``PLACED_BY`` rows.
    positions : (n, 2) array
        Positions of the fitted rows.
    progress : callable
        Called with the number of rows placed so far, and of all rows.
    device : str
        Where the nearest rows are found, as in :func:`map_of`.

    Returns
    -------
    (m, 2) float32 array
        Within the rectangle of ``positions``.
    """
    table = stacked(x)
    if device != "cpu":
        return placed_on(device, table, fitted, positions, PLACED_BY, progress)
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=PLACED_BY, algorithm="brute").fit(fitted)
    positions_2d = np.empty((len(table), 2), dtype=np.float32)
    for block, rows in table.blocks():
        positions_2d[block] = np.median(positions[search.kneighbors(rows, return_distance=False)], axis=1)
        progress(block.stop, len(table))
    return positions_2d


def _neighbours(rows: NDArray[np.float32]) -> int:
    """Number of neighbors per row, including itself."""
    return max(2, min(NEIGHBOURS, len(rows) - 1))


@functools.cache
def _keep_compiled() -> None:
    """Cache on disk what UMAP compiles, as it does for a smaller function; otherwise every process compiles it again.

    Numba compiles anew if the function's file, numba or the processor changes.
    """
    from umap import layouts, umap_

    for compiled in (
        umap_.smooth_knn_dist,
        umap_.compute_membership_strengths,
        layouts._nb_optimize_layout_euclidean_single_epoch,
    ):
        compiled.enable_caching()


def _silence() -> None:
    """Silence umap and numba at import and about settings chosen here on purpose."""
    warnings.filterwarnings("ignore", module=r"(umap|numba|pynndescent)(\.|$)")


# UMAP's defaults: how close rows may lie, and the scale of the curve of similarity.
MIN_DISTANCE, SPREAD = 0.1, 1.0

# UMAP's defaults: epochs, and how many for more than so many rows.
EPOCHS, EPOCHS_OF_MANY, MANY = 500, 200, 10_000

# Rows that push a row for each edge that pulls it; UMAP's default.
PUSHES = 5

# Parts of an epoch's edges. With one, rows of many edges overshoot, and trustworthiness falls by 0.001 to 0.003.
PARTS = 4

HALVINGS = 64
# Bisections for the width of a row's neighborhood, and its least value as a share of the mean distance: UMAP's.
LEAST_WIDTH = 1e-3

# Length of the map's sides at the start, and of an edge's move along an axis: UMAP's.
SIDE, LONGEST_MOVE = 10.0, 4.0

# Noise of the start, as a share of its largest coordinate: UMAP's.
NOISE = 1e-5

# Steps in a unit of a move.
FIXED = 2.0**32


@dataclass(frozen=True, eq=False)
class Edges:
    """Directed edges of the graph, each also in the other direction.

    Attributes
    ----------
    head, tail : (m,) int64 tensors
    weight : (m,) float32 tensor
        In (0, 1], the largest 1.
    """

    head: Tensor
    tail: Tensor
    weight: Tensor


def project_on(
    device: str, x: NDArray[np.float32], neighbours: int, *, seed: int, progress: Callable[[int, int], None]
) -> NDArray[np.float32]:
    """Place rows on a plane; :func:`mauve_core.clusters.projection.project` on a device.

    Parameters
    ----------
    device : str
        Not "cpu"; "torch:cpu" is torch on the CPU.
    x : (n, d) float32 array
        Finite, at least 3 rows.
    neighbours : int
        Per row, including itself, at most n.
    seed : int
    progress : callable
        Called with the epoch and their number.

    Returns
    -------
    (n, 2) float32 array

    Raises
    ------
    InputError
        The device lacks memory.
    """
    import torch

    place = torch_device(device)
    with device_work(place):
        rows = torch.from_numpy(np.require(x, requirements=["C", "W"])).to(place)
        random = torch.Generator(rows.device).manual_seed(seed)
        epochs = EPOCHS if len(rows) <= MANY else EPOCHS_OF_MANY
        edges = edges_of(*nearest_rows(rows, None, neighbours - 1), epochs)
        a, b = similarity_curve()
        positions = _start(rows, random)
        for epoch in range(epochs):
            for part in _due(edges, epoch):
                others = torch.randint(len(rows), (len(part), PUSHES), generator=random, device=rows.device)
                positions += (1 - epoch / epochs) * moves(positions, edges.head[part], edges.tail[part], others, a, b)
            progress(epoch + 1, epochs)
        return np.ascontiguousarray(positions.cpu().numpy())


def placed_on(
    device: str,
    x: Stacked,
    fitted: NDArray[np.float32],
    positions: NDArray[np.float32],
    count: int,
    progress: Callable[[int, int], None],
) -> NDArray[np.float32]:
    """:func:`mauve_core.clusters.projection.placed` on a device, from ``count`` fitted neighbors."""
    import torch

    place, placed = torch_device(device), np.empty((len(x), 2), dtype=np.float32)
    with device_work(place):
        among = DeviceTable(Stacked([fitted]), place).block(slice(0, len(fitted)))
        for block, rows in x.blocks():
            index, _ = nearest_rows(torch.from_numpy(rows.copy()).to(place), among, count)
            placed[block] = np.median(positions[index.cpu().numpy()], axis=1)
            progress(block.stop, len(x))
    return placed


def edges_of(index: Tensor, distance: Tensor, epochs: int) -> Edges:
    """The edges between rows and their neighbors whose weights let them move once in so many epochs.

    Parameters
    ----------
    index, distance : (n, k - 1) int64 and float32 tensors
        Neighbors of each row without itself, as from :func:`nearest_rows`.
    epochs : int
    """
    import torch
    from scipy.sparse import csr_array

    n, others = index.shape
    shares = memberships(distance).cpu().numpy().ravel()
    starts = np.arange(0, n * others + 1, others)
    one_way = csr_array((shares, index.cpu().numpy().ravel(), starts), shape=(n, n))
    back = one_way.T
    union = (one_way + back - one_way * back).tocoo()  # of fuzzy sets: a + b - ab
    kept = union.data >= union.data.max() / epochs
    head, tail = (torch.from_numpy(part[kept].astype(np.int64)).to(index.device) for part in union.coords)
    weight = torch.from_numpy(union.data[kept] / union.data.max()).to(index.device)
    return Edges(head, tail, weight)


def memberships(distance: Tensor) -> Tensor:
    """How much each neighbor belongs to a row's neighborhood: exp(-(d - nearest) / width), in (0, 1].

    The width is such that the memberships of a row add up to log2 of its neighbors including itself.
    """
    import torch

    k = distance.shape[1] + 1
    nearest = torch.where(distance > 0, distance, torch.inf).amin(1, keepdim=True)
    nearest = torch.where(torch.isinf(nearest), 0.0, nearest)  # all are copies of the row
    beyond = (distance - nearest).clamp_min(0)

    def shares(width: Tensor) -> Tensor:
        return torch.where(beyond > 0, torch.exp(-beyond / width), 1.0)

    low, high = torch.zeros_like(nearest), torch.full_like(nearest, torch.inf)
    width = torch.ones_like(nearest)
    for _ in range(HALVINGS):
        too_wide = shares(width).sum(1, keepdim=True) > np.log2(k)
        high, low = torch.where(too_wide, width, high), torch.where(too_wide, low, width)
        width = torch.where(torch.isinf(high), 2 * width, (low + high) / 2)
    means = distance.sum(1, keepdim=True) / k
    return shares(torch.maximum(width, LEAST_WIDTH * torch.where(nearest > 0, means, means.mean())))


def similarity_curve() -> tuple[float, float]:
    """The a and b for which 1 / (1 + a d^(2b)) is nearest to 1 up to MIN_DISTANCE, and an exponential beyond."""
    from scipy.optimize import curve_fit

    d = np.linspace(0, 3 * SPREAD, 300)
    wanted = np.where(d < MIN_DISTANCE, 1.0, np.exp(-(d - MIN_DISTANCE) / SPREAD))
    (a, b), _ = curve_fit(lambda d, a, b: 1 / (1 + a * d ** (2 * b)), d, wanted)
    return float(a), float(b)


def moves(positions: Tensor, head: Tensor, tail: Tensor, others: Tensor, a: float, b: float) -> Tensor:
    """(n, 2) moves of all rows: the ends of each edge toward each other, its head away from other rows.

    Parameters
    ----------
    positions : (n, 2) float32 tensor
    head, tail : (m,) int64 tensors
    others : (m, PUSHES) int64 tensor
        Rows that push the head.
    a, b : float
        From :func:`similarity_curve`.
    """
    import torch

    along = positions[head] - positions[tail]
    square = along.square().sum(1, keepdim=True)
    pull = torch.where(square > 0, -2 * a * b * square ** (b - 1) / (1 + a * square**b), 0.0)
    pulled = (pull * along).clamp_(-LONGEST_MOVE, LONGEST_MOVE)
    away = positions[head][:, None] - positions[others]
    square = away.square().sum(2, keepdim=True)
    push = 2 * b / ((0.001 + square) * (1 + a * square**b))  # UMAP's 0.001 keeps it finite
    pushed = (push * away).clamp_(-LONGEST_MOVE, LONGEST_MOVE).sum(1)
    total = torch.zeros(positions.shape, dtype=torch.int64, device=positions.device)
    total.index_add_(0, head, _fixed(pulled) + _fixed(pushed))
    total.index_add_(0, tail, -_fixed(pulled))
    return (total.double() / FIXED).float()


def _fixed(moved: Tensor) -> Tensor:
    return (moved.double() * FIXED).round_().long()


def _due(edges: Edges, epoch: int) -> Iterator[Tensor]:
    """The edges that move in an epoch, one of weight w in a share w of all epochs, in parts that mix the rows."""
    due = ((edges.weight * (epoch + 1)).floor() > (edges.weight * epoch).floor()).nonzero()[:, 0]
    for part in range(PARTS):
        yield due[part::PARTS]


def _start(rows: Tensor, random: torch.Generator) -> Tensor:
    """(n, 2) first two principal coordinates, each from 0 to ``SIDE``; random ones for less than three columns."""
    import torch

    n, columns = rows.shape
    found = noise = torch.randn((n, 2), generator=random, device=rows.device)
    if min(n, columns) > 2:
        centered = (rows - rows.mean(0)).double()
        axes = with_signs(torch.linalg.eigh(centered.T @ centered).eigenvectors[:, [-1, -2]])
        found = (centered @ axes).float()
        found += NOISE * found.abs().max().clamp_min(NOISE) * noise  # copies start side by side
    low, high = found.amin(0), found.amax(0)
    return SIDE * (found - low) / (high - low)


def nearest_rows(x: Tensor, others: Tensor | None, count: int) -> tuple[Tensor, Tensor]:
    """The nearest of other rows, or of the same rows without the row itself, the nearest first.

    Parameters
    ----------
    x : (m, d) float32 tensor
    others : (n, d) float32 tensor or None
        None for the other rows of ``x``.
    count : int
        At most n, or m - 1.

    Returns
    -------
    index : (m, count) int64 tensor
    distance : (m, count) float32 tensor
        Euclidean.
    """
    import torch

    among = (x if others is None else others).double()
    center = among.mean(0)  # products of rows far from the origin lose digits
    turned, squares = (among - center).T, (among - center).square().sum(1)
    index = torch.empty((len(x), count), dtype=torch.int64, device=x.device)
    distance = torch.empty((len(x), count), dtype=torch.float32, device=x.device)

    def fill(part: slice) -> None:
        rows = x[part].double() - center
        apart = torch.addmm(squares, rows, turned, alpha=-2) + rows.square().sum(1, keepdim=True)
        if others is None:
            own = torch.arange(part.start, part.stop, device=x.device)
            apart.scatter_(1, own[:, None], torch.inf)
        found, index[part] = apart.topk(count, dim=1, largest=False)
        distance[part] = found.clamp_min_(0).sqrt_().float()

    in_blocks(fill, len(x), 8 * (2 * len(among) + 2 * x.shape[1]))
    return index, distance


# Times Scott's.
DENSITY_BANDWIDTH = 0.5

# Points of which a density is estimated.
FEWEST_POINTS = 10


def region_probabilities(points: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float32]:
    """Return, for each place of a grid, the probability of the smallest highest density region that reaches it.

    Parameters
    ----------
    points : (n, 2) array
    x, y : (g,), (h,) arrays
        Evenly spaced coordinates of the grid, which should hold nearly all of the density.

    Returns
    -------
    (h, g) float32 array
        Row i and column j is the place (x[j], y[i]): near 0 at the mode, 1 where there is no density; the line at s
        encloses the share s. All 1 for fewer than :data:`FEWEST` points, or points that share a coordinate.

    Raises
    ------
    InputError
        Points that are not two-dimensional.
    """
    array, across, along = (np.asarray(each, dtype=np.float64) for each in (points, x, y))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError("The points cannot be used", allowed="an (n, 2) array", received=f"shape {array.shape}")
    nowhere = np.ones((along.size, across.size), dtype=np.float32)
    if len(array) < FEWEST_POINTS:
        return nowhere
    widths = DENSITY_BANDWIDTH * array.std(axis=0, ddof=1) * len(array) ** (-1 / 6)
    if not (widths > 0).all():
        return nowhere
    kernels = [
        np.exp(-0.5 * ((grid[:, None] - array[:, axis]) / widths[axis]) ** 2)
        for axis, grid in enumerate((across, along))
    ]
    density = kernels[1] @ kernels[0].T  # the kernel of two axes is the product of theirs
    descending = np.argsort(-density, axis=None, kind="stable")
    reached = np.cumsum(density.ravel()[descending])
    found = nowhere.ravel()
    found[descending] = reached / reached[-1]
    return found.reshape(density.shape)
