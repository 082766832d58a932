"""Optimal transport costs between two collections of texts, for the squared Euclidean distance of features.

JMLR 2023, section 7.4.2: the plug-in cost between the two samples, the Fréchet distance (Heusel et al., *GANs Trained
by a Two Time-Scale Update Rule*, NeurIPS 2017), and the quantized cost between histograms over cluster centers. Each
is a squared Wasserstein-2 distance: 0 for equal sides, in squared feature units, so values compare only within one
feature space. POT's network simplex solves linear programs exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

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
