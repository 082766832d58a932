"""The divergence frontier and the area under its exponentiated curve, MAUVE.

The frontier is the set of points (KL(Q || R), KL(P || R)) for R = l P + (1 - l) Q, l in (0, 1) (JMLR 2023, section
3.1; NeurIPS 2021, equation 1). MAUVE is the area under (exp(-c KL(Q || R)), exp(-c KL(P || R))) together with the
points (1, 0) and (0, 1) (JMLR 2023, equation 5). P is the human side; logarithms are natural.

:func:`mauve` uses the trapezoidal rule on :data:`REFERENCE_WEIGHTS`, so its values compare with published ones. That
rule is off by up to about 0.003. :func:`mauve_area` computes the exact area.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.kl import Terms, mixture_errors

REFERENCE_SIZE = 25
REFERENCE_MARGIN = 1e-6
MOST_WEIGHTS = 1_000_000


def reference_weights(size: int = REFERENCE_SIZE) -> NDArray[np.float64]:
    """(size,) evenly spaced weights from 1e-6 to 1 - 1e-6, the grid of published MAUVE values."""
    size = _checks.whole("The number of mixture weights", size, low=2)
    if size > MOST_WEIGHTS:
        raise InputError("There are too many mixture weights", allowed=f"2 to {MOST_WEIGHTS:,}", received=f"{size:,}")
    return np.linspace(REFERENCE_MARGIN, 1 - REFERENCE_MARGIN, size)


REFERENCE_WEIGHTS = reference_weights()
REFERENCE_WEIGHTS.setflags(write=False)

# Numbers handled at once: eight float64 arrays of this size stay in a core's cache.
_BLOCK = 1 << 15
# The area integrates over the log odds of the weight from -45 to 45; the rest is below c exp(-45).
_REACH = 45.0
_NODES = 8
_FIRST_PANELS = 32
_LAST_PANELS = 1 << 14
# Two successive refinements of the area must agree to this.
_AREA_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Frontier:
    """Points of one divergence frontier, or of many with the same weights.

    Attributes
    ----------
    weights : (m,) float64 array
        Weight of P in the mixture, increasing.
    type_1, type_2 : (..., m) float64 arrays
        KL(Q || R) and KL(P || R) in nats, in [0, inf].
    """

    weights: NDArray[np.float64]
    type_1: NDArray[np.float64]
    type_2: NDArray[np.float64]

    def curve(self, scale: float = 5.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exponentiate the frontier, in increasing order of the weight of P.

        Parameters
        ----------
        scale : float > 0
            The constant c.

        Returns
        -------
        x, y : (..., m + 2) float64 arrays in [0, 1]
            exp(-c type_1), decreasing, and exp(-c type_2), increasing, with (1, 0) added first and (0, 1) last.
        """
        c = _checks.positive("The scale", scale)
        ends = np.zeros((*self.type_1.shape[:-1], 1)), np.ones((*self.type_1.shape[:-1], 1))
        with np.errstate(under="ignore"):
            x, y = np.exp(-c * self.type_1), np.exp(-c * self.type_2)
        return np.concatenate([ends[1], x, ends[0]], axis=-1), np.concatenate([ends[0], y, ends[1]], axis=-1)


def divergence_frontier(p: ArrayLike, q: ArrayLike, weights: ArrayLike = REFERENCE_WEIGHTS) -> Frontier:
    """Compute both errors along a grid of mixture weights.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    weights : (m,) array
        Increasing numbers in [0, 1].

    Returns
    -------
    Frontier
        type_1 and type_2 of shape (..., m), relative error below 1e-13.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the weights do not increase within [0, 1].
    """
    return frontier_of_terms(p, q, weights)


