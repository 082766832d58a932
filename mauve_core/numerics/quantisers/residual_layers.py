"""The layers of a deep residual mixture and their initialization.

Each layer starts from k-means, with one k-means++ draw, on the residuals of the layers before. Rows go to the nearest
mean, the deviation is the root mean square of the new residual, and weights and tables are the shares of rows, with
one row added everywhere. (With single rows as means, most components never get another row in a hundred dimensions,
where the row nearest to the middle is nearest to nearly all.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Paths compared one by one.
MOST_BINS = 100_000

# Smallest standard deviation of a layer, as a share of that of the rows: copies of ten texts must not make it 0.
LEAST_DEVIATION = 1e-3

# Most iterations at the start of a layer; training continues from there anyway.
_LLOYD_ITERATIONS = 100


@dataclass(frozen=True)
class MixtureSettings:
    """Size and training of the mixture.

    Attributes
    ----------
    layers, components : int
        ``components ** layers`` paths.
    epochs : int
        Passes over the rows; 0 keeps the start.
    batch : int
        Rows per update.
    learning_rate : float
        Rate of the first half of the updates.
    """

    layers: int = 3
    components: int = 10
    epochs: int = 20
    batch: int = 64
    learning_rate: float = 0.005

    def __post_init__(self) -> None:
        _checks.whole("The number of layers", self.layers, low=1)
        _checks.whole("The number of components", self.components, low=2)
        _checks.whole("The number of epochs", self.epochs, low=0)
        _checks.whole("The batch size", self.batch, low=1)
        _checks.positive("The learning rate", self.learning_rate)
        if self.bins > MOST_BINS:
            paths = f"{self.components}^{self.layers}"
            raise InputError("Too many paths", allowed=f"at most {MOST_BINS:,}", received=paths)

    @property
    def bins(self) -> int:
        """Paths through the layers."""
        return int(self.components**self.layers)


@dataclass(frozen=True)
class Layer:
    """One layer: (components, d) means, (components,) log weights, and (layers before, components, components) log
    tables. Entry [j, c] of the tables is the distribution over layer j's components given this layer's component c."""

    means: NDArray[np.float64]
    deviation: float
    log_weights: NDArray[np.float64]
    log_tables: NDArray[np.float64]


def start_layers(rows: NDArray[np.float32], settings: MixtureSettings, rng: np.random.Generator) -> list[Layer]:
    """The layers before training."""
    residual = rows.astype(np.float64)
    taken: list[NDArray[np.intp]] = []
    layers = []
    components = settings.components
    for _ in range(settings.layers):
        means, nearest = _cluster(residual, components, rng)
        residual = residual - means[nearest]
        deviation = max(float(np.sqrt((residual**2).mean())), LEAST_DEVIATION)
        counts = np.bincount(nearest, minlength=components) + 1.0
        tables = np.ones((len(taken), components, components))
        for j, earlier in enumerate(taken):
            np.add.at(tables[j], (nearest, earlier), 1.0)
        log_tables = np.log(tables / tables.sum(axis=2, keepdims=True))
        layers.append(Layer(means, deviation, np.log(counts / counts.sum()), log_tables))
        taken.append(nearest)
    return layers


def _cluster(
    residual: NDArray[np.float64], components: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Means of a k-means run and the mean of each row. Unlike ``numerics.clustering.kmeans`` it may leave means
    without rows, because residuals, unlike texts, may all be equal."""
    means = _first_means(residual, components, rng)
    nearest = _nearest(residual, means)
    for _ in range(_LLOYD_ITERATIONS):
        counts = np.bincount(nearest, minlength=components)
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, residual)
        taken = counts > 0
        means[taken] = sums[taken] / counts[taken, None]
        before, nearest = nearest, _nearest(residual, means)
        if np.array_equal(before, nearest):
            break
    return means, nearest


def _first_means(residual: NDArray[np.float64], components: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Rows, each drawn with probability proportional to its squared distance to the nearest row drawn before."""
    means = np.empty((components, residual.shape[1]))
    squares = np.ones(len(residual))
    for c in range(components):
        total = squares.sum()
        # With fewer different residuals than components, no distance is left; then any row will do.
        chances = squares / total if total > 0 else None
        means[c] = residual[rng.choice(len(residual), p=chances)]
        distances = ((residual - means[c]) ** 2).sum(axis=1)
        squares = np.minimum(squares, distances) if c else distances
    return means


def _nearest(residual: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.intp]:
    # Half the squared distance, minus a term common to all means.
    return np.asarray((np.einsum("ij,ij->i", means, means) / 2 - residual @ means.T).argmin(axis=1))
