"""Figures of text measures: the numbers they draw, the ranking by the gap, and words of files as text."""

from __future__ import annotations

import math

from mauve_core.base.config import HUMAN
from mauve_core.experiments.text_measures import Measurements, Row, Value
from mauve_core.figures.measures import measures_frame, panels_figure, plane_figure, plane_frame, ranking_frame
from mauve_core.figures.theme import HUMAN_COLOUR

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


def test_the_smallest_gap_comes_first_and_overlapping_ones_share_a_rank() -> None:
    frame = ranking_frame(MEASURED, "distinct", ORDER)
    # Gaps 0.01, 0.03 and 0.70, each +- 0.02: the first two meet.
    assert frame["candidate"].tolist() == ["near", NASTY, "far"]
    assert frame["rank"].tolist() == [1, 1, 3]
    assert frame["tied"].tolist() == [True, True, False]
    # Gaps 0.01, 0.08 and 0.48: none meet.
    assert ranking_frame(MEASURED, "repetition", ORDER)["rank"].tolist() == [1, 2, 3]


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
