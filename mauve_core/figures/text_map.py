"""All texts on the two-dimensional map, colored by source, cluster, or the cluster's log ratio or cost.

Points use WebGL with float32 arrays, or SVG without WebGL. Beyond ``MOST_POINTS`` the map draws a sample stratified
by source over the density of all texts. Each point carries its index in the stacked texts, and an excerpt of its text
for the hover where the whole stays within ``MOST_LETTERS``. Below or above the points lie the density, the regions of
either side, areas, and names of clusters, each in the middle of its texts, none over another.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import as_percent
from mauve_core.base.words import TEXTS, Words
from mauve_core.clusters.projection import region_probabilities
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    CATEGORICAL,
    HUMAN_COLOUR,
    LEGEND_FONT,
    LEGEND_ROW,
    LETTER,
    MODEL_COLOUR,
    NEUTRAL_COLOUR,
    as_label,
    base_layout,
    candidate_style,
    candidate_styles,
    diverging_scale,
)
from mauve_core.findings.clusters import MISSES, cluster_table
from mauve_core.findings.why_cards import labelled
from mauve_core.scoring.result import Comparison, Partition

MOST_POINTS = 25_000
# The limit without WebGL, where each point is an SVG element.
PLAIN_POINTS = 4_000


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
    words : Words
        What the items are called.
    """

    xy: NDArray[np.float32]
    source: NDArray[np.int16]
    names: tuple[str, ...]
    cluster: NDArray[np.int32]
    log2_ratio: NDArray[np.float64]
    cost: NDArray[np.float64]
    cluster_names: tuple[str, ...] = ()
    words: Words = TEXTS


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


