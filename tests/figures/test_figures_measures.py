"""Figures of text measures: the numbers they draw, the ranking by the gap, and words of files as text."""

from __future__ import annotations

import dataclasses
import math

import plotly.graph_objects as go
import pytest

from mauve_core.analyses.measure_terms import MeasureDifference, Measurements, Row, Value
from mauve_core.analyses.text_measures import measure_title
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.measures import (
    interval_label,
    measures_frame,
    panels_figure,
    plane_figure,
    plane_frame,
    ranking_frame,
    value_label,
    value_of,
)
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_style

NASTY = '<img src=x onerror="alert(1)">'
ORDER = ["near", NASTY, "far"]
HUMAN_DISTINCT = Value(0.9, 0.01, 0.88, 0.92)
HUMAN_REPETITION = Value(0.02, 0.01, 0.0, 0.04)


def value(number: float, sd: float = 0.01) -> Value:
    return Value(number, sd, number - 2 * sd, number + 2 * sd)


def rows_of(measure: str, human: Value | None, *numbers: float) -> list[Row]:
    """A row a candidate, in another order than the run's."""
    rows = [
        Row(measure, name, value(number), human, None if human is None else value(abs(number - human.value)))
        for name, number in zip(ORDER, numbers, strict=True)
    ]
    return rows[::-1]


MEASURED = Measurements(
    (
        *rows_of("repetition", HUMAN_REPETITION, 0.03, 0.10, 0.50),
        *rows_of("distinct", HUMAN_DISTINCT, 0.89, 0.87, 0.20),
        *rows_of("sparsemax", None, 0.6, 0.7, 0.8)[:2],
        Row("sparsemax", "near", None, None, None, "not defined: <b>no</b> decoder is known"),
    ),
    settings={"distinct": {"n": {HUMAN: 50, "near": 40, NASTY: 41, "far": 42}}},
)


def dots(figure: go.Figure, candidate: str) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.mode == "markers" and trace.meta == candidate]


def test_the_frame_holds_every_number_in_the_runs_order() -> None:
    frame = measures_frame(MEASURED, ORDER)
    assert frame["measure"].tolist() == [name for name in MEASURED.measures for _ in ORDER]
    assert frame["candidate"].tolist() == ORDER * 3
    for _, line in frame.iterrows():
        row = MEASURED.row(line["measure"], line["candidate"])
        assert row is not None
        for name, part in (("model", row.model), ("human", row.human), ("gap", row.gap)):
            numbers = [line[f"{name}{ending}"] for ending in ("", "_sd", "_low", "_high")]
            if part is None:
                assert all(math.isnan(number) for number in numbers)
            else:
                assert numbers == [part.value, part.sd, part.low, part.high]
        assert line["note"] == row.note
    distinct = frame[frame["measure"] == "distinct"]
    assert distinct["n"].tolist() == [40, 41, 42]
    assert set(distinct["n_human"]) == {50}


def test_the_smallest_gap_comes_first_and_those_that_no_test_tells_apart_share_a_rank() -> None:
    pairs = (NASTY, "near", 0.02, 0.06), ("far", "near", 0.69, 0.01), ("far", NASTY, 0.67, 0.05)
    tests = tuple(
        MeasureDifference("distinct", "gap", first, second, gap, gap - 0.02, gap + 0.02, p, p, True, 60)
        for first, second, gap, p in pairs
    )
    frame = ranking_frame(dataclasses.replace(MEASURED, differences=tests), "distinct", ORDER)
    # Gaps 0.01, 0.03 and 0.70: the first two are not told apart at 0.05.
    assert frame["candidate"].tolist() == ["near", NASTY, "far"]
    assert frame["rank"].tolist() == [1, 1, 3]
    assert frame["tied"].tolist() == [True, True, False]
    assert ranking_frame(MEASURED, "repetition", ORDER)["rank"].tolist() == [1, 1, 1], "no test, no difference"


def test_without_a_gap_there_is_no_rank() -> None:
    frame = ranking_frame(MEASURED, "sparsemax", ORDER)
    assert frame["rank"].tolist() == [0, 0, 0]
    assert frame["candidate"].tolist() == ORDER
    assert not frame["tied"].any()


