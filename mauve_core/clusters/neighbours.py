"""Nearest neighbors of feature rows, by exact distances in blocks: manifolds of balls, and closest pairs.

The manifold of a sample is made of balls around its points that reach to their k-th neighbor, surface included.

- ``coverage``: share of points in any ball, for precision and recall. Kynkäänniemi et al., *Improved Precision and
  Recall Metric for Assessing Generative Models*, NeurIPS 2019, in the form of JMLR 2023, section 7.6.
- ``density`` of the points and ``occupancy`` of the balls. Naeem et al., *Reliable Fidelity and Diversity Metrics for
  Generative Models*, ICML 2020, equations 4 and 5, which call the latter coverage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Choices of points and of balls.
Choices = Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]

# Rows whose distances to all others are held at once.
BLOCK = 512

# Squared distances tie within this share of the squared norms: the rounding of a matrix product.
SLACK = 1e-9


def coverage(x: ArrayLike, manifold: ArrayLike, k: int, choices: Choices) -> NDArray[np.float64]:
    """Share of the points of ``x`` that lie within the manifold of another sample, for several choices of points.

    The ball of a point z of the manifold reaches to z's own k-th nearest neighbor in the whole manifold, z excluded,
    for any choice of points. Leaving a point out removes its ball and keeps the others. (Recomputing the balls would
    make a jackknife jump, with standard deviations up to twice too large.)

    Parameters
    ----------
    x : (m, d) array
    manifold : (n, d) array
        More than k points.
    k : int
        Neighbors.
    choices : sequence of ((m,) bool, (n,) bool)
        Choices of points of ``x`` and of balls, at least one of each; the distances serve all of them.

    Returns
    -------
    (len(choices),) float64 array

    Raises
    ------
    InputError
        There are too few points, or the features do not fit together.
    """
    return np.asarray(coverage_over_k(x, manifold, (k,), choices)[0])


def density(x: ArrayLike, manifold: ArrayLike, k: int, choices: Choices) -> NDArray[np.float64]:
    """Mean number of balls around a point of ``x``, divided by k (Naeem et al. 2020, equation 4).

    About 1 for two samples of one source. Unlike the share of points in any ball, it counts a wide ball of an outlier
    only once. A choice of balls is scaled up to the whole manifold, so that leaving some out does not lower it.

    Parameters, errors: see :func:`coverage`.

    Returns
    -------
    (len(choices),) float64 array
        Each at least 0.
    """
    return np.asarray(density_over_k(x, manifold, (k,), choices)[0])


def occupancy(x: ArrayLike, manifold: ArrayLike, k: int, choices: Choices) -> NDArray[np.float64]:
    """Share of balls that hold a point of ``x`` (Naeem et al. 2020, equation 5: coverage).

    For n points of each of two samples of one source, about 1 - 2^-k.

    Parameters, errors: see :func:`coverage`.

    Returns
    -------
    (len(choices),) float64 array
    """
    return np.asarray(occupancy_over_k(x, manifold, (k,), choices)[0])


def coverage_over_k(x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
    """:func:`coverage` at several numbers of neighbors, from the same distances.

    Parameters, errors: see :func:`coverage`; ``ks`` is ascending.

    Returns
    -------
    (len(ks), len(choices)) float64 array
    """
    own, others, radii = _prepared(x, manifold, ks, choices)
    inside = np.zeros((len(ks), len(choices), len(own)), dtype=np.bool_)
    steps = np.arange(len(ks))[:, None]
    for block, entered in _entered(own, others, radii):
        for index, (_, balls) in enumerate(choices):
            inside[:, index, block] = entered[:, balls].min(axis=1) <= steps
    shares = [[row[chosen].mean() for row, (chosen, _) in zip(rows, choices, strict=True)] for rows in inside]
    return np.array(shares, dtype=np.float64)


def density_over_k(x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
    """:func:`density` at several numbers of neighbors; as :func:`coverage_over_k`."""
    hits = _hits(x, manifold, ks, choices)
    means = [[row[balls].mean() / own.sum() for row, (own, balls) in zip(rows, choices, strict=True)] for rows in hits]
    scaled: NDArray[np.float64] = np.array(means, dtype=np.float64) * hits.shape[2] / np.array(ks)[:, None]
    return scaled


def occupancy_over_k(x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
    """:func:`occupancy` at several numbers of neighbors; as :func:`coverage_over_k`."""
    hits = _hits(x, manifold, ks, choices)
    shares = [[(row[balls] > 0).mean() for row, (_, balls) in zip(rows, choices, strict=True)] for rows in hits]
    return np.array(shares, dtype=np.float64)


def _hits(x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
    """(len(ks), len(choices), n) number of chosen points of ``x`` in the ball of every point of the manifold."""
    own, others, radii = _prepared(x, manifold, ks, choices)
    chosen = np.array([points for points, _ in choices], dtype=np.float32)
    found = np.zeros((len(ks), len(choices), len(others)))
    for block, entered in _entered(own, others, radii):
        for step in range(len(ks)):
            found[step] += chosen[:, block] @ (entered <= step).astype(np.float32)
    return found


def _entered(
    x: NDArray[np.float64], centres: NDArray[np.float64], radii: NDArray[np.float64]
) -> Iterator[tuple[slice, NDArray[np.int16]]]:
    """By block of rows, the (rows, n) index of the first k at which a point lies in a ball; len(ks) if at none.

    Balls grow with k, so it is the number of ks whose ball is too small.
    """
    for block in _checks.row_blocks(len(x), BLOCK):
        distances = _squared_distances(x[block], centres, slack=SLACK)
        entered = np.zeros(distances.shape, dtype=np.int16)
        for row in radii:
            entered += distances > row
        yield block, entered


def _prepared(
    x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Both samples, centered on the manifold's mean, and the (len(ks), n) squared radii of its balls."""
    ks = [_checks.whole("The number of neighbors", k, low=1) for k in ks]
    if not ks or sorted(set(ks)) != ks:
        received = ", ".join(map(str, ks)) or "none"
        raise InputError("The numbers of neighbors are not usable", allowed="ascending numbers", received=received)
    names = "features", "features of the manifold"
    points, centres = _checks.two_samples(x, manifold, least_q=ks[-1] + 1, names=names)
    if not all(chosen.any() and balls.any() for chosen, balls in choices):
        raise InputError("A selection of points is empty", allowed="at least one point on each side")
    middle = centres.mean(axis=0, dtype=np.float64)
    others = centres - middle
    return points - middle, others, _squared_radii(others, ks)


