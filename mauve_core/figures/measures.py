"""Text measures of a run: panels with candidates and the human value, a plane of two measures, and lines over an axis.

T(Q) is a candidate's value, T(P) that of the human texts, and |T(Q) - T(P)| the gap (JMLR 2023, section 6.3).
Intervals are about 95 % over texts (:mod:`mauve_core.analyses.text_measures`). A dot without a line and a line
without a band have no spread.

Over the length of the texts (JMLR 2023, figures 8 and 22; logarithmic if the lengths lie on a wide scale), or over the
number of neighbors k of precision, recall, density and coverage (section 7.6): one panel per measure, a line per
candidate and a blue one of human texts, if the measure has one, each named at its end. Panels stand above one another,
so that names have room in a narrow window too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.measure_terms import Measurements, Row, Value
from mauve_core.analyses.measures_over_lengths import LengthTable, length_measure_title
from mauve_core.analyses.measures_over_neighbours import NeighbourTable
from mauve_core.analyses.text_measures import measure_standings, measure_title
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, UNKNOWN, decimals_of, interval, with_named_spreads
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.draw import End, Trace
from mauve_core.figures.leaderboard import hover_label, titled
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
    translucent,
)
from mauve_core.scoring.result import Estimate
from mauve_core.stats.scores import SCORES

# Panels per row.
COLUMNS = 4

# A panel with a larger ratio of values has a logarithmic axis.
LOG_RATIO = 100.0

NO_HUMAN = "no T(P)"
# Pixels per candidate in a panel, between two rows of panels, and below all panels.
_ROW_HEIGHT, _BETWEEN, _BELOW = 24, 80, 28


def measures_frame(measurements: Measurements, order: Sequence[str]) -> pd.DataFrame:
    """All numbers of the measurements: one row per measure and candidate, candidates in ``order``.

    Returns
    -------
    DataFrame
        measure, title, candidate, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with
        _sd, _low and _high (NaN where unknown); n, n_human, note.
    """
    rows = [row for name in measurements.measures for row in _rows(measurements, name, order)]
    return pd.DataFrame([_record(measurements, row) for row in rows])


def ranking_frame(measurements: Measurements, measure: str, order: Sequence[str]) -> pd.DataFrame:
    """Candidates by gap, smallest first; candidates without a gap are last and have no rank.

    Returns
    -------
    DataFrame
        rank (0 for none), tied, and the columns of :func:`measures_frame`. Ties follow
        :func:`mauve_core.analyses.text_measures.measure_standings`.
    """
    return pd.DataFrame(
        [
            {"rank": placed.rank, "tied": placed.tied, **_record(measurements, placed.row)}
            for placed in measure_standings(measurements, measure, order)
        ]
    )


def panels_figure(
    measurements: Measurements,
    order: Sequence[str],
    measures: Sequence[str] | None = None,
    mauve: Mapping[str, Estimate] | None = None,
    *,
    words: Words = TEXTS,
) -> go.Figure:
    """One panel per measure: dot and line are T(Q) and its interval, blue line and band T(P) and its interval.

    Candidates have the run's order and style; a missing measure is marked in its place.

    Parameters
    ----------
    measures : sequence of str, optional
        The measures to draw; all by default.
    mauve : mapping of str to Estimate, optional
        MAUVE of each candidate, for a first panel. It has no T(P).
    """
    shown = [name for name in order if name in measurements.candidates]
    panels = [] if mauve is None else [_mauve_panel(mauve, shown)]
    panels += [
        _measure_panel(_panel_title(measurements, name), _rows(measurements, name, order))
        for name in (measurements.measures if measures is None else measures)
    ]
    rows = max(-(-len(panels) // COLUMNS), 1)
    area = rows * _ROW_HEIGHT * (len(shown) + 1) + (rows - 1) * _BETWEEN
    layout = draw.panels(
        rows=rows,
        cols=min(COLUMNS, len(panels)),
        shared_yaxes=True,
        subplot_titles=[panel.title for panel in panels],
        horizontal_spacing=0.03,
        vertical_spacing=_BETWEEN / area,
    )
    layout = draw.with_axes(layout, "y", **draw.row_axis([as_label(short_name(name)) for name in shown]))
    traces: list[Trace] = []
    for number, panel in enumerate(panels, start=1):
        traces += [draw.on_panel(trace, number) for trace in _traces(panel, order, shown, words)]
        axis = "xaxis" if number == 1 else f"xaxis{number}"
        layout[axis] = {
            **layout[axis],
            "nticks": 4,
            "zeroline": False,
            "separatethousands": True,
            **_scale_of(_panel_ends(panel.rows)),
        }
        layout["annotations"] += _not_defined(panel.rows, shown, number)
    margin = {**PANELS_MARGIN, "b": _BELOW}
    rest = base_layout(height=area + margin["t"] + _BELOW, margin=margin, showlegend=False)
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


def plane_frame(measurements: Measurements, across: str, along: str, order: Sequence[str]) -> pd.DataFrame:
    """Two measures of every source with both, the human side first: source, x, x_sd, x_low, x_high, y, ..."""
    rows = [(measurements.row(across, name), measurements.row(along, name)) for name in order]
    both = [(x, y) for x, y in rows if x is not None and y is not None]
    pairs = [(HUMAN, _first(x.human for x, _ in both), _first(y.human for _, y in both))]
    pairs += [(x.candidate, x.model, y.model) for x, y in both]
    return pd.DataFrame(
        [
            {"source": source, **_value_columns("x", x), **_value_columns("y", y)}
            for source, x, y in pairs
            if x is not None and y is not None
        ]
    )


def plane_figure(frame: pd.DataFrame, across: str, along: str, order: Sequence[str], words: Words = TEXTS) -> go.Figure:
    """Draw ``plane_frame`` as points with intervals; the human side is a blue cross with guides."""
    traces, guides = [], []
    for _, row in frame.iterrows():
        human = row["source"] == HUMAN
        if human:
            line = {"color": HUMAN_COLOUR, "width": 1, "dash": "dot"}
            guides += [draw.guide("x", row["x"], line), draw.guide("y", row["y"], line)]
        style = None if human else candidate_styles(order)[row["source"]]
        traces.append(_plane_point(row, across, along, style, words))
    axis = {"zeroline": False, "linecolor": NEUTRAL_COLOUR, "separatethousands": True}
    layout = base_layout(
        height=440,
        xaxis={**axis, "title": {"text": measure_title(across)}, **_scale_of(_ends_of(frame, "x"))},
        yaxis={**axis, "title": {"text": measure_title(along)}, **_scale_of(_ends_of(frame, "y"))},
        hovermode="closest",
        shapes=guides,
    )
    return draw.figure(traces, layout)


def value_label(value: Value | None) -> str:
    """``14.53 ± 0.42``, with as many decimals as the spread supports; ``± ?`` without a spread.

    With several generations: ``14.53 ± 0.42 (texts) ± 0.31 (5 generations)``.
    """
    if value is None:
        return NONE
    count = len(value.generations or ())
    return with_named_spreads(value.value, value.sd, value.generations_sd, count, over="texts", missing=UNKNOWN)


def interval_label(value: Value | None) -> str:
    """``13.7 to 15.4``, rounded as in :func:`value_label`; empty if unknown."""
    if value is None or value.sd is None or value.low is None or value.high is None:
        return ""
    return interval(value.low, value.high, decimals_of(value.value, value.sd, value.generations_sd))


def cell_label(row: pd.Series, name: str) -> str:
    """:func:`value_label` of a value in a row of a frame, above its interval if it is known."""
    value = value_of(row, name)
    if value is None:
        return NONE
    sd = row.get(f"{name}_generations_sd")
    count = 0 if sd is None or math.isnan(sd) else int(row[f"{name}_generations"])
    shown = with_named_spreads(value.value, value.sd, sd, count, over="texts", missing=UNKNOWN)
    low_high = interval_label(value)
    return shown + (f"  \n{low_high}" if low_high else "")


def spreads_in_words(measurements: Measurements, words: Words) -> str:
    """What each ± of :func:`value_label` is, without a period."""
    over = f"± one standard deviation over {words.items} (jackknife)"
    if not any(value and value.generations for row in measurements.rows for value in (row.model, row.gap)):
        return over
    return (
        f"{over}; of several generations, T is their mean, ± (texts) its standard deviation over texts, and ± "
        "(generations) that of T over generations"
    )


def value_of(row: pd.Series, name: str) -> Value | None:
    """A value with its spread from a row of a frame; None if missing."""
    numbers = [_or_none(row[f"{name}{part}"]) for part in ("", "_sd", "_low", "_high")]
    return None if numbers[0] is None else Value(numbers[0], numbers[1], numbers[2], numbers[3])


def _rows(measurements: Measurements, measure: str, order: Iterable[str]) -> list[Row]:
    found = (measurements.row(measure, name) for name in order)
    return [row for row in found if row is not None]


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def _record(measurements: Measurements, row: Row) -> dict[str, Any]:
    sizes = measurements.settings.get(row.measure, {}).get("n", {})
    parts = (("model", row.model), ("human", row.human), ("gap", row.gap))
    values = {key: number for name, value in parts for key, number in _value_columns(name, value).items()}
    counts = {"n": sizes.get(row.candidate), "n_human": sizes.get(HUMAN)}
    return {"measure": row.measure, "title": measure_title(row.measure), "candidate": row.candidate, **values, **counts,
            "note": row.note}  # fmt: skip


def _value_columns(name: str, value: Value | None) -> dict[str, float]:
    numbers = (None,) * 4 if value is None else (value.value, value.sd, value.low, value.high)
    keys = (name, f"{name}_sd", f"{name}_low", f"{name}_high")
    columns = {key: math.nan if number is None else number for key, number in zip(keys, numbers, strict=True)}
    if value is not None and value.generations is not None and value.generations_sd is not None:
        columns |= {f"{name}_generations": len(value.generations), f"{name}_generations_sd": value.generations_sd}
    return columns


def _ends(value: Value) -> tuple[float, float]:
    """The interval's limits; the value itself twice if they are unknown."""
    return (value.value if value.low is None else value.low, value.value if value.high is None else value.high)


