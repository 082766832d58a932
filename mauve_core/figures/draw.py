"""Build figures from plain dictionaries, one per trace, without Plotly's check of every property.

Plotly builds and checks an object for each trace and property. For a figure of forty traces this takes ten times as
long as the rest of a page. The app's server sets ``CHECKED`` to false: its figures have the same attributes and are
ready to send. Notebooks, reports and tests use checked Plotly figures.

Lines are named at their ends, in place of a legend: each name stands with its marker at the right of the plot, in the
order of the ends, and never on another; a thin line leads to it from the end. Charts over a setting have a legend for
more than ``MOST_NAMES`` lines, because their names would stand far from the ends.

A figure is written as JSON for pages that work offline, and enlarged by one factor for the back row of a lecture hall.
"""

from __future__ import annotations

import copy
import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from _plotly_utils.utils import convert_to_base64  # type: ignore[import-untyped]
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from mauve_core.figures.theme import (
    GLYPHS,
    LEGEND_FONT,
    LEGEND_ROW,
    LETTER,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    Style,
    as_label,
    base_layout,
    legend_below,
    short_name,
    translucent,
)

# Whether an unknown property or a disallowed value raises ValueError.
CHECKED = True

# Maximum share of a figure's width or height between its panels.
MOST_BETWEEN = 0.8

# Properties of a trace that looks the same whether or not a point is selected.
UNFADED = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}

_CLEAR, _CHOSEN = "rgba(0,0,0,0)", translucent(NEUTRAL_COLOUR, 0.35)

Trace = dict[str, Any]
Layout = dict[str, Any]


def figure(traces: Iterable[Trace], layout: Mapping[str, Any]) -> go.Figure:
    """Build the figure from traces, each with its ``type``, and a nested layout without magic underscores."""
    data, cleaned = [_without_none(trace) for trace in traces], _without_none(layout)
    return go.Figure(data=data, layout=cleaned) if CHECKED else _Sent(data, cleaned)


def scatter(**properties: Any) -> Trace:
    """A trace of points or lines; properties as in ``plotly.graph_objects.Scatter``."""
    return {"type": "scatter", **properties}


def scattergl(**properties: Any) -> Trace:
    """Like :func:`scatter`, but drawn with WebGL for many points."""
    return {"type": "scattergl", **properties}


def bar(**properties: Any) -> Trace:
    """A trace of bars."""
    return {"type": "bar", **properties}


def heatmap(**properties: Any) -> Trace:
    """A trace of cells."""
    return {"type": "heatmap", **properties}


def contour(**properties: Any) -> Trace:
    """A trace of lines of equal height."""
    return {"type": "contour", **properties}


def click_bars(clusters: Iterable[int], chosen: int | None, **properties: Any) -> Trace:
    """Transparent bars over each cluster for hovers and clicks; that of the chosen cluster is shaded."""
    shades = [_CHOSEN if cluster == chosen else _CLEAR for cluster in clusters]
    marker = {"color": shades, "line": {"width": 0}}
    return bar(width=1, showlegend=False, textposition="none", marker=marker, **UNFADED, **properties)


def panels(rows: int, cols: int, **settings: Any) -> Layout:
    """Layout of several panels; settings as in :func:`subplots`."""
    return copy.deepcopy(_panels(json.dumps({"rows": rows, "cols": cols, **settings}, sort_keys=True)))


def panel_row(titles: Sequence[str], spacing: float) -> Layout:
    """Layout of titled panels side by side with one y axis; ``spacing`` is the gap as a share of the whole."""
    return panels(1, len(titles), shared_yaxes=True, subplot_titles=list(titles), horizontal_spacing=spacing)


def subplots(rows: int, cols: int, **settings: Any) -> go.Figure:
    """``plotly.subplots.make_subplots``, with one panel by default.

    ``horizontal_spacing`` and ``vertical_spacing`` are the gaps between panels as shares of the whole. They shrink if
    many panels would leave no room.
    """
    rows, cols = max(rows, 1), max(cols, 1)
    for name, count in (("horizontal_spacing", cols), ("vertical_spacing", rows)):
        if name in settings:
            settings[name] = min(settings[name], MOST_BETWEEN / max(count - 1, 1))
    return make_subplots(rows=rows, cols=cols, **settings)


