"""Frontiers with optimal transport costs as errors instead of divergences (JMLR 2023, section 7.4.2).

A point of a frontier is (OT(Q, R), OT(P, R)) for one R between P and Q: their mixture l P + (1 - l) Q (equation 31),
or their barycenter, the R that minimizes l OT(P, R) + (1 - l) OT(Q, R) (equation 32). The cost is the squared
Euclidean distance; l is the weight of P in both. The score is the area under the negative exponential of the frontier,
``trapezoid_area(*frontier.curve(5))``. The published values of the linear frontier use c = 5 and features of unit norm
(JMLR 2023, table 17). Other features give costs of another size and need their own c.

The barycentric frontier depends on the space of R. Anywhere in feature space, the barycenter is the point l of the
geodesic from Q to P, and the frontier is (l^2 OT(P, Q), (1 - l)^2 OT(P, Q)) for any P and Q. On the cluster centers
alone, R is a histogram, found exactly or with an entropic term. The paper uses an entropic term for speed, of the size
of the median cost, but does not say what else is regularized besides R. Here the costs to R are exact, so the paper's
values may not be reproduced.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier
from mauve_core.numerics.transport.costs import exact_cost, exact_plan, histograms_on_points, squared_distances

_Array = NDArray[np.float64]

# Spaces of the barycenter.
BARYCENTRES = {
    "free": "anywhere in feature space",
    "centres": "a histogram over the cluster centers, exact",
    "entropic": "a histogram over the cluster centers, with an entropic term",
}

# Total mass by which the plans of an entropic barycenter may miss P and Q.
_TOLERANCE = 1e-10
_ROUNDS = 20_000
# Largest cost in units of the entropic regularization: exp(-600) is a float64, and so are products with it.
_LARGEST_EXPONENT = 600.0


def linear_frontier(p: ArrayLike, q: ArrayLike, centres: ArrayLike, weights: ArrayLike = REFERENCE_WEIGHTS) -> Frontier:
    """The costs from the two histograms to their mixtures (JMLR 2023, equation 31), exactly.

    Parameters
    ----------
    p, q : (k,) array
        Human side and candidate.
    centres : (k, d) array
    weights : (m,) array
        Increasing numbers in [0, 1].

    Returns
    -------
    Frontier
        type_1 = OT(Q, R), at most l OT(P, Q); type_2 = OT(P, R), at most (1 - l) OT(P, Q); in squared units of
        features.

    Raises
    ------
    InputError
        The inputs are not two probability vectors with one center per bin, or weights do not increase within [0, 1].
    """
    left, right, positions = histograms_on_points(p, q, centres)
    grid = _checks.mixture_weights(weights)
    return _costs_to(left, right, grid[:, None] * left + (1 - grid[:, None]) * right, positions, grid)


def barycentric_frontier(
    p: ArrayLike,
    q: ArrayLike,
    centres: ArrayLike,
    weights: ArrayLike = REFERENCE_WEIGHTS,
    *,
    barycentre: str = "free",
    regularisation: float | None = None,
) -> Frontier:
    """The costs from the two histograms to their barycenters (JMLR 2023, equation 32).

    Parameters
    ----------
    p, q, centres, weights
        See :func:`linear_frontier`.
    barycentre : {"free", "centres", "entropic"}
        Space of the barycenter, see :data:`BARYCENTRES`. On centers it may not be unique, as at weight 1/2 of two
        single centers; the point is then one of the best, and only l type_2 + (1 - l) type_1 is determined. The
        entropic one is blurred, so its costs do not vanish for P = Q.
    regularisation : float > 0, optional
        For "entropic" only; by default the median of the costs between different centers.

    Returns
    -------
    Frontier
        type_1 = OT(Q, R), type_2 = OT(P, R); the costs to R are exact, even if R is entropic.

    Raises
    ------
    InputError
        As :func:`linear_frontier`, or the barycenter is unknown, or the regularization is too small or not applicable.
    """
    if barycentre not in BARYCENTRES:
        raise InputError("Unknown barycenter", allowed=", ".join(BARYCENTRES), received=repr(barycentre))
    if regularisation is not None and barycentre != "entropic":
        raise InputError("Only the entropic barycenter takes a regularization", received=repr(barycentre))
    left, right, positions = histograms_on_points(p, q, centres)
    cost = squared_distances(positions, positions)
    grid = _checks.mixture_weights(weights)
    if barycentre == "free":
        return displacement_frontier(exact_cost(left, right, cost), grid)
    if barycentre == "centres":
        mixed = np.array([barycentre_on_centres(left, right, cost, float(weight)) for weight in grid])
    else:
        size = median_cost(cost) if regularisation is None else _checks.positive("The regularization", regularisation)
        mixed = entropic_barycentres(left, right, cost, grid, size)
    return _costs_to(left, right, mixed, positions, grid)


def displacement_frontier(cost: float, weights: ArrayLike = REFERENCE_WEIGHTS) -> Frontier:
    """The barycentric frontier of any P and Q at ``cost`` = OT(P, Q): plug-in, Fréchet or quantized.

    The barycenter is the distribution of l X + (1 - l) Y for the best pairing of X from P with Y from Q (McCann, 1997;
    Agueh and Carlier, 2011), at distance 1 - l from P and l from Q in units of the Wasserstein-2 distance. Barycenters
    of Gaussians are Gaussian, so the same holds for two Gaussians.

    Parameters
    ----------
    cost : float
        In [0, inf).
    weights : (m,) array
        Increasing numbers in [0, 1].

    Returns
    -------
    Frontier
        type_1 = l^2 cost, type_2 = (1 - l)^2 cost.

    Raises
    ------
    InputError
        The cost is negative or not finite, or weights do not increase within [0, 1].
    """
    if not 0 <= cost < np.inf:
        raise InputError("A transport cost is not usable", allowed="a number of at least 0", received=repr(cost))
    grid = _checks.mixture_weights(weights)
    return Frontier(grid, grid**2 * cost, (1 - grid) ** 2 * cost)


def median_cost(cost: _Array) -> float:
    """The median of the costs (k, k) between different centers, the published regularization."""
    upper = cost[np.triu_indices(len(cost), 1)]
    median = float(np.median(upper)) if upper.size else 0.0
    if median == 0:
        raise InputError("The median cost is 0", allowed="at least half of the pairs of centers at different places")
    return median


def barycentre_on_centres(p: _Array, q: _Array, cost: _Array, weight: float) -> _Array:
    """(k,) histogram r that minimizes weight OT(p, r) + (1 - weight) OT(q, r), unchecked.

    Mass that goes from center i through r to center j has its best stop at the center h that minimizes weight cost(i,
    h) + (1 - weight) cost(h, j). One exact plan between p and q at that cost therefore gives r.
    """
    k = len(p)
    best = np.empty((k, k))
    where = np.empty((k, k), dtype=np.intp)
    toward_q = (1 - weight) * cost
    for i in range(k):
        through = weight * cost[i][:, None] + toward_q
        where[i] = through.argmin(axis=0)
        best[i] = through[where[i], np.arange(k)]
    rows, columns, mass = exact_plan(p, q, best)
    return np.asarray(np.bincount(where[rows, columns], weights=mass, minlength=k))


def entropic_barycentres(p: _Array, q: _Array, cost: _Array, weights: _Array, regularisation: float) -> _Array:
    """(m, k) histograms r that minimize l OT'(p, r) + (1 - l) OT'(q, r), OT' = cost - regularisation x entropy.

    Iterative Bregman projections (Benamou et al., 2015) for all weights together. Plans diag(u) K diag(v) with
    K = exp(-cost / regularisation) are scaled in turn to start from p and q, and to share their other side, the
    geometric mean of what they carry there.

    Raises
    ------
    InputError
        The regularization is so small that K underflows or the projections do not settle.
    """
    if cost.max() > _LARGEST_EXPONENT * regularisation:
        raise InputError(
            "The regularization is too small",
            allowed=f"at least {cost.max() / _LARGEST_EXPONENT:.3g} for these centers",
            received=repr(regularisation),
        )
    kernel = np.exp(-cost / regularisation)
    k, m = len(p), len(weights)
    sides = np.stack([p, q])[:, :, None]
    shares = np.stack([weights, 1 - weights])[:, None, :]
    v = np.ones((2, k, m))
    carried = np.matmul(kernel, v)
    for _ in range(_ROUNDS):
        u = sides / carried
        arriving = np.matmul(kernel, u)
        shared = np.exp((shares * np.log(arriving)).sum(axis=0))
        v = shared / arriving
        carried = np.matmul(kernel, v)
        if np.abs(u * carried - sides).sum(axis=1).max() < _TOLERANCE:
            return np.asarray((shared / shared.sum(axis=0)).T)
    raise InputError(
        "The entropic barycenter does not converge",
        received=f"a regularization of {regularisation!r}",
        todo="Choose a larger one, or the exact barycenter on the cluster centers",
    )


def _costs_to(p: _Array, q: _Array, mixed: _Array, positions: _Array, grid: _Array) -> Frontier:
    """The frontier of exact costs to the (m, k) histograms between p and q."""
    cost = squared_distances(positions, positions)
    type_1 = np.array([exact_cost(q, r, cost) for r in mixed])
    type_2 = np.array([exact_cost(p, r, cost) for r in mixed])
    return Frontier(grid, type_1, type_2)