def test_a_panel_draws_value_and_interval_of_every_candidate_in_its_style() -> None:
    figure = panels_figure(MEASURED, ORDER)
    shown = dots(figure, "far")
    assert len(shown) == 3
    for dot, measure in zip(shown, MEASURED.measures, strict=True):
        row = MEASURED.row(measure, "far")
        assert row is not None
        assert row.model is not None
        assert row.model.low is not None
        assert row.model.high is not None
        assert tuple(dot.x) == (row.model.value,)
        assert tuple(dot.y) == (ORDER.index("far"),)
        reach = (dot.error_x.arrayminus[0], dot.error_x.array[0])
        assert reach == pytest.approx((row.model.value - row.model.low, row.model.high - row.model.value), abs=1e-15)
        style = candidate_style(ORDER.index("far"))
        assert (dot.marker.color, dot.marker.symbol) == (style.colour, style.symbol)


def test_the_human_value_is_a_blue_line_with_its_interval() -> None:
    figure = panels_figure(MEASURED, ORDER)
    lines = [trace for trace in figure.data if trace.meta == HUMAN]
    assert [set(line.x) for line in lines] == [{HUMAN_REPETITION.value}, {HUMAN_DISTINCT.value}]
    assert {line.line.color for line in lines} == {HUMAN_COLOUR}
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert [(min(band.x), max(band.x)) for band in bands] == [(0.0, 0.04), (0.88, 0.92)]


def test_names_from_files_are_escaped() -> None:
    figures = (
        panels_figure(MEASURED, ORDER),
        plane_figure(plane_frame(MEASURED, "repetition", "distinct", ORDER), "repetition", "distinct", ORDER),
    )
    for figure in figures:
        assert "<img" not in figure.to_json().replace("\\u003c", "<")
        assert "<b>no" not in figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">"), "nor a note"
        assert "&lt;img" in figure.to_json().replace("\\u003c", "<").replace("\\u0026", "&")


def test_two_measures_in_a_plane_with_the_human_side() -> None:
    frame = plane_frame(MEASURED, "repetition", "distinct", ORDER)
    assert frame["source"].tolist() == [HUMAN, *ORDER]
    human = frame.iloc[0]
    assert (human["x"], human["y_low"]) == (HUMAN_REPETITION.value, HUMAN_DISTINCT.low)
    figure = plane_figure(frame, "repetition", "distinct", ORDER)
    (cross,) = [trace for trace in figure.data if trace.meta == HUMAN]
    assert (cross.x[0], cross.y[0], cross.marker.symbol, cross.marker.color) == (0.02, 0.9, "cross", HUMAN_COLOUR)
    (far,) = [trace for trace in figure.data if trace.meta == "far"]
    assert (far.x[0], far.y[0]) == (0.5, 0.2)
    assert far.error_x.array[0] == pytest.approx(0.02, abs=1e-15)
    assert far.error_y.arrayminus[0] == pytest.approx(0.02, abs=1e-15)
    assert figure.layout.xaxis.title.text == measure_title("repetition")
    guides = {(shape.x0, shape.y0) for shape in figure.layout.shapes}
    assert (0.02, 0) in guides
    assert (0, 0.9) in guides


def test_the_plane_leaves_out_who_lacks_one_of_the_two() -> None:
    frame = plane_frame(MEASURED, "sparsemax", "distinct", ORDER)
    assert frame["source"].tolist() == [NASTY, "far"]  # no T(P) of one, so no human side; "near" is not defined
    assert all(trace.meta != HUMAN for trace in plane_figure(frame, "sparsemax", "distinct", ORDER).data)


def test_missing_values_and_intervals_are_said() -> None:
    assert value_label(None) == "–"
    assert with_plain_spaces(value_label(Value(2.0))) == "2.000 ± ?"
    assert interval_label(None) == interval_label(Value(2.0)) == ""
    value = Value(14.5312, 0.4231, 13.684, 15.3784)
    assert with_plain_spaces(f"{value_label(value)}, {interval_label(value)}") == "14.53 ± 0.42, 13.68 to 15.38"


def test_a_value_is_read_from_a_row_as_it_was_put_there() -> None:
    frame = measures_frame(MEASURED, ORDER)
    for _, row in frame.iterrows():
        found = MEASURED.row(row["measure"], row["candidate"])
        assert found is not None
        assert tuple(value_of(row, name) for name in ("model", "human", "gap")) == (found.model, found.human, found.gap)
