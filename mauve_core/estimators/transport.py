"""Optimal transport between two collections of texts, for squared Euclidean distances (JMLR 2023, section 7.4.2).

**Costs**: the exact one between samples, the Fréchet distance (Heusel et al., NeurIPS 2017), and that between
histograms over cluster centers. Each is a squared Wasserstein-2 distance in squared feature units, comparable only
within one feature space. POT's network simplex solves linear programs exactly.
**Frontiers** have points (OT(Q, R), OT(P, R)) for R the mixture l P + (1 - l) Q (equation 31), or the barycenter
(equation 32): anywhere in feature space (l^2 OT(P, Q), (1 - l)^2 OT(P, Q)), or a histogram over the centers, exact or
with an entropic term. The paper uses such a term, of the size of the median cost, without saying what else is
regularized; costs to R are exact here, so its values may not be reproduced. Published scores use c = 5 on unit rows
(table 17).
**Limit**: the Fréchet distance of n texts exceeds that of the sources by about c/n, and c differs between models. Chong
and Forsyth (CVPR 2020) fit a line in 1/n to subsets from a tenth of the texts up; here it goes through n and n less one
group, over all groups (Quenouille's jackknife), so that no chance enters and the slope is that at n. Both sides lose a
group at once. A line through n/2 and n checks it: where the distance does not fall as 1/n yet, it ends higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, Frontier
from mauve_core.stats.resampling import jackknife_estimate, jackknife_sd, t_interval

_Array = NDArray[np.float64]
_Potentials = tuple[_Array, _Array]

# Most texts per side in an exact plug-in cost: 1.4 GB, and about 15 seconds in 100 dimensions.
EXACT_LIMIT = 5000

# Limit on pivots of the network simplex, never reached at sizes that fit in memory.
_PIVOTS = 10**9


def plug_in_cost(x_p: ArrayLike, x_q: ArrayLike) -> float:
    """The exact cost between the two samples, each text with equal mass.

    It exceeds the cost between the sources by an amount that falls slowly with n in many dimensions, so two halves of
    one collection are also far apart: compare values of equal n and m only.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        Features of the human and of the candidate texts.

    Returns
    -------
    float
        In [0, inf).

    Raises
    ------
    InputError
        The features do not fit together, or a side has more than :data:`EXACT_LIMIT` texts.
    """
    return _solved_uniform(_plug_in_costs(x_p, x_q), None)[0]


def plug_in_parts(
    x_p: ArrayLike, x_q: ArrayLike, parts: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]
) -> _Array:
    """The same between subsets of the two samples, for a jackknife.

    Distances are computed once for all subsets. The dual potentials of the whole problem nearly solve that of a large
    subset; the network simplex starts from them and reaches the same least cost.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
    parts : sequence of (rows of x_p, rows of x_q)
        Fastest if each holds most of the rows.

    Returns
    -------
    (len(parts),) float64 array
        ``plug_in_cost(x_p[rows], x_q[columns])`` for each, up to rounding.

    Raises
    ------
    InputError
        As :func:`plug_in_cost`, or a subset lacks texts of a side.
    """
    costs = _plug_in_costs(x_p, x_q)
    if any(min(len(rows), len(columns)) == 0 for rows, columns in parts):
        raise InputError("A part has no texts of one side", allowed="at least one text of each side")
    _, (u, v) = _solved_uniform(costs, None)
    return np.array([_solved_uniform(costs[np.ix_(*part)], (u[part[0]], v[part[1]]))[0] for part in parts])


def frechet_cost(x_p: ArrayLike, x_q: ArrayLike) -> float:
    """The Fréchet distance: the cost between the Gaussians with the mean and covariance of each sample.

    Covariances divide by n - 1 (Heusel et al., 2017). They are never formed: triangular factors R of the centered
    samples, with R^T R the covariance, serve as roots, so singular covariances need no special case.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least two rows each.

    Returns
    -------
    float
        In [0, inf).

    Raises
    ------
    InputError
        The features do not fit together, or a side has fewer than two rows.
    """
    sides = _checks.wide_samples(x_p, x_q, least_p=2, least_q=2)
    means = [side.mean(axis=0) for side in sides]
    roots = [
        np.asarray(np.linalg.qr((side - mean) / np.sqrt(len(side) - 1), mode="r")).T
        for side, mean in zip(sides, means, strict=True)
    ]
    return _between_gaussians(means[0], roots[0], means[1], roots[1])


def quantised_cost(p: ArrayLike, q: ArrayLike, centres: ArrayLike) -> float:
    """The exact cost between two histograms over the same cluster centers.

    Parameters
    ----------
    p, q : (k,) array
        Probability vectors.
    centres : (k, d) array

    Returns
    -------
    float
        In [0, inf); 0 only for equal histograms if no two centers coincide.

    Raises
    ------
    InputError
        The inputs are not two probability vectors with one center per bin.
    """
    left, right, positions = histograms_on_points(p, q, centres)
    return exact_cost(left, right, squared_distances(positions, positions))


def exact_cost(p: _Array, q: _Array, cost: _Array) -> float:
    """Least sum of mass times ``cost`` (k, l) that moves masses p (k,) to q (l,), which have equal sums."""
    rows, columns, mass = exact_plan(p, q, cost)
    return float((mass * cost[rows, columns]).sum())


def exact_plan(p: _Array, q: _Array, cost: _Array) -> tuple[NDArray[np.intp], NDArray[np.intp], _Array]:
    """Rows, columns and masses of the at most k + l - 1 entries of an optimal plan; unchecked, empty bins left out."""
    i, j = np.flatnonzero(p), np.flatnonzero(q)
    plan, _ = _solved(p[i], q[j], np.ascontiguousarray(cost[np.ix_(i, j)]))
    rows, columns = np.nonzero(plan)
    return i[rows], j[columns], np.asarray(plan[rows, columns], dtype=np.float64)


def squared_distances(x: _Array, y: _Array) -> _Array:
    """(n, m) squared distances, summed from differences: exactly 0 between equal rows."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(x, y, "sqeuclidean"), dtype=np.float64)


