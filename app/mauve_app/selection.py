"""Reads selection events of charts: a polygon, or the clicked point.

The browser sends a polygon, never a list of texts. It is simplified to fit in a link. The simplified polygon is the one
that is drawn, tested against all texts of the run, and restored after a reload. A browser can send any JSON: what no
chart sends counts as nothing selected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Maximum number of corners of a polygon in a link: about 800 characters of URL.
MAX_CORNERS = 60


# Maximum number of corners of a drawn lasso that are looked at: a longer one is thinned out evenly.
MOST_DRAWN = 1000

# Largest number that an event may have.
LARGEST = 1e30


def simplified(polygon: ArrayLike, most: int = MAX_CORNERS) -> list[tuple[float, float]]:
    """Drop the corners that form the smallest triangles with their neighbors until ``most`` (at least 3) are left.

    Visvalingam and Whyatt (1993), "Line generalisation by repeated elimination of points".
    """
    corners = np.asarray(polygon, dtype=np.float64).tolist()
    while len(corners) > max(3, most):
        array = np.array(corners)
        before = np.roll(array, 1, axis=0)
        (x, y), (u, v) = (array - before).T, (np.roll(array, -1, axis=0) - before).T
        del corners[int(np.abs(x * v - y * u).argmin())]
    return [(x, y) for x, y in corners]


def polygon_of_event(selection: Any) -> list[tuple[float, float]] | None:
    """The last lasso of a selection event, simplified, else the four corners of its last box; None without one."""
    for xs, ys in _shapes(selection, "lasso"):
        if len(xs) >= 3:
            step = -(-len(xs) // MOST_DRAWN)
            return simplified(list(zip(xs, ys, strict=True))[::step])
    for xs, ys in _shapes(selection, "box"):
        if len(xs) == 2:
            (left, right), (low, high) = sorted(xs), sorted(ys)
            return [(left, low), (right, low), (right, high), (left, high)]
    return None


def clicked_value(selection: Any, column: int) -> int | None:
    """An integer from the ``customdata`` of the last clicked point of a selection event; None without a point.

    The browser sends a row of a typed array as an object with column numbers as keys, and a row of a list as a list.
    """
    for point in reversed(_list(_entry(selection, "points"))):
        data = _entry(point, "customdata")
        value = _entry(data, str(column)) if isinstance(data, Mapping) else dict(enumerate(_list(data))).get(column)
        if value is not None and _is_number(value):
            return int(value)
    return None


def rows_of_event(selection: Any) -> list[int]:
    """The row of a table's marked cell, then its ticked row."""
    cells = [cell[0] for cell in _list(_entry(selection, "cells")) if _list(cell)]
    return [row for row in [*cells, *_list(_entry(selection, "rows"))] if type(row) is int and row >= 0]


def _shapes(selection: Any, kind: str) -> Iterator[tuple[list[float], list[float]]]:
    """The corners' x and y of each shape, the last first; what is none, as only a forged event has, is skipped."""
    for shape in reversed(_list(_entry(selection, kind))):
        xs, ys = _list(_entry(shape, "x")), _list(_entry(shape, "y"))
        if len(xs) == len(ys) and all(map(_is_number, [*xs, *ys])):
            yield xs, ys


def _entry(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST
