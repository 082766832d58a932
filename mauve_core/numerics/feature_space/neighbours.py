"""Share of points within the manifold of a sample: balls around its points that reach to their k-th neighbor.

Kynkäänniemi et al., *Improved Precision and Recall Metric for Assessing Generative Models*, NeurIPS 2019, in the form
of JMLR 2023, section 7.6. Distances are exact and computed in blocks of rows, so no n x m table is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

BLOCK = 512
"""Rows whose distances to all others are held at once."""

SLACK = 1e-9
"""Squared distances tie within this share of the squared norms: the rounding of a matrix product."""


def coverage(
    x: ArrayLike, manifold: ArrayLike, k: int, choices: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
) -> NDArray[np.float64]:
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
    k = _checks.whole("The number of neighbors", k, low=1)
    names = "features", "features of the manifold"
    points, centres = _checks.two_samples(x, manifold, least_q=k + 1, names=names)
    if not all(chosen.any() and balls.any() for chosen, balls in choices):
        raise InputError("A selection of points is empty", allowed="at least one point on each side")
    middle = centres.mean(axis=0, dtype=np.float64)
    own, others = points - middle, centres - middle
    radii = _squared_radii(others, k)
    inside = np.zeros((len(choices), len(own)), dtype=np.bool_)
    for block in _checks.row_blocks(len(own), BLOCK):
        within = _squared_distances(own[block], others, slack=SLACK) <= radii
        for index, (_, balls) in enumerate(choices):
            inside[index, block] = (within & balls).any(axis=1)
    return np.array([row[chosen].mean() for row, (chosen, _) in zip(inside, choices, strict=True)], dtype=np.float64)


def _squared_radii(centres: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """(n,) squared distance of every point to its k-th neighbor."""
    radii = np.empty(len(centres))
    for start in range(0, len(centres), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(centres)))
        near = _squared_distances(centres[rows], centres)
        near[rows - start, rows] = np.inf
        radii[rows] = np.partition(near, k - 1, axis=1)[:, k - 1]
    return radii


def _squared_distances(x: NDArray[np.float64], y: NDArray[np.float64], *, slack: float = 0.0) -> NDArray[np.float64]:
    """(m, n) squared distances, minus ``slack`` times the sum of the two squared norms."""
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)
    squared: NDArray[np.float64] = (1 - slack) * norms - 2 * (x @ y.T)
    return squared
