"""All texts on the two-dimensional map, colored by source, cluster, or the cluster's log ratio or cost.

Points use WebGL with float32 arrays, or SVG without WebGL. Beyond ``MOST_POINTS`` the map draws a sample stratified
by source over the density of all texts. Each point carries its index in the stacked texts, and an excerpt of its text
for the hover where the whole stays within ``MOST_LETTERS``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analysis.cluster_names import labelled
from mauve_core.base.formatting import as_percent
from mauve_core.base.words import Words
from mauve_core.figures import draw, map_layers
from mauve_core.figures.draw import Trace
from mauve_core.figures.map_data import Points, colour_of, span, symbol_of
from mauve_core.figures.theme import (
    CATEGORICAL,
    LEGEND_ROW,
    MODEL_COLOUR,
    NEUTRAL_COLOUR,
    as_label,
    base_layout,
    diverging_scale,
)

# Letters of all excerpts of a map.
MOST_LETTERS = 300_000
# Letters of a text's excerpt: at most, and at least, else the map has none.
EXCERPT, _LEAST_EXCERPT = 280, 40
# Legend names per row on a narrow page.
_LEGEND_COLUMNS = 2
Colouring = Literal["source", "cluster", "log_ratio", "cost"]
COLOURINGS: dict[Colouring, str] = {
    "log_ratio": "Log ratio",
    "source": "Source",
    "cluster": "Cluster",
    "cost": "Cost",
}

# Colors by their places from 0 to 1.
_Scale = list[tuple[float, str]]

# Point opacity: outside the chosen cluster, with no chosen cluster, and inside the chosen cluster.
_FAINT, _PLAIN, _RAISED = 0.12, 0.65, 0.95
# Number of parts into which each source is cut; sources take turns in drawing order.
_TURNS = 3
# Colors of clusters, repeated cyclically; the last is for texts without a cluster.
_CLUSTER_COLOURS = (*CATEGORICAL, NEUTRAL_COLOUR)
# Position of a color scale.
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
# Letters of a line of a hover.
_HOVER_LINE = 60
# Log ratios beyond 16 to 1 share the end of the color scale, so that small ones stay distinguishable.
_RATIO_LIMIT = 4.0


def excerpt_length(drawn: int) -> int:
    """Letters of each text that fit into the hovers of so many texts; 0 if that is too few to read."""
    length = min(EXCERPT, MOST_LETTERS // max(1, drawn))
    return length if length >= _LEAST_EXCERPT else 0


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
    regions: Sequence[int] = (),
    named: bool = False,
    excerpts: Mapping[int, str] | None = None,
    kept: Sequence[tuple[float, float]] | None = None,
    found: NDArray[np.bool_] | None = None,
) -> go.Figure:
    """Draw the map.

    Parameters
    ----------
    drawn : (m,) array of int
        Indices of the texts to draw.
    colouring : a key of ``COLOURINGS``
    candidate : str
        Candidate whose log ratio or cost sets the colors; their scale begins with its color if no other is drawn.
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
    regions : sequence of int
        Sources, by index, of which lines enclose the densest ``REGIONS`` of all their texts.
    named : bool
        Write the clusters' names on the map, the costliest first.
    excerpts : mapping of int to str or None
        What the hover shows of each drawn text, by its index; untrusted.
    kept : sequence of (x, y) or None
        The polygon of area A, with which the selection is compared.
    found : (n,) bool array or None
        Texts that a search found; the others fade.

    Returns
    -------
    Figure
        ``customdata`` of a point is its text's index in the stack and its cluster, -1 without one.
    """
    scale = _sides_scale(points, drawn, candidate)
    traces = [] if density is None else [map_layers.density(points.xy[density])]
    own = points.cluster[drawn] == chosen
    lifted = (own if chosen is not None else True) & (found[drawn] if found is not None else np.ones_like(own))
    some = chosen is not None or found is not None
    layers = [(drawn[~lifted], False), (drawn[lifted], True)] if some else [(drawn, False)]
    for layer, raised in layers:
        opacity = _PLAIN if not some else (_RAISED if raised else _FAINT)
        for members in _interleaved(layer, points.source):
            trace = _scatter(points, members, colouring, scale, opacity, raised, excerpts)
            if plain:
                trace["type"] = "scatter"
            if inside is not None:
                trace["selectedpoints"] = np.flatnonzero(inside[members]).astype(np.int32)
            traces.append(trace)
    traces += [map_layers.regions(points, index) for index in regions]
    in_legend = np.unique(points.source[drawn]) if colouring == "source" else ()
    traces += [_legend_entry(points, int(index)) for index in in_legend]
    if colouring == "log_ratio":
        traces.append(_colour_bar(_ratio_scale(points, scale), points.words, candidate))
    if colouring == "cost":
        traces.append(_cost_bar(_cost_scale(points, scale)))
    layout = _layout(points.xy, outline, revision)
    if chosen is not None and points.cluster_names and own.any():
        layout["annotations"] = [map_layers.label(points.xy[drawn[own]], points.cluster_names[chosen])]
    elif named:
        layout["annotations"] = map_layers.names(points, drawn)
    if kept is not None:
        layout["shapes"] = [*(layout["shapes"] or []), map_layers.outline(kept, "solid")]
        layout["annotations"] = [*layout.get("annotations", []), map_layers.letter(kept)]
    layout["height"] += LEGEND_ROW * math.ceil(len(in_legend) / _LEGEND_COLUMNS)  # the points keep their room
    return draw.figure(traces, layout)


def _interleaved(shown: NDArray[np.intp], source: NDArray[np.int16]) -> list[NDArray[np.intp]]:
    """Texts in parts of one source each, with sources alternating, so that none covers all others."""
    shuffled = np.random.default_rng(0).permutation(shown)
    turns = np.array_split(shuffled, _TURNS)
    return [turn[source[turn] == index] for turn in turns for index in np.unique(source[turn])]


def _sides_scale(points: Points, drawn: NDArray[np.intp], candidate: str) -> _Scale:
    """From the candidate's color to human blue; from the model side's common one if others are drawn too."""
    others = {points.names[index] for index in np.unique(points.source[drawn]) if index} - {candidate}
    alone = candidate in points.names and not others
    return diverging_scale(colour_of(points.names, points.names.index(candidate)) if alone else MODEL_COLOUR)


def _scatter(
    points: Points,
    members: NDArray[np.intp],
    colouring: Colouring,
    scale: _Scale,
    opacity: float,
    raised: bool,
    excerpts: Mapping[int, str] | None,
) -> Trace:
    index, cluster = int(points.source[members[0]]), points.cluster[members]
    data = np.column_stack([members, cluster]).astype(np.float32)
    marker: dict[str, Any] = {"size": 8 if raised else 5, "opacity": opacity, "line": {"width": 0}}
    marker |= _colours(points, cluster, index, colouring, scale)
    name = as_label(points.words.source(points.names[index]))
    in_cluster = [as_label(labelled(points.cluster_names, number)) for number in range(len(points.cluster_names))]
    words = [in_cluster[number] if in_cluster and number >= 0 else "" for number in cluster.tolist()]
    if excerpts is not None:
        words = [
            f"{title}<br><br>{_paragraph(excerpts[place])}"
            for title, place in zip(words, members.tolist(), strict=True)
        ]
    numbered = "<br>cluster %{customdata[1]:.0f}" if (cluster >= 0).all() and not in_cluster else ""
    says = "<br>%{text}" if any(words) else ""
    return draw.scattergl(
        x=points.xy[members, 0],
        y=points.xy[members, 1],
        mode="markers",
        marker=marker,
        customdata=data,
        name=name,
        text=words if says else None,
        showlegend=False,
        hovertemplate=f"{name}{numbered}{says}<extra></extra>",
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": min(opacity, 0.2)}},
    )


@lru_cache(maxsize=20_000)
def _paragraph(text: str) -> str:
    """An untrusted text in the lines of a hover, escaped; kept, as every change of the map shows the same texts."""
    return "<br>".join(as_label(line) for line in textwrap.wrap(text, _HOVER_LINE))


def _colours(
    points: Points, cluster: NDArray[np.int32], index: int, colouring: Colouring, scale: _Scale
) -> dict[str, Any]:
    if colouring == "source":
        return {"color": colour_of(points.names, index), "symbol": symbol_of(points.names, index)}
    if colouring == "cluster":
        turn = len(_CLUSTER_COLOURS) - 1
        numbers = np.where(cluster < 0, turn, cluster % turn).astype(np.float32)
        return {"color": numbers, "colorscale": _steps(_CLUSTER_COLOURS), "cmin": 0, "cmax": turn}
    if colouring == "cost":
        share = np.where(cluster < 0, 0.0, points.cost[cluster])
        return {"color": share.astype(np.float32), **_cost_scale(points, scale)}
    ratio = np.where(cluster < 0, 0.0, points.log2_ratio[cluster])
    return {"color": ratio.astype(np.float32), **_ratio_scale(points, scale)}


def _steps(colours: Sequence[str]) -> list[list[Any]]:
    """A color scale that maps whole number i to the i-th color; sending numbers takes a tenth of the time of names."""
    last = len(colours) - 1
    return [[number / last, colour] for number, colour in enumerate(colours)]


def _ratio_scale(points: Points, scale: _Scale) -> dict[str, Any]:
    limit = min(_RATIO_LIMIT, max(1.0, float(np.abs(points.log2_ratio).max())))
    return {"colorscale": scale, "cmin": -limit, "cmid": 0, "cmax": limit}


def _colour_bar(scale: Mapping[str, Any], words: Words, candidate: str) -> Trace:
    """A trace without points that keeps the color scale visible whichever sources are shown."""
    limit = scale["cmax"]
    exponents = [value for value in range(-4, 5) if abs(value) <= limit]
    bar = {
        **_BAR,
        "title": {"text": f"{words.reference} : {as_label(candidate)}", "side": "top"},
        "tickvals": exponents,
        "ticktext": [f"{2**value}:1" if value >= 0 else f"1:{2**-value}" for value in exponents],
    }
    marker = {"color": [0.0], "showscale": True, "colorbar": bar, **scale}
    return draw.scatter(x=[None], y=[None], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _cost_scale(points: Points, scale: _Scale) -> dict[str, Any]:
    """Blue for what the model misses, the candidate's color for what it adds: the log ratio's scale, turned around."""
    limit = max(0.01, float(np.abs(points.cost).max()))
    return {"colorscale": scale, "reversescale": True, "cmin": -limit, "cmid": 0, "cmax": limit}


def _cost_bar(scale: Mapping[str, Any]) -> Trace:
    limit = scale["cmax"]
    bar = {
        **_BAR,
        "title": {"text": "share of the frontier integral", "side": "top"},
        "tickvals": [-limit, 0, limit],
        "ticktext": [f"{as_percent(limit)} missed", "0", f"{as_percent(limit)} added"],
    }
    marker = {"color": [0.0], "showscale": True, "colorbar": bar, **scale}
    return draw.scatter(x=[None], y=[None], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _legend_entry(points: Points, index: int) -> Trace:
    """A legend mark at full opacity, whatever the opacity of the points."""
    return draw.scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"color": colour_of(points.names, index), "symbol": symbol_of(points.names, index), "size": 9},
        name=as_label(points.words.source(points.names[index])),
        hoverinfo="skip",
    )


def _layout(xy: NDArray[np.float32], outline: Sequence[tuple[float, float]] | None, revision: int) -> dict[str, Any]:
    low, high = span(xy)
    axis = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "title": None}
    ranges = [[float(low[i]), float(high[i])] for i in range(2)]
    return base_layout(
        height=map_layers.HEIGHT,
        dragmode="lasso",
        hovermode="closest",
        clickmode="event+select",
        uirevision="map",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "itemclick": False, "itemdoubleclick": False},
        xaxis={**axis, "range": ranges[0]},
        yaxis={**axis, "range": ranges[1]},
        shapes=[map_layers.outline(outline)] if outline else None,
        selectionrevision=revision,
        modebar={**base_layout()["modebar"], "orientation": "v"},
    )