def _panel_title(measurements: Measurements, measure: str) -> str:
    title = as_label(measure_title(measure))
    human = any(row.human is not None for row in measurements.rows if row.measure == measure)
    return title if human else f"{title}<br>{NO_HUMAN}"  # on one line it would overlap the next title


@dataclass(frozen=True)
class _Panel:
    """Its title, a row per candidate, and what a hover says of each."""

    title: str
    rows: Sequence[Row]
    hovers: Sequence[str]


def _mauve_panel(mauve: Mapping[str, Estimate], shown: Sequence[str]) -> _Panel:
    """Dots and intervals as of a measure; the hover is the leaderboard's, with each spread by its name."""
    values = [Value(one.mean, one.sd, one.low, one.high) for one in (mauve[name] for name in shown)]
    rows = [Row("mauve", name, value, None, None) for name, value in zip(shown, values, strict=True)]
    return _Panel(titled("mauve"), rows, [f"{SCORES['mauve'].title} = {hover_label(mauve[name])}" for name in shown])


def _measure_panel(title: str, rows: Sequence[Row]) -> _Panel:
    return _Panel(title, rows, [_row_in_words(row) for row in rows])


def _row_in_words(row: Row) -> str:
    value = "" if row.model is None else f"T(Q) = {_in_words(row.model)}"
    gap = "" if row.gap is None else f"<br>|T(Q) − T(P)| = {_in_words(row.gap)}"
    return value + gap + (f"<br>{_wrapped(row.note)}" if row.note else "")


