"""What lies on the map besides its points: density, regions of either side, names of clusters, areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.clusters.projection import region_probabilities
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.map_data import Points, colour_of, span
from mauve_core.figures.map_names import WIDTH, placed_names
from mauve_core.figures.theme import NEUTRAL_COLOUR, as_label

# Of the map, and of what stands above its points, in pixels.
HEIGHT, _ABOVE = 500, 90
DENSITY_BINS = 80
# Shares of a side's texts that the lines of its density enclose, evenly spaced.
REGIONS = (0.25, 0.5, 0.75)
# Places of the density's grid along each axis.
_GRID = 64


def density(xy: NDArray[np.float32]) -> Trace:
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


def regions(points: Points, index: int) -> Trace:
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


def names(points: Points, drawn: NDArray[np.intp]) -> list[dict[str, Any]]:
    """The clusters' names, the costliest first; without costs, the largest."""
    cluster = points.cluster[drawn]
    sizes = np.bincount(cluster[cluster >= 0], minlength=len(points.cluster_names))
    weights = sizes if np.isnan(points.cost).any() else np.abs(points.cost)
    low, high = span(points.xy)
    pixels = np.array([WIDTH, HEIGHT - _ABOVE]) / (high - low)
    order = np.argsort(-weights, kind="stable").tolist()
    return placed_names(points.xy[drawn], cluster, points.cluster_names, order, pixels)


def label(xy: NDArray[np.float32], name: str) -> dict[str, Any]:
    """A cluster's name at the median of its texts."""
    x, y = np.median(xy, axis=0).tolist()
    return {"x": x, "y": y, "showarrow": False, "yshift": 18, "text": as_label(name), "font": {"size": 14}}


def letter(corners: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The letter of area A, at its highest corner."""
    x, y = max(corners, key=lambda corner: corner[1])
    return {"x": x, "y": y, "yshift": 10, "text": "<b>A</b>", "showarrow": False, "font": {"size": 14}}


def outline(corners: Sequence[tuple[float, float]], dash: str = "dot") -> dict[str, Any]:
    path = "L".join(f"{x:.6g},{y:.6g}" for x, y in corners)
    return {"type": "path", "path": f"M{path}Z", "line": {"color": NEUTRAL_COLOUR, "width": 2, "dash": dash}}
