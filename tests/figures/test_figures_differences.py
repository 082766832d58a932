"""The matrix of differences: values, signs, marks and hovers as the tests have them, in the order of rank."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
import pytest

from mauve_core.analyses.measure_terms import MeasureDifference, Measurements, Row, Value
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.differences import (
    LEAST_SPAN,
    differences_figure,
    differences_frame,
    measure_differences_figure,
    measure_differences_frame,
    ranked_pairs,
)
from mauve_core.figures.leaderboard import leaderboard_frame
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.stats.scores import SCORES
from tests.handmade import estimate, make_comparison

# The first candidate of the comparison made by hand.
NASTY = "grün & <b>"


def compared(count: int, *, step: float = 0.1, apart: bool = True, score: str = "mauve") -> Comparison:
    """Candidates c0, c1 ... whose scores fall by ``step``, stored from the worst to the best; neighbors are never told
    apart, all others are if ``apart``.
    """
    comparison = make_comparison()
    first = comparison.candidates[0]
    names = [f"c{place}" for place in range(count)]
    candidates = tuple(
        dataclasses.replace(
            first,
            source=dataclasses.replace(first.source, name=name),
            scores={each: estimate(0.9 - step * place, 0.5, 1.0) for each in SCORES},
        )
        for place, name in enumerate(names)
    )
    found = tuple(
        Difference(
            each, names[one], names[other], value, value - half, value + half, 0.001,
            0.02 if apart and abs(one - other) > 1 else 0.4, 0.03, True, 60,
        )
        for one, other in combinations(range(count - 1, -1, -1), 2)
        for each in SCORES
        for value in [step * (other - one)]
        for half in [min(0.02, abs(value) / 2)]
    )  # fmt: skip
    return dataclasses.replace(comparison, candidates=candidates[::-1], differences=found)


def cells(comparison: Comparison, score: str = "mauve") -> dict[tuple[str, str], str]:
    """Text of each cell by row and column, with a star where there is a dot."""
    figure = differences_figure(comparison, score)
    names = list(figure.layout.yaxis.ticktext)
    numbers, marks = figure.data[1:]
    marked = {(round(y), round(x)) for x, y in zip(marks.x, marks.y, strict=True)}
    return {
        (names[y], names[x]): f"{text}*" if (y, x) in marked else text
        for x, y, text in zip(numbers.x, numbers.y, numbers.text, strict=True)
    }


def test_rows_and_columns_are_in_the_order_of_rank() -> None:
    comparison = compared(3)
    figure = differences_figure(comparison)
    placed = leaderboard_frame(comparison, "pairwise").query("rank > 0")["candidate"].tolist()
    assert placed == ["c0", "c1", "c2"]  # not the order in which they are stored
    assert list(figure.layout.xaxis.ticktext) == list(figure.layout.yaxis.ticktext) == placed
    assert list(figure.layout.xaxis.range) == [-0.5, 2.5]
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]  # the first on top


def test_a_cell_is_the_row_minus_the_column_and_marked_if_told_apart() -> None:
    assert cells(compared(3)) == {
        ("c0", "c1"): "+0.100",
        ("c0", "c2"): "<b>+0.200</b>*",
        ("c1", "c0"): "−0.100",
        ("c1", "c2"): "+0.100",
        ("c2", "c0"): "<b>−0.200</b>*",
        ("c2", "c1"): "−0.100",
    }
    assert not any("*" in text or "<b>" in text for text in cells(compared(3, apart=False)).values())


def test_the_color_says_which_is_closer_and_by_how_much() -> None:
    grid = differences_figure(compared(3)).data[0]
    np.testing.assert_allclose(grid.z, [[np.nan, 0.1, 0.2], [-0.1, np.nan, 0.1], [-0.2, -0.1, np.nan]])
    assert (grid.zmin, grid.zmax) == pytest.approx((-0.2, 0.2))
    small = differences_figure(compared(2, step=0.001)).data[0]
    assert (small.zmin, small.zmax) == (-LEAST_SPAN, LEAST_SPAN)  # a small difference stays pale


def test_where_smaller_is_closer_the_color_turns_and_the_number_does_not() -> None:
    """Of a divergence, c2 is the smallest and so the closest: first row, negative differences, violet."""
    comparison = compared(3)
    assert cells(comparison, "mid")["c2", "c0"] == "<b>−0.200</b>*"
    figure = differences_figure(comparison, "mid")
    assert list(figure.layout.yaxis.ticktext) == ["c2", "c1", "c0"]
    np.testing.assert_allclose(figure.data[0].z[0], [np.nan, 0.1, 0.2])


def test_a_hover_has_the_whole_test_and_names_as_text() -> None:
    comparison = make_comparison(first={"mauve": estimate(0.4, 0.3, 0.5)}, second={"mauve": estimate(0.7, 0.6, 0.8)})
    found = Difference("mauve", NASTY, "b", -0.3, -0.41, -0.2, 0.00234, 0.0123, 0.25, False, 11)
    figure = differences_figure(dataclasses.replace(comparison, differences=(found,)))
    assert list(figure.layout.yaxis.ticktext) == ["b", "grün &amp; &lt;b&gt;"]
    hovers = figure.data[0].customdata
    assert with_plain_spaces(hovers[0][1]) == (
        "<b>b</b> minus <b>grün &amp; &lt;b&gt;</b><br>MAUVE +0.300, 95% interval +0.200 to +0.410<br>"
        "p 0.0023, adjusted 0.012 (11 texts)<br>told apart"
    )
    assert with_plain_spaces(hovers[1][0]) == (
        "<b>grün &amp; &lt;b&gt;</b> minus <b>b</b><br>MAUVE −0.300, 95% interval −0.410 to −0.200<br>"
        "p 0.0023, adjusted 0.012 (11 texts)<br>told apart"
    )
    untold = with_plain_spaces(differences_figure(compared(2)).data[0].customdata[0][1])
    assert untold.endswith("p 0.001, adjusted 0.4 (60 prompts)<br>not told apart")


def test_the_frame_has_every_pair_under_every_score_seen_from_the_better() -> None:
    frame = differences_frame(compared(4))
    assert len(frame) == 6 * len(SCORES)
    assert list(dict.fromkeys(frame["score"])) == list(SCORES)
    mauve = frame[frame["score"] == "mauve"]
    assert list(zip(mauve["candidate"], mauve["other"], strict=True)) == list(combinations(["c0", "c1", "c2", "c3"], 2))
    assert (mauve["difference"] > 0).all()
    assert (frame[frame["score"] == "mid"]["difference"] < 0).all()
    row = mauve.iloc[1]
    expected = {
        "low": 0.18, "high": 0.22, "confidence": 0.95, "p": 0.001, "p_adjusted": 0.02, "p_alike": 0.03, "n": 60
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["told_apart"], row["paired"]) == (True, True)
    assert [each.first for each in ranked_pairs(compared(3), "mauve")] == ["c0", "c0", "c1"]


def test_what_was_not_tested_is_not_drawn() -> None:
    alone = dataclasses.replace(make_comparison(), candidates=make_comparison().candidates[:1], differences=())
    with pytest.raises(InputError, match="two or more candidates"):
        differences_figure(alone)


def gap_test(first: str, second: str, difference: float, adjusted: float | None) -> MeasureDifference:
    ends = (None, None) if adjusted is None else (difference - 0.04, difference + 0.04)
    p_value = None if adjusted is None else adjusted / 3
    return MeasureDifference("distinct", "gap", first, second, difference, *ends, p_value, adjusted, True, 60)


def distinct(*tests: MeasureDifference) -> Measurements:
    """Gaps 0.1, 0.2 and 0.5 of ``a``, ``<b>`` and ``c``, stored in another order."""
    gaps = {"c": 0.5, "a": 0.1, "<b>": 0.2}
    rows = tuple(Row("distinct", name, Value(0.9 - gap), Value(0.9), Value(gap)) for name, gap in gaps.items())
    return Measurements(rows, {}, (), tests)


GAPS = distinct(gap_test("c", "a", 0.4, 0.003), gap_test("c", "<b>", 0.3, None), gap_test("a", "<b>", -0.1, 0.2))


def test_the_matrix_of_a_measure_is_violet_where_the_gap_is_smaller() -> None:
    figure = measure_differences_figure(GAPS, "distinct", ["c", "a", "<b>"])
    assert list(figure.layout.yaxis.ticktext) == ["a", "&lt;b&gt;", "c"]
    np.testing.assert_allclose(figure.data[0].z, [[np.nan, 0.1, 0.4], [-0.1, np.nan, 0.3], [-0.4, -0.3, np.nan]])
    texts = dict(zip(zip(figure.data[1].y, figure.data[1].x, strict=True), figure.data[1].text, strict=True))
    assert texts[0, 1] == "−0.100"
    assert texts[0, 2] == "<b>−0.400</b>"
    assert len(figure.data[2].x) == 2
    hovers = figure.data[0].customdata
    assert with_plain_spaces(hovers[0][2]) == (
        "<b>a</b> minus <b>c</b><br>Gap of Distinct-4 −0.400, 95% interval −0.440 to −0.360<br>"
        "p 0.001, adjusted 0.003 (60 prompts)<br>told apart"
    )
    assert with_plain_spaces(hovers[1][2]).endswith("−0.300<br>no spread, so no test (60 prompts)")


def test_the_frame_of_measures_has_every_test() -> None:
    frame = measure_differences_frame(GAPS)
    assert frame["candidate"].tolist() == ["c", "c", "a"]
    assert frame["other"].tolist() == ["a", "<b>", "<b>"]
    assert frame["difference"].tolist() == [0.4, 0.3, -0.1]
    assert frame["told_apart"].tolist() == [True, False, False]
    assert frame["p"].isna().tolist() == [False, True, False]
    assert (set(frame["of"]), set(frame["confidence"])) == ({"gap"}, {0.95})
