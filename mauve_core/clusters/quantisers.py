"""Methods to partition feature space into bins, by name: ``QUANTISERS["drmm"].fit(rows, seed=sequence).labels``.

k-means takes any number of bins and gives the published scores; the deep residual mixture makes 1,000 bins and the
lattice 744: the integer points of a sphere in 4 dimensions of radius r = sqrt(50), to which a net f maps the rows. A
row gets the point u with the largest f(x) . u; bins can be empty. NeurIPS 2021, appendix C.3, with the net of
Sablayrolles et al., *Spreading vectors for similarity search*, ICLR 2019: 200 epochs, batches of 64, learning rate 0.1,
0.05 after half of the training and 0.01 after three quarters. What those pages leave open: f(x) = g / |g|, g =
relu(batchnorm(x A)) B + b, on rows that are centered and divided by one number. The loss of rows x with a positive x+
and a negative x- is

    mean of max(0, |f(x) - f(x+)| - |f(x) - f(x-)|)  -  spreading * mean of log min |f(x) - f(x')|

x+ is one of the 10 nearest rows, drawn anew each time, x- the row whose image is the 50th nearest, updated every 5
epochs, and x' runs over the other rows of the batch (Kozachenko-Leonenko: minus the entropy). Copies are neither. SGD
without momentum. spreading = 0.1 was chosen on 6,144 rows of a language model: at 0.02 images use about 80 of 744
points, at 0.1 about 670, and a row shares its point with 14 % of its 10 nearest rows; at 0.2, about 730 and 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from mauve_core.base.errors import InputError
from mauve_core.clusters.binning import (
    Progress,
    Quantised,
    Quantiser,
    centre_and_scale,
    distinct_rows,
    label_rows,
    random_stream,
    require_distinct,
    require_finite,
    require_own_size,
    silent,
)
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.residual_mixture import ResidualMixtureQuantiser
from mauve_core.stats import _checks

if TYPE_CHECKING:
    import torch


_KMEANS_STAGE = "k-means"


@dataclass(frozen=True)
class KMeans:
    """The best of several k-means runs; the labels are exactly those of :func:`clusters.k_means.kmeans`.

    ``assign`` gives the nearest center, the first one of a tie. If the best run stopped at ``max_iterations``, a row
    of the fit may lie nearer to another center than its own.

    Attributes
    ----------
    restarts, max_iterations : int
        k-means++ starts, and the limit on Lloyd iterations of each (NeurIPS 2021, appendix C.3).
    """

    restarts: int = 5
    max_iterations: int = 500

    name: ClassVar[str] = "kmeans"
    title: ClassVar[str] = "k-means"
    bins: ClassVar[None] = None

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.clusters.binning.Quantiser`."""
        if k is None:
            raise InputError("k-means needs the number of bins", allowed="a whole number of at least 2")
        report = progress or silent
        report(_KMEANS_STAGE, 0, 1)
        clustering = kmeans(x, k, restarts=self.restarts, max_iterations=self.max_iterations, seed=seed, device=device)
        report(_KMEANS_STAGE, 1, 1)
        centres = clustering.centers
        offsets = np.einsum("ij,ij->i", centres, centres) / 2

        def nearest(rows: NDArray[np.float64]) -> NDArray[np.integer]:
            return np.asarray((rows @ centres.T - offsets).argmax(axis=1))

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, centres.shape[1], nearest)

        return Quantised(clustering.labels, k, clustering.objective, assign)


# Dimension of the space around the sphere.
DIMENSIONS = 4

# A row, its positive and its negative.
LEAST_ROWS = 3

# Ranks of images change slowly, and updating them takes about as long as an epoch's updates.
EPOCHS_BETWEEN_LOOKUPS = 5

# Share of the training -> factor of the learning rate from there on.
_RATES = ((0.75, 0.1), (0.5, 0.5), (0.0, 1.0))