def _traces(panel: _Panel, order: Sequence[str], shown: Sequence[str], words: Words) -> list[Trace]:
    human = _first(row.human for row in panel.rows)
    traces = [] if human is None else _human_line(human, len(shown), words)
    dots = ((row, row.model, hover) for row, hover in zip(panel.rows, panel.hovers, strict=True))
    return traces + [
        _dot(row.candidate, value, hover, shown.index(row.candidate), candidate_styles(order)[row.candidate])
        for row, value, hover in dots
        if value is not None
    ]


def _not_defined(rows: Sequence[Row], shown: Sequence[str], panel: int) -> list[dict[str, Any]]:
    """Mark candidates that lack the measure; the hover gives the reason."""
    axis = "" if panel == 1 else str(panel)
    return [
        {
            "text": "not defined",
            "hovertext": as_label(row.note),
            "showarrow": False,
            "xref": f"x{axis} domain",
            "x": 0.5,
            "yref": f"y{axis}",
            "y": shown.index(row.candidate),
            "font": {"color": NEUTRAL_COLOUR},
        }
        for row in rows
        if row.model is None
    ]


def _panel_ends(rows: Sequence[Row]) -> list[float]:
    values = (_first(row.human for row in rows), *(row.model for row in rows))
    return [end for value in values if value is not None for end in _ends(value)]