def histograms_on_points(p: ArrayLike, q: ArrayLike, centres: ArrayLike) -> tuple[_Array, _Array, _Array]:
    """p (k,), q (k,) and centers (k, d), checked."""
    left, right = _checks.distributions(p, q)
    positions = points(centres, "cluster centers")
    if left.ndim != 1 or len(positions) != left.size:
        raise InputError(
            "Histograms and cluster centers do not match",
            allowed="two histograms of shape (k,) and centers of shape (k, d)",
            received=f"shapes {left.shape} and {positions.shape}",
        )
    return left / left.sum(), right / right.sum(), positions


def points(values: ArrayLike, name: str) -> _Array:
    """``values`` as a finite float64 table with one row per point."""
    array = _checks.numbers(values, f"The array of {name}").astype(np.float64, copy=False)
    if array.ndim != 2 or 0 in array.shape:
        received = f"shape {array.shape}"
        raise InputError(f"The {name} do not form a table", allowed="an array of shape (k, d)", received=received)
    if not np.isfinite(array).all():
        raise InputError(f"The {name} hold values that are not finite", allowed="finite numbers")
    return array


def _plug_in_costs(x_p: ArrayLike, x_q: ArrayLike) -> _Array:
    x, y = _checks.wide_samples(x_p, x_q)
    most = max(len(x), len(y))
    if most > EXACT_LIMIT:
        raise InputError(
            "Too many texts for an exact transport cost",
            allowed=f"at most {EXACT_LIMIT} per side",
            received=str(most),
            todo="Give fewer texts, or use the quantized cost",
        )
    return squared_distances(x, y)


def _solved_uniform(costs: _Array, start: _Potentials | None) -> tuple[float, _Potentials]:
    """The least cost between uniform masses on rows and columns, and dual potentials that prove it."""
    p, q = (np.full(size, 1 / size) for size in costs.shape)
    plan, potentials = _solved(p, q, costs, start)
    rows, columns = np.nonzero(plan)
    return float((plan[rows, columns] * costs[rows, columns]).sum()), potentials


def _solved(p: _Array, q: _Array, cost: _Array, start: _Potentials | None = None) -> tuple[_Array, _Potentials]:
    """An optimal plan and its dual potentials, starting from ``start``."""
    import ot  # type: ignore[import-untyped, unused-ignore]

    plan, log = ot.emd(p, q, cost, numItermax=_PIVOTS, log=True, potentials_init=start)
    if log["warning"] is not None:
        raise InputError(
            "The transport problem was not solved", received=str(log["warning"]), todo="Check that the masses sum to 1"
        )
    return plan, (np.asarray(log["u"]), np.asarray(log["v"]))


