"""Divergence frontiers of all candidates in one chart (JMLR 2023, section 3), interactive or as a static drawing.

x = exp(-c KL(Q|R)) and y = exp(-c KL(P|R)) for mixtures R = weight P + (1 - weight) Q. KL(Q|R) is the type I error
(the model writes what humans don't), KL(P|R) the type II error (humans write what the model misses), both in nats.
Lines are means over the k-means seeds; bands span the lowest to the highest seed. Because many bands hide the lines,
only the selected candidate has a band if there are many. Each candidate is named near its curve's lower end.

The static SVG has no scripts, for places that cannot run Plotly: untrusted notebooks, e-mail, converted notebooks and
offline editors. Its text takes the color of the surrounding page, so it is readable in light and dark themes.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind, Smoothing
from mauve_core.base.formatting import UNBROKEN, decimals_of
from mauve_core.figures import draw
from mauve_core.figures.draw import End, Trace
from mauve_core.figures.theme import (
    NEUTRAL_COLOUR,
    SIDE_BY_SIDE,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
    translucent,
)
from mauve_core.scoring.result import Comparison
from mauve_core.stats.divergences import divergence_frontier, error_shares, probabilities

WEIGHT_STEP = 0.01
_TAIL = 10.0 ** np.arange(-6, -2)
# Ascending weights of P at which curves are drawn: every slider step, denser near both ends.
DRAWN_WEIGHTS: NDArray[np.float64] = np.concatenate([_TAIL, np.arange(1, 100) * WEIGHT_STEP, 1 - _TAIL[::-1]])

# Up to this many candidates, all have bands.
MOST_BANDS = 4

# Clusters that a hover names for each error.
MOST_LEADING = 2

X_TITLE = "exp(−c · KL(Q|R))<br>← type I: what the model adds"
Y_TITLE = "exp(−c · KL(P|R))<br>← type II: what the model misses"
_TITLE_FONT = 12
# Columns with the names of leading clusters.
_LEADING = "type_1_in", "type_2_in"
# Fields of a trace that hold them.
_TEXTS = "text", "hovertext"
HOVERED = ["weight", "type_1", "type_1_sd", "type_2", "type_2_sd"]
# Line widths: few candidates, many candidates, and the selected one among many.
_WIDE, _THIN, _RAISED = 2, 1.5, 3.5
_MARK, _SMALL_MARK = 13, 9
# Range of both axes.
_LOW, _HIGH = -0.02, 1.03
# Room above the plot, and for the x axis' labels, in pixels.
_ABOVE, _BELOW = 10, 58
# Names point to their curves at this x: nearer to 1, where all curves drop, the heights say less.
_NAMED_AT = 0.98

_Part = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ErrorCurve:
    """Both errors of one candidate along the mixture.

    Attributes
    ----------
    weights : (m,) float64
        Weight of P in the mixture, ascending.
    type_1, type_2 : (seeds, m) float64
        KL(Q|R) and KL(P|R) in nats, nonnegative, for each k-means seed.
    """

    candidate: str
    weights: NDArray[np.float64]
    type_1: NDArray[np.float64]
    type_2: NDArray[np.float64]


def error_curves(comparison: Comparison, kind: PartitionKind, smoothing: Smoothing = "none") -> list[ErrorCurve]:
    """Both errors of every candidate at ``DRAWN_WEIGHTS``, for each seed, from the partitions of that kind."""
    curves = []
    for candidate in comparison.candidates:
        parts = comparison.partitions(kind, candidate.name)
        p = probabilities(np.stack([part.counts(HUMAN) for part in parts]), smoothing)
        q = probabilities(np.stack([part.counts(candidate.name) for part in parts]), smoothing)
        frontier = divergence_frontier(p, q, DRAWN_WEIGHTS)
        curves.append(ErrorCurve(candidate.name, frontier.weights, frontier.type_1, frontier.type_2))
    return curves


def curve_points(curves: Sequence[ErrorCurve], scale: float) -> pd.DataFrame:
    """Data of the chart: one row per candidate and weight.

    Returns
    -------
    DataFrame
        candidate, weight, type_1, type_1_sd, type_2, type_2_sd (nats; mean and sd over seeds), x, y (means over
        seeds) and x_low, x_high, y_low, y_high (lowest and highest seed). The sd is NaN with one seed.
    """
    parts = [_points_of(curve, scale) for curve in curves]
    return pd.concat(parts, ignore_index=True)


def leading_clusters(
    comparison: Comparison, kind: PartitionKind, candidate: str, smoothing: Smoothing = "none"
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The clusters that make most of each error, in the partition that pages show by default.

    Returns
    -------
    type_1, type_2 : (m, n) int32
        At each of ``DRAWN_WEIGHTS``, the n clusters with the largest terms of ``error_shares``, the largest first; n is
        at most ``MOST_LEADING``, and only clusters that add to the error at every weight count.
    """
    shown = comparison.partition(kind, candidate)
    p, q = (probabilities(shown.counts(side), smoothing) for side in (HUMAN, candidate))
    errors = zip(*(error_shares(p, q, weight) for weight in DRAWN_WEIGHTS.tolist()), strict=True)
    one, two = (_largest(np.stack(terms)) for terms in errors)
    return one, two


