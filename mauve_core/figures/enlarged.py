"""A figure for the back row of a lecture hall: everything that is measured in pixels, larger by one factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

# Plotly's font size where a figure names none.
FONT_PX = 12

_PIXELS = frozenset({"size", "height", "ax", "ay", "xshift", "yshift", "standoff", "ticklen", "sizemin"})
_MARGINS = frozenset({"l", "r", "t", "b", "pad"})
# Elements whose ``width`` is in pixels; that of a bar is in units of its axis.
_STROKES = frozenset({"line", "error_x", "error_y"})


def enlarged(figure: go.Figure, factor: float) -> go.Figure:
    """Return a copy with fonts, markers, lines, margins and the height ``factor`` times as large.

    The width stays that of the page, and what is in units of an axis or a share of the figure stays too.
    """
    found = figure.to_dict()
    layout = found.setdefault("layout", {})
    layout["font"] = {"size": FONT_PX} | dict(layout.get("font", {}))
    template = layout.pop("template", None)
    changed = go.Figure(_scaled(found, factor, ""), skip_invalid=False)
    return changed.update_layout(template=template)


def _scaled(value: Any, factor: float, parent: str) -> Any:
    if isinstance(value, Mapping):
        return {
            name: inner if _in_units(name, value) else _entry(name, inner, factor, parent)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        return [_scaled(inner, factor, parent) for inner in value]
    return value


def _in_units(name: str, element: Mapping[str, Any]) -> bool:
    """Whether that end of an annotation's arrow is in units of an axis."""
    return name in ("ax", "ay") and element.get(f"{name}ref", "pixel") != "pixel"


def _entry(name: str, value: Any, factor: float, parent: str) -> Any:
    pixels = name in _PIXELS or (parent == "margin" and name in _MARGINS) or (parent in _STROKES and name == "width")
    return _times(value, factor) if pixels else _scaled(value, factor, name)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, bool | str | Mapping):  # anchors such as "x" or "y2" are names; encoded arrays are as they are
        return value
    if isinstance(value, int | float):
        return value * factor
    if isinstance(value, Sequence | np.ndarray):
        return (np.asarray(value, dtype=np.float64) * factor).tolist()
    return value
