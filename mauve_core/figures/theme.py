"""Colors, dashes and layout shared by all figures, for light and dark themes.

Human blue is always P and nothing else. A candidate, Q, has one color in all figures of its run, also where it is the
only one shown; what belongs to neither side is neutral. Candidates differ in color, dash and marker at once, so that no
reading relies on color alone. Decoders of one family, such as nucleus sampling with several p, share a hue
and differ in lightness. Every color has a contrast of at least 3:1 against both white and the dark background.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

HUMAN_COLOUR = "#3a7fc4"
# Color of a run's first candidate, and of the model side where several candidates share it.
MODEL_COLOUR = "#d9730d"
# Color of axes, guides and anything that belongs to neither side.
NEUTRAL_COLOUR = "#808792"
# Color of what a reader chose, where it belongs to neither side.
ACTIVE_COLOUR = "#8a63d2"

NAME_LENGTH = 25
# Letters kept at the end of a cut name, because names of one family differ there.
_NAME_END = 11

# Height of Plotly's buttons, which cover a figure's upper right corner while the mouse is over it; place text that must
# stay readable below.
MODE_BAR = 28

# Margins of adjacent panels with titles.
PANELS_MARGIN = {"l": 8, "r": 8, "t": MODE_BAR + 36, "b": 8}

# Height of a legend line.
LEGEND_ROW = 19

# Font size of a legend and of names in a figure, and mean letter width, in pixels.
LEGEND_FONT, LETTER = 11, 5.4

# Height of figures beside each other that are seen without scrolling.
SIDE_BY_SIDE = 324

# From -1 (brown) to 1 (violet); the ends differ in lightness and hue, so color-blind readers can tell them apart.
SIGNED_SCALE = ((0.0, "#8a5a1f"), (0.5, "#c9ccd1"), (1.0, "#5b45b0"))

# At this luminance black and white have the same contrast, 4.6.
_MIDDLE = 0.05 * (21**0.5 - 1)


class Style(NamedTuple):
    """How to draw one candidate."""

    colour: str
    dash: str
    symbol: str


class _Hue(NamedTuple):
    """Colors of a hue: of a family's only candidate, and of two or three candidates from dark to light."""

    alone: str
    shades: tuple[str, str, str]


_HUES = (
    _Hue(MODEL_COLOUR, ("#9f5209", "#c1640a", "#e27505")),
    _Hue("#118f5a", ("#0a7649", "#118f5a", "#35a56f")),
    _Hue("#bf57a1", ("#a63f8a", "#bf57a1", "#d86db8")),
    _Hue("#8e7d09", ("#756707", "#8e7d09", "#a4932e")),
    _Hue("#9d5ce4", ("#8744ca", "#9d5ce4", "#b373fd")),
    _Hue("#df4645", ("#c4292f", "#df4645", "#f95f5a")),
    _Hue("#5b8a10", ("#4a7203", "#5b8a10", "#70a131")),
    _Hue("#99765a", ("#826044", "#99765a", "#b08c6f")),
    _Hue("#b36679", ("#9a5063", "#b36679", "#cb7c8e")),
)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# A letter for every marker of candidates, for words about a figure.
GLYPHS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "x": "✕",
    "star": "★",
    "triangle-down": "▼",
    "pentagon": "⬟",
    "cross": "✚",
    "hexagram": "✶",
    "hexagon": "⬢",
}

CATEGORICAL = tuple(hue.alone for hue in _HUES)

# Candidates of one hue; a larger family takes several hues.
MOST_SHADES = len(_HUES[0].shades)

_PARAMETERS = re.compile(r":.*|[\s_=@-]+[a-z]{0,5}=?\d[\d.,]*$", re.IGNORECASE | re.DOTALL)


def family(name: str) -> str:
    """The candidate's name without its parameters: ``nucleus`` for ``nucleus:p=0.9`` and for ``nucleus-0.9``."""
    return _PARAMETERS.sub("", name) or name


def candidate_style(index: int) -> Style:
    """Style of the line at that index where lines have no families; colors repeat with another dash and marker."""
    turn, place = divmod(index, len(_HUES))
    return Style(_HUES[place].alone, *_mark(index + turn))


def candidate_styles(names: Sequence[str]) -> Mapping[str, Style]:
    """Style of every candidate of a run by name, the same on all pages; ``names`` are all of them in the run's order.

    Names of one :func:`family` share a hue, at most ``MOST_SHADES`` of them. If all are of one family, each has a hue
    of its own, because a common one would tell nothing.
    """
    return _candidate_styles(tuple(names))


def candidate_colour(names: Sequence[str], candidate: str) -> str:
    """Color of one candidate of a run, for a figure that shows it alone; ``names`` as for :func:`candidate_styles`."""
    return candidate_styles(names)[candidate].colour


def diverging_scale(colour: str) -> list[tuple[float, str]]:
    """Color scale of the log ratio p/q: that color where the model writes more, blue where humans do."""
    return [(0.0, colour), (0.5, "#b8bcc2"), (1.0, HUMAN_COLOUR)]


@lru_cache(maxsize=64)
def _candidate_styles(names: tuple[str, ...]) -> Mapping[str, Style]:
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(family(name), []).append(name)
    if len(families) == 1:
        families = {name: [name] for name in names}
    groups = [
        members[start : start + MOST_SHADES]
        for members in families.values()
        for start in range(0, len(members), MOST_SHADES)
    ]
    colours = {
        name: (turn, shade)
        for turn, group in enumerate(groups)
        for name, shade in zip(group, _shades(turn, len(group)), strict=True)
    }
    return MappingProxyType(
        {
            name: Style(colours[name][1], *_mark(index + colours[name][0] // len(_HUES)))
            for index, name in enumerate(names)
        }
    )


def _shades(group: int, members: int) -> Sequence[str]:
    """Colors of the group at that index, from dark to light."""
    hue = _HUES[group % len(_HUES)]
    return {1: (hue.alone,), 2: hue.shades[::2]}.get(members, hue.shades)


def _mark(index: int) -> tuple[str, str]:
    return _DASHES[index % len(_DASHES)], tuple(GLYPHS)[index % len(GLYPHS)]


def base_layout(**overrides: Any) -> dict[str, Any]:
    """Layout of every figure: transparent, light grid, legend on top, tight margins."""
    layout: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "title": None},
        "hoverlabel": {"align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL_COLOUR, "activecolor": ACTIVE_COLOUR},
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
        "font": {"size": LEGEND_FONT},
        "entrywidthmode": "pixels",
        "entrywidth": math.ceil(LETTER * max(map(len, names), default=0)),
    }


def short_name(name: str) -> str:
    """A candidate's name cut in the middle to fit on an axis or in a table: ``contrastive-s…rature=0.95``.

    Hovers and exports show the whole name.
    """
    if len(name) <= NAME_LENGTH:
        return name
    return f"{name[: NAME_LENGTH - 1 - _NAME_END]}…{name[-_NAME_END:]}"


def as_label(text: str) -> str:
    """``text`` as Plotly's titles, ticks and hover labels show it unchanged.

    Plotly takes these for HTML, but knows few names of characters, and a ``%{...}`` in a hover label for its own.
    """
    return html.escape(text, quote=False).replace("%{", "&#37;{")


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