def on_panel(trace: Trace, column: int) -> Trace:
    """The trace on the panel in that column; the first is 1."""
    suffix = "" if column == 1 else str(column)
    return {**trace, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def with_axes(layout: Layout, letter: str, **settings: Any) -> Layout:
    """The layout with these settings on all of its x or y axes; ``letter`` is "x" or "y"."""
    axes = {name: {**axis, **settings} for name, axis in layout.items() if name.startswith(f"{letter}axis")}
    return {**layout, **axes}


def row_axis(labels: Sequence[str], margin: float = 0.6, **settings: Any) -> dict[str, Any]:
    """A y axis with one labeled row per place, the first on top, and ``margin`` rows beyond the first and the last."""
    rows = len(labels)
    span = {"range": [rows - (1 - margin), -margin], "showgrid": False, "zeroline": False}
    return {"tickvals": list(range(rows)), "ticktext": list(labels), **span, **settings}


def wrapped(title: str, width: int) -> str:
    """An untrusted title, escaped, on two lines if it has more characters than ``width``; what has more is cut.

    What follows a middle dot, such as a cluster's number, stays with the word before it.
    """
    lines = textwrap.wrap(
        title.replace(" · ", "\u00a0·\u00a0"), width, max_lines=2, placeholder=" …", break_long_words=True
    )
    return "<br>".join(map(as_label, lines))


def cluster_axis(clusters: Sequence[int], step: int = 1, **settings: Any) -> dict[str, Any]:
    """An x axis with one place per cluster, of which every ``step``-th shows its number."""
    labels = {
        "tickvals": list(range(0, len(clusters), step)),
        "ticktext": [str(cluster) for cluster in clusters[::step]],
        "tickfont": {"size": 11},
        "title": {"text": "cluster"},
    }
    return {**labels, "range": [-0.6, len(clusters) - 0.4], "showgrid": False, "zeroline": False, **settings}


def with_titles(layout: Layout, size: int = 14) -> Layout:
    """The layout with its panel titles in that size."""
    titles = [{**title, "font": {**title["font"], "size": size}} for title in layout["annotations"]]
    return {**layout, "annotations": titles}


def guide(axis: str, value: float, line: Mapping[str, Any], panel: int = 1) -> dict[str, Any]:
    """A straight line across a panel at a value of ``axis`` ("x" or "y"), for a layout's ``shapes``."""
    suffix, across = "" if panel == 1 else str(panel), "y" if axis == "x" else "x"
    own, other = f"{axis}{suffix}", f"{across}{suffix} domain"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{across}0": 0, f"{across}1": 1}
    return {"type": "line", **ends, f"{axis}ref": own, f"{across}ref": other, "line": dict(line)}


def band(x: Sequence[float], low: Sequence[float], high: Sequence[float], fill: str, **properties: Any) -> Trace:
    """The area between two curves over the same (n,) ``x``; it shows no hover and no legend entry."""
    return area([*x, *reversed(x)], [*low, *reversed(high)], fill, **properties)


def area(x: Any, y: Any, fill: str, **properties: Any) -> Trace:
    """The area within an outline through the points (x, y), each (n,); it shows no hover and no legend entry."""
    return scatter(
        x=x,
        y=y,
        fill="toself",
        fillcolor=fill,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        **properties,
    )


def interval(value: float, low: float, high: float, **properties: Any) -> dict[str, Any]:
    """Error bar from ``low`` to ``high`` around one value, for ``error_x`` or ``error_y``."""
    return error_bars([high - value], [value - low], **properties)


def error_bars(above: Any, below: Any, **properties: Any) -> dict[str, Any]:
    """Error bars of (n,) lengths above and below their values, for ``error_x`` or ``error_y``."""
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **properties}


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least ``gap`` apart from ``low`` to ``high``, nearest to the wanted ones by least squares.

    Parameters
    ----------
    wanted : (n,) descending
        The result has this order.
    gap : float
        Reduced to what fits if ``n`` places do not.

    Notes
    -----
    With places y_i descending, y_i + i gap must not rise: pooling adjacent violators (Barlow et al. 1972) gives the
    least squares. Bounds then cut the pooled values, which keeps them optimal.
    """
    if len(wanted) < 2:
        return [min(max(place, low), high) for place in wanted]
    gap = min(gap, (high - low) / (len(wanted) - 1))
    pools: list[tuple[float, int]] = []
    for index, place in enumerate(wanted):
        pools.append((place + index * gap, 1))
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (one, n), (other, m) = pools.pop(-2), pools.pop()
            pools.append(((one * n + other * m) / (n + m), n + m))
    flat = [value for value, members in pools for _ in range(members)]
    bottom, top = low + (len(wanted) - 1) * gap, high
    return [min(max(value, bottom), top) - index * gap for index, value in enumerate(flat)]


def mark_run(figure: go.Figure, value: float) -> None:
    """Draw a dashed line, labeled "this run", across a figure at a value of its logarithmic x axis."""
    line = {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", x0=value, x1=value, y0=0, y1=1, yref="paper", line=line, layer="below")
    figure.add_annotation(
        x=math.log10(value),  # annotations use the axis' own units
        y=0,
        yref="paper",
        text="this run",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"color": NEUTRAL_COLOUR, "size": 12},
    )


class _Sent(go.Figure):  # type: ignore[misc]
    """A figure only for sending: holds the dictionary that Plotly would produce, without the objects."""

    def __init__(self, data: list[Trace], layout: Layout) -> None:
        object.__setattr__(self, "_sent", {"data": data, "layout": layout})

    def to_dict(self) -> dict[str, Any]:
        sent: dict[str, Any] = object.__getattribute__(self, "_sent")
        convert_to_base64(sent)  # in place, and only once; the template is large and has no arrays
        return {**sent, "layout": {"template": _template(), **sent["layout"]}}


def _template() -> dict[str, Any]:
    """Plotly's default template, which Streamlit replaces with its own."""
    name = pio.templates.default
    return _templates(name) if name else {}