def leading_in_words(
    leading: tuple[NDArray[np.int32], NDArray[np.int32]], names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """``leading_clusters`` by their names, for the hovers at each of ``DRAWN_WEIGHTS``; escaped."""
    titles = [f"<i>{as_label(name)}</i>" for name in names]
    one, two = ([" and ".join(titles[cluster] for cluster in row) for row in found.tolist()] for found in leading)
    return one, two


def _largest(terms: NDArray[np.float64]) -> NDArray[np.int32]:
    most = min(MOST_LEADING, int((terms > 0).sum(axis=1).min()))
    return np.argsort(-terms, axis=1, kind="stable")[:, :most].astype(np.int32)


def frontier_figure(
    points: pd.DataFrame,
    weight: float,
    *,
    order: Sequence[str] = (),
    chosen: str | None = None,
    leading: Mapping[str, tuple[Sequence[str], Sequence[str]]] | None = None,
) -> go.Figure:
    """Draw the curves of ``curve_points``, each with a mark at the drawn weight nearest to ``weight``.

    Parameters
    ----------
    order : sequence of str
        All candidates, the best first: the order of names whose curves end at one height; the run's order if empty.
    chosen : str or None
        Candidate whose band and curve stand out if not all have bands.
    leading : mapping, optional
        ``leading_in_words`` of candidates, for the hovers.
    """
    by_candidate = _by_candidate(points)
    for name, clusters in (leading or {}).items():
        by_candidate[name] |= {column: np.asarray(words) for column, words in zip(_LEADING, clusters, strict=True)}
    names = list(by_candidate)
    styles = candidate_styles(names)
    banded = banded_names(names, chosen)
    crowded = len(banded) < len(names)
    drawn = sorted(names, key=banded.__contains__) if crowded else names  # the last one drawn is on top
    traces = [_band(by_candidate[name], styles[name], names.index(name)) for name in drawn if name in banded]
    pixels = draw.plot_height(len(names), SIDE_BY_SIDE - _ABOVE - _BELOW)
    ends = [
        End(name, styles[name], _NAMED_AT, _height_at(by_candidate[name], _NAMED_AT)) for name in list(order) or names
    ]
    placed = draw.with_heights(ends, (_LOW, _HIGH), pixels)
    leads = {end.name: (end.y, height) for end, height in placed}
    traces += [_closing_and_lead(by_candidate[name], styles[name], leads[name]) for name in drawn]
    for name in drawn:
        width = _WIDE if not crowded else (_RAISED if name in banded else _THIN)
        traces.append(_line(name, by_candidate[name], styles[name], width))
    size = _SMALL_MARK if crowded else _MARK
    traces += [_mark(name, by_candidate[name], weight, styles[name], size) for name in drawn]
    height = math.ceil(pixels) + _ABOVE + _BELOW
    annotations = draw.names_beside(placed, (_LOW, _HIGH))
    return draw.figure(traces, {**_layout(names, height), "annotations": annotations})


def banded_names(names: Sequence[str], chosen: str | None) -> tuple[str, ...]:
    """Candidates with a band in the figure: all if there are few, otherwise the chosen one."""
    if len(names) <= MOST_BANDS:
        return tuple(names)
    return () if chosen is None or chosen not in names else (chosen,)


def bands_in_words(banded: Sequence[str], candidates: int) -> str:
    """One sentence about the bands, for the caption; ``banded`` holds escaped names."""
    reach = "the lowest to the highest k-means seed"
    if len(banded) == candidates:
        return f"The band around a curve spans {reach}."
    if banded:
        return f"The band, shown only for {' and '.join(banded)} because more would hide the curves, spans {reach}."
    return "Bands are left out because they would hide so many curves."


def at_weight(points: pd.DataFrame, weight: float, order: Sequence[str] = ()) -> pd.DataFrame:
    """Rows at the drawn weight nearest to ``weight``, one per candidate, in ``order`` or else the run's order."""
    weights = points["weight"].unique()
    rows = points[points["weight"] == weights[np.argmin(np.abs(weights - weight))]]
    return rows.set_index("candidate").loc[list(order)].reset_index() if order else pd.DataFrame(rows)


def _by_candidate(points: pd.DataFrame) -> dict[str, _Part]:
    """Arrays of each candidate's columns; the slider redraws the figure, and arrays slice faster than frames."""
    columns = {str(name): points[name].to_numpy() for name in points.columns if name != "candidate"}
    codes, names = pd.factorize(points["candidate"])
    indices = [np.flatnonzero(codes == code) for code in range(len(names))]
    return {
        str(name): {key: values[rows] for key, values in columns.items()}
        for name, rows in zip(names, indices, strict=True)
    }


def _points_of(curve: ErrorCurve, scale: float) -> pd.DataFrame:
    x, y = np.exp(-scale * curve.type_1), np.exp(-scale * curve.type_2)
    return pd.DataFrame(
        {
            "candidate": curve.candidate,
            "weight": curve.weights,
            "type_1": curve.type_1.mean(axis=0),
            "type_1_sd": _sd(curve.type_1),
            "type_2": curve.type_2.mean(axis=0),
            "type_2_sd": _sd(curve.type_2),
            "x": x.mean(axis=0),
            "y": y.mean(axis=0),
            "x_low": x.min(axis=0),
            "x_high": x.max(axis=0),
            "y_low": y.min(axis=0),
            "y_high": y.max(axis=0),
        }
    )


def _sd(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], np.nan)