def _human_line(human: Value, candidates: int, words: Words) -> list[Trace]:
    """Line and band across the panel, with hovers on the line between candidates."""
    low, high = _ends(human)
    top, bottom = -0.6, candidates - 0.4
    band = draw.scatter(
        x=[low, high, high, low],
        y=[top, top, bottom, bottom],
        fill="toself",
        fillcolor=translucent(HUMAN_COLOUR, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )
    heights = [top, *(row + 0.5 for row in range(candidates - 1)), bottom]
    line = draw.scatter(
        x=[human.value] * len(heights),
        y=heights,
        mode="lines",
        line={"color": HUMAN_COLOUR, "width": 2},
        meta=HUMAN,
        hovertemplate=f"<b>{words.reference}</b><br>T(P) = {_in_words(human)}<extra></extra>",
    )
    return [band, line]


def _dot(candidate: str, value: Value, hover: str, y: int, style: Style) -> Trace:
    return draw.scatter(
        x=[value.value],
        y=[y],
        error_x=_error_bar(value, style.colour),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 10, "line": {"color": "white", "width": 1}},
        meta=as_label(candidate),
        hovertemplate=f"<b>{as_label(candidate)}</b><br>{hover}<extra></extra>",
    )


def _plane_point(row: pd.Series, across: str, along: str, style: Style | None, words: Words) -> Trace:
    x, y = (Value(*(_or_none(row[f"{side}{part}"]) for part in ("", "_sd", "_low", "_high"))) for side in "xy")  # type: ignore[arg-type]
    colour, symbol, size = HUMAN_COLOUR, "cross", 17
    if style is not None:
        colour, symbol, size = style.colour, style.symbol, 12
    name = as_label(words.source(row["source"]))
    return draw.scatter(
        x=[x.value],
        y=[y.value],
        error_x=_error_bar(x, colour),
        error_y=_error_bar(y, colour),
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": size, "line": {"color": "white", "width": 1}},
        name=as_label(words.source(short_name(row["source"]))),
        meta=name,
        hovertemplate=f"<b>{name}</b><br>{as_label(measure_title(across))} {_in_words(x)}"
        f"<br>{as_label(measure_title(along))} {_in_words(y)}<extra></extra>",
    )


def _error_bar(value: Value, colour: str) -> dict[str, Any]:
    low, high = _ends(value)
    return draw.interval(value.value, low, high, width=0, thickness=2, color=colour)


def _in_words(value: Value) -> str:
    low_high = interval_label(value)
    return value_label(value) + (f", interval {low_high}" if low_high else "")


def _wrapped(text: str, width: int = 60) -> str:
    """Escape and wrap at ``width`` characters."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(as_label(line) for line in lines)


def _scale_of(ends: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis if the values span several orders of magnitude."""
    wide = bool(ends) and min(ends) > 0 and max(ends) / min(ends) > LOG_RATIO
    return {"type": "log", "dtick": 1} if wide else {}


def _ends_of(frame: pd.DataFrame, side: str) -> list[float]:
    return [float(end) for column in ("", "_low", "_high") for end in frame[f"{side}{column}"].dropna()]


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


# Pixels of a panel, and between two panels.
_PANEL_HEIGHT, _BETWEEN_PANELS = 200, 36

_OPACITY, _HUMAN_OPACITY = 0.08, 0.25

# Candidate -> places on the axis with their rows, ascending.
Lines = Mapping[str, Sequence[tuple[int, Row]]]


@dataclass(frozen=True)
class PanelAxis:
    """The axis of all panels.

    Attributes
    ----------
    title, prefix : str
        Below the panels, and before a place in hover labels.
    human : str
        Name of the human line.
    layout : dict
        Type and ticks, as Plotly takes them.
    guide : int or None
        Place of a dashed line.
    from_zero : bool
        Whether vertical axes begin at 0.
    """

    title: str
    prefix: str
    human: str
    layout: dict[str, Any]
    guide: int | None = None
    from_zero: bool = True

    def along(self, place: float) -> float:
        """A place in the axis' own units."""
        return math.log10(place) if self.layout.get("type") == "log" else place


