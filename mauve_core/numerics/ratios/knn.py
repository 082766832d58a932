"""Density ratios from the sides of nearest neighbors (JMLR 2023, section 4.2; Noshad et al., ISIT 2017).

Among the k nearest neighbors of a point u in the union of both samples, the share of P's sample over the share of Q's
estimates p(u) / q(u) (equation 23). The point is not its own neighbor: it says nothing about its surroundings, and
equation 27 leaves it out too. If all neighbors lie on one side, the ratio is 0 or infinity, which
``ratios.ratio_frontier`` accepts.

Ties with the k-th neighbor are frequent if texts repeat or a kernel takes few values. A choice among them would depend
on the order of the texts, so tied neighbors share the remaining places: each counts in part. Distances are exact and
computed in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.ratios.log_ratios import LogRatios, infinite_notes, principal_coordinates

# The papers' k (JMLR 2023, figure 9).
NEIGHBOURS = 50
# Principal components to keep. The paper finds fewer than 50 crucial, and 5 or 10 enough (sections 4.2.2, 7.3.1).
COMPONENTS = 10

# Rows whose distances to all others are held at once.
BLOCK = 512
# Squared distances tie within this share of the squared lengths: the rounding of a matrix product.
SLACK = 1e-9
# Largest difference of two mirrored entries of a Gram matrix, relative to its largest entry: room for float32.
_ASYMMETRY = 1e-6

_Array = NDArray[np.float64]


def knn_ratios(x_p: ArrayLike, x_q: ArrayLike, *, k: int = NEIGHBOURS, components: int = COMPONENTS) -> LogRatios:
    """log p / q at every point from its neighbors in the principal coordinates of the union (algorithm 2).

    Parameters
    ----------
    x_p, x_q, components
        See :func:`mauve_core.numerics.ratios.log_ratios.principal_coordinates`.
    k : int
        Neighbors, fewer than n + m. The bias falls with k over the sample size, the noise with k.

    Returns
    -------
    LogRatios
        One per text, in order; deterministic.

    Raises
    ------
    InputError
        Features are not usable, or there are too few texts for k.
    """
    u_p, u_q, note = principal_coordinates(x_p, x_q, components)
    points = np.concatenate([u_p, u_q])
    squares = np.einsum("ij,ij->i", points, points)

    def distances(part: slice) -> _Array:
        return np.asarray(squares[part, None] + squares - 2 * (points[part] @ points.T))

    return _ratios(distances, squares, len(u_p), k, note)


def knn_ratios_from_gram(gram: ArrayLike, n: int, *, k: int = NEIGHBOURS) -> LogRatios:
    """The same from a kernel between texts, such as a string kernel (JMLR 2023, section 7.5.4).

    Parameters
    ----------
    gram : (n + m, n + m) array
        Kernel values K of the union, P's texts first; squared distances are K_ii + K_jj - 2 K_ij.
    n : int
        Human texts.
    k : int
        Neighbors, fewer than n + m.

    Returns
    -------
    LogRatios

    Raises
    ------
    InputError
        The matrix is not symmetric and finite with a non-negative diagonal, or n or k does not fit it.
    """
    array = _checks.numbers(gram, "The Gram matrix")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        raise InputError(
            "The Gram matrix is not usable", allowed="a square table of finite numbers", received=f"shape {array.shape}"
        )
    n = _checks.whole("The number of human texts", n, low=1)
    if n >= len(array):
        raise InputError("The Gram matrix has no rows for the candidate's texts", allowed=f"more than {n} rows")
    largest = np.abs(array).max()
    mirrored = all(
        np.allclose(array[part], array[:, part].T, rtol=0.0, atol=_ASYMMETRY * largest)
        for part in _checks.row_blocks(len(array))
    )
    diagonal = np.diagonal(array).astype(np.float64)
    if not mirrored or (diagonal < 0).any():
        raise InputError(
            "The Gram matrix is not that of a kernel",
            allowed="a symmetric matrix with no negative number on its diagonal",
        )

    def distances(part: slice) -> _Array:
        return np.asarray(diagonal[part, None] + diagonal - 2 * array[part].astype(np.float64))

    return _ratios(distances, diagonal, n, k)


def _ratios(distances: Callable[[slice], _Array], squares: _Array, n: int, k: int, *notes: str) -> LogRatios:
    """Ratios from a function that returns rows of squared distances; ``squares`` are the points' squared lengths."""
    total = len(squares)
    k = _checks.whole("The number of neighbors", k, low=1)
    if k >= total:
        raise InputError(
            "Too few texts for this many neighbors",
            allowed=f"at least {k + 1} on both sides together",
            received=str(total),
            todo="Give more texts, or use fewer neighbors",
        )
    counts = np.empty((2, total))
    for part in _checks.row_blocks(total, BLOCK):
        near = distances(part)
        rows = np.arange(part.stop - part.start)
        near[rows, part.start + rows] = np.inf
        counts[:, part] = _shares(near, squares[part], n, k)
    with np.errstate(divide="ignore"):
        logs = np.log(counts[0] / n) - np.log(counts[1] / (total - n))
    at_p, at_q = logs[:n], logs[n:]
    return LogRatios(at_p, at_q, (f"{k} neighbors", *notes, *infinite_notes(at_p, at_q)))


def _shares(near: _Array, squares: _Array, n: int, k: int) -> _Array:
    """(2, rows) neighbors among the first n columns and among the others, k in all; ties at the k-th count in part."""
    reach = np.partition(near, k - 1, axis=1)[:, k - 1]
    slack = SLACK * (squares + np.maximum(reach, 0.0))
    closer, within = near < (reach - slack)[:, None], near <= (reach + slack)[:, None]
    counts = np.empty((2, len(near)))
    inside = closer.sum(axis=1)
    tied = within.sum(axis=1) - inside
    for side, columns in enumerate((slice(None, n), slice(n, None))):
        sure = closer[:, columns].sum(axis=1)
        # The product comes first: if all ties lie on one side, both counts are whole, and 0 is exactly 0.
        counts[side] = sure + (k - inside) * (within[:, columns].sum(axis=1) - sure) / tied
    return counts
