"""Whether points lie within the manifold of a sample: balls around its points that reach to their k-th neighbour.

Kynkäänniemi et al., *Improved Precision and Recall Metric for Assessing Generative Models*, NeurIPS 2019; as written in
JMLR 2023, section 7.6. Distances are exact and taken a block of rows at a time, so that no n x m table is kept.
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
"""Squared distances count as equal within this share of the squared norms: the rounding of a product of matrices."""


def coverage(
    x: ArrayLike, manifold: ArrayLike, k: int, kept: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
) -> NDArray[np.float64]:
    """Share of the points of ``x`` that lie within the manifold of another sample, for several choices of points.

    A point z of the manifold holds whatever is no farther than z's own k-th nearest neighbour in the manifold, z itself
    not counted. Its ball is that of the whole manifold, whichever points are kept: a left-out point takes its ball
    away and leaves the other balls as they are. (Were they drawn anew, a jackknife would see them jump, and its
    standard deviations would come out up to twice too large.)

    Parameters
    ----------
    x : (m, d) array
    manifold : (n, d) array
        More than k points.
    k : int
        Neighbours.
    kept : sequence of ((m,) bool, (n,) bool)
        Each a choice of points of ``x`` and of balls, at least one of each; the distances serve all of them.

    Returns
    -------
    (len(kept),) float64 array

    Raises
    ------
    InputError
        Too few points, or the features do not fit together.
    """
    k = _checks.whole("The number of neighbours", k, low=1)
    names = "features", "features of the manifold"
    points, centres = _checks.two_samples(x, manifold, least_q=k + 1, names=names)
    if not all(chosen.any() and balls.any() for chosen, balls in kept):
        raise InputError("A choice of points is empty", allowed="at least one point on each side")
    middle = centres.mean(axis=0, dtype=np.float64)
    own, others = points - middle, centres - middle
    radii = _squared_radii(others, k)
    inside = np.zeros((len(kept), len(own)), dtype=np.bool_)
    for start in range(0, len(own), BLOCK):
        block = slice(start, start + BLOCK)
        found = _squared_distances(own[block], others, slack=SLACK) <= radii
        for index, (_, balls) in enumerate(kept):
            inside[index, block] = (found & balls).any(axis=1)
    return np.array([row[chosen].mean() for row, (chosen, _) in zip(inside, kept, strict=True)], dtype=np.float64)


def _squared_radii(centres: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """(n,) squared distance of every point to its k-th neighbour."""
    radii = np.empty(len(centres))
    for start in range(0, len(centres), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(centres)))
        near = _squared_distances(centres[rows], centres)
        near[rows - start, rows] = np.inf
        radii[rows] = np.partition(near, k - 1, axis=1)[:, k - 1]
    return radii


def _squared_distances(x: NDArray[np.float64], y: NDArray[np.float64], *, slack: float = 0.0) -> NDArray[np.float64]:
    """(m, n) squared distances, less ``slack`` times the sum of the two squared norms."""
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)
    squared: NDArray[np.float64] = (1 - slack) * norms - 2 * (x @ y.T)
    return squared
