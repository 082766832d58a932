"""Colours, dashes and layout that every figure shares, on light and on dark.

Blue is P (human), orange is Q (model) everywhere. Several candidates are told apart by colour, dash and marker at
once, so that no reading depends on colour alone. The colours are Okabe and Ito's (2008) set for colour-blind readers,
darkened or lightened where needed to keep a contrast of 3:1 or more against both white and the dark background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

HUMAN_COLOUR = "#3a7fc4"
MODEL_COLOUR = "#d9730d"
NEUTRAL_COLOUR = "#808792"
"""Axes, guides and anything that is neither side."""

NAME_LENGTH = 25
_NAME_END = 11
"""Of a name that is cut, the letters at its end that stay: names of one family differ there."""

MODE_BAR = 28
"""Height of Plotly's buttons, which lie over a figure's upper right corner while the mouse is there: what must stay
readable stands below them."""

PANELS_MARGIN = {"l": 8, "r": 8, "t": MODE_BAR + 36, "b": 8}
"""Around panels that stand beside each other, with a title over each."""

LEGEND_ROW = 19
"""Height of a line of a legend."""

_LEGEND_FONT, _LETTER = 11, 5.4
"""Size of a legend's letters, and their mean width, both in pixels."""

DIVERGING_SCALE = [[0.0, MODEL_COLOUR], [0.5, "#b8bcc2"], [1.0, HUMAN_COLOUR]]
"""Log ratio p/q: orange where the model writes more, blue where humans do."""


class Style(NamedTuple):
    """How one candidate is drawn."""

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
    """Style of the candidate at that place in the run; after eight, colours return with another dash and marker."""
    turn, place = divmod(index, len(_STYLES))
    style, other = _STYLES[place], _STYLES[(place + turn) % len(_STYLES)]
    return Style(style.colour, other.dash, other.symbol)


def base_layout(**overrides: Any) -> dict[str, Any]:
    """Layout of every figure: transparent, quiet grid, legend on top, room for nothing else."""
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "title": None},
        "hoverlabel": {"align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL_COLOUR, "activecolor": HUMAN_COLOUR},
    }
    return {**layout, **overrides}


def legend_below(names: Sequence[str]) -> dict[str, Any]:
    """A legend of many names, as shown, at the foot of the figure, in columns as wide as the longest one needs.

    It stands by the figure's lower edge: Plotly finds the plot's only after it has placed the legend.
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
    """A candidate's name as it fits on an axis or in a table, cut in the middle: ``contrastive-s…rature=0.95``.

    The whole name stands in hovers and exports.
    """
    if len(name) <= NAME_LENGTH:
        return name
    return f"{name[: NAME_LENGTH - 1 - _NAME_END]}…{name[-_NAME_END:]}"


def translucent(colour: str, opacity: float) -> str:
    """``#rrggbb`` as ``rgba(...)``."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def mode_bar(file_name: str, image_format: str = "png", *, selecting: bool = False) -> dict[str, Any]:
    """Plotly's settings for ``st.plotly_chart(config=...)``: no logo, and an image saved under that name.

    Parameters
    ----------
    image_format : {"png", "svg"}
    selecting : bool
        Keep the buttons for boxes and lassos.
    """
    removed = ["autoScale2d"] if selecting else ["autoScale2d", "select2d", "lasso2d"]
    return {
        "displaylogo": False,
        "toImageButtonOptions": {"format": image_format, "scale": 3, "filename": file_name},
        "modeBarButtonsToRemove": removed,
    }
