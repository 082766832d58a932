"""Optimal transport costs between two collections of texts, with the squared Euclidean distance of features as cost.

JMLR 2023, section 7.4.2: the plug-in cost between the two samples, the Fréchet distance (Heusel et al., *GANs Trained
by a Two Time-Scale Update Rule*, NeurIPS 2017), and the quantised cost between histograms over cluster centres. Each is
a squared Wasserstein-2 distance: 0 for equal sides, in the unit of a squared feature, so that values compare only
within one feature space. Linear programs are solved exactly, by the network simplex of POT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

EXACT_LIMIT = 5000
"""Most texts of a side in an exact plug-in cost: 1.4 GB, and about 15 seconds in 100 dimensions."""

_PIVOTS = 10**9
"""Pivots of the network simplex before it gives up: never reached at sizes that fit in memory."""


@dataclass(frozen=True)
class TransportCost:
    """A squared Wasserstein-2 distance between two samples.

    Attributes
    ----------
    value : float
        In [0, inf).
    n, m : int
        Texts of P and of Q that it was computed from.
    notes : tuple of str
        What a reader of the value must know; empty where nothing limits it.
    """

    value: float
    n: int
    m: int
    notes: tuple[str, ...] = ()


def plug_in_cost(
    x_p: ArrayLike, x_q: ArrayLike, *, at_most: int | None = None, seed: int | np.random.SeedSequence
) -> TransportCost:
    """The exact cost between the two samples themselves, each text with the same mass.

    It exceeds the cost between the sources, by an amount that falls slowly with n in many dimensions, so that two
    halves of one collection are far apart too: compare values of equal n and m only.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        Features of the human and of the candidate texts.
    at_most : int, optional
        Draw so many texts, without replacement, from a side that has more; a note says so. By default all are used.
    seed : int or numpy.random.SeedSequence
        Of that draw; each side has a stream of its own.

    Returns
    -------
    TransportCost

    Raises
    ------
    InputError
        Features that do not fit together, or more than :data:`EXACT_LIMIT` texts of a side to be used.
    """
    sides = _two_samples(x_p, x_q)
    if at_most is not None:
        at_most = _checks.whole("The number of texts to draw", at_most, low=1)
    notes = []
    for index, (name, stream) in enumerate(zip("PQ", _checks.seed_sequence(seed).spawn(2), strict=True)):
        n = len(sides[index])
        if at_most is not None and n > at_most:
            chosen = np.sort(np.random.default_rng(stream).choice(n, at_most, replace=False))
            sides[index] = sides[index][chosen]
            notes.append(f"{at_most} of the {n} texts of {name} were drawn at random; the others were not used")
    most = max(len(side) for side in sides)
    if most > EXACT_LIMIT:
        raise InputError(
            "Too many texts for an exact transport cost",
            allowed=f"at most {EXACT_LIMIT} of a side",
            received=str(most),
            todo=f"Give at_most={EXACT_LIMIT} or less to draw so many, or use the quantised cost",
        )
    x, y = sides
    value = exact_cost(np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y)), squared_distances(x, y))
    return TransportCost(value, len(x), len(y), tuple(notes))


def frechet_cost(x_p: ArrayLike, x_q: ArrayLike) -> TransportCost:
    """The Fréchet distance: the cost between the Gaussians with the mean and the covariance of each sample.

    Covariances divide by n - 1 (Heusel et al., 2017). They are never formed: triangular factors R of the centred
    samples, with R^T R the covariance, serve as roots, and so a singular covariance is nothing special.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least two rows each.

    Returns
    -------
    TransportCost
        A note where a sample has no more texts than features, because its covariance is then short of full rank.

    Raises
    ------
    InputError
        Features that do not fit together, or fewer than two rows.
    """
    x, y = _two_samples(x_p, x_q, least_rows=2)
    means, roots, notes = [], [], []
    for name, side in (("P", x), ("Q", y)):
        n, d = side.shape
        mean = side.mean(axis=0)
        means.append(mean)
        roots.append(np.asarray(np.linalg.qr((side - mean) / np.sqrt(n - 1), mode="r")).T)
        if n <= d:
            notes.append(f"{name} has {n} texts and {d} features: its covariance has rank {n - 1} at most")
    return TransportCost(_between_gaussians(means[0], roots[0], means[1], roots[1]), len(x), len(y), tuple(notes))


def quantised_cost(p: ArrayLike, q: ArrayLike, centres: ArrayLike) -> float:
    """The exact cost between two histograms over the same cluster centres.

    Parameters
    ----------
    p, q : (k,) array
        Probability vectors.
    centres : (k, d) array

    Returns
    -------
    float
        In [0, inf); 0 only for equal histograms, as long as no two centres coincide.

    Raises
    ------
    InputError
        Not two probability vectors with a centre for each bin.
    """
    left, right, positions = histograms_on_points(p, q, centres)
    return exact_cost(left, right, squared_distances(positions, positions))


def exact_cost(p: NDArray[np.float64], q: NDArray[np.float64], cost: NDArray[np.float64]) -> float:
    """The least sum of mass times ``cost`` (k, l) that turns masses p (k,) into q (l,), which have equal sums."""
    rows, columns, mass = exact_plan(p, q, cost)
    return float((mass * cost[rows, columns]).sum())


def exact_plan(
    p: NDArray[np.float64], q: NDArray[np.float64], cost: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Rows, columns and masses of the at most k + l - 1 entries of an optimal plan; unchecked, empty bins left out."""
    import ot  # type: ignore[import-untyped, unused-ignore]

    i, j = np.flatnonzero(p), np.flatnonzero(q)
    plan, log = ot.emd(p[i], q[j], np.ascontiguousarray(cost[np.ix_(i, j)]), numItermax=_PIVOTS, log=True)
    if log["warning"] is not None:
        raise InputError(
            "The transport problem was not solved", received=str(log["warning"]), todo="Check that masses sum to 1"
        )
    rows, columns = np.nonzero(plan)
    return i[rows], j[columns], np.asarray(plan[rows, columns], dtype=np.float64)


