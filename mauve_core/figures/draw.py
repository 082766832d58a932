"""Figures from plain dictionaries, a trace each, without Plotly's check of every property.

Plotly makes an object of each trace and each property, and checks it: for a figure of forty traces that takes ten times
as long as everything else a page does. The app's server turns ``CHECKED`` off: its figures have the same attributes and
are ready to be sent. Everywhere else, in notebooks, reports and tests, they are Plotly's own, every property checked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from _plotly_utils.utils import convert_to_base64  # type: ignore[import-untyped]
from plotly.subplots import make_subplots

CHECKED = True
"""Whether a property that Plotly does not know, or a value that it does not allow, raises ValueError."""

MOST_BETWEEN = 0.8
"""The largest share of a figure's breadth or height that lies between its panels."""

Trace = dict[str, Any]
Layout = dict[str, Any]


def figure(traces: Iterable[Trace], layout: Mapping[str, Any]) -> go.Figure:
    """The figure of these traces, each with its ``type``, and this layout, nested and without magic underscores."""
    data, given = [_given(trace) for trace in traces], _given(layout)
    return go.Figure(data=data, layout=given) if CHECKED else _Sent(data, given)


def scatter(**properties: Any) -> Trace:
    """A trace of points or lines; properties as ``plotly.graph_objects.Scatter`` has them."""
    return {"type": "scatter", **properties}


def scattergl(**properties: Any) -> Trace:
    """The same for many points."""
    return {"type": "scattergl", **properties}


def bar(**properties: Any) -> Trace:
    """A trace of bars."""
    return {"type": "bar", **properties}


def heatmap(**properties: Any) -> Trace:
    """A trace of cells."""
    return {"type": "heatmap", **properties}


def panels(rows: int, cols: int, **settings: Any) -> Layout:
    """The layout of several panels; settings as :func:`subplots` has them."""
    return copy.deepcopy(_panels(json.dumps({"rows": rows, "cols": cols, **settings}, sort_keys=True)))


def subplots(rows: int, cols: int, **settings: Any) -> go.Figure:
    """``plotly.subplots.make_subplots``, with one panel where none is asked for.

    ``horizontal_spacing`` and ``vertical_spacing`` are what a panel's neighbours stand apart, as a share of the whole,
    and less where so many panels would leave no room for themselves.
    """
    rows, cols = max(rows, 1), max(cols, 1)
    for name, count in (("horizontal_spacing", cols), ("vertical_spacing", rows)):
        if name in settings:
            settings[name] = min(settings[name], MOST_BETWEEN / max(count - 1, 1))
    return make_subplots(rows=rows, cols=cols, **settings)


def on_panel(trace: Trace, column: int) -> Trace:
    """The trace on the panel at that place of a row, the first is 1."""
    suffix = "" if column == 1 else str(column)
    return {**trace, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def with_axes(layout: Layout, letter: str, **settings: Any) -> Layout:
    """The layout with these settings on all of its x or y axes, ``letter`` is "x" or "y"."""
    axes = {name: {**axis, **settings} for name, axis in layout.items() if name.startswith(f"{letter}axis")}
    return {**layout, **axes}


def with_titles(layout: Layout, size: int = 14) -> Layout:
    """The layout with the titles of its panels in that size."""
    titles = [{**title, "font": {**title["font"], "size": size}} for title in layout["annotations"]]
    return {**layout, "annotations": titles}


def guide(axis: str, value: float, line: Mapping[str, Any], panel: int = 1) -> dict[str, Any]:
    """A straight line across a panel where ``axis``, "x" or "y", has the value: for a layout's ``shapes``."""
    suffix, across = "" if panel == 1 else str(panel), "y" if axis == "x" else "x"
    own, other = f"{axis}{suffix}", f"{across}{suffix} domain"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{across}0": 0, f"{across}1": 1}
    return {"type": "line", **ends, f"{axis}ref": own, f"{across}ref": other, "line": dict(line)}


class _Sent(go.Figure):  # type: ignore[misc]
    """A figure that is only sent: the dictionary that Plotly would make of it, without the objects in between."""

    def __init__(self, data: list[Trace], layout: Layout) -> None:
        object.__setattr__(self, "_sent", {"data": data, "layout": layout})

    def to_dict(self) -> dict[str, Any]:
        sent: dict[str, Any] = object.__getattribute__(self, "_sent")
        convert_to_base64(sent)  # in place, and nothing more the second time; the template is large and has no arrays
        return {**sent, "layout": {"template": _template(), **sent["layout"]}}


def _template() -> dict[str, Any]:
    """Plotly's default template, which Streamlit sets to its own."""
    name = pio.templates.default
    return _templates(name) if name else {}


@lru_cache(maxsize=4)
def _templates(name: str) -> dict[str, Any]:
    template: dict[str, Any] = go.Figure(layout={"template": name}).to_dict()["layout"]["template"]
    return template


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those that are None, as Plotly has it."""
    return {
        name: _given(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if value is not None
    }


@lru_cache(maxsize=64)
def _panels(settings: str) -> Layout:
    layout: Layout = subplots(**json.loads(settings)).layout.to_plotly_json()
    layout.pop("template", None)  # every figure has its own
    return {"annotations": [], **layout}
