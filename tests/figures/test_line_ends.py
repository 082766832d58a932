"""Lines are named at their ends: every name beside its line, none on another, and a legend only for too many lines."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable

import plotly.graph_objects as go
import pytest

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.experiments.sweeps import Sweep, SweepPoint
from mauve_core.experiments.text_measures import Value
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable, RowAtK
from mauve_core.figures.line_ends import MOST
from mauve_core.figures.neighbours import neighbours_figure
from mauve_core.figures.sweeps import sweep_figure
from mauve_core.figures.theme import GLYPHS
from tests.handmade import spread

NAME_HEIGHT = 14
"""Pixels of a line of the names' letters."""

PLACES = (2, 8, 32)


def names(count: int) -> list[str]:
    return [f"<b>candidate</b> {place}" for place in range(count)]


def value(place: int, step: int) -> Value:
    """Lines that end close to one another."""
    number = 0.9 - 0.002 * place - 0.01 * step
    return Value(number, 0.01, number - 0.02, number + 0.02)


def sweep(count: int) -> go.Figure:
    points = []
    for place, name in enumerate(names(count)):
        for step, at in enumerate(PLACES):
            mean = value(place, step).value
            scores = {score: spread(mean * high, 0.01) for score, (_, high) in SCORE_BOUNDS.items()}
            points.append(SweepPoint(at, name, name, 100, 10, scores))
    return sweep_figure(Sweep("k", tuple(points)), "mauve", names(count), own=(8.0,))


def neighbours(count: int) -> go.Figure:
    rows = [
        RowAtK(measure, name, value(place, step), value(0, 3), None, k=k)
        for measure in ("precision", "recall")
        for place, name in enumerate(names(count - 1))
        for step, k in enumerate(PLACES)
    ]
    return neighbours_figure(NeighbourTable(tuple(rows)), names(count - 1))


FIGURES: dict[str, tuple[Callable[[int], go.Figure], int]] = {"sweep": (sweep, 1), "neighbors": (neighbours, 2)}
"""Each with a number of lines, and its number of panels."""


def panels(figure: go.Figure) -> list[tuple[list[go.layout.Annotation], list[go.Scatter], go.layout.YAxis, float]]:
    """Names, lines, axis and height in pixels of each panel."""
    layout = figure.layout
    area = layout.height - layout.margin.t - layout.margin.b
    found = []
    for axis in figure.select_yaxes():
        own = axis.plotly_name.replace("axis", "")
        low, high = axis.domain or (0, 1)
        notes = [note for note in layout.annotations if note.yref == own and note.ayref == own]
        lines = [
            trace
            for trace in figure.data
            if (trace.yaxis or "y") == own and "lines" in trace.mode and trace.fill is None
        ]
        found.append((notes, lines, axis, (high - low) * area))
    return found


def last(line: go.Scatter, logarithmic: bool) -> tuple[float, float]:
    return (math.log10(line.x[-1]) if logarithmic else line.x[-1]), line.y[-1]


@pytest.mark.parametrize("count", [2, MOST])
@pytest.mark.parametrize("name", FIGURES)
def test_every_line_is_named_where_it_ends_and_no_name_lies_on_another(name: str, count: int) -> None:
    make, expected = FIGURES[name]
    figure = make(count)
    assert figure.layout.showlegend is False
    drawn = panels(figure)
    assert len(drawn) == expected
    for (notes, lines, axis, pixels), x in zip(drawn, figure.select_xaxes(), strict=True):
        assert {note.hovertext for note in notes} == {line.meta for line in lines}
        assert len(notes) == count
        by_name = {line.meta: line for line in lines}
        low, high = axis.range
        heights = []
        for note in notes:
            line = by_name[note.hovertext]
            assert (note.x, note.y) == pytest.approx(last(line, x.type == "log"))
            assert x.range[0] <= note.x <= x.range[1], "Plotly hides a name whose line ends outside of the plot"
            assert note.ax == x.range[1]
            assert low <= note.y <= high
            assert note.arrowcolor == line.line.color
            assert note.text.startswith(f'<span style="color:{line.line.color}">{GLYPHS[line.marker.symbol]}</span> ')
            heights.append((note.ay - low) / (high - low) * pixels)
        assert all(one - other >= NAME_HEIGHT for one, other in itertools.pairwise(heights))
        assert min(heights) >= -1e-9
        assert max(heights) <= pixels + 1e-9
        ends = [note.y for note in notes]
        assert ends == sorted(ends, reverse=True), "lines to names do not cross"
    longest = max(len(html.unescape(note.hovertext)) for notes, *_ in drawn for note in notes)
    assert figure.layout.margin.r >= 5 * min(longest, 25)