# Added to variances in batch normalization against division by 0; they are about 1 otherwise.
_VARIANCE_FLOOR = 1e-5

# Smallest distance between images: a few units of float32 rounding on a unit vector.
_LEAST_DISTANCE = 1e-6

# Rows whose distances to all others are held at once.
_BLOCK = 512

_SPREADING_STAGE = "spreading net"


@dataclass(frozen=True)
class SpreadingSettings:
    """Structure and training of the net.

    Attributes
    ----------
    epochs : int
        Passes over the rows; 0 keeps the random net.
    batch : int
        Rows per update; an epoch drops an incomplete last batch.
    learning_rate : float
        Rate of the first half of the training.
    hidden : int
        Width of the hidden layer.
    spreading : float
        Weight of the spreading term.
    positives, negative_rank : int
        Number of nearest rows for the positive, and rank of the negative; smaller if there are too few rows.
    """

    epochs: int = 200
    batch: int = 64
    learning_rate: float = 0.1
    hidden: int = 128
    spreading: float = 0.1
    positives: int = 10
    negative_rank: int = 50

    def __post_init__(self) -> None:
        _checks.whole("The number of epochs", self.epochs, low=0)
        _checks.whole("The batch size", self.batch, low=2)
        _checks.whole("The width of the hidden layer", self.hidden, low=1)
        _checks.whole("The number of positives", self.positives, low=1)
        _checks.whole("The rank of the negative", self.negative_rank, low=1)
        _checks.positive("The learning rate", self.learning_rate)
        _checks.positive("The weight of the spreading term", self.spreading)


@dataclass(frozen=True)
class SphereMap:
    """The trained net up to its last normalization, with batch normalization folded in: relu(x first + c) second + b.

    Attributes
    ----------
    first, c, second, b : (d, hidden), (hidden,), (hidden, 4), (4,) float64 arrays
    """

    first: NDArray[np.float64]
    c: NDArray[np.float64]
    second: NDArray[np.float64]
    b: NDArray[np.float64]


def fit_map(
    x: ArrayLike,
    settings: SpreadingSettings,
    *,
    seed: int | np.random.SeedSequence,
    progress: Progress | None = None,
    device: str = "cpu",
) -> tuple[SphereMap, float]:
    """Train the net; return it and its mean loss over one more pass. See the module docstring.

    Raises
    ------
    InputError
        Rows are not finite, there are fewer than three different ones, or the seed or device is not usable.
    """
    rng = random_stream(seed)
    distinct = distinct_rows(x)
    require_distinct(distinct, LEAST_ROWS, "triplets of texts")
    _checks.require_device(device)
    # Sorted, so that the order of the input has no effect.
    anchors = np.sort(distinct.index)
    centre, scale = centre_and_scale(distinct.rows[anchors])
    rows = ((distinct.rows - centre) / scale).astype(np.float32)
    net, loss = _train_net(rows, anchors, settings, rng, progress, device)
    first = net.first / scale
    return SphereMap(first, net.c - centre @ first, net.second, net.b), loss


def images(net: SphereMap, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Images of rows, not yet of unit length: (n, d) -> (n, 4)."""
    return np.asarray(np.maximum(rows @ net.first + net.c, 0.0) @ net.second + net.b)


def nearest_rows(rows: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The ``count`` nearest other rows of each row, unordered: (m, d) -> (m, count)."""
    wide = rows.astype(np.float64)
    halves = np.einsum("ij,ij->i", wide, wide) / 2
    near = np.empty((len(rows), count), dtype=np.intp)
    for start in range(0, len(rows), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(rows)))
        # Half the squared distance, minus a term common to the whole row.
        distances = halves - wide[block] @ wide.T
        distances[block - start, block] = np.inf
        near[block] = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return near


