"""Lines are named at their ends: every name beside its line, none on another, and a legend only for too many lines."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.experiments.methods import MethodScore
from mauve_core.experiments.robustness import ProbeTable
from mauve_core.experiments.sweeps import EstimatorPoint, EstimatorSweep, Sweep, SweepPoint
from mauve_core.experiments.text_measures import Value
from mauve_core.experiments.text_measures.over_lengths import LengthTable, RowAtLength
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable, RowAtK
from mauve_core.figures import line_ends
from mauve_core.figures.estimator_sweeps import estimator_sweep_figure
from mauve_core.figures.lengths import lengths_figure
from mauve_core.figures.line_ends import MOST, End, names_at_ends
from mauve_core.figures.neighbours import neighbours_figure
from mauve_core.figures.probes import dose_figure, dose_series
from mauve_core.figures.sweeps import sweep_figure
from mauve_core.figures.theme import GLYPHS, candidate_style, candidate_styles
from tests.handmade import spread
from tests.probe_tables import line_of

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


def estimators(count: int) -> go.Figure:
    points = []
    for method, (place, name), (step, at) in itertools.product(
        ("knn", "kde", "gaussian"), enumerate(names(count)), enumerate(PLACES)
    ):
        score = MethodScore(value(place, step).value, None, 0.01, 0.8, 1.0, 100)
        points.append(EstimatorPoint(at, method, name, score))
    return estimator_sweep_figure(EstimatorSweep("components", tuple(points)), names(count))


def neighbours(count: int) -> go.Figure:
    rows = [
        RowAtK(measure, name, value(place, step), value(0, 3), None, k=k)
        for measure in ("precision", "recall")
        for place, name in enumerate(names(count - 1))
        for step, k in enumerate(PLACES)
    ]
    return neighbours_figure(NeighbourTable(tuple(rows)), names(count - 1))


def lengths(count: int) -> go.Figure:
    """The first candidate's texts are no longer than the second length."""
    rows = [
        RowAtLength(
            "self-bleu", name, None if (place, step) == (0, 2) else value(place, step), value(0, 3), None, length=n
        )
        for place, name in enumerate(names(count - 1))
        for step, n in enumerate(PLACES)
    ]
    return lengths_figure(LengthTable(tuple(rows)), names(count - 1))


def doses(count: int) -> go.Figure:
    kinds = [f"replace:/{place}/x/" for place in range(count)]
    lines = [line_of(f"{kind}{dose}", 0.3) for kind in kinds for dose in ("@0.5", "")]
    table = ProbeTable("human", (line_of("none", 0.02, kind="control"), *lines))
    return dose_figure(table, dose_series(table), "auc")


FIGURES: dict[str, tuple[Callable[[int], go.Figure], int]] = {
    "sweep": (sweep, 1),
    "estimators": (estimators, 3),
    "neighbors": (neighbours, 2),
    "lengths": (lengths, 1),
    "doses": (doses, 1),
}
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


@pytest.mark.parametrize("name", FIGURES)
def test_too_many_lines_have_a_legend_instead(name: str) -> None:
    figure = FIGURES[name][0](MOST + 1)
    assert figure.layout.showlegend is not False
    assert not any(notes for notes, *_ in panels(figure))
    entries = [trace for trace in figure.data if trace.name and trace.showlegend is not False]
    assert len(entries) == MOST + 1


@pytest.mark.parametrize("name", FIGURES)
def test_everything_drawn_is_inside_the_axes(name: str) -> None:
    figure = FIGURES[name][0](3)
    for axis, own in zip(figure.select_yaxes(), figure.select_xaxes(), strict=True):
        panel = axis.plotly_name.replace("axis", "")
        for trace in figure.data:
            if (trace.yaxis or "y") != panel:
                continue
            assert axis.range[0] <= min(trace.y) <= max(trace.y) <= axis.range[1]
            x = np.log10(trace.x) if own.type == "log" else np.asarray(trace.x)
            assert own.range[0] <= x.min() <= x.max() <= own.range[1]


def test_names_of_lines_that_end_at_one_height_keep_their_order() -> None:
    styles = candidate_styles(["a", "b", "c"])
    notes = names_at_ends([End(name, styles[name], 1.0, 0.5) for name in "cab"], 1.1, (0.0, 1.0), 100)
    assert [note["hovertext"] for note in notes] == ["c", "a", "b"]


def test_a_single_value_has_an_axis_too() -> None:
    low, high = line_ends.padded([3.0])
    assert low < 3 < high
    assert line_ends.padded([])[0] < line_ends.padded([])[1]


def test_more_names_need_a_higher_plot() -> None:
    ends = [End(str(place), candidate_style(place), 0.0, 0.0) for place in range(40)]
    pixels = line_ends.plot_height(len(ends), 100)
    heights = [note["ay"] * pixels for note in names_at_ends(ends, 0.0, (0.0, 1.0), pixels)]
    assert all(one - other >= NAME_HEIGHT for one, other in itertools.pairwise(heights))
