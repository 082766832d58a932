"""Principal components from sums that are computed piece by piece, for features that are never together in one place.

:mod:`mauve_core.numerics.feature_space.reduction` does the same for features that one machine holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics.feature_space.reduction import (
    ROWS_SUMMED,
    Projection,
    UnitRows,
    check_share,
    components_for,
    oriented,
    scatter_axes,
)
from mauve_core.numerics.feature_space.stacked import require_usable
from mauve_core.numerics.threads import single_threaded_blas


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over n rows of d features, about the origin and in float64: of unit rows, or of rows as they are.

    Attributes
    ----------
    n : int
    length : float
        Sum of the lengths of the rows.
    total : (d,) float64 array
    scatter : (d, d) float64 array
        Sum of the outer products.
    """

    n: int
    length: float
    total: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.floating], unit_rows: UnitRows, *, name: str = "features") -> Moments:
        """Return the moments of (n, d) features; of unit rows for "before", of rows as they are for "after".

        Raises
        ------
        InputError
            Values are not finite, or rows are zero (names rows, from 0).
        """
        table = require_usable(rows, name=name)
        d = table.shape[1]
        length, total, scatter = 0.0, np.zeros(d), np.zeros((d, d))
        with single_threaded_blas():
            for _, block in table.blocks(ROWS_SUMMED):
                part = block.astype(np.float64)
                norms = np.linalg.norm(part, axis=1)
                if unit_rows == "before":
                    part /= norms[:, None]
                length += float(norms.sum())
                total += part.sum(axis=0)
                scatter += part.T @ part
        return cls(len(table), length, total, scatter)


def added(moments: Iterable[Moments]) -> Moments:
    """Return the moments of all rows together, added in the given order.

    Raises
    ------
    InputError
        Rows have different widths.
    """
    total: Moments | None = None
    for one in moments:
        if total is None:
            total = Moments(one.n, one.length, one.total.copy(), one.scatter.copy())
            continue
        if one.total.size != total.total.size:
            raise InputError(
                "Shards have features of different width",
                allowed=f"{total.total.size} columns in each",
                received=str(one.total.size),
            )
        total.total[:] += one.total
        total.scatter[:] += one.scatter
        total = Moments(total.n + one.n, total.length + one.length, total.total, total.scatter)
    if total is None:
        raise InputError("There are no features to reduce")
    return total


def projection_from(moments: Moments, explained_variance: float, common_length: float | None = None) -> Projection:
    """Return the projection on the fewest principal components that keep a share of the variance.

    Parameters
    ----------
    moments : Moments
        Of all rows; of rows as they are if there is a common length.
    explained_variance : float in (0, 1]
    common_length : float, optional
        As in :class:`mauve_core.numerics.feature_space.reduction.Projection`.

    Raises
    ------
    InputError
        All rows are equal, or the share is out of range.
    """
    check_share(explained_variance)
    length = common_length or 1.0
    mean = moments.total / moments.n / length
    with single_threaded_blas():
        scatter = moments.scatter / length**2 - moments.n * np.outer(mean, mean)
        variances, directions = scatter_axes(scatter, moments.n, explained_variance)
    components, explained = components_for(variances, explained_variance, moments.n)
    return Projection(mean, oriented(directions[:, :components]), explained, common_length)