def _train_net(
    rows: NDArray[np.float32],
    anchors: NDArray[np.intp],
    settings: SpreadingSettings,
    rng: np.random.Generator,
    progress: Progress | None,
    device: str,
) -> tuple[SphereMap, float]:
    import torch

    report = progress or silent
    report(_SPREADING_STAGE, 0, settings.epochs)
    positives = nearest_rows(rows, min(settings.positives, len(rows) - 2))
    triplets = _Triplets(anchors, positives, settings.batch, rng)
    net = _Net(rows, settings, rng, device)
    data = torch.as_tensor(rows, device=device)
    with torch.enable_grad():
        for epoch in range(settings.epochs):
            if epoch % EPOCHS_BETWEEN_LOOKUPS == 0:
                negatives = _ranked(net.folded(rows), rows, settings.negative_rank)
            share = epoch / settings.epochs
            rate = settings.learning_rate * next(factor for start, factor in _RATES if share >= start)
            for batch in triplets.batches(negatives):
                positions = torch.as_tensor(batch, device=device)
                loss = _spreading_loss(net.train_images(data[positions.ravel()]), positions[0], settings.spreading)
                net.step(loss, rate)
            report(_SPREADING_STAGE, epoch + 1, settings.epochs)
    folded = net.folded(rows)
    on_sphere = torch.as_tensor(_unit(images(folded, rows.astype(np.float64))))
    last = (torch.as_tensor(batch) for batch in triplets.batches(_ranked(folded, rows, settings.negative_rank)))
    losses = [
        float(_spreading_loss(on_sphere[positions.ravel()], positions[0], settings.spreading)) for positions in last
    ]
    return folded, float(np.mean(losses))


@dataclass(frozen=True, eq=False)
class _Triplets:
    """Rows of the texts (n,), the candidates for the positive of each distinct row (m, c), and the batch size."""

    anchors: NDArray[np.intp]
    positives: NDArray[np.intp]
    size: int
    rng: np.random.Generator

    def batches(self, negatives: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """(3, b) positions of anchors, positives and negatives, in a new order each time."""
        order = self.anchors[self.rng.permutation(len(self.anchors))]
        drawn = self.positives[order, self.rng.integers(0, self.positives.shape[1], len(order))]
        triplets = np.stack([order, drawn, negatives[order]])
        size = min(self.size, len(order))
        for batch in range(len(order) // size):
            yield np.ascontiguousarray(triplets[:, batch * size : (batch + 1) * size])


def _ranked(net: SphereMap, rows: NDArray[np.float32], rank: int) -> NDArray[np.intp]:
    """The row whose image is the ``rank``-th nearest to the image of each row."""
    on_sphere = _unit(images(net, rows.astype(np.float64)))
    # The nearest is the row itself, or one with an equal image.
    _, found = cKDTree(on_sphere).query(on_sphere, k=[min(rank, len(rows) - 1) + 1])
    return np.asarray(found[:, 0], dtype=np.intp)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))


class _Net:
    """The net in training."""

    def __init__(
        self, rows: NDArray[np.float32], settings: SpreadingSettings, rng: np.random.Generator, device: str
    ) -> None:
        import torch

        def leaf(values: NDArray[np.float64]) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float32, device=device, requires_grad=True)

        d, hidden = rows.shape[1], settings.hidden
        self.first = leaf(rng.normal(size=(d, hidden)) / np.sqrt(d))
        self.gain, self.shift = leaf(np.ones(hidden)), leaf(np.zeros(hidden))
        self.second = leaf(rng.normal(size=(hidden, DIMENSIONS)) / np.sqrt(hidden))
        self.bias = leaf(np.zeros(DIMENSIONS))
        self.tensors = [self.first, self.gain, self.shift, self.second, self.bias]

    def train_images(self, rows: torch.Tensor) -> torch.Tensor:
        """Unit images of a batch, normalized by its own mean and variance."""
        from torch.nn import functional

        inner = functional.batch_norm(
            rows @ self.first, None, None, self.gain, self.shift, training=True, eps=_VARIANCE_FLOOR
        )
        return functional.normalize(inner.relu() @ self.second + self.bias, dim=1)

    def step(self, loss: torch.Tensor, rate: float) -> None:
        import torch

        slopes = torch.autograd.grad(loss, self.tensors)
        with torch.no_grad():
            for tensor, slope in zip(self.tensors, slopes, strict=True):
                tensor.sub_(slope, alpha=rate)

    def folded(self, rows: NDArray[np.float32]) -> SphereMap:
        """The net with batch normalization by the mean and variance of all rows."""
        first, gain, shift, second, bias = (tensor.detach().double().cpu().numpy() for tensor in self.tensors)
        require_finite("the spreading net", first, gain, shift, second, bias)
        inner = rows.astype(np.float64) @ first
        factor = gain / np.sqrt(inner.var(axis=0) + _VARIANCE_FLOOR)
        return SphereMap(first * factor, shift - inner.mean(axis=0) * factor, second.copy(), bias.copy())