def frontier_of_terms(p: ArrayLike, q: ArrayLike, weights: ArrayLike, terms: Terms | None = None) -> Frontier:
    """:func:`divergence_frontier`, errors included, of the f-divergence with these ``terms``; by default KL."""
    grid = _checks.mixture_weights(weights)
    left, right = _checks.distributions(p, q)
    shape, k = left.shape[:-1], left.shape[-1]
    left, right = left.reshape(-1, k), right.reshape(-1, k)
    errors = np.empty((2, left.shape[0], grid.size))
    for part in _checks.row_blocks(len(left), max(1, _BLOCK // k)):
        for column, weight in enumerate(grid):
            errors[:, part, column] = mixture_errors(left[part], right[part], weight, 1 - weight, terms)
    type_1, type_2 = errors.reshape(2, *shape, grid.size)
    return Frontier(grid, type_1, type_2)


def mauve(p: ArrayLike, q: ArrayLike, scale: float = 5.0) -> NDArray[np.float64]:
    """MAUVE on the reference grid, comparable with published values (JMLR 2023, equation 5).

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    scale : float > 0
        The constant c.

    Returns
    -------
    (...) float64 array
        In [0, 1], exactly 1 for equal histograms; symmetric in p and q.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the scale is not positive.
    """
    return trapezoid_area(*divergence_frontier(p, q).curve(scale))


def mauve_area(p: ArrayLike, q: ArrayLike, scale: float = 5.0) -> float:
    """Area under the exponentiated frontier to 1e-6 or better, independent of any grid.

    With s the log odds of the weight, the area is the integral of -y dx/ds. The integrand is smooth on the whole line
    for any histograms and any scale, even if a bin is empty on one side and the frontier runs to infinity. Beyond
    |s| = 45 the curve lies within c exp(-45) of the lines x = 1 and y = 1, because r >= weight p gives
    KL(P || R) <= -log(weight), and likewise for Q. A composite Gauss-Legendre rule doubles its panels until it settles.

    Parameters
    ----------
    p, q : (k,) array
    scale : float > 0

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        The inputs are not two probability vectors, or the scale is not positive or too large for the rule to settle.
    """
    left, right = _checks.distributions(p, q)
    if left.ndim != 1:
        raise InputError(
            "mauve_area takes one pair of histograms", allowed="shape (k,)", received=f"shape {left.shape}"
        )
    c = _checks.positive("The scale", scale)
    before, panels = np.inf, _FIRST_PANELS
    while panels <= _LAST_PANELS:
        area = _area_under_panels(left, right, c, panels)
        if abs(area - before) < _AREA_TOLERANCE:
            return float(min(max(area, 0.0), 1.0))
        before, panels = area, 2 * panels
    raise InputError("The area does not converge at this scale", received=repr(scale), todo="Choose a smaller scale")


def trapezoid_area(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(...) area under curves of (..., m) points from (1, 0) to (0, 1), clipped to [0, 1] against rounding."""
    steps = x[..., :-1] - x[..., 1:]
    area = (steps * (y[..., :-1] + y[..., 1:])).sum(axis=-1) / 2
    return np.asarray(np.clip(area, 0.0, 1.0))


def _area_under_panels(p: NDArray[np.float64], q: NDArray[np.float64], c: float, panels: int) -> float:
    nodes, node_weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(-_REACH, _REACH, panels + 1)
    half = _REACH / panels
    log_odds = (edges[:-1, None] + half * (1 + nodes)).ravel()
    area = 0.0
    factors = np.tile(half * node_weights, panels)
    for part in _checks.row_blocks(log_odds.size, max(1, _BLOCK // p.size)):
        x, y, slope = _curve_at(p, q, c, log_odds[part])
        area += float((factors[part] * y * x * slope).sum())
    last_x, last_y, _ = _curve_at(p, q, c, np.array([_REACH]))
    return area + float(last_x[0] * last_y[0])


def _curve_at(
    p: NDArray[np.float64], q: NDArray[np.float64], c: float, log_odds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """x, y and -d log(x) / ds at each of the (m,) log odds; computes 1 - weight without cancellation."""
    weight, rest = expit(log_odds)[:, None], expit(-log_odds)[:, None]
    type_1, type_2 = mixture_errors(p, q, weight, rest)
    mixture = weight * p + rest * q
    ratio = np.divide(q * (p - q), mixture, out=np.zeros_like(mixture), where=mixture > 0)
    slope = -c * (ratio.sum(axis=-1) * (weight * rest)[:, 0])
    with np.errstate(under="ignore"):
        return np.exp(-c * type_1), np.exp(-c * type_2), slope