def span(xy: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(2,) lowest and highest coordinates of the figure: those of the texts, with a margin."""
    low, high = xy.min(axis=0).astype(np.float64), xy.max(axis=0).astype(np.float64)
    margin = 0.04 * np.maximum(high - low, 1e-6)
    return low - margin, high + margin


def colour_of(names: Sequence[str], index: int) -> str:
    """Color of the source at that index of all names: blue for the human side, the usual ones for candidates."""
    return HUMAN_COLOUR if index == 0 else candidate_styles(names[1:])[names[index]].colour


def symbol_of(names: Sequence[str], index: int) -> str:
    """Marker of the source at that index: a dot, or another shape each time its color repeats."""
    colours = [colour_of(names, place) for place in range(index + 1)]
    return candidate_style(colours.count(colours[index]) - 1).symbol


MOST_NAMES = 25
# Pixels for which names are placed: the map's width in a window of 1,280 pixels; a wider one has more room.
USUAL_WIDTH = 560

# Letters of a line of a name, at most.
_NAME_LINE = 20
_NAME_ROW = 14
# Names have more wide letters than the names of decoders.
_NAME_LETTER = 1.1 * LETTER
# Pixels between two names, across and along: points are seen there.
_NAMES_APART = 14, 6
# Heights of a name by which it may be moved up or down from the middle.
_NAME_SHIFTS = (0.0, -0.6, 0.6, -1.2, 1.2)


def placed_names(
    xy: NDArray[np.float32],
    cluster: NDArray[np.int32],
    names: Sequence[str],
    order: Sequence[int],
    pixels: NDArray[np.float64],
) -> list[dict[str, Any]]:
    """Annotations with the names of the first clusters in ``order`` that have room, at most :data:`MOST_NAMES`.

    Parameters
    ----------
    xy : (m, 2) array
        Places of the texts that are drawn.
    cluster : (m,) array of int
        Their clusters; -1 for none.
    names : sequence of str
        Name of each cluster, by number; untrusted.
    order : sequence of int
        Clusters, the most important first.
    pixels : (2,) array
        Pixels of a unit of each axis.
    """
    placed: list[dict[str, Any]] = []
    taken: list[tuple[float, float, float, float]] = []
    middles, sizes = _middles(xy, cluster, len(names))
    for number in order:
        if len(placed) == MOST_NAMES:
            break
        if not sizes[number]:
            continue
        text = "<br>".join(as_label(line) for line in textwrap.wrap(names[number], _NAME_LINE))
        middle = middles[number]
        size = box_size(text)
        for shift in _NAME_SHIFTS:
            up = shift * size[1]
            box = _box(middle * pixels + (0, up), size)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                placed.append(_annotation(text, middle, up))
                break
    return placed


def _middles(
    xy: NDArray[np.float32], cluster: NDArray[np.int32], k: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The (k, 2) medians of both axes over each cluster's texts, NaN without any, and the (k,) numbers of texts."""
    inside = cluster >= 0
    sizes = np.bincount(cluster[inside], minlength=k)[:k]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    found = np.full((k, 2), np.nan)
    some = sizes > 0
    low, high = (starts + (sizes - 1) // 2)[some], (starts + sizes // 2)[some]
    for axis in range(2):
        values = xy[inside, axis]
        values = values[np.lexsort((values, cluster[inside]))]
        found[some, axis] = (values[low] + values[high]) / 2
    return found, sizes


def box_size(text: str) -> tuple[float, float]:
    """Width and height in pixels, estimated, of a name whose lines are joined by ``<br>``; escaped as in figures."""
    lines = [html.unescape(line) for line in text.split("<br>")]
    return max(map(len, lines)) * _NAME_LETTER + _NAMES_APART[0], len(lines) * _NAME_ROW + _NAMES_APART[1]


def _box(center: NDArray[np.float64], size: tuple[float, float]) -> tuple[float, float, float, float]:
    (x, y), (width, height) = center.tolist(), size
    return x - width / 2, x + width / 2, y - height / 2, y + height / 2


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _annotation(text: str, middle: NDArray[np.float64], up: float) -> dict[str, Any]:
    return {
        "x": float(middle[0]),
        "y": float(middle[1]),
        "yshift": up,
        "text": text,
        "showarrow": False,
        "font": {"size": LEGEND_FONT},
    }


# Of the map, and of what stands above its points, in pixels.
HEIGHT, _ABOVE = 500, 90
DENSITY_BINS = 80
# Shares of a side's texts that the lines of its density enclose, evenly spaced.
REGIONS = (0.25, 0.5, 0.75)
# Places of the density's grid along each axis.
_GRID = 64


def density_layer(xy: NDArray[np.float32]) -> Trace:
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


def region_lines(points: Points, index: int) -> Trace:
    low, high = span(points.xy)
    x, y = (np.linspace(low[axis], high[axis], _GRID) for axis in range(2))
    colour = colour_of(points.names, index)
    step = REGIONS[1] - REGIONS[0]
    return draw.contour(
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        z=region_probabilities(points.xy[points.source == index], x, y),
        contours={"coloring": "none", "start": REGIONS[0], "end": REGIONS[-1], "size": step},
        line={"color": colour, "width": 1, "smoothing": 1},
        autocontour=False,
        showscale=False,
        showlegend=False,
        name=as_label(points.words.source(points.names[index])),
        hoverinfo="skip",
    )


def cluster_name_labels(points: Points, drawn: NDArray[np.intp]) -> list[dict[str, Any]]:
    """The clusters' names, the costliest first; without costs, the largest."""
    cluster = points.cluster[drawn]
    sizes = np.bincount(cluster[cluster >= 0], minlength=len(points.cluster_names))
    weights = sizes if np.isnan(points.cost).any() else np.abs(points.cost)
    low, high = span(points.xy)
    pixels = np.array([USUAL_WIDTH, HEIGHT - _ABOVE]) / (high - low)
    order = np.argsort(-weights, kind="stable").tolist()
    return placed_names(points.xy[drawn], cluster, points.cluster_names, order, pixels)


def cluster_label(xy: NDArray[np.float32], name: str) -> dict[str, Any]:
    """A cluster's name at the median of its texts."""
    x, y = np.median(xy, axis=0).tolist()
    return {"x": x, "y": y, "showarrow": False, "yshift": 18, "text": as_label(name), "font": {"size": 14}}


def area_letter(corners: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The letter of area A, at its highest corner."""
    x, y = max(corners, key=lambda corner: corner[1])
    return {"x": x, "y": y, "yshift": 10, "text": "<b>A</b>", "showarrow": False, "font": {"size": 14}}


def area_outline(corners: Sequence[tuple[float, float]], dash: str = "dot") -> dict[str, Any]:
    path = "L".join(f"{x:.6g},{y:.6g}" for x, y in corners)
    return {"type": "path", "path": f"M{path}Z", "line": {"color": NEUTRAL_COLOUR, "width": 2, "dash": dash}}


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
    traces = [] if density is None else [density_layer(points.xy[density])]
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
    traces += [region_lines(points, index) for index in regions]
    in_legend = np.unique(points.source[drawn]) if colouring == "source" else ()
    traces += [_legend_entry(points, int(index)) for index in in_legend]
    if colouring == "log_ratio":
        traces.append(_colour_bar(_ratio_scale(points, scale), points.words, candidate))
    if colouring == "cost":
        traces.append(_cost_bar(_cost_scale(points, scale)))
    layout = _layout(points.xy, outline, revision)
    if chosen is not None and points.cluster_names and own.any():
        layout["annotations"] = [cluster_label(points.xy[drawn[own]], points.cluster_names[chosen])]
    elif named:
        layout["annotations"] = cluster_name_labels(points, drawn)
    if kept is not None:
        layout["shapes"] = [*(layout["shapes"] or []), area_outline(kept, "solid")]
        layout["annotations"] = [*layout.get("annotations", []), area_letter(kept)]
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
        height=HEIGHT,
        dragmode="lasso",
        hovermode="closest",
        clickmode="event+select",
        uirevision="map",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "itemclick": False, "itemdoubleclick": False},
        xaxis={**axis, "range": ranges[0]},
        yaxis={**axis, "range": ranges[1]},
        shapes=[area_outline(outline)] if outline else None,
        selectionrevision=revision,
        modebar={**base_layout()["modebar"], "orientation": "v"},
    )


def map_points(comparison: Comparison, partition: Partition, candidate: str, weight: float = 0.5) -> Points:
    """Map data of a comparison, with that partition's clusters by number; InputError if the comparison has no map."""
    if comparison.projection is None:
        raise InputError("This comparison has no map", todo="Compare again with the map switched on")
    table = cluster_table(partition.counts(HUMAN), partition.counts(candidate), weight)
    sizes = [source.n for source in comparison.sources]
    labels = [partition.labels.get(each.name, np.full(each.n, -1, dtype=np.int32)) for each in comparison.sources]
    return Points(
        xy=comparison.projection,
        source=np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
        names=tuple(source.name for source in comparison.sources),
        cluster=np.concatenate(labels),
        log2_ratio=table["log2_ratio"].to_numpy(),
        cost=signed_costs(table),
    )


def signed_costs(table: pd.DataFrame) -> NDArray[np.float64]:
    """(k,) shares of the frontier integral from a cluster table, negative where the model misses texts."""
    share = table["cost_share"].to_numpy()
    return np.where(table["direction"] == MISSES, -share, share)


def sampled_map(points: Points, *, most: int = MOST_POINTS, colouring: Colouring = "source") -> tuple[go.Figure, int]:
    """Draw at most ``most`` texts, over the density of all if some are left out; also return the number drawn."""
    everything = np.ones(points.source.size, dtype=np.bool_)
    drawn = stratified_sample(points.source, everything, most)
    density = everything if drawn.size < everything.size else None
    return map_figure(points, drawn, colouring=colouring, density=density), int(drawn.size)


def points_frame(points: Points, ids: Sequence[str]) -> pd.DataFrame:
    """One row per text, including those that no figure draws; ``ids`` are in map order.

    Returns
    -------
    DataFrame
        source, id, x, y, cluster (-1 if the partition excludes its source), then the cluster's log2_ratio and cost (NaN
        without a cluster).
    """
    clustered = points.cluster >= 0
    frame = pd.DataFrame(
        {
            "source": np.array(points.names, dtype=object)[points.source],
            "id": list(ids),
            "x": points.xy[:, 0],
            "y": points.xy[:, 1],
            "cluster": points.cluster,
        }
    )
    for name in ("log2_ratio", "cost"):
        frame[name] = np.where(clustered, getattr(points, name)[points.cluster], np.nan)
    return frame
