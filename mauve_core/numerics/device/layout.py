"""UMAP on a device (McInnes et al. 2018): the same graph and the same moves, a quarter of an epoch's edges at once.

umap-learn moves rows one edge at a time, which a device cannot do in parallel, and compiles. Here all moves of a part
come from the same positions and are added in whole numbers of 2^-32, whose sums do not depend on the order of addition,
so equal input and seed give equal positions on equal devices. ``benchmarks/map_sample.py`` compares trustworthiness.

Everything else is UMAP's: exact neighbors, the fuzzy union of their memberships, a start from principal components,
weighted edges that pull more often, and rows drawn at random that push.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.memory import DeviceTable, device_work, torch_device
from mauve_core.numerics.device.nearest import nearest_rows
from mauve_core.numerics.device.reduction import with_signs
from mauve_core.numerics.feature_space.stacked import Stacked

if TYPE_CHECKING:
    import torch
    from torch import Tensor

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
    """Place rows on a plane; :func:`mauve_core.numerics.feature_space.projection.project` on a device.

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
    """:func:`mauve_core.numerics.feature_space.projection.placed` on a device, from ``count`` fitted neighbors."""
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
