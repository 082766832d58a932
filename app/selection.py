"""Which texts a lasso or box on the map holds: geometry in numpy, and the order of the stacked texts.

The browser sends a polygon, never a list of texts. It is simplified to what a link can carry, and that polygon is the
one that is drawn, tested against all texts of the run, and found again after a reload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Comparison, Partition

MAX_CORNERS = 60
"""Corners of a polygon in a link: about 800 characters of URL."""

_BLOCK = 1_000_000
"""Point-edge pairs tested at once: about 30 MB of temporary arrays."""


@dataclass(frozen=True)
class Stack:
    """All texts of a comparison in the order of its stacked arrays: the human side, then the candidates.

    Attributes
    ----------
    names : tuple of str
        The sources.
    source : (n_total,) int16 array
        Place of each text's source in ``names``.
    position : (n_total,) int32 array
        Place of each text in its own corpus.
    """

    names: tuple[str, ...]
    source: NDArray[np.int16]
    position: NDArray[np.int32]

    @classmethod
    def of(cls, comparison: Comparison) -> Stack:
        """The stack of a comparison's sources."""
        sizes = [source.n for source in comparison.sources]
        return cls(
            names=tuple(source.name for source in comparison.sources),
            source=np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
            position=np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
        )

    def labels(self, partition: Partition) -> NDArray[np.int32]:
        """(n_total,) cluster of each text; -1 for texts of a source that the partition leaves out."""
        labels = np.full(self.source.size, -1, dtype=np.int32)
        for place, name in enumerate(self.names):
            if name in partition.labels:
                labels[self.source == place] = partition.labels[name]
        return labels

    def positions(self, mask: NDArray[np.bool_], name: str) -> NDArray[np.int32]:
        """Places, in the corpus of source ``name``, of the texts where ``mask`` (n_total,) is true."""
        positions: NDArray[np.int32] = self.position[mask & (self.source == self.names.index(name))]
        return positions

    def visible(self, hidden: Sequence[int]) -> NDArray[np.bool_]:
        """(n_total,) whether a text's source is shown."""
        return ~np.isin(self.source, np.asarray(hidden, dtype=np.int16))


def inside_polygon(points: ArrayLike, polygon: ArrayLike) -> NDArray[np.bool_]:
    """Whether each point lies inside a closed polygon, by the even-odd rule.

    A ray from the point to the right crosses the outline an odd number of times. Edges are half-open (they own their
    lower end), so that polygons which share an edge never both hold a point, and never both miss one.

    Parameters
    ----------
    points : (n, 2) array
        Finite coordinates; a point with NaN is outside.
    polygon : (m, 2) array, m >= 3
        Corners in order; the last is joined to the first. The outline may cross itself.

    Returns
    -------
    (n,) bool array

    Raises
    ------
    InputError
        Not points of the plane, fewer than three corners, or a corner that is not finite.
    """
    places = _planar(points, "The points")
    corners = _planar(polygon, "The polygon")
    if len(corners) < 3 or not np.isfinite(corners).all():
        raise InputError("The polygon cannot be used", allowed="three or more finite corners")
    inside = np.zeros(len(places), dtype=bool)
    near = np.flatnonzero(((places >= corners.min(axis=0)) & (places <= corners.max(axis=0))).all(axis=1))
    step = max(1, _BLOCK // len(corners))
    for start in range(0, near.size, step):
        block = near[start : start + step]
        inside[block] = _crossings(places[block], corners) % 2 == 1
    return inside


def simplified(polygon: ArrayLike, most: int = MAX_CORNERS) -> list[tuple[float, float]]:
    """The polygon with at most ``most`` corners: those go first whose triangle with their neighbours is smallest.

    Visvalingam and Whyatt (1993), "Line generalisation by repeated elimination of points"; ``most`` is at least 3.
    """
    corners = _planar(polygon, "The polygon").tolist()
    while len(corners) > max(3, most):
        array = np.array(corners)
        before, after = np.roll(array, 1, axis=0), np.roll(array, -1, axis=0)
        areas = np.abs(_cross(array - before, after - before))
        del corners[int(areas.argmin())]
    return [(x, y) for x, y in corners]


def polygon_of_event(selection: Mapping[str, Any] | None) -> list[tuple[float, float]] | None:
    """The polygon that a chart's selection event holds (its last lasso, else its last box); None without one.

    A box becomes its four corners; a lasso is simplified.
    """
    if not selection:
        return None
    for lasso in reversed(list(selection.get("lasso") or [])):
        if len(lasso["x"]) >= 3:
            return simplified(list(zip(lasso["x"], lasso["y"], strict=True)))
    for box in reversed(list(selection.get("box") or [])):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        return [(left, low), (right, low), (right, high), (left, high)]
    return None


def clicked_value(selection: Mapping[str, Any] | None, column: int) -> int | None:
    """A whole number from the ``customdata`` of the last clicked point of a selection event; None without a point.

    The browser sends a row of a typed array as an object with the column numbers as keys, a row of a list as a list.
    """
    for point in reversed(list((selection or {}).get("points") or [])):
        data = point.get("customdata")
        values = {
            int(key): value for key, value in (data.items() if isinstance(data, Mapping) else enumerate(data or []))
        }
        if column in values:
            return int(values[column])
    return None


def _planar(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"{name} must lie in the plane", allowed="shape (n, 2)", received=f"shape {array.shape}")
    return array


def _crossings(points: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) edges that the ray from each point to the right crosses."""
    following = np.roll(corners, -1, axis=0)
    y = points[:, 1:]
    spans = (corners[:, 1] > y) != (following[:, 1] > y)
    side = _cross(following - corners, points[:, None, :] - corners)
    left = np.where(following[:, 1] > corners[:, 1], side > 0, side < 0)
    return np.asarray((spans & left).sum(axis=1))


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
