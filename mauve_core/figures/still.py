"""The divergence curves as a static SVG without scripts, for places that cannot run Plotly.

These include untrusted notebooks, e-mail, converted notebooks and offline editors. Text takes the color of the
surrounding page, so it is readable in light and dark themes.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mauve_core.figures.theme import NEUTRAL_COLOUR, Style, candidate_styles, short_name

WIDTH, HEIGHT = 640, 430
# Side of the unit square and its origin.
_SIDE, _LEFT, _TOP = 360, 64, 16

_DASHES = {
    "solid": "",
    "dash": "9 5",
    "dot": "2 4",
    "dashdot": "9 4 2 4",
    "longdash": "15 6",
    "longdashdot": "15 5 2 5",
}
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_LINE_HEIGHT = 18
# Number of names that fit in the legend.
_MOST_NAMED = 22


def frontier_svg(points: pd.DataFrame, order: Sequence[str], banded: Sequence[str]) -> str:
    """An ``svg`` element with the curves of ``mauve_core.figures.frontier.curve_points``; names are escaped.

    ``order`` lists all candidates in legend order; candidates in ``banded`` have a band.
    """
    by_candidate = {str(name): part for name, part in points.groupby("candidate", sort=False)}
    styles = candidate_styles(list(by_candidate))
    body = [*_axes(), *(_band(by_candidate[name], styles[name]) for name in banded)]
    body += [_curve(part, styles[name]) for name, part in by_candidate.items()]
    named = order[:_MOST_NAMED]
    body += [_legend(name, styles[name], index) for index, name in enumerate(named)]
    if len(by_candidate) > len(named):
        more = f"and {len(by_candidate) - len(named)} more"
        body.append(_text(_LEFT + _SIDE + 48, _TOP + 10 + len(named) * _LINE_HEIGHT, more))
    label = html.escape(f"Divergence curves of {', '.join(order)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" style="max-width:100%;height:auto" font-family="sans-serif" '
        f'font-size="12" fill="currentColor">{"".join(body)}</svg>'
    )


def _axes() -> list[str]:
    drawn = []
    for tick in _TICKS:
        x, y = _pixel(tick, 0)[0], _pixel(0, tick)[1]
        drawn += [
            f'<path d="M{x:.1f} {_TOP}V{_TOP + _SIDE}M{_LEFT} {y:.1f}H{_LEFT + _SIDE}" stroke="{NEUTRAL_COLOUR}" '
            f'stroke-opacity="{0.9 if tick == 0 else 0.25}" fill="none"/>',
            _text(x, _TOP + _SIDE + 16, f"{tick:g}", "middle"),
            _text(_LEFT - 6, y + 4, f"{tick:g}", "end"),
        ]
    middle = _TOP + _SIDE / 2
    turned = f'transform="rotate(-90 16 {middle})"'
    return [
        *drawn,
        _text(_LEFT + _SIDE / 2, _TOP + _SIDE + 38, "exp(−c · KL(Q|R))", "middle"),
        _text(16, middle, "exp(−c · KL(P|R))", "middle", turned),
    ]


def _band(part: pd.DataFrame, style: Style) -> str:
    lower = [(1.0, 0.0), *zip(part["x_low"], part["y_low"], strict=True), (0.0, 1.0)]
    upper = [(1.0, 0.0), *zip(part["x_high"], part["y_high"], strict=True), (0.0, 1.0)]
    return f'<path d="{_path([*lower, *reversed(upper)])}Z" fill="{style.colour}" fill-opacity="0.18"/>'


def _curve(part: pd.DataFrame, style: Style) -> str:
    mean = [(1.0, 0.0), *zip(part["x"], part["y"], strict=True), (0.0, 1.0)]
    return (
        f'<path d="{_path(mean)}" fill="none" stroke="{style.colour}" stroke-width="2" '
        f'stroke-dasharray="{_DASHES[style.dash]}"/>'
    )


def _legend(name: str, style: Style, index: int) -> str:
    left, y = _LEFT + _SIDE + 16, _TOP + 6 + index * _LINE_HEIGHT
    line = (
        f'<path d="M{left} {y}h26" stroke="{style.colour}" stroke-width="2" '
        f'stroke-dasharray="{_DASHES[style.dash]}" fill="none"/>'
    )
    return line + _text(left + 32, y + 4, short_name(name))


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(text)}</text>'


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join("{:.1f} {:.1f}".format(*_pixel(x, y)) for x, y in points)


def _pixel(x: float, y: float) -> tuple[float, float]:
    x, y = (float(np.clip(value, 0, 1)) for value in (x, y))
    return _LEFT + x * _SIDE, _TOP + (1 - y) * _SIDE
