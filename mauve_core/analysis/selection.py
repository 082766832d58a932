"""Select texts: in a polygon on the map, in a cluster, or with given metadata values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Comparison, Partition

# Label of a gap in a metadata column.
MISSING = "(missing)"

# Point-edge pairs tested at once: about 30 MB of temporary arrays.
_BLOCK = 1_000_000


@dataclass(frozen=True)
class Stack:
    """All texts of a comparison in the order of its stacked arrays: the human side, then the candidates.

    Attributes
    ----------
    names : tuple of str
        The sources.
    source : (n_total,) int16 array
        Index of each text's source in ``names``.
    position : (n_total,) int32 array
        Row of each text in its own corpus.
    """

    names: tuple[str, ...]
    source: NDArray[np.int16]
    position: NDArray[np.int32]

    @classmethod
    def of(cls, comparison: Comparison) -> Stack:
        """Return the stack of a comparison's sources."""
        sizes = [source.n for source in comparison.sources]
        return cls(
            names=tuple(source.name for source in comparison.sources),
            source=np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
            position=np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
        )

    def labels(self, partition: Partition) -> NDArray[np.int32]:
        """Return the (n_total,) cluster of each text; -1 for texts of a source that the partition leaves out."""
        labels = np.full(self.source.size, -1, dtype=np.int32)
        for index, name in enumerate(self.names):
            if name in partition.labels:
                labels[self.source == index] = partition.labels[name]
        return labels

    def positions(self, mask: NDArray[np.bool_], name: str) -> NDArray[np.int32]:
        """Return the rows in the corpus of source ``name`` of its texts where ``mask`` (n_total,) is true."""
        positions: NDArray[np.int32] = self.position[mask & (self.source == self.names.index(name))]
        return positions

    def visible(self, hidden: Sequence[int]) -> NDArray[np.bool_]:
        """Return, as (n_total,), whether each text's source is shown."""
        return ~np.isin(self.source, np.asarray(hidden, dtype=np.int16))


def inside_polygon(points: ArrayLike, polygon: ArrayLike) -> NDArray[np.bool_]:
    """Return, as (n,) bool, whether each point lies inside a closed polygon, by the even-odd rule.

    A ray from the point to the right crosses the outline an odd number of times. Edges are half-open (they own their
    lower end), so that of two polygons that share an edge, exactly one holds a point on it.

    Parameters
    ----------
    points : (n, 2) array
        Finite coordinates; a point with NaN is outside.
    polygon : (m, 2) array, m >= 3
        Corners in order; the last is joined to the first. The outline may cross itself.

    Raises
    ------
    InputError
        Points that are not two-dimensional, fewer than three corners, or a corner that is not finite.
    """
    array = _planar(points, "The points")
    corners = _planar(polygon, "The polygon")
    if len(corners) < 3 or not np.isfinite(corners).all():
        raise InputError("The polygon cannot be used", allowed="three or more finite corners")
    inside = np.zeros(len(array), dtype=bool)
    near = np.flatnonzero(((array >= corners.min(axis=0)) & (array <= corners.max(axis=0))).all(axis=1))
    step = max(1, _BLOCK // len(corners))
    for start in range(0, near.size, step):
        block = near[start : start + step]
        inside[block] = _crossings(array[block], corners) % 2 == 1
    return inside


def rows_in_cluster(partition: Partition, source: str, cluster: int | None) -> tuple[int, ...]:
    """Return the rows of a source in a cluster; empty without a cluster or if the partition leaves the source out."""
    if cluster is None or source not in partition.labels:
        return ()
    return _rows(np.asarray(partition.labels[source]) == cluster)


def rows_in_lasso(comparison: Comparison, source: str, lasso: Sequence[tuple[float, float]] | None) -> tuple[int, ...]:
    """Return the rows of a source in a polygon on the run's map; empty without a polygon or a map."""
    if lasso is None or comparison.projection is None:
        return ()
    stack = Stack.of(comparison)
    own = stack.source == stack.names.index(source)
    return _rows(inside_polygon(comparison.projection[own], lasso))


def rows_with_values(column: pd.Series, values: Collection[str]) -> tuple[int, ...]:
    """Return the rows whose value, as text, is in ``values``."""
    return _rows(as_text(column).isin(list(values)).to_numpy(dtype=bool))


def value_counts(column: pd.Series) -> dict[str, int]:
    """Count each value of a metadata column, as text, the most frequent first."""
    return {str(value): int(count) for value, count in as_text(column).value_counts().items()}


def as_text(column: pd.Series) -> pd.Series:
    """Return the values of a metadata column as lists show them."""
    return column.astype(object).map(lambda value: MISSING if pd.isna(value) else str(value))


def _rows(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) for row in np.flatnonzero(mask))


def _planar(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"{name} must be two-dimensional", allowed="shape (n, 2)", received=f"shape {array.shape}")
    return array


def _crossings(points: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, as (n,), how many edges the ray from each point to the right crosses."""
    following = np.roll(corners, -1, axis=0)
    y = points[:, 1:]
    spans = (corners[:, 1] > y) != (following[:, 1] > y)
    side = _cross(following - corners, points[:, None, :] - corners)
    left = np.where(following[:, 1] > corners[:, 1], side > 0, side < 0)
    return np.asarray((spans & left).sum(axis=1))


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
