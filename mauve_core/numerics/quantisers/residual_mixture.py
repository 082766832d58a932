"""A deep residual mixture: layers of Gaussian mixtures, each of which models the residuals of the layers before it.

Hämäläinen and Solin, *Deep Residual Mixture Models*, arXiv:2006.12063. Sizes and schedule follow NeurIPS 2021,
appendix C.3: 3 layers of 10 components, thus 1,000 bins, 20 epochs, batches of 64, learning rate 0.005, constant for
half of the updates and then annealed quadratically. The following settles what that page leaves open.

**Model.** A path z = (z_1, ..., z_L) takes one component of each layer. Layer l sees a residual r_l, with r_1 = x, and
the components z_1, ..., z_(l-1) taken before. Its component c has a weight w_l(c), a mean mu_l(c), and for each
earlier layer j a distribution t_lj(. | c) over that layer's components. All components of a layer share one isotropic
standard deviation s_l, so that none can sit on one text with unbounded likelihood.

    p_l(r, z_1..z_(l-1)) = sum over c of w_l(c) N(r; mu_l(c), s_l^2 I) prod_j t_lj(z_j | c)

The last layer is the density of the whole model: r_L = x - mu_1(z_1) - ... - mu_(L-1)(z_(L-1)) is x shifted, hence

    p(x, z) = w_L(z_L) prod_j t_Lj(z_j | z_L) N(x; mu_1(z_1) + ... + mu_L(z_L), s_L^2 I)

a mixture of 10^3 Gaussians with 30 means; t_L makes paths without texts improbable.

**Training.** At each layer a row takes the component with the largest term (hard assignment), and
r_(l+1) = r_l - mu_l(z_l). The loss of a batch is the sum over layers of the mean of -log p_l. No gradient flows
through r_l and z_l into an earlier layer, so each layer is fitted to fixed residuals. The optimizer is Adam. The
learning rate is a length in feature space; its unit is the deviation s_L at the start, the residual of all layers
together, so that steps are short relative to even tight clusters.
:mod:`mauve_core.numerics.quantisers.residual_layers` gives the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.quantisers.base import (
    Progress,
    centre_and_scale,
    distinct_rows,
    random_stream,
    require_distinct,
    require_finite,
    silent,
)
from mauve_core.numerics.quantisers.residual_layers import LEAST_DEVIATION, Layer, MixtureSettings, start_layers

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