class _Drawn(NamedTuple):
    """A line with its known and unknown values along the axis."""

    name: str
    style: Style
    points: Sequence[tuple[int, Value | None]]


def panels_over(panels: Mapping[str, Lines], names: Sequence[str], order: Sequence[str], axis: PanelAxis) -> go.Figure:
    """Draw all panels.

    Parameters
    ----------
    panels : mapping of str to Lines
        Title -> lines of the candidates in ``names``.
    order : sequence of str
        The run's candidates, which sets their styles.
    """
    shown, rows = [axis.human, *names], max(len(panels), 1)
    named = len(shown) <= draw.MOST_NAMES
    pixels, area = draw.panels_height(rows, len(shown), _PANEL_HEIGHT, _BETWEEN_PANELS)
    layout = draw.panels(
        rows=rows,
        cols=1,
        shared_xaxes=True,
        subplot_titles=[as_label(title) for title in panels],
        vertical_spacing=_BETWEEN_PANELS / area,
    )
    places = [axis.along(place) for lines in panels.values() for line in lines.values() for place, _ in line]
    reach = draw.padded_range(places)
    layout = draw.with_axes(
        layout, "x", **{"zeroline": False, "linecolor": NEUTRAL_COLOUR, "range": list(reach), **axis.layout}
    )
    layout["xaxis" if rows == 1 else f"xaxis{rows}"]["title"] = {"text": axis.title}
    layout = draw.with_titles(draw.with_axes(layout, "y", zeroline=False, linecolor=NEUTRAL_COLOUR), size=13)
    traces: list[Trace] = []
    for panel, lines in enumerate(panels.values(), start=1):
        drawn = _drawn(lines, order, axis)
        traces += [draw.on_panel(trace, panel) for trace in _panel(drawn, axis, legend=panel == 1 and not named)]
        span = _span(drawn, axis)
        layout["yaxis" if panel == 1 else f"yaxis{panel}"]["range"] = list(span)
        if named:
            layout["annotations"] += draw.names_at_ends(_line_ends(drawn, axis), reach[1], span, pixels, panel=panel)
    if axis.guide is not None:
        guide = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "dash"}
        layout["shapes"] = [draw.guide("x", axis.guide, guide, panel) for panel in range(1, len(panels) + 1)]
    return draw.figure(traces, layout | draw.panels_layout(shown, area))


def record_of(row: Row, axis: str, place: int) -> dict[str, Any]:
    """All numbers of a row: measure, candidate, the place as ``axis``, then T(Q) as ``model``, T(P) as ``human`` and
    |T(Q) - T(P)| as ``gap``, each with _sd, _low and _high (NaN where unknown); note.
    """
    values: dict[str, Any] = {"measure": row.measure, "candidate": row.candidate, axis: place}
    for name, value in (("model", row.model), ("human", row.human), ("gap", row.gap)):
        numbers = (None,) * 4 if value is None else (value.value, value.sd, value.low, value.high)
        for part, number in zip(("", "_sd", "_low", "_high"), numbers, strict=True):
            values[f"{name}{part}"] = math.nan if number is None else number
    return values | {"note": row.note}


def texts_in_words(n: Mapping[str, int]) -> str:
    """Numbers of texts of the candidates: ``512``, or ``256 to 512``."""
    sizes = sorted(set(n.values())) or [0]
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


def _drawn(lines: Lines, order: Sequence[str], axis: PanelAxis) -> list[_Drawn]:
    """The candidates' lines, then the human one, which the rows of every candidate repeat."""
    drawn = [
        _Drawn(name, candidate_styles(order)[name], [(place, row.model) for place, row in rows])
        for name, rows in lines.items()
    ]
    first = next(iter(lines.values()), ())
    human = Style(HUMAN_COLOUR, "solid", "cross")
    return [*drawn, _Drawn(axis.human, human, [(place, row.human) for place, row in first])]


def _panel(drawn: Sequence[_Drawn], axis: PanelAxis, *, legend: bool) -> list[Trace]:
    """Bands below lines, the human line on top."""
    bands = [band for each in drawn for band in _bands(*each, axis)]
    return bands + [_line(*each, axis, legend=legend) for each in drawn]


