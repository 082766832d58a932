"""Reads selection events of charts: a polygon, or the clicked point.

The browser sends a polygon, never a list of texts. It is simplified to fit in a link. The simplified polygon is the one
that is drawn, tested against all texts of the run, and restored after a reload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MAX_CORNERS = 60
"""Maximum number of corners of a polygon in a link: about 800 characters of URL."""


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


def polygon_of_event(selection: Mapping[str, Any] | None) -> list[tuple[float, float]] | None:
    """The last lasso of a selection event, simplified, else the four corners of its last box; None without one."""
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
    """An integer from the ``customdata`` of the last clicked point of a selection event; None without a point.

    The browser sends a row of a typed array as an object with column numbers as keys, and a row of a list as a list.
    """
    for point in reversed(list((selection or {}).get("points") or [])):
        data = point.get("customdata")
        values = {
            int(key): value for key, value in (data.items() if isinstance(data, Mapping) else enumerate(data or []))
        }
        if column in values:
            return int(values[column])
    return None