def _squared_radii(centres: NDArray[np.float64], ks: Sequence[int]) -> NDArray[np.float64]:
    """(len(ks), n) squared distance of every point to its k-th neighbor."""
    places = [k - 1 for k in ks]
    radii = np.empty((len(ks), len(centres)))
    for start in range(0, len(centres), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(centres)))
        near = _squared_distances(centres[rows], centres)
        near[rows - start, rows] = np.inf
        radii[:, rows] = np.partition(near, places, axis=1)[:, places].T
    return radii


def _squared_distances(x: NDArray[np.float64], y: NDArray[np.float64], *, slack: float = 0.0) -> NDArray[np.float64]:
    """(m, n) squared distances, minus ``slack`` times the sum of the two squared norms."""
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)
    squared: NDArray[np.float64] = (1 - slack) * norms - 2 * (x @ y.T)
    return squared


# Distances held at once.
_ENTRIES = 1 << 22


def nearest_pairs(x: ArrayLike, y: ArrayLike, top: int) -> list[tuple[int, int, float]]:
    """The closest pairs of a row of x and a row of y, with each row in at most one pair.

    Parameters
    ----------
    x, y : (a, d), (b, d) arrays
    top : int
        Largest number of pairs.

    Returns
    -------
    list of (row of x, row of y, Euclidean distance)
        The closest first; each is the closest pair of the remaining rows. Ties go by row.

    Raises
    ------
    InputError
        Features are not usable or differ in dimension.
    """
    top = _checks.whole("The number of pairs", top, low=1)
    left, right = _checks.features(x), _checks.features(y)
    if left.shape[1] != right.shape[1]:
        received = f"{left.shape[1]} and {right.shape[1]}"
        raise InputError("The two sides have different dimensions", allowed="the same", received=received)
    # At most t - 1 rows of y are taken before pair t, so it is among the nearest ``top`` of its row of x.
    near, rows = min(top, len(right)), max(1, _ENTRIES // len(right))
    indices: list[NDArray[np.intp]] = []
    distances: list[NDArray[np.float64]] = []
    for start in range(0, len(left), rows):
        table = cdist(left[start : start + rows], right)
        chosen = np.argsort(table, axis=1, kind="stable")[:, :near]
        indices.append(chosen)
        distances.append(np.take_along_axis(table, chosen, axis=1))
    columns, lengths = np.concatenate(indices), np.concatenate(distances)
    owners = np.repeat(np.arange(len(left)), near)
    pairs: list[tuple[int, int, float]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for index in np.lexsort((columns.ravel(), owners, lengths.ravel())).tolist():
        i, j = int(owners[index]), int(columns.ravel()[index])
        if i not in taken[0] and j not in taken[1]:
            pairs.append((i, j, float(lengths.ravel()[index])))
            taken[0].add(i)
            taken[1].add(j)
            if len(pairs) == top:
                break
    return pairs
