"""Colors, dashes and layout shared by all figures, for light and dark themes.

Blue is always P (human), orange always Q (model). Candidates differ in color, dash and marker at once, so that no
reading relies on color alone. The colors are Okabe and Ito's (2008) set for color-blind readers, adjusted to a
contrast of at least 3:1 against both white and the dark background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

HUMAN_COLOUR = "#3a7fc4"
MODEL_COLOUR = "#d9730d"
NEUTRAL_COLOUR = "#808792"
"""Color of axes, guides and anything that belongs to neither side."""

NAME_LENGTH = 25
_NAME_END = 11
"""Letters kept at the end of a cut name, because names of one family differ there."""

MODE_BAR = 28
"""Height of Plotly's buttons, which cover a figure's upper right corner while the mouse is over it; place text that
must stay readable below."""

PANELS_MARGIN = {"l": 8, "r": 8, "t": MODE_BAR + 36, "b": 8}
"""Margins of adjacent panels with titles."""

LEGEND_ROW = 19
"""Height of a legend line."""

_LEGEND_FONT, _LETTER = 11, 5.4
"""Font size of a legend and mean letter width, in pixels."""

DIVERGING_SCALE = [[0.0, MODEL_COLOUR], [0.5, "#b8bcc2"], [1.0, HUMAN_COLOUR]]
"""Color scale of the log ratio p/q: orange where the model writes more, blue where humans do."""

SIGNED_SCALE = ((0.0, "#8a5a1f"), (0.5, "#c9ccd1"), (1.0, "#5b45b0"))
"""From -1 (brown) to 1 (violet); the ends differ in lightness and hue, so color-blind readers can tell them apart."""

_MIDDLE = 0.05 * (21**0.5 - 1)
"""At this luminance black and white have the same contrast, 4.6."""


class Style(NamedTuple):
    """How to draw one candidate."""

    colour: str
    dash: str
    symbol: str


_STYLES = (
    Style("#d9730d", "solid", "circle"),
    Style("#16946c", "dash", "square"),
    Style("#b8589a", "dot", "diamond"),
    Style("#9a7d0a", "dashdot", "triangle-up"),
    Style("#7a68d8", "longdash", "x"),
    Style("#c8433f", "longdashdot", "star"),
    Style("#1f93b0", "solid", "triangle-down"),
    Style("#8a7260", "dash", "pentagon"),
)

CATEGORICAL = tuple(style.colour for style in _STYLES)


def candidate_style(index: int) -> Style:
    """Style of the candidate at that index of the run; after eight, colors repeat with another dash and marker."""
    turn, style_index = divmod(index, len(_STYLES))
    style, other = _STYLES[style_index], _STYLES[(style_index + turn) % len(_STYLES)]
    return Style(style.colour, other.dash, other.symbol)


def base_layout(**overrides: Any) -> dict[str, Any]:
    """Layout of every figure: transparent, light grid, legend on top, tight margins."""
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "title": None},
        "hoverlabel": {"align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL_COLOUR, "activecolor": HUMAN_COLOUR},
    }
    return {**layout, **overrides}


def line_layout(height: int, y_title: str) -> dict[str, Any]:
    """Layout of lines over one setting, below a legend."""
    axis = {"zeroline": False, "linecolor": NEUTRAL_COLOUR}
    return base_layout(
        height=height,
        margin={"l": 8, "r": 16, "t": 32, "b": 8},
        xaxis=dict(axis),
        yaxis={**axis, "title": {"text": y_title}},
        hovermode="closest",
    )


def legend_below(names: Sequence[str]) -> dict[str, Any]:
    """A legend of many displayed names at the figure's foot, in columns as wide as the longest name.

    It is anchored to the figure's lower edge, because Plotly finds the plot's edge only after placing the legend.
    """
    return {
        "orientation": "h",
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "tracegroupgap": 0,
        "title": None,
        "font": {"size": _LEGEND_FONT},
        "entrywidthmode": "pixels",
        "entrywidth": math.ceil(_LETTER * max(map(len, names), default=0)),
    }


def short_name(name: str) -> str:
    """A candidate's name cut in the middle to fit on an axis or in a table: ``contrastive-s…rature=0.95``.

    Hovers and exports show the whole name.
    """
    if len(name) <= NAME_LENGTH:
        return name
    return f"{name[: NAME_LENGTH - 1 - _NAME_END]}…{name[-_NAME_END:]}"


def translucent(colour: str, opacity: float) -> str:
    """``#rrggbb`` as ``rgba(...)``."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def ink(value: float) -> str:
    """Return black or white, whichever contrasts more with that value's color on ``SIGNED_SCALE``; gray for nan."""
    if math.isnan(value):
        return NEUTRAL_COLOUR
    return "#000000" if luminance(value) > _MIDDLE else "#ffffff"


def luminance(value: float) -> float:
    """Relative luminance, from 0 to 1 (WCAG 2.1), of a value's color on ``SIGNED_SCALE``."""
    stops = [stop for stop, _ in SIGNED_SCALE]
    channels = [[int(colour[start : start + 2], 16) / 255 for _, colour in SIGNED_SCALE] for start in (1, 3, 5)]
    parts = np.array([np.interp((value + 1) / 2, stops, channel) for channel in channels])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def mode_bar(file_name: str, image_format: str = "png", *, selecting: bool = False) -> dict[str, Any]:
    """Plotly settings for ``st.plotly_chart(config=...)``: no logo, and images saved under that name.

    ``image_format`` is "png" or "svg"; ``selecting`` keeps the box and lasso buttons.
    """
    removed = ["autoScale2d"] if selecting else ["autoScale2d", "select2d", "lasso2d"]
    return {
        "displaylogo": False,
        "toImageButtonOptions": {"format": image_format, "scale": 3, "filename": file_name},
        "modeBarButtonsToRemove": removed,
    }