def _between_gaussians(mean_p: _Array, root_p: _Array, mean_q: _Array, root_q: _Array) -> float:
    """The cost from means and roots A (d, r), B (d, s) of the covariances A A^T and B B^T.

    Its second part is the least |A - B U|^2 over rotations U, attained at U = W V^T for B^T A = W S V^T. As a sum of
    squares, it keeps its digits where the trace formula subtracts nearly equal traces.
    """
    columns = max(root_p.shape[1], root_q.shape[1])
    a, b = (np.pad(root, ((0, 0), (0, columns - root.shape[1]))) for root in (root_p, root_q))
    w, _, v = np.linalg.svd(b.T @ a)
    return float(((mean_p - mean_q) ** 2).sum() + ((a - b @ (w @ v)) ** 2).sum())


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


# Groups of texts if none are given.
GROUPS = 20

# Fewest texts a side: one in each group.
LEAST = GROUPS

# Rows of both sides that are kept while each group is left out.
Parts = Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]


@dataclass(frozen=True)
class FrechetLimit:
    """The distance between the sources, estimated.

    Attributes
    ----------
    value : float
        In squared feature units; below 0 about as often as above for equal sources.
    sd, low, high : float
        Standard deviation over samples of texts, and an interval of Student's t.
    at_n : float
        The distance of all texts.
    from_half : float
        Where the line through n/2 and n ends.
    left_out : (G,) float64 array
        The distance without each group.
    """

    value: float
    sd: float
    low: float
    high: float
    at_n: float
    from_half: float
    left_out: NDArray[np.float64]

    @property
    def bends(self) -> bool:
        """Whether the two lines end farther apart than chance explains, so that ``value`` is likely too large."""
        return not self.low <= self.from_half <= self.high


def frechet_limit(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    seed: SeedSequence,
    parts: Parts = (),
    confidence: float = 0.95,
    known: tuple[float, NDArray[np.float64]] | None = None,
) -> FrechetLimit:
    """Estimate the distance between the sources of two samples.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least :data:`LEAST` rows each.
    seed : SeedSequence
        Draws the halves, and the groups if there are no ``parts``.
    parts : sequence of (rows of x_p, rows of x_q), optional
        Rows to keep while each group is left out; each row is missing once. By default, :data:`GROUPS` random groups.
    confidence : float
        In (0, 1).
    known : (float, (parts,) array), optional
        The distance of the samples and those of the ``parts``, if they have been computed.

    Raises
    ------
    InputError
        The features do not fit together, a side has too few rows, or the parts do not leave out each row once.
    """
    sides = _checks.wide_samples(x_p, x_q, least_p=LEAST, least_q=LEAST)
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(len(side)) for side in sides]
    parts = parts or _left_out_in_turn(drawn)
    sizes = _group_sizes(parts, sides)
    if known is None:
        at_n = frechet_cost(*sides)
        left_out = np.array([frechet_cost(sides[0][rows], sides[1][columns]) for rows, columns in parts])
    else:
        at_n, left_out = known
    halves = [frechet_cost(sides[0][drawn[0][half::2]], sides[1][drawn[1][half::2]]) for half in (0, 1)]
    value, sd = jackknife_estimate(at_n, left_out, sizes), jackknife_sd(at_n, left_out, sizes)
    low, high = t_interval(value, sd, len(sizes), confidence)
    return FrechetLimit(value, sd, low, high, at_n, 2 * at_n - float(np.mean(halves)), left_out)


def _left_out_in_turn(drawn: Sequence[NDArray[np.int64]]) -> Parts:
    first, second = (
        [np.sort(np.delete(order, slice(group, None, GROUPS))) for group in range(GROUPS)] for order in drawn
    )
    return list(zip(first, second, strict=True))


def _group_sizes(parts: Parts, sides: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """(G,) rows that each part leaves out, of both sides together; InputError unless each row is left out once."""
    kept = [np.array([np.bincount(rows[side], minlength=len(x)) for rows in parts]) for side, x in enumerate(sides)]
    if any((each > 1).any() or (each.sum(axis=0) != len(parts) - 1).any() for each in kept):
        raise InputError(
            "The parts are not usable", allowed="rows of each side, of which each is missing in exactly one part"
        )
    return np.asarray(sum((1 - each).sum(axis=1) for each in kept), dtype=np.int64)