def squared_distances(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m) squared distances, summed from differences: exactly 0 between equal rows."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(x, y, "sqeuclidean"), dtype=np.float64)


def histograms_on_points(
    p: ArrayLike, q: ArrayLike, centres: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """p (k,), q (k,) and centres (k, d), checked."""
    left, right = _checks.distributions(p, q)
    positions = points(centres, "cluster centres")
    if left.ndim != 1 or len(positions) != left.size:
        raise InputError(
            "Histograms and cluster centres do not belong together",
            allowed="two histograms of shape (k,) and centres of shape (k, d)",
            received=f"shapes {left.shape} and {positions.shape}",
        )
    return left / left.sum(), right / right.sum(), positions


def points(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """``values`` as a finite float64 table with a row for each point."""
    array = _checks.numbers(values, f"The array of {name}").astype(np.float64, copy=False)
    if array.ndim != 2 or 0 in array.shape:
        received = f"shape {array.shape}"
        raise InputError(f"The {name} do not form a table", allowed="an array of shape (k, d)", received=received)
    if not np.isfinite(array).all():
        raise InputError(f"The {name} hold values that are not finite", allowed="finite numbers")
    return array


def _two_samples(x_p: ArrayLike, x_q: ArrayLike, *, least_rows: int = 1) -> list[NDArray[np.float64]]:
    """Both samples, checked, in float64."""
    for name, side in (("P", x_p), ("Q", x_q)):
        _checks.features(side, least_rows=least_rows, name=f"features of {name}")
    x, y = np.asarray(x_p, dtype=np.float64), np.asarray(x_q, dtype=np.float64)
    if x.shape[1] != y.shape[1]:
        received = f"{x.shape[1]} and {y.shape[1]}"
        raise InputError("The two samples have different dimensions", allowed="the same", received=received)
    return [x, y]


def _between_gaussians(
    mean_p: NDArray[np.float64], root_p: NDArray[np.float64], mean_q: NDArray[np.float64], root_q: NDArray[np.float64]
) -> float:
    """The cost from means and roots A (d, r), B (d, s) of the covariances A A^T and B B^T.

    Its second part is the least |A - B U|^2 over rotations U, attained at U = W V^T for B^T A = W S V^T. A sum of
    squares, it keeps its digits where the trace formula subtracts nearly equal traces.
    """
    columns = max(root_p.shape[1], root_q.shape[1])
    a, b = (np.pad(root, ((0, 0), (0, columns - root.shape[1]))) for root in (root_p, root_q))
    w, _, v = np.linalg.svd(b.T @ a)
    return float(((mean_p - mean_q) ** 2).sum() + ((a - b @ (w @ v)) ** 2).sum())