def _spreading_loss(on_sphere: torch.Tensor, anchors: torch.Tensor, spreading: float) -> torch.Tensor:
    """The loss of a batch from the (3 b, 4) images of anchors, positives and negatives."""
    import torch

    size = len(anchors)
    own = on_sphere[:size]
    with torch.no_grad():
        copies = anchors[:, None] == anchors
        nearest = (own @ own.T).masked_fill(copies, -2.0).argmax(1)
    others = torch.cat((on_sphere[size:], own.index_select(0, nearest)))
    near, far, gap = torch.linalg.vector_norm(own.repeat(3, 1) - others, dim=1).split(size)
    loss: torch.Tensor = (near - far).relu().mean() - spreading * gap.clamp(min=_LEAST_DISTANCE).log().mean()
    return loss


@dataclass(frozen=True)
class Lattice(SpreadingSettings):
    """A row's bin is the lattice point nearest to its image.

    Attributes
    ----------
    squared_radius : int
        Sum of the squares of a point's coordinates.
    """

    squared_radius: int = 50

    name: ClassVar[str] = "lattice"
    title: ClassVar[str] = "Lattice"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.whole("The squared radius", self.squared_radius, low=1)

    @property
    def bins(self) -> int:
        """Points of the lattice on the sphere."""
        return len(sphere_points(self.squared_radius))

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.clusters.binning.Quantiser`; needs three different rows.

        Labels do not depend on the order of the rows. Equal seeds give equal labels on the CPU with equally many
        threads; on other devices, up to the rounding of sums. ``objective`` is the mean loss of one more pass over the
        rows after training.
        """
        require_own_size(self.title, self.bins, k)
        net, loss = fit_map(x, self, seed=seed, progress=progress, device=device)
        points = sphere_points(self.squared_radius)

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, len(net.first), lambda rows: nearest_point(images(net, rows), points))

        return Quantised(assign(x), self.bins, loss, assign)


@cache
def sphere_points(squared_radius: int) -> NDArray[np.int64]:
    """All points of 4 integers whose squares sum to ``squared_radius``, sorted: (points, 4) int64, read-only."""
    side = np.arange(-int(np.sqrt(squared_radius)), int(np.sqrt(squared_radius)) + 1)
    grid = np.stack(np.meshgrid(*[side] * DIMENSIONS, indexing="ij"), axis=-1).reshape(-1, DIMENSIONS)
    points: NDArray[np.int64] = grid[(grid**2).sum(axis=1) == squared_radius]
    points.setflags(write=False)
    return points


def nearest_point(vectors: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.intp]:
    """The point of the sphere nearest to each vector's direction, the first one of a tie: (n, 4) -> (n,)."""
    return np.asarray((vectors @ points.T.astype(np.float64)).argmax(axis=1))


# Every quantizer with the settings of the papers, in display order.
QUANTISERS: dict[str, Quantiser] = {item.name: item for item in (KMeans(), ResidualMixtureQuantiser(), Lattice())}
