"""Features to the space in which they are clustered: unit rows, then principal components.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1: the stacked features of both sides are normalised to unit length
and projected on the fewest principal components that explain 90 % of the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.errors import InputError
from mauve_core.numerics import _checks

_LEAST_VARIANCE = 1e-12
"""Total variance of unit rows at which float32 cannot tell the rows apart: (about 8 units of rounding) squared."""


@dataclass(frozen=True)
class Reduced:
    """Features in the space of the clusters.

    Attributes
    ----------
    array : (n, components) float32 array
        Centred coordinates, the component of largest variance first.
    explained : float
        Share of the variance of the (fitted) unit rows that the components keep, in (0, 1].
    components : int
    """

    array: NDArray[np.float32]
    explained: float
    components: int


def usable_features(x: ArrayLike, *, name: str = "features") -> NDArray[np.float32]:
    """The features of one side, checked before sides are stacked, so that an error names the side and its own rows.

    Parameters
    ----------
    x : (n, d) array
    name : str
        What errors call the array.

    Returns
    -------
    (n, d) float32 array
        ``x`` itself when it is float32 already.

    Raises
    ------
    InputError
        Not a table, no rows, values that are not finite, or rows of zeros (rows named, counted from 0).
    """
    array = _checks.features(x, name=name)
    zero = np.logical_not(array.any(axis=1))
    if zero.any():
        raise InputError(
            f"The {name} hold rows of zeros, which have no direction",
            allowed="rows with at least one number other than 0",
            received=f"zeros in {_checks.name_rows(zero)}",
            todo="Encode those texts again, or leave them out",
        )
    return array


def reduce_features(
    x: ArrayLike, *, explained_variance: float = 0.9, fit_rows: NDArray[np.integer] | None = None
) -> Reduced:
    """Normalise rows to unit length and keep the fewest principal components that reach a share of the variance.

    Parameters
    ----------
    x : (n, d) array
        Features of all sides stacked, n at least 2.
    explained_variance : float in (0, 1]
        Share of the variance to reach; 1 keeps every component with variance.
    fit_rows : (r,) array of int, optional
        Rows whose mean and variance decide the components; all by default. Every row is projected.

    Returns
    -------
    Reduced
        Signs are fixed (the entry of largest size of each component's direction is positive).

    Raises
    ------
    InputError
        Values that are not finite (rows named), rows of zeros (named), or all rows equal.
    """
    if not 0 < explained_variance <= 1:
        raise InputError(
            "The share of variance is not usable", allowed="a number in (0, 1]", received=repr(explained_variance)
        )
    unit = _unit_rows(_checks.features(usable_features(x), least_rows=2))
    fitted = unit if fit_rows is None else unit[fit_rows]
    mean = np.asarray(fitted.mean(axis=0, dtype=np.float64))
    variances, directions = _principal_axes(fitted, mean)
    total = float(variances.sum())
    if total <= _LEAST_VARIANCE:
        raise InputError(
            "All features are equal, so there is nothing to compare",
            allowed="texts that differ",
            received=f"{len(fitted)} rows of one direction",
            todo="Check that the texts on both sides are not copies of one text",
        )
    shares = np.cumsum(variances) / total
    # The last share is 1 up to rounding; a tiny slack keeps explained_variance=1 from asking for more than there is.
    components = min(int(np.searchsorted(shares, explained_variance - 1e-12)) + 1, len(shares))
    kept = directions[:, :components]
    kept = kept * np.where(kept[np.abs(kept).argmax(axis=0), np.arange(components)] < 0, -1.0, 1.0)
    array = np.empty((len(unit), components), dtype=np.float32)
    for part in _checks.row_blocks(len(unit)):
        array[part] = (unit[part] - mean) @ kept
    return Reduced(array, float(min(shares[components - 1], 1.0)), components)


def _unit_rows(x: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = np.empty_like(x)
    for part in _checks.row_blocks(len(x)):
        rows = x[part].astype(np.float64)
        unit[part] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _principal_axes(
    unit: NDArray[np.float32], mean: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances (largest first) and directions (d, r), by the smaller of the two cross products, in float64."""
    n, d = unit.shape
    if d <= n:
        scatter = np.zeros((d, d))
        for part in _checks.row_blocks(n):
            rows = unit[part] - mean
            scatter += rows.T @ rows
        values, vectors = np.linalg.eigh(scatter)
        values, directions = values[::-1], vectors[:, ::-1]
    else:
        _, singular, transposed = np.linalg.svd(unit - mean, full_matrices=False)
        values, directions = singular**2, transposed.T
    values = np.maximum(values, 0.0)
    rank = max(1, int((values > values[0] * max(n, d) * np.finfo(np.float64).eps).sum()))
    return values[:rank] / n, directions[:, :rank]