def _with_ends(first: float, values: NDArray[np.float64], last: float) -> NDArray[np.float32]:
    return np.concatenate([[first], values, [last]]).astype(np.float32)


def _hovered(part: _Part) -> NDArray[np.float32]:
    return np.column_stack([part[name] for name in HOVERED]).astype(np.float32)


def _named_in_hovers(part: _Part) -> dict[str, list[str]]:
    """Names of the leading clusters of both errors as the two texts that a point may have."""
    return {text: part[column].tolist() for text, column in zip(_TEXTS, _LEADING, strict=True) if column in part}


def _hover(part: _Part) -> str:
    """Hover template with decimals that fit most of the part; numbers and names are sent per point, not sentences."""
    lines = ["<b>%{meta}</b>", f"weight of P {_placeholder('weight', 2)}"]
    for title, column, text in (("type I", "type_1", _TEXTS[0]), ("type II", "type_2", _TEXTS[1])):
        sd = float(np.median(part[f"{column}_sd"]))
        decimals = decimals_of(float(np.median(part[column])), sd)
        spread = "" if np.isnan(sd) else f"{UNBROKEN}±{UNBROKEN}{_placeholder(f'{column}_sd', decimals)}"
        lines.append(f"{title} {_placeholder(column, decimals)}{spread} nats")
        if f"{column}_in" in part:
            lines.append(f"most in %{{{text}}}")
    return "<br>".join(lines) + "<extra></extra>"


