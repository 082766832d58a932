"""Kernel distance between two samples, known for images as the kernel Inception distance (KID).

Bińkowski et al., *Demystifying MMD GANs*, ICLR 2018, section 4: the unbiased estimate of MMD^2 with the kernel
k(x, y) = (x y / d + 1)^3, for d features. Unlike the Fréchet distance it does not grow with fewer texts. Where the
reference implementations average over random subsets, all pairs are taken here, which has the same mean and no chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.statistics.mmd import BLOCK, discrepancies

DEGREE = 3


def kernel_distance(x_p: ArrayLike, x_q: ArrayLike) -> float:
    """The unbiased estimate: about 0 for equal sources, below 0 as often as above.

    It depends on the unit and the origin of the features, so values compare only within one feature space.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least two texts of each side.

    Raises
    ------
    InputError
        The features do not fit together, or a side has fewer than two texts.
    """
    n, m = (len(np.asarray(x)) for x in (x_p, x_q))
    return float(kernel_distances(x_p, x_q, [(np.arange(n), np.arange(m))])[0])


def kernel_distances(
    x_p: ArrayLike, x_q: ArrayLike, parts: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]
) -> NDArray[np.float64]:
    """The same between subsets of the two samples, from kernel values that are computed once.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
    parts : sequence of (rows of x_p, rows of x_q)
        Distinct rows, at least two of each side.

    Returns
    -------
    (len(parts),) float64 array

    Raises
    ------
    InputError
        As :func:`kernel_distance`.
    """
    x = np.concatenate(_checks.wide_samples(x_p, x_q, least_p=2, least_q=2))
    n = len(np.asarray(x_p))
    if any(min(len(rows), len(columns)) < 2 for rows, columns in parts):
        raise InputError("A side has too few texts", allowed="two or more of each side")
    of_p, of_q = np.zeros((2, len(parts), len(x)), dtype=np.bool_)
    for index, (rows, columns) in enumerate(parts):
        of_p[index, rows], of_q[index, n + np.asarray(columns)] = True, True
    return discrepancies(_kernel_rows(x), of_p, of_q)[0]


def _kernel_rows(x: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    for rows in _checks.row_blocks(len(x), BLOCK):
        yield rows, (x[rows] @ x.T / x.shape[1] + 1) ** DEGREE
