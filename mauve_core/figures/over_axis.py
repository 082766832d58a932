"""Panels of measures over an axis, one per measure: the number of neighbors, or the length of the texts.

A line per candidate, T(Q), and a blue one of human texts, T(P), if the measure has one. Bands are about 95 % intervals
over texts; where a line has no band, there is no spread.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from mauve_core.experiments.text_measures import Row, Value
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.measures import interval_label, value_label
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    LEGEND_ROW,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    Style,
    base_layout,
    candidate_styles,
    legend_below,
    short_name,
    translucent,
)

COLUMNS = 2
"""Panels per row."""

_ROW_HEIGHT, _BETWEEN = 260, 70
"""Pixels of a panel, and between two rows of panels."""

_LEGEND_COLUMNS, _LEGEND_GAP = 4, 60
"""Entries beside each other in a narrow window, and pixels between the panels and the legend."""

_OPACITY, _HUMAN_OPACITY = 0.08, 0.25

Lines = Mapping[str, Sequence[tuple[int, Row]]]
"""Candidate -> places on the axis with their rows, ascending."""


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


def panels_over(panels: Mapping[str, Lines], names: Sequence[str], order: Sequence[str], axis: PanelAxis) -> go.Figure:
    """Draw all panels.

    Parameters
    ----------
    panels : mapping of str to Lines
        Title -> lines of the candidates in ``names``.
    order : sequence of str
        The run's candidates, which sets their styles.
    """
    columns = max(min(COLUMNS, len(panels)), 1)
    rows = max(-(-len(panels) // columns), 1)
    area = rows * _ROW_HEIGHT + (rows - 1) * _BETWEEN
    layout = draw.panels(
        rows=rows,
        cols=columns,
        subplot_titles=[html.escape(title) for title in panels],
        horizontal_spacing=0.07,
        vertical_spacing=_BETWEEN / area,
    )
    traces: list[Trace] = []
    for panel, lines in enumerate(panels.values(), start=1):
        traces += [draw.on_panel(trace, panel) for trace in _panel(lines, order, axis, legend=panel == 1)]
    layout = draw.with_axes(layout, "x", zeroline=False, linecolor=NEUTRAL_COLOUR, **axis.layout)
    for panel in range(max(len(panels) - columns, 0) + 1, len(panels) + 1):  # the lowest of each column
        layout["xaxis" if panel == 1 else f"xaxis{panel}"]["title"] = {"text": axis.title}
    from_zero = {"rangemode": "tozero"} if axis.from_zero else {}
    layout = draw.with_axes(layout, "y", zeroline=False, linecolor=NEUTRAL_COLOUR, **from_zero)
    if axis.guide is not None:
        guide = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "dash"}
        layout["shapes"] = [draw.guide("x", axis.guide, guide, panel) for panel in range(1, len(panels) + 1)]
    legend_height = LEGEND_ROW * -(-(len(names) + 1) // _LEGEND_COLUMNS) + _LEGEND_GAP
    margin = {**PANELS_MARGIN, "b": legend_height}
    rest = base_layout(
        height=area + margin["t"] + margin["b"],
        margin=margin,
        legend=legend_below([axis.human, *map(short_name, names)]),
        hovermode="closest",
    )
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


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


def _panel(lines: Lines, order: Sequence[str], axis: PanelAxis, *, legend: bool) -> list[Trace]:
    """Bands below lines, the human line on top."""
    human = Style(HUMAN_COLOUR, "solid", "cross")
    first = next(iter(lines.values()), ())
    drawn = [
        (name, candidate_styles(order)[name], [(place, row.model) for place, row in rows])
        for name, rows in lines.items()
    ]
    drawn.append((axis.human, human, [(place, row.human) for place, row in first]))
    bands = [band for name, style, points in drawn for band in _bands(name, style, points, axis)]
    return bands + [_line(name, style, points, axis, legend=legend) for name, style, points in drawn]


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
    return [draw.band(places, low, high, fill, legendgroup=html.escape(name)) for places, low, high in columns]


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
        name=html.escape(short_name(name)),
        meta=html.escape(name),
        legendgroup=html.escape(name),
        showlegend=legend,
        customdata=[f"{axis.prefix} {place:,}: {what} = {_in_words(value)}" for place, value in found],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
    )


def _in_words(value: Value) -> str:
    ends = interval_label(value)
    return f"{value_label(value)}{f'<br>about 95%: {ends}' if ends else ''}"
