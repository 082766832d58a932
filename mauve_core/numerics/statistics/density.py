"""Highest density regions of points in the plane, from a kernel density estimate.

The region of probability s is the smallest that holds the share s of the density (Hyndman, *Computing and Graphing
Highest Density Regions*, The American Statistician 1996). The kernel is Gaussian. The bandwidth of an axis is half of
Scott's, the standard deviation times n^(-1/6) (Scott, *Multivariate Density Estimation*, 1992, equation 6.42), which
is made for one normal hump and smooths several into one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError

# Times Scott's.
BANDWIDTH = 0.5

# Points of which a density is estimated.
FEWEST = 10


def region_probabilities(points: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[np.float32]:
    """Return, for each place of a grid, the probability of the smallest highest density region that reaches it.

    Parameters
    ----------
    points : (n, 2) array
    x, y : (g,), (h,) arrays
        Evenly spaced coordinates of the grid, which should hold nearly all of the density.

    Returns
    -------
    (h, g) float32 array
        Row i and column j is the place (x[j], y[i]): near 0 at the mode, 1 where there is no density; the line at s
        encloses the share s. All 1 for fewer than :data:`FEWEST` points, or points that share a coordinate.

    Raises
    ------
    InputError
        Points that are not two-dimensional.
    """
    array, across, along = (np.asarray(each, dtype=np.float64) for each in (points, x, y))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError("The points cannot be used", allowed="an (n, 2) array", received=f"shape {array.shape}")
    nowhere = np.ones((along.size, across.size), dtype=np.float32)
    if len(array) < FEWEST:
        return nowhere
    widths = BANDWIDTH * array.std(axis=0, ddof=1) * len(array) ** (-1 / 6)
    if not (widths > 0).all():
        return nowhere
    kernels = [
        np.exp(-0.5 * ((grid[:, None] - array[:, axis]) / widths[axis]) ** 2)
        for axis, grid in enumerate((across, along))
    ]
    density = kernels[1] @ kernels[0].T  # the kernel of two axes is the product of theirs
    descending = np.argsort(-density, axis=None, kind="stable")
    reached = np.cumsum(density.ravel()[descending])
    found = nowhere.ravel()
    found[descending] = reached / reached[-1]
    return found.reshape(density.shape)
