"""All texts on the two-dimensional map, colored by source, cluster, or the cluster's log ratio or cost.

Points use WebGL with float32 arrays, or SVG without WebGL. Beyond ``MOST_POINTS`` the map draws a sample stratified
by source over the density of all texts. Each point carries only its index in the stacked texts; hovers need no text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.formatting import as_percent
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    CATEGORICAL,
    DIVERGING_SCALE,
    HUMAN_COLOUR,
    LEGEND_ROW,
    NEUTRAL_COLOUR,
    base_layout,
    candidate_style,
    candidate_styles,
)

MOST_POINTS = 25_000
PLAIN_POINTS = 4_000
"""The limit without WebGL, where each point is an SVG element."""
HEIGHT = 560
_LEGEND_COLUMNS = 2
"""Legend names per row on a narrow page."""
DENSITY_BINS = 80

Colouring = Literal["source", "cluster", "log_ratio", "cost"]
COLOURINGS: dict[Colouring, str] = {
    "source": "Source",
    "cluster": "Cluster",
    "log_ratio": "Log ratio",
    "cost": "Cost",
}

_FAINT, _PLAIN, _RAISED = 0.12, 0.65, 0.95
"""Point opacity: outside the chosen cluster, with no chosen cluster, and inside the chosen cluster."""
_TURNS = 3
"""Number of parts into which each source is cut; sources take turns in drawing order."""
_CLUSTER_COLOURS = (*CATEGORICAL, HUMAN_COLOUR, NEUTRAL_COLOUR)
"""Colors of clusters, repeated cyclically; the last is for texts without a cluster."""
_BAR = {
    "orientation": "h",
    "thickness": 10,
    "len": 0.7,
    "x": 0,
    "xanchor": "left",
    "y": 1.0,
    "yanchor": "bottom",
    "outlinewidth": 0,
}
"""Position of a color scale."""
_RATIO_LIMIT = 4.0
"""Log ratios beyond 16 to 1 share the end of the color scale, so that small ones stay distinguishable."""


@dataclass(frozen=True)
class Points:
    """The data of the map.

    Attributes
    ----------
    xy : (n, 2) float32 array
        Positions of all texts, stacked.
    source : (n,) int array
        Index of each text's source in ``names``; 0 is the human side.
    cluster : (n,) int array
        Cluster of each text, -1 if the partition excludes its source.
    log2_ratio : (k,) float array
        log2 of human over candidate share of each cluster.
    cost : (k,) float array
        Each cluster's share of the frontier integral, negative where the model misses texts.
    cluster_names : tuple of str
        Name of each cluster, by number; untrusted. Empty: clusters have numbers only.
    """

    xy: NDArray[np.float32]
    source: NDArray[np.int16]
    names: tuple[str, ...]
    cluster: NDArray[np.int32]
    log2_ratio: NDArray[np.float64]
    cost: NDArray[np.float64]
    cluster_names: tuple[str, ...] = ()


def stratified_sample(
    source: NDArray[np.int16], visible: NDArray[np.bool_], most: int = MOST_POINTS
) -> NDArray[np.intp]:
    """Indices of the texts to draw: all visible ones, or ``most`` of them in proportion to the sources.

    The choice is deterministic; each source with a visible text keeps at least one.
    """
    shown = np.flatnonzero(visible)
    if shown.size <= most:
        return shown
    rng = np.random.default_rng(0)
    parts = []
    for index in np.unique(source[shown]):
        members = shown[source[shown] == index]
        size = max(1, int(members.size * most / shown.size))
        parts.append(rng.choice(members, size, replace=False))
    return np.sort(np.concatenate(parts))


def map_figure(
    points: Points,
    drawn: NDArray[np.intp],
    *,
    colouring: Colouring = "source",
    candidate: str = "",
    chosen: int | None = None,
    outline: Sequence[tuple[float, float]] | None = None,
    inside: NDArray[np.bool_] | None = None,
    revision: int = 0,
    density: NDArray[np.bool_] | None = None,
    plain: bool = False,
) -> go.Figure:
    """Draw the map.

    Parameters
    ----------
    drawn : (m,) array of int
        Indices of the texts to draw.
    colouring : a key of ``COLOURINGS``
    candidate : str
        Candidate whose log ratio sets the colors.
    chosen : int or None
        Cluster to highlight; other texts fade.
    outline : sequence of (x, y) or None
        The selection polygon, unless the reader just drew it on this figure.
    inside : (n,) bool array or None
        Texts inside the outline, which are highlighted; None without an outline.
    revision : int
        A new value makes the browser forget what the reader drew.
    density : (n,) bool array or None
        Texts whose density is drawn below the points; None if all texts are drawn.
    plain : bool
        Draw points as SVG, for a browser without WebGL; at most ``PLAIN_POINTS``.

    Returns
    -------
    Figure
        ``customdata`` of a point is its text's index in the stack and its cluster, -1 without one.
    """
    traces = [] if density is None else [_density(points.xy[density])]
    own = points.cluster[drawn] == chosen
    layers = [(drawn, False)] if chosen is None else [(drawn[~own], False), (drawn[own], True)]
    for layer, raised in layers:
        opacity = _PLAIN if chosen is None else (_RAISED if raised else _FAINT)
        for members in _interleaved(layer, points.source):
            trace = _scatter(points, members, colouring, opacity, raised)
            if plain:
                trace["type"] = "scatter"
            if inside is not None:
                trace["selectedpoints"] = np.flatnonzero(inside[members]).astype(np.int32)
            traces.append(trace)
    named = np.unique(points.source[drawn]) if colouring == "source" else ()
    traces += [_legend_entry(points.names, int(index)) for index in named]
    if colouring == "log_ratio":
        traces.append(_colour_bar(_ratio_limit(points), candidate))
    if colouring == "cost":
        traces.append(_cost_bar(points))
    layout = _layout(points.xy, outline, revision)
    if chosen is not None and points.cluster_names and own.any():
        layout["annotations"] = [_label(points.xy[drawn[own]], points.cluster_names[chosen])]
    layout["height"] += LEGEND_ROW * math.ceil(len(named) / _LEGEND_COLUMNS)  # the points keep their room
    return draw.figure(traces, layout)


def colour_of(names: Sequence[str], index: int) -> str:
    """Color of the source at that index of all names: blue for the human side, the usual ones for candidates."""
    return HUMAN_COLOUR if index == 0 else candidate_styles(names[1:])[names[index]].colour


def symbol_of(names: Sequence[str], index: int) -> str:
    """Marker of the source at that index: a dot, or another shape each time its color repeats."""
    colours = [colour_of(names, place) for place in range(index + 1)]
    return candidate_style(colours.count(colours[index]) - 1).symbol


def _interleaved(shown: NDArray[np.intp], source: NDArray[np.int16]) -> list[NDArray[np.intp]]:
    """Texts in parts of one source each, with sources alternating, so that none covers all others."""
    shuffled = np.random.default_rng(0).permutation(shown)
    turns = np.array_split(shuffled, _TURNS)
    return [turn[source[turn] == index] for turn in turns for index in np.unique(source[turn])]


def _scatter(points: Points, members: NDArray[np.intp], colouring: Colouring, opacity: float, raised: bool) -> Trace:
    index, cluster = int(points.source[members[0]]), points.cluster[members]
    data = np.column_stack([members, cluster]).astype(np.float32)
    marker: dict[str, Any] = {"size": 8 if raised else 5, "opacity": opacity, "line": {"width": 0}}
    marker |= _colours(points, cluster, index, colouring)
    name = html.escape(points.names[index])
    in_cluster, titles = "<br>cluster %{customdata[1]:.0f}" if (cluster >= 0).all() else "", None
    if in_cluster and points.cluster_names:
        in_cluster = "<br>%{text} · %{customdata[1]:.0f}"
        titles = np.array([html.escape(each) for each in points.cluster_names], dtype=object)[cluster].tolist()
    return draw.scattergl(
        x=points.xy[members, 0],
        y=points.xy[members, 1],
        mode="markers",
        marker=marker,
        customdata=data,
        name=name,
        text=titles,
        showlegend=False,
        hovertemplate=f"{name}{in_cluster}<extra></extra>",
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": min(opacity, 0.2)}},
    )


def _colours(points: Points, cluster: NDArray[np.int32], index: int, colouring: Colouring) -> dict[str, Any]:
    if colouring == "source":
        return {"color": colour_of(points.names, index), "symbol": symbol_of(points.names, index)}
    if colouring == "cluster":
        turn = len(_CLUSTER_COLOURS) - 1
        numbers = np.where(cluster < 0, turn, cluster % turn).astype(np.float32)
        return {"color": numbers, "colorscale": _steps(_CLUSTER_COLOURS), "cmin": 0, "cmax": turn}
    if colouring == "cost":
        share = np.where(cluster < 0, 0.0, points.cost[cluster])
        return {"color": share.astype(np.float32), **_cost_scale(points)}
    ratio = np.where(cluster < 0, 0.0, points.log2_ratio[cluster])
    return {"color": ratio.astype(np.float32), **_ratio_scale(_ratio_limit(points))}


def _steps(colours: Sequence[str]) -> list[list[Any]]:
    """A color scale that maps whole number i to the i-th color; sending numbers takes a tenth of the time of names."""
    last = len(colours) - 1
    return [[number / last, colour] for number, colour in enumerate(colours)]


def _ratio_limit(points: Points) -> float:
    return min(_RATIO_LIMIT, max(1.0, float(np.abs(points.log2_ratio).max())))


def _ratio_scale(limit: float) -> dict[str, Any]:
    return {"colorscale": DIVERGING_SCALE, "cmin": -limit, "cmid": 0, "cmax": limit}


def _colour_bar(limit: float, candidate: str) -> Trace:
    """A trace without points that keeps the color scale visible whichever sources are shown."""
    exponents = [value for value in range(-4, 5) if abs(value) <= limit]
    bar = {
        **_BAR,
        "title": {"text": f"human : {html.escape(candidate)}", "side": "top"},
        "tickvals": exponents,
        "ticktext": [f"{2**value}:1" if value >= 0 else f"1:{2**-value}" for value in exponents],
    }
    marker = {"color": [0.0], "showscale": True, "colorbar": bar, **_ratio_scale(limit)}
    return draw.scatter(x=[None], y=[None], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _cost_scale(points: Points) -> dict[str, Any]:
    """Blue for what the model misses, orange for what it adds: the log ratio's scale, turned around."""
    limit = max(0.01, float(np.abs(points.cost).max()))
    return {"colorscale": DIVERGING_SCALE, "reversescale": True, "cmin": -limit, "cmid": 0, "cmax": limit}


