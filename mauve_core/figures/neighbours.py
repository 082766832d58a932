"""Precision, recall, density and coverage against the number of neighbors k (JMLR 2023, section 7.6).

One panel per measure: a line per candidate, T(Q), and a blue one between two halves of the human texts, T(P). Bands
are about 95 % intervals over texts; where a line has no band, there is no spread. A dashed guide marks the measures'
own k.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNKNOWN
from mauve_core.experiments.text_measures import Value, measure_title
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable, RowAtK
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

HUMAN_HALVES = "human halves"
_ROW_HEIGHT, _BETWEEN = 260, 70
"""Pixels of a panel, and between two rows of panels."""

_LEGEND_COLUMNS, _LEGEND_GAP = 4, 60
"""Entries beside each other in a narrow window, and pixels between the panels and the legend."""

_MOST_TICKS = 13
_OPACITY, _HUMAN_OPACITY = 0.08, 0.25


def neighbours_frame(table: NeighbourTable) -> pd.DataFrame:
    """All numbers of the table: one row per measure, candidate and k.

    Returns
    -------
    DataFrame
        measure, candidate, k, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with _sd,
        _low and _high (NaN where unknown); note.
    """
    return pd.DataFrame([_record(row) for row in table.rows])


def shown_table(table: NeighbourTable, measure: str, order: Sequence[str]) -> pd.DataFrame:
    """One measure as text: one row per k, the human halves and every candidate as columns."""
    lines = {name: {row.k: row for row in table.line(measure, name)} for name in _shown(table, order)}
    human = {k: row.human for line in lines.values() for k, row in line.items()}
    return pd.DataFrame(
        [
            {"k": k, HUMAN_HALVES: value_label(human.get(k))}
            | {name: value_label(line[k].model if k in line else None) for name, line in lines.items()}
            for k in table.ks
        ]
    )


def described(table: NeighbourTable) -> str:
    """Describe lines, bands, ± and the tests, with the numbers of texts."""
    texts = dict(table.settings.get("texts", {}))
    human = texts.pop(HUMAN, 0)
    sizes = sorted(set(texts.values())) or [0]
    each = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return (
        f"Lines: candidates, T(Q), {each} texts each, against {human:,} human texts; blue: human halves, T(P), one of "
        f"{human // 2:,} texts against the rest. Bands: intervals over texts, about 95%; ± one standard deviation over "
        f"texts (jackknife), {UNKNOWN} where none is available. Dashed: k = {table.settings.get('own_neighbours')}, as "
        "under All measures. Each k is tested by itself, corrected for all pairs."
    )


def neighbours_figure(table: NeighbourTable, order: Sequence[str]) -> go.Figure:
    """Draw all measures; ``order`` is that of the run's candidates and sets their styles."""
    measures = table.measures
    columns = min(COLUMNS, len(measures))
    rows = max(-(-len(measures) // columns), 1)
    names = _shown(table, order)
    area = rows * _ROW_HEIGHT + (rows - 1) * _BETWEEN
    layout = draw.panels(
        rows=rows,
        cols=columns,
        subplot_titles=[html.escape(measure_title(name)) for name in measures],
        horizontal_spacing=0.07,
        vertical_spacing=_BETWEEN / area,
    )
    traces: list[Trace] = []
    for panel, measure in enumerate(measures, start=1):
        lines = {name: table.line(measure, name) for name in names}
        traces += [draw.on_panel(trace, panel) for trace in _panel(lines, order, legend=panel == 1)]
    layout = draw.with_axes(layout, "x", zeroline=False, linecolor=NEUTRAL_COLOUR, **_ticks(table.ks))
    for panel in range(max(len(measures) - columns, 0) + 1, len(measures) + 1):  # the lowest of each column
        layout["xaxis" if panel == 1 else f"xaxis{panel}"]["title"] = {"text": "neighbors k"}
    layout = draw.with_axes(layout, "y", zeroline=False, rangemode="tozero", linecolor=NEUTRAL_COLOUR)
    own = table.settings.get("own_neighbours")
    if own in table.ks:
        guide = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "dash"}
        layout["shapes"] = [draw.guide("x", own, guide, panel) for panel in range(1, len(measures) + 1)]
    legend_height = LEGEND_ROW * -(-(len(names) + 1) // _LEGEND_COLUMNS) + _LEGEND_GAP
    margin = {**PANELS_MARGIN, "b": legend_height}
    rest = base_layout(
        height=area + margin["t"] + margin["b"],
        margin=margin,
        legend=legend_below([HUMAN_HALVES, *map(short_name, names)]),
        hovermode="closest",
    )
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


def _shown(table: NeighbourTable, order: Sequence[str]) -> list[str]:
    return [name for name in order if name in table.candidates]


def _record(row: RowAtK) -> dict[str, Any]:
    values: dict[str, Any] = {"measure": row.measure, "candidate": row.candidate, "k": row.k}
    for name, value in (("model", row.model), ("human", row.human), ("gap", row.gap)):
        numbers = (None,) * 4 if value is None else (value.value, value.sd, value.low, value.high)
        for part, number in zip(("", "_sd", "_low", "_high"), numbers, strict=True):
            values[f"{name}{part}"] = math.nan if number is None else number
    return values | {"note": row.note}


def _ticks(ks: Sequence[int]) -> dict[str, Any]:
    """A tick at every k if they are few; otherwise Plotly's own."""
    return {"tickvals": list(ks)} if len(ks) <= _MOST_TICKS else {"nticks": _MOST_TICKS}


def _panel(lines: dict[str, tuple[RowAtK, ...]], order: Sequence[str], *, legend: bool) -> list[Trace]:
    """Bands below lines, the human line on top."""
    human = Style(HUMAN_COLOUR, "solid", "cross")
    first = next(iter(lines.values()), ())
    drawn = [
        (name, candidate_styles(order)[name], [(row.k, row.model) for row in rows]) for name, rows in lines.items()
    ]
    drawn.append((HUMAN_HALVES, human, [(row.k, row.human) for row in first]))
    bands = [band for name, style, points in drawn for band in _bands(name, style, points)]
    return bands + [_line(name, style, points, legend=legend) for name, style, points in drawn]


def _bands(name: str, style: Style, points: Sequence[tuple[int, Value | None]]) -> list[Trace]:
    """The interval's area over each stretch of ks that have one."""
    stretches: list[list[tuple[int, float, float]]] = [[]]
    for k, value in points:
        if value is None or value.low is None or value.high is None:
            stretches.append([])
        else:
            stretches[-1].append((k, value.low, value.high))
    fill = translucent(style.colour, _HUMAN_OPACITY if name == HUMAN_HALVES else _OPACITY)
    columns = (tuple(zip(*stretch, strict=True)) for stretch in stretches if len(stretch) > 1)
    return [draw.band(ks, low, high, fill, legendgroup=html.escape(name)) for ks, low, high in columns]


def _line(name: str, style: Style, points: Sequence[tuple[int, Value | None]], *, legend: bool) -> Trace:
    found = [(k, value) for k, value in points if value is not None]
    what = "T(P)" if name == HUMAN_HALVES else "T(Q)"
    return draw.scatter(
        x=[k for k, _ in found],
        y=[value.value for _, value in found],
        mode="lines+markers" if len(points) == 1 else "lines",
        line={"color": style.colour, "dash": style.dash, "width": 3 if name == HUMAN_HALVES else 1.5},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8},
        name=html.escape(short_name(name)),
        meta=html.escape(name),
        legendgroup=html.escape(name),
        showlegend=legend,
        customdata=[f"k = {k:,}: {what} = {_in_words(value)}" for k, value in found],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
    )


def _in_words(value: Value) -> str:
    ends = interval_label(value)
    return f"{value_label(value)}{f'<br>about 95%: {ends}' if ends else ''}"
