"""Panels of measures over an axis, one per measure: the number of neighbors, or the length of the texts.

A line per candidate, T(Q), and a blue one of human texts, T(P), if the measure has one; each is named at its end. Bands
are about 95 % intervals over texts; where a line has no band, there is no spread. Panels stand above one another, so
that names have room in a narrow window too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import plotly.graph_objects as go

from mauve_core.experiments.text_measures import Row, Value
from mauve_core.figures import draw, line_ends
from mauve_core.figures.draw import Trace
from mauve_core.figures.line_ends import End
from mauve_core.figures.measures import interval_label, value_label
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    NEUTRAL_COLOUR,
    Style,
    as_label,
    candidate_styles,
    short_name,
    translucent,
)

# Pixels of a panel, and between two panels.
_ROW_HEIGHT, _BETWEEN = 200, 36

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
    named = len(shown) <= line_ends.MOST
    pixels, area = line_ends.panels_height(rows, len(shown), _ROW_HEIGHT, _BETWEEN)
    layout = draw.panels(
        rows=rows,
        cols=1,
        shared_xaxes=True,
        subplot_titles=[as_label(title) for title in panels],
        vertical_spacing=_BETWEEN / area,
    )
    places = [axis.along(place) for lines in panels.values() for line in lines.values() for place, _ in line]
    reach = line_ends.padded(places)
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
            layout["annotations"] += line_ends.names_at_ends(_ends(drawn, axis), reach[1], span, pixels, panel=panel)
    if axis.guide is not None:
        guide = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "dash"}
        layout["shapes"] = [draw.guide("x", axis.guide, guide, panel) for panel in range(1, len(panels) + 1)]
    return draw.figure(traces, layout | line_ends.panels_layout(shown, area))


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


def _ends(drawn: Sequence[_Drawn], axis: PanelAxis) -> list[End]:
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
    low, high = line_ends.padded([number for number in numbers if math.isfinite(number)])
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
        customdata=[f"{axis.prefix} {place:,}: {what} = {_in_words(value)}" for place, value in found],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
    )


def _in_words(value: Value) -> str:
    ends = interval_label(value)
    return f"{value_label(value)}{f'<br>about 95%: {ends}' if ends else ''}"