def _placeholder(column: str, decimals: int) -> str:
    """Where Plotly writes the point's value of a column of ``_hovered``."""
    return f"%{{customdata[{HOVERED.index(column)}]:.{decimals}f}}"


def _band(part: _Part, style: Style, index: int) -> Trace:
    lower_x, lower_y = _with_ends(1, part["x_low"], 0), _with_ends(0, part["y_low"], 1)
    upper_x, upper_y = _with_ends(1, part["x_high"], 0), _with_ends(0, part["y_high"], 1)
    x, y = np.concatenate([lower_x, upper_x[::-1]]), np.concatenate([lower_y, upper_y[::-1]])
    return draw.area(x, y, translucent(style.colour, 0.18), legendgroup=str(index))


def _closing_and_lead(part: _Part, style: Style, lead: tuple[float, float]) -> Trace:
    """Segments from the ends of the drawn curve to (1, 0) and (0, 1), which close the area of MAUVE, and the line from
    the curve's height where it is named to the name's.
    """
    (first_x, last_x), (first_y, last_y) = part["x"][[0, -1]].tolist(), part["y"][[0, -1]].tolist()
    return draw.scatter(
        x=[1, first_x, None, last_x, 0, None, _NAMED_AT, _HIGH],
        y=[0, first_y, None, last_y, 1, None, *lead],
        mode="lines",
        line={"color": style.colour, "width": 1},
        hoverinfo="skip",
    )


def _line(name: str, part: _Part, style: Style, width: float) -> Trace:
    return draw.scatter(
        x=part["x"].astype(np.float32),
        y=part["y"].astype(np.float32),
        customdata=_hovered(part),
        hovertemplate=_hover(part),
        **_named_in_hovers(part),
        meta=as_label(name),
        mode="lines",
        line={"color": style.colour, "dash": style.dash, "width": width},
    )


def _mark(name: str, part: _Part, weight: float, style: Style, size: int) -> Trace:
    nearest = np.argmin(np.abs(part["weight"] - weight))
    row = {key: values[[nearest]] for key, values in part.items()}
    return draw.scatter(
        x=row["x"].astype(np.float32),
        y=row["y"].astype(np.float32),
        customdata=_hovered(row),
        hovertemplate=_hover(row),
        **_named_in_hovers(row),
        meta=as_label(name),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": size},
    )


def _height_at(part: _Part, x: float) -> float:
    """The curve's y at that x; x falls as the weight of P rises."""
    return float(np.interp(x, part["x"][::-1], part["y"][::-1]))


def _layout(names: Sequence[str], height: int) -> dict[str, Any]:
    axis = {"range": [_LOW, _HIGH], "tickvals": [0, 0.25, 0.5, 0.75, 1], "zeroline": False, "linecolor": NEUTRAL_COLOUR}
    return base_layout(
        height=height,
        margin={"l": 8, "r": draw.names_margin(names), "t": _ABOVE, "b": _BELOW},
        showlegend=False,
        xaxis={**axis, "title": {"text": X_TITLE, "standoff": 4, "font": {"size": _TITLE_FONT}}},
        yaxis={**axis, "title": {"text": Y_TITLE, "standoff": 4, "font": {"size": _TITLE_FONT}}},
        uirevision="frontier",
        hovermode="closest",
    )


SVG_WIDTH, SVG_HEIGHT = 640, 430
# Side of the unit square and its origin.
_SIDE, _LEFT, _TOP = 360, 64, 16

_SVG_DASHES = {
    "solid": "",
    "dash": "9 5",
    "dot": "2 4",
    "dashdot": "9 4 2 4",
    "longdash": "15 6",
    "longdashdot": "15 5 2 5",
}
_SVG_TICKS = (0, 0.25, 0.5, 0.75, 1)
_SVG_LINE_HEIGHT = 18
# Number of names that fit in the legend.
_MOST_NAMED_IN_SVG = 22