def _line_ends(drawn: Sequence[_Drawn], axis: PanelAxis) -> list[End]:
    """The last known value of each line that has one."""
    known = [(each, [(place, value.value) for place, value in each.points if value is not None]) for each in drawn]
    return [
        End(each.name, each.style, axis.along(points[-1][0]), points[-1][1])
        for each, points in known
        if points and math.isfinite(points[-1][1])
    ]


def _span(drawn: Sequence[_Drawn], axis: PanelAxis) -> tuple[float, float]:
    """Range of a panel's vertical axis: all values with their intervals."""
    found = [value for each in drawn for _, value in each.points if value is not None]
    numbers = [number for value in found for number in (value.value, value.low, value.high) if number is not None]
    low, high = draw.padded_range([number for number in numbers if math.isfinite(number)])
    return (0.0 if axis.from_zero and min(numbers, default=0.0) >= 0 else low), high


def _bands(name: str, style: Style, points: Sequence[tuple[int, Value | None]], axis: PanelAxis) -> list[Trace]:
    """The interval's area over each stretch of places that have one."""
    stretches: list[list[tuple[int, float, float]]] = [[]]
    for place, value in points:
        if value is None or value.low is None or value.high is None:
            stretches.append([])
        else:
            stretches[-1].append((place, value.low, value.high))
    fill = translucent(style.colour, _HUMAN_OPACITY if name == axis.human else _OPACITY)
    columns = (tuple(zip(*stretch, strict=True)) for stretch in stretches if len(stretch) > 1)
    return [draw.band(places, low, high, fill, legendgroup=as_label(name)) for places, low, high in columns]


def _line(
    name: str, style: Style, points: Sequence[tuple[int, Value | None]], axis: PanelAxis, *, legend: bool
) -> Trace:
    found = [(place, value) for place, value in points if value is not None]
    what = "T(P)" if name == axis.human else "T(Q)"
    return draw.scatter(
        x=[place for place, _ in found],
        y=[value.value for _, value in found],
        mode="lines+markers" if len(points) == 1 else "lines",
        line={"color": style.colour, "dash": style.dash, "width": 3 if name == axis.human else 1.5},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8},
        name=as_label(short_name(name)),
        meta=as_label(name),
        legendgroup=as_label(name),
        showlegend=legend,
        customdata=[f"{axis.prefix} {place:,}: {what} = {_with_interval(value)}" for place, value in found],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
    )


def _with_interval(value: Value) -> str:
    ends = interval_label(value)
    return f"{value_label(value)}{f'<br>about 95%: {ends}' if ends else ''}"


_MOST_LENGTHS = 8
# From this ratio of the largest to the smallest length on, the axis is logarithmic.
_WIDE = 4


def lengths_frame(table: LengthTable) -> pd.DataFrame:
    """All numbers of the table: one row per measure, candidate and length.

    Returns
    -------
    DataFrame
        measure, candidate, length, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with
        _sd, _low and _high (NaN where unknown); note.
    """
    return pd.DataFrame([record_of(row, "length", row.length) for row in table.rows])


def lengths_table(table: LengthTable, measure: str, order: Sequence[str], *, gaps: bool = False) -> pd.DataFrame:
    """One measure as text: one row per length, the human texts and every candidate as columns; or the gaps."""
    lines = {name: {row.length: row for row in table.line(measure, name)} for name in _with_lengths(table, order)}
    if gaps:
        return pd.DataFrame(
            [
                {"length": length}
                | {name: value_label(line[length].gap if length in line else None) for name, line in lines.items()}
                for length in table.lengths
            ]
        )
    human = {length: row.human for line in lines.values() for length, row in line.items()}
    return pd.DataFrame(
        [
            {"length": length, HUMAN: value_label(human.get(length))}
            | {name: value_label(line[length].model if length in line else None) for name, line in lines.items()}
            for length in table.lengths
        ]
    )


def lengths_described(table: LengthTable, words: Words = TEXTS) -> str:
    """Describe lines, bands, ± and the tests, with the numbers of texts."""
    texts = dict(table.settings.get("texts", {}))
    human = texts.pop(HUMAN, 0)
    return (
        f"Lines: candidates, T(Q), {texts_in_words(texts)} texts each; blue: {human:,} {words.reference_items}, T(P), "
        "where the measure has one. All texts are cut to that many tokens. Bands: intervals over texts, about 95%; ± "
        f"one standard deviation over texts (jackknife), {UNKNOWN} where none is available; {NONE} where the measure "
        "is not defined. Each length is tested by itself, corrected for all pairs."
    )