def _cost_bar(points: Points) -> Trace:
    limit = _cost_scale(points)["cmax"]
    bar = {
        **_BAR,
        "title": {"text": "share of the frontier integral", "side": "top"},
        "tickvals": [-limit, 0, limit],
        "ticktext": [f"{as_percent(limit)} missed", "0", f"{as_percent(limit)} added"],
    }
    marker = {"color": [0.0], "showscale": True, "colorbar": bar, **_cost_scale(points)}
    return draw.scatter(x=[None], y=[None], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _legend_entry(names: Sequence[str], index: int) -> Trace:
    """A legend mark at full opacity, whatever the opacity of the points."""
    return draw.scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": colour_of(names, index), "symbol": symbol_of(names, index), "size": 9},
        name=html.escape(names[index]),
        hoverinfo="skip",
    )


def _label(xy: NDArray[np.float32], name: str) -> dict[str, Any]:
    """A cluster's name at the median of its texts."""
    x, y = np.median(xy, axis=0).tolist()
    font = {"size": 14, "color": "#1c1c1c"}
    place = {"x": x, "y": y, "showarrow": False, "yshift": 18, "borderpad": 3}
    return {**place, "text": html.escape(name), "font": font, "bgcolor": "rgba(255,255,255,0.88)"}


def _density(xy: NDArray[np.float32]) -> Trace:
    counts, x_edges, y_edges = np.histogram2d(xy[:, 0], xy[:, 1], bins=DENSITY_BINS)
    return draw.heatmap(
        x=((x_edges[1:] + x_edges[:-1]) / 2).astype(np.float32),
        y=((y_edges[1:] + y_edges[:-1]) / 2).astype(np.float32),
        z=np.log1p(counts.T).astype(np.float32),
        colorscale=[[0, "rgba(128,135,146,0)"], [1, "rgba(128,135,146,0.55)"]],
        showscale=False,
        hoverinfo="skip",
        zsmooth="fast",
    )


def _layout(xy: NDArray[np.float32], outline: Sequence[tuple[float, float]] | None, revision: int) -> dict[str, Any]:
    low, high = xy.min(axis=0), xy.max(axis=0)
    margin = 0.04 * np.maximum(high - low, 1e-6)
    axis = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "title": None}
    ranges = [[float(low[i] - margin[i]), float(high[i] + margin[i])] for i in range(2)]
    return base_layout(
        height=HEIGHT,
        dragmode="lasso",
        hovermode="closest",
        clickmode="event+select",
        uirevision="map",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "itemclick": False, "itemdoubleclick": False},
        xaxis={**axis, "range": ranges[0]},
        yaxis={**axis, "range": ranges[1]},
        shapes=[_outline(outline)] if outline else None,
        selectionrevision=revision,
        modebar={**base_layout()["modebar"], "orientation": "v"},
    )


def _outline(corners: Sequence[tuple[float, float]]) -> dict[str, Any]:
    path = "L".join(f"{x:.6g},{y:.6g}" for x, y in corners)
    return {"type": "path", "path": f"M{path}Z", "line": {"color": NEUTRAL_COLOUR, "width": 2, "dash": "dot"}}