@lru_cache(maxsize=4)
def _templates(name: str) -> dict[str, Any]:
    template: dict[str, Any] = go.Figure(layout={"template": name}).to_dict()["layout"]["template"]
    return template


def _without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those that are None, as Plotly drops them."""
    return {
        name: _without_none(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if value is not None
    }


@lru_cache(maxsize=64)
def _panels(settings: str) -> Layout:
    layout: Layout = subplots(**json.loads(settings)).layout.to_plotly_json()
    layout.pop("template", None)  # every figure has its own
    return {"annotations": [], **layout}


# Lines that are named at their ends.
MOST_NAMES = 12

# The least distance of two names, in pixels.
NAME_ROW = 15

# Room for a name's marker, and for wider letters than those of the app, in pixels.
_GLYPH, _BEYOND = 18, 24
# Room for the lowest axis, in pixels.
_BELOW = 48
# Entries beside each other in a narrow window, and pixels between the panels and the legend.
_LEGEND_COLUMNS, _LEGEND_GAP = 4, 60
# Room beside the first and the last place and above and below all values, as a share of the axis.
_PAD = 0.04


class End(NamedTuple):
    """Where a line ends, in units of its axes: logarithms to base 10 on a logarithmic one."""

    name: str
    style: Style
    x: float
    y: float


def with_heights(ends: Iterable[End], span: tuple[float, float], pixels: float) -> list[tuple[End, float]]:
    """The ends, the highest first, each with the height of its name; parameters as in ``names_at_ends``."""
    low, high = span
    placed = sorted(ends, key=lambda end: -end.y)
    heights = spread_out([end.y for end in placed], NAME_ROW * (high - low) / pixels, low, high)
    return list(zip(placed, heights, strict=True))


def names_beside(placed: Iterable[tuple[End, float]], span: tuple[float, float]) -> list[dict[str, Any]]:
    """Annotations that name lines right of the only panel, without lines that lead to them.

    Plotly draws these faster than the arrows of ``names_at_ends``. They are placed on the figure, because Plotly hides
    a name at the very end of an axis.
    """
    low, high = span
    return [
        {
            **_name_of(end),
            "x": 1,
            "xref": "paper",
            "y": (height - low) / (high - low),
            "yref": "paper",
            "yanchor": "middle",
            "showarrow": False,
        }
        for end, height in placed
    ]


def names_at_ends(
    ends: Iterable[End], reach: float, span: tuple[float, float], pixels: float, *, panel: int = 1
) -> list[dict[str, Any]]:
    """Annotations that name lines, with lines that lead to them.

    Parameters
    ----------
    ends : iterable of End
        Those of one height keep this order. Names are untrusted.
    reach : float
        Right end of the x axis, where all names begin, also of lines that end before.
    span : (low, high)
        Range of the y axis.
    pixels : float
        Height of the plot.
    panel : int
        The panel's number; the first is 1.
    """
    suffix = "" if panel == 1 else str(panel)
    return [
        {
            **_name_of(end),
            "x": end.x,
            "y": end.y,
            "xref": f"x{suffix}",
            "yref": f"y{suffix}",
            "ax": reach,
            "axref": f"x{suffix}",
            "ay": height,
            "ayref": f"y{suffix}",
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": end.style.colour,
        }
        for end, height in with_heights(ends, span, pixels)
    ]


def _name_of(end: End) -> dict[str, Any]:
    glyph = f'<span style="color:{end.style.colour}">{GLYPHS[end.style.symbol]}</span>'
    return {
        "text": f"{glyph} {as_label(short_name(end.name))}",
        "hovertext": as_label(end.name),
        "xanchor": "left",
        "borderpad": 0,
        "font": {"size": LEGEND_FONT},
    }


def name_lines(figure: go.Figure, ends: Sequence[End], places: Sequence[float], values: Sequence[float]) -> None:
    """Name the lines of a figure of one panel, which then has no legend; it keeps one of more than ``MOST`` lines.

    Parameters
    ----------
    ends : sequence of End
    places, values : sequence of float
        All that is drawn, in units of the axes, which get ranges that hold it.
    """
    if len(ends) > MOST_NAMES:
        return
    reach, span = padded_range(places), padded_range(values)
    margin = figure.layout.margin
    pixels = plot_height(len(ends), figure.layout.height - margin.t - _BELOW)
    figure.update_xaxes(range=list(reach))
    figure.update_yaxes(range=list(span))
    figure.update_layout(
        showlegend=False,
        height=math.ceil(pixels) + margin.t + _BELOW,
        margin={**margin.to_plotly_json(), "b": _BELOW, "r": names_margin(end.name for end in ends)},
        annotations=[*figure.layout.annotations, *names_at_ends(ends, reach[1], span, pixels)],
    )


def panels_layout(names: Sequence[str], panels_height: float) -> dict[str, Any]:
    """Height, margins and legend of panels above one another whose lines have these names."""
    margin = {**PANELS_MARGIN, "b": _BELOW}
    if len(names) <= MOST_NAMES:
        margin["r"] = names_margin(names)
        rest: dict[str, Any] = {"showlegend": False}
    else:
        margin["b"] = LEGEND_ROW * -(-len(names) // _LEGEND_COLUMNS) + _LEGEND_GAP
        rest = {"legend": legend_below([short_name(name) for name in names])}
    height = math.ceil(panels_height) + margin["t"] + margin["b"]
    return base_layout(height=height, margin=margin, hovermode="closest", **rest)


def names_margin(names: Iterable[str]) -> int:
    """Right margin for these names, in pixels."""
    return math.ceil(LETTER * max((len(short_name(name)) for name in names), default=0)) + _GLYPH + _BEYOND


def padded_range(values: Sequence[float]) -> tuple[float, float]:
    """Range of an axis that holds all values, in its units, with room on both sides."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    pad = _PAD * ((high - low) or 1.0)
    return low - pad, high + pad


