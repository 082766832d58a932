"""Names of clusters on the map, each in the middle of its texts, none over another."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.figures.theme import LEGEND_FONT, LETTER, as_label

MOST_NAMES = 25
# Pixels for which names are placed: the map's width in a window of 1,280 pixels; a wider one has more room.
WIDTH = 560

# Letters of a line of a name, at most.
_LINE = 20
_ROW = 14
# Names have more wide letters than the names of decoders.
_LETTER = 1.1 * LETTER
# Pixels between two names, across and along: points are seen there.
_APART = 14, 6
# Heights of a name by which it may be moved up or down from the middle.
_SHIFTS = (0.0, -0.6, 0.6, -1.2, 1.2)


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
        text = "<br>".join(as_label(line) for line in textwrap.wrap(names[number], _LINE))
        middle = middles[number]
        size = box_size(text)
        for shift in _SHIFTS:
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
    return max(map(len, lines)) * _LETTER + _APART[0], len(lines) * _ROW + _APART[1]


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