def frontier_svg(points: pd.DataFrame, order: Sequence[str], banded: Sequence[str]) -> str:
    """An ``svg`` element with the curves of ``mauve_core.figures.frontier.curve_points``; names are escaped.

    ``order`` lists all candidates in legend order; candidates in ``banded`` have a band.
    """
    by_candidate = {str(name): part for name, part in points.groupby("candidate", sort=False)}
    styles = candidate_styles(list(by_candidate))
    body = [*_svg_axes(), *(_svg_band(by_candidate[name], styles[name]) for name in banded)]
    body += [_svg_curve(part, styles[name]) for name, part in by_candidate.items()]
    named = order[:_MOST_NAMED_IN_SVG]
    body += [_svg_legend(name, styles[name], index) for index, name in enumerate(named)]
    if len(by_candidate) > len(named):
        more = f"and {len(by_candidate) - len(named)} more"
        body.append(_svg_text(_LEFT + _SIDE + 48, _TOP + 10 + len(named) * _SVG_LINE_HEIGHT, more))
    label = html.escape(f"Divergence curves of {', '.join(order)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="0 0 {SVG_WIDTH} {SVG_HEIGHT}" width="{SVG_WIDTH}" height="{SVG_HEIGHT}" '
        'style="max-width:100%;height:auto" font-family="sans-serif" '
        f'font-size="12" fill="currentColor">{"".join(body)}</svg>'
    )


def _svg_axes() -> list[str]:
    drawn = []
    for tick in _SVG_TICKS:
        x, y = _pixel(tick, 0)[0], _pixel(0, tick)[1]
        drawn += [
            f'<path d="M{x:.1f} {_TOP}V{_TOP + _SIDE}M{_LEFT} {y:.1f}H{_LEFT + _SIDE}" stroke="{NEUTRAL_COLOUR}" '
            f'stroke-opacity="{0.9 if tick == 0 else 0.25}" fill="none"/>',
            _svg_text(x, _TOP + _SIDE + 16, f"{tick:g}", "middle"),
            _svg_text(_LEFT - 6, y + 4, f"{tick:g}", "end"),
        ]
    middle = _TOP + _SIDE / 2
    turned = f'transform="rotate(-90 16 {middle})"'
    return [
        *drawn,
        _svg_text(_LEFT + _SIDE / 2, _TOP + _SIDE + 38, "exp(−c · KL(Q|R))", "middle"),
        _svg_text(16, middle, "exp(−c · KL(P|R))", "middle", turned),
    ]


def _svg_band(part: pd.DataFrame, style: Style) -> str:
    lower = [(1.0, 0.0), *zip(part["x_low"], part["y_low"], strict=True), (0.0, 1.0)]
    upper = [(1.0, 0.0), *zip(part["x_high"], part["y_high"], strict=True), (0.0, 1.0)]
    return f'<path d="{_svg_path([*lower, *reversed(upper)])}Z" fill="{style.colour}" fill-opacity="0.18"/>'


def _svg_curve(part: pd.DataFrame, style: Style) -> str:
    mean = [(1.0, 0.0), *zip(part["x"], part["y"], strict=True), (0.0, 1.0)]
    return (
        f'<path d="{_svg_path(mean)}" fill="none" stroke="{style.colour}" stroke-width="2" '
        f'stroke-dasharray="{_SVG_DASHES[style.dash]}"/>'
    )


def _svg_legend(name: str, style: Style, index: int) -> str:
    left, y = _LEFT + _SIDE + 16, _TOP + 6 + index * _SVG_LINE_HEIGHT
    line = (
        f'<path d="M{left} {y}h26" stroke="{style.colour}" stroke-width="2" '
        f'stroke-dasharray="{_SVG_DASHES[style.dash]}" fill="none"/>'
    )
    return line + _svg_text(left + 32, y + 4, short_name(name))


def _svg_text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(text)}</text>'


def _svg_path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join("{:.1f} {:.1f}".format(*_pixel(x, y)) for x, y in points)


def _pixel(x: float, y: float) -> tuple[float, float]:
    x, y = (float(np.clip(value, 0, 1)) for value in (x, y))
    return _LEFT + x * _SIDE, _TOP + (1 - y) * _SIDE