def lengths_figure(table: LengthTable, order: Sequence[str], words: Words = TEXTS) -> go.Figure:
    """Draw all measures; ``order`` is that of the run's candidates and sets their styles."""
    names = _with_lengths(table, order)
    axis = PanelAxis("length in tokens", "length", words.source(HUMAN), _length_ticks(table.lengths), from_zero=False)
    panels = {
        length_measure_title(measure): {
            name: [(row.length, row) for row in table.line(measure, name)] for name in names
        }
        for measure in table.measures
    }
    return panels_over(panels, names, order, axis)


def _with_lengths(table: LengthTable, order: Sequence[str]) -> list[str]:
    return [name for name in order if name in table.candidates]


def _length_ticks(lengths: Sequence[int]) -> dict[str, Any]:
    """A tick at every length if they are few; otherwise Plotly's own."""
    scale = {"type": "log"} if lengths and lengths[-1] >= _WIDE * lengths[0] else {}
    if len(lengths) > _MOST_LENGTHS:
        return {**scale, "nticks": _MOST_LENGTHS}
    return {**scale, "tickvals": list(lengths), "ticktext": [f"{length:,}" for length in lengths]}


_MOST_KS = 13


def neighbours_frame(table: NeighbourTable) -> pd.DataFrame:
    """All numbers of the table: one row per measure, candidate and k.

    Returns
    -------
    DataFrame
        measure, candidate, k, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with _sd,
        _low and _high (NaN where unknown); note.
    """
    return pd.DataFrame([record_of(row, "k", row.k) for row in table.rows])


def neighbours_table(table: NeighbourTable, measure: str, order: Sequence[str], words: Words = TEXTS) -> pd.DataFrame:
    """One measure as text: one row per k, the human halves and every candidate as columns."""
    lines = {name: {row.k: row for row in table.line(measure, name)} for name in _with_neighbours(table, order)}
    human = {k: row.human for line in lines.values() for k, row in line.items()}
    return pd.DataFrame(
        [
            {"k": k, f"{words.reference} halves": value_label(human.get(k))}
            | {name: value_label(line[k].model if k in line else None) for name, line in lines.items()}
            for k in table.ks
        ]
    )


def neighbours_described(table: NeighbourTable, words: Words = TEXTS) -> str:
    """Describe lines, bands, ± and the tests, with the numbers of texts."""
    texts = dict(table.settings.get("texts", {}))
    human = texts.pop(HUMAN, 0)
    return (
        f"Lines: candidates, T(Q), {texts_in_words(texts)} {words.items} each, against {human:,} "
        f"{words.reference_items}; blue: {words.reference} halves, T(P), one of {human // 2:,} {words.items} against "
        f"the rest. Bands: intervals over {words.items}, about 95%; ± one standard deviation over {words.items} "
        f"(jackknife), {UNKNOWN} where none is available. Dashed: k = {table.settings.get('own_neighbours')}, as under "
        "All measures. Each k is tested by itself, corrected for all pairs."
    )


def neighbours_figure(table: NeighbourTable, order: Sequence[str], words: Words = TEXTS) -> go.Figure:
    """Draw all measures; ``order`` is that of the run's candidates and sets their styles."""
    names = _with_neighbours(table, order)
    own = table.settings.get("own_neighbours")
    axis = PanelAxis(
        "neighbors k", "k =", f"{words.reference} halves", _k_ticks(table.ks), own if own in table.ks else None
    )
    panels = {
        measure_title(measure): {name: [(row.k, row) for row in table.line(measure, name)] for name in names}
        for measure in table.measures
    }
    return panels_over(panels, names, order, axis)


def _with_neighbours(table: NeighbourTable, order: Sequence[str]) -> list[str]:
    return [name for name in order if name in table.candidates]


def _k_ticks(ks: Sequence[int]) -> dict[str, Any]:
    """A tick at every k if they are few; otherwise Plotly's own."""
    return {"tickvals": list(ks)} if len(ks) <= _MOST_KS else {"nticks": _MOST_KS}