def plot_height(names: int, usual: float) -> float:
    """Height of a plot in pixels: the usual one, or what so many names need."""
    return max(usual, names * NAME_ROW)


def panels_height(rows: int, names: int, usual: float, between: float) -> tuple[float, float]:
    """Height of each of the panels above one another, and of all with the gaps between them, in pixels."""
    each = plot_height(names, usual) if names <= MOST_NAMES else usual
    return each, rows * each + (rows - 1) * between


def plotly_script() -> str:
    """Plotly's script from the installed package."""
    script: str = get_plotlyjs()
    return script


def figures_json(figures: Mapping[str, go.Figure]) -> str:
    """``{name: {data, layout}}`` as JSON for a ``script`` element, free of ``<``, ``>`` and ``/``.

    Templates are left out because the page has its own for light and dark. WebGL traces become SVG: Plotly's WebGL
    compiles functions from strings, which a strict content security policy forbids.
    """
    found: str = to_json_plotly({name: _plain(figure) for name, figure in figures.items()})
    return found


def _plain(figure: go.Figure) -> dict[str, object]:
    spec = copy.deepcopy(figure.to_dict())
    spec["layout"].pop("template", None)
    for trace in spec["data"]:
        if trace["type"] == "scattergl":
            trace["type"] = "scatter"
    return {"data": spec["data"], "layout": spec["layout"]}


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
