"""Names of lines at their ends, in place of a legend.

Each name stands with its marker at the right of the plot, in the order of the ends, and never on another; a thin line
leads to it from the end. Charts over a setting have a legend for more than ``MOST`` lines, because their names would
stand far from the ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from mauve_core.figures import draw
from mauve_core.figures.theme import (
    GLYPHS,
    LEGEND_FONT,
    LEGEND_ROW,
    LETTER,
    PANELS_MARGIN,
    Style,
    as_label,
    base_layout,
    legend_below,
    short_name,
)

# Lines that are named at their ends.
MOST = 12

# The least distance of two names, in pixels.
ROW = 15

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
    heights = draw.spread_out([end.y for end in placed], ROW * (high - low) / pixels, low, high)
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
    if len(ends) > MOST:
        return
    reach, span = padded(places), padded(values)
    margin = figure.layout.margin
    pixels = plot_height(len(ends), figure.layout.height - margin.t - _BELOW)
    figure.update_xaxes(range=list(reach))
    figure.update_yaxes(range=list(span))
    figure.update_layout(
        showlegend=False,
        height=math.ceil(pixels) + margin.t + _BELOW,
        margin={**margin.to_plotly_json(), "b": _BELOW, "r": room(end.name for end in ends)},
        annotations=[*figure.layout.annotations, *names_at_ends(ends, reach[1], span, pixels)],
    )


def panels_layout(names: Sequence[str], panels_height: float) -> dict[str, Any]:
    """Height, margins and legend of panels above one another whose lines have these names."""
    margin = {**PANELS_MARGIN, "b": _BELOW}
    if len(names) <= MOST:
        margin["r"] = room(names)
        rest: dict[str, Any] = {"showlegend": False}
    else:
        margin["b"] = LEGEND_ROW * -(-len(names) // _LEGEND_COLUMNS) + _LEGEND_GAP
        rest = {"legend": legend_below([short_name(name) for name in names])}
    height = math.ceil(panels_height) + margin["t"] + margin["b"]
    return base_layout(height=height, margin=margin, hovermode="closest", **rest)


def room(names: Iterable[str]) -> int:
    """Right margin for these names, in pixels."""
    return math.ceil(LETTER * max((len(short_name(name)) for name in names), default=0)) + _GLYPH + _BEYOND


def padded(values: Sequence[float]) -> tuple[float, float]:
    """Range of an axis that holds all values, in its units, with room on both sides."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    pad = _PAD * ((high - low) or 1.0)
    return low - pad, high + pad


def plot_height(names: int, usual: float) -> float:
    """Height of a plot in pixels: the usual one, or what so many names need."""
    return max(usual, names * ROW)


def panels_height(rows: int, names: int, usual: float, between: float) -> tuple[float, float]:
    """Height of each of the panels above one another, and of all with the gaps between them, in pixels."""
    each = plot_height(names, usual) if names <= MOST else usual
    return each, rows * each + (rows - 1) * between
