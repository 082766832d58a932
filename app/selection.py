"""What the selection events of charts say: a polygon, or the clicked point.

The browser sends a polygon, never a list of texts. It is simplified to what a link can carry, and that polygon is the
one that is drawn, tested against all texts of the run, and found again after a reload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MAX_CORNERS = 60
"""Corners of a polygon in a link: about 800 characters of URL."""


def simplified(polygon: ArrayLike, most: int = MAX_CORNERS) -> list[tuple[float, float]]:
    """The polygon with at most ``most`` corners: those go first whose triangle with their neighbours is smallest.

    Visvalingam and Whyatt (1993), "Line generalisation by repeated elimination of points"; ``most`` is at least 3.
    """
    corners = np.asarray(polygon, dtype=np.float64).tolist()
    while len(corners) > max(3, most):
        array = np.array(corners)
        before = np.roll(array, 1, axis=0)
        (x, y), (u, v) = (array - before).T, (np.roll(array, -1, axis=0) - before).T
        del corners[int(np.abs(x * v - y * u).argmin())]
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
