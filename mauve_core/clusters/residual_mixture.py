"""Bins from the paths of a deep residual mixture: 3 layers of 10 components, 1,000 bins (NeurIPS 2021, appendix C.3).

Hämäläinen and Solin, *Deep Residual Mixture Models*, arXiv:2006.12063; 20 epochs, batches of 64, learning rate 0.005,
constant for half of the updates and then annealed quadratically. A path z = (z_1, ..., z_L) takes one component of each
layer. Layer l sees a residual r_l, r_1 = x, and the components taken before. Its component c has a weight w_l(c), a
mean mu_l(c) and, for each earlier layer j, a distribution t_lj(. | c) over that layer's components; all share one
deviation s_l, so that none can sit on one text with unbounded likelihood:

    p_l(r, z_1..z_(l-1)) = sum over c of w_l(c) N(r; mu_l(c), s_l^2 I) prod_j t_lj(z_j | c)
    p(x, z) = w_L(z_L) prod_j t_Lj(z_j | z_L) N(x; mu_1(z_1) + ... + mu_L(z_L), s_L^2 I)

The last layer is the density of the model: 10^3 Gaussians with 30 means. In training a row takes the component with
the largest term, r_(l+1) = r_l - mu_l(z_l); the loss is the sum over layers of the mean of -log p_l, without gradient
into earlier layers, by Adam, whose rate is in units of s_L at the start. Layers start from k-means on the residuals
before (single rows as means would hardly get another row in a hundred dimensions), and shares with one row added.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from mauve_core.base.errors import InputError
from mauve_core.clusters.binning import (
    Progress,
    Quantised,
    centre_and_scale,
    distinct_rows,
    label_rows,
    random_stream,
    require_distinct,
    require_finite,
    require_own_size,
    silent,
)
from mauve_core.stats import _checks

if TYPE_CHECKING:
    import torch


_STAGE = "deep residual mixture"
_LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class ResidualMixture:
    """A fitted mixture over paths, in the units of the features.

    Attributes
    ----------
    means : (layers, components, d) float64 array
        Positions for the first layer, steps from there for the others.
    log_prior : (components ** layers,) float64 array
        Log probability of each path; the last layer's component varies fastest.
    deviation : float
        Standard deviation of a path's Gaussian in every direction.
    """

    means: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    deviation: float


def fit_mixture(
    x: ArrayLike,
    settings: MixtureSettings,
    *,
    seed: int | np.random.SeedSequence,
    progress: Progress | None = None,
    device: str = "cpu",
) -> ResidualMixture:
    """Train the mixture; see the module docstring for the model and the loss.

    Raises
    ------
    InputError
        Rows are not finite, there are fewer different rows than components, or the seed or device is not usable.
    """
    rng = random_stream(seed)
    distinct = distinct_rows(x)
    require_distinct(distinct, settings.components, f"{settings.components} components per layer")
    _checks.require_device(device)
    # Sorted, so that the order of the input has no effect.
    rows = distinct.rows[np.sort(distinct.index)]
    centre, scale = centre_and_scale(rows)
    layers = _train(((rows - centre) / scale).astype(np.float32), settings, rng, progress, device)
    means = np.stack([layer.means for layer in layers])
    require_finite("the residual mixture", means, *(layer.log_tables for layer in layers), _log_prior(layers[-1]))
    means *= scale
    means[0] += centre
    return ResidualMixture(means, _log_prior(layers[-1]), layers[-1].deviation * scale)


def log_joint(mixture: ResidualMixture, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p(x, z) of every row with every path: (n, d) -> (n, bins)."""
    layers, _, d = mixture.means.shape
    paths = np.zeros((1, d))
    for layer in range(layers):
        paths = (paths[:, None] + mixture.means[layer]).reshape(-1, d)
    # Measured from the mean path, so that the expanded square of the distance does not cancel.
    middle = paths.mean(axis=0)
    paths, rows = paths - middle, rows - middle
    squares = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", paths, paths) - 2 * rows @ paths.T
    constant = d * (np.log(mixture.deviation) + _LOG_2_PI / 2)
    return np.asarray(mixture.log_prior - constant - squares / (2 * mixture.deviation**2))


def _log_prior(last: Layer) -> NDArray[np.float64]:
    """log w_L(c) + sum_j log t_Lj(z_j | c) over all paths, flattened."""
    before, components = last.log_tables.shape[:2]
    prior = last.log_weights.reshape((1,) * before + (components,))
    for j in range(before):
        shape = [1] * (before + 1)
        shape[j], shape[-1] = components, components
        prior = prior + last.log_tables[j].T.reshape(shape)
    return np.ascontiguousarray(prior).ravel()


def _train(
    rows: NDArray[np.float32],
    settings: MixtureSettings,
    rng: np.random.Generator,
    progress: Progress | None,
    device: str,
) -> list[Layer]:
    import torch

    report = progress or silent
    report(_STAGE, 0, settings.epochs)
    with torch.enable_grad():
        start = start_layers(rows, settings, rng)
        layers = [_Parameters(layer, start[-1].deviation, device) for layer in start]
        data = torch.as_tensor(rows, device=device)
        parameters = [tensor for layer in layers for tensor in layer.tensors]
        optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate, foreach=True)
        edges = [*range(0, len(rows), settings.batch), len(rows)]
        updates, update = settings.epochs * (len(edges) - 1), 0
        for epoch in range(settings.epochs):
            order = torch.as_tensor(rng.permutation(len(rows)), device=device)
            for low, high in pairwise(edges):
                optimiser.param_groups[0]["lr"] = settings.learning_rate * min(1.0, (2 - 2 * update / updates) ** 2)
                optimiser.zero_grad()
                torch.autograd.backward(_loss(layers, data[order[low:high]]))
                optimiser.step()
                for layer in layers:
                    layer.keep_in_range()
                update += 1
            report(_STAGE, epoch + 1, settings.epochs)
    return [layer.as_arrays() for layer in layers]


class _Parameters:
    """A layer in training: logits for probabilities, a logarithm for the deviation, and for means the steps from their
    start in a unit of length."""

    def __init__(self, layer: Layer, unit: float, device: str) -> None:
        import torch

        def leaf(values: ArrayLike) -> torch.Tensor:
            return torch.tensor(np.asarray(values), dtype=torch.float32, device=device, requires_grad=True)

        self.start, self.unit = leaf(layer.means).detach(), unit
        self.steps, self.log_deviation = leaf(np.zeros_like(layer.means)), leaf(np.log(layer.deviation))
        self.weights, self.tables = leaf(layer.log_weights), leaf(layer.log_tables)
        self.tensors = [self.steps, self.log_deviation, self.weights, self.tables]

    def means(self) -> torch.Tensor:
        return self.start + self.unit * self.steps

    def log_terms(self, residual: torch.Tensor, means: torch.Tensor, taken: list[torch.Tensor]) -> torch.Tensor:
        """(b, components): log of the terms of p_l for a batch of residuals and one-hot earlier components."""
        squares = residual.square().sum(1, keepdim=True) + means.square().sum(1) - 2 * residual @ means.T
        constant = residual.shape[1] * (self.log_deviation + _LOG_2_PI / 2)
        terms = self.weights.log_softmax(0) - constant - squares / 2 * (-2 * self.log_deviation).exp()
        log_tables = self.tables.log_softmax(2)
        for j, chosen in enumerate(taken):
            terms = terms + chosen @ log_tables[j].T
        return terms

    def keep_in_range(self) -> None:
        self.log_deviation.data.clamp_(min=float(np.log(LEAST_DEVIATION)))

    def as_arrays(self) -> Layer:
        weights, tables = self.weights.detach().double(), self.tables.detach().double()
        return Layer(
            self.means().detach().double().cpu().numpy(),
            float(self.log_deviation.detach().double().exp()),
            weights.log_softmax(0).cpu().numpy(),
            tables.log_softmax(2).cpu().numpy(),
        )


def _loss(layers: list[_Parameters], residual: torch.Tensor) -> torch.Tensor:
    """Sum over layers of the mean of -log p_l, along the path of the largest terms."""
    import torch

    taken: list[torch.Tensor] = []
    losses = []
    for layer in layers:
        means = layer.means()
        terms = layer.log_terms(residual, means, taken)
        losses.append(-terms.logsumexp(1).mean())
        chosen = torch.nn.functional.one_hot(terms.detach().argmax(1), terms.shape[1]).to(residual.dtype)
        residual = residual - chosen @ means.detach()
        taken.append(chosen)
    return torch.stack(losses).sum()


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
    """Means of a k-means run and the mean of each row. Unlike ``clusters.k_means.kmeans`` it may leave means
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


# Joint probabilities held at once: 64 MB.
_ENTRIES_AT_ONCE = 2**23


@dataclass(frozen=True)
class ResidualMixtureQuantiser(MixtureSettings):
    """A row's bin is its most likely path, argmax_z p(x, z): the exact maximum over all, not the path of the training.

    The label is the path as a number, with the first layer's component as first digit.
    """

    name: ClassVar[str] = "drmm"
    title: ClassVar[str] = "Deep residual mixture"

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.clusters.binning.Quantiser`; needs as many different rows as components.

        Labels do not depend on the order of the rows. Equal seeds give equal labels on the CPU with equally many
        threads; on other devices, up to the rounding of sums. ``objective`` is the mean of -log p(x) of the whole
        mixture. It may rise in some epochs, because the layers are trained on their own losses.
        """
        require_own_size(self.title, self.bins, k)
        mixture = fit_mixture(x, self, seed=seed, progress=progress, device=device)

        def likeliest(rows: NDArray[np.float64]) -> NDArray[np.integer]:
            return np.concatenate(
                [log_joint(mixture, rows[part]).argmax(axis=1) for part in _parts(len(rows), self.bins)]
            )

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, mixture.means.shape[2], likeliest)

        loss = negative_log_likelihood(mixture, x)
        return Quantised(assign(x), self.bins, loss, assign)


def negative_log_likelihood(mixture: ResidualMixture, x: ArrayLike) -> float:
    """Mean of -log p(x) over the (n, d) rows, in nats; negative if densities exceed 1."""
    distinct = distinct_rows(x)
    parts = _parts(len(distinct.rows), mixture.log_prior.size)
    logs = [logsumexp(log_joint(mixture, distinct.rows[part].astype(np.float64)), axis=1) for part in parts]
    return float(-np.concatenate(logs)[np.sort(distinct.index)].mean())


def _parts(rows: int, bins: int) -> list[slice]:
    return _checks.row_blocks(rows, max(1, _ENTRIES_AT_ONCE // bins))
