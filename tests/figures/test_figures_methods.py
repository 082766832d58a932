"""Figures of methods: ties as intervals have them, corrected p-values and errors as computed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.experiments.methods import Method, MethodResult, MethodScore, MethodTable, method_standings
from mauve_core.figures.method_tests import LEVEL, about_tests, p_values_of
from mauve_core.figures.methods import scores_frame
from mauve_core.figures.sampling import texts_figure, texts_frame
from mauve_core.figures.theme import Style
from mauve_core.numerics.resampling.sampling_texts import recommend_texts
from mauve_core.scoring.tables import rank_label
from mauve_core.scoring.ties import overlap, shared_ranks

NASTY = "grün & <b>"
ORDER = ["absent", NASTY, "b", "c"]
"""The run's candidates: the place here decides the style."""


def score(value: float, half_width: float | None = 0.01) -> MethodScore:
    if half_width is None:
        return MethodScore(value, None, None, None, None, 100)
    return MethodScore(value, 0.002, half_width / 2, value - half_width, value + half_width, 100)


def result(method: Method, *scores: MethodScore, ceiling: MethodScore | None = None) -> MethodResult:
    return MethodResult(method, dict(zip(ORDER[1:], scores, strict=True)), ceiling, 1.5, ("50 neighbors",))


HALVES = MethodScore(0.99, 0.004, None, None, None, 50)
PUBLISHED = result(Method(), score(0.9), score(0.8), score(0.785), ceiling=HALVES)
FRONTIER = result(Method(summary="frontier-integral"), score(0.3), score(0.1), score(0.2))
CLASSIFIER = result(Method("classifier"), score(0.7, None), score(0.8, None), score(math.inf, None))
TABLE = MethodTable((PUBLISHED, FRONTIER, CLASSIFIER))


@pytest.mark.parametrize("centres", [(0.9, 0.885, 0.881), (0.9, 0.8, 0.7)])
def test_ranks_are_shared_where_intervals_overlap(centres: tuple[float, ...]) -> None:
    found = method_standings(result(Method(), *map(score, centres)), ORDER[1:], None)
    expected = shared_ranks([(value - 0.01, value + 0.01) for value in centres], overlap)
    assert [(item.rank, item.tied) for item in found] == expected
    assert [item.label for item in found] == [rank_label(*pair) for pair in expected]
    assert [bool(item.joined) for item in found] == [item.rank < item.place for item in found]


def test_the_frame_holds_every_number_and_the_ceiling() -> None:
    frame = scores_frame(TABLE, None)
    assert len(frame) == 3 * 3 + 1
    for item in TABLE.results:
        for name, one in item.scores.items():
            (row,) = frame[(frame["method"] == item.method.spec) & (frame["candidate"] == name)].to_dict("records")
            assert (row["value"], row["n"], row["seconds"], row["notes"]) == (one.value, 100, 1.5, "50 neighbors")
            for column in ("sd_seeds", "sd_texts", "low", "high"):
                known = getattr(one, column)
                assert math.isnan(row[column]) if known is None else row[column] == known
            assert row["closer"] == ("larger" if item.method.summary == "mauve" else "smaller")
    (ceiling,) = frame[frame["candidate"] == HUMAN].to_dict("records")
    assert (ceiling["method"], ceiling["value"], ceiling["n"], ceiling["place"]) == ("kmeans", 0.99, 50, 0)
    assert frame[frame["method"] == "kmeans"]["joined"].tolist() == ["", "", "overlap", ""]


def with_p(item: MethodResult, *p_values: float) -> MethodResult:
    scores = {name: replace(one, p_value=p) for (name, one), p in zip(item.scores.items(), p_values, strict=True)}
    return replace(item, scores=scores)


TESTED = MethodTable(
    (with_p(PUBLISHED, 0.001, 0.01, 0.4), with_p(FRONTIER, 0.001, 0.015, 0.5), CLASSIFIER), {"permutations": 999}
)


def test_p_values_are_corrected_for_all_tests_of_the_table() -> None:
    found = p_values_of(TESTED)
    assert set(found) == {(item.method, name) for item in (PUBLISHED, FRONTIER) for name in ORDER[1:]}
    # By hand, in ascending order: 6, 5, 4, 3, 2, 1 times the p-value, never less than the one before.
    corrected = [0.006, 0.04, 0.8, 0.006, 0.045, 0.8]
    assert [item.corrected for item in found.values()] == pytest.approx(corrected, rel=1e-12)
    assert [item.label for item in found.values()] == ["p 0.001*", "p 0.01*", "p 0.4", "p 0.001*", "p 0.015*", "p 0.5"]
    assert p_values_of(TABLE) == {}
    frame = scores_frame(TESTED, None)
    for _, row in frame.iterrows():
        test = next((test for (method, name), test in found.items() if (method.spec, name) == (
            row["method"], row["candidate"]
        )), None)  # fmt: skip
        if test is None:
            assert math.isnan(row["p_value"])
            assert math.isnan(row["p_holm"])
        else:
            assert (row["p_value"], row["p_holm"]) == (test.p_value, test.corrected)
    assert frame["p_value"].notna().sum() == 6


@pytest.mark.parametrize("permutations", [118, 119])
def test_too_few_permutations_for_any_star_are_said(permutations: int) -> None:
    least = 1 / (permutations + 1)
    table = MethodTable(
        (with_p(PUBLISHED, least, least, least), with_p(FRONTIER, least, least, least)), {"permutations": permutations}
    )
    starred = all(item.label.endswith("*") for item in p_values_of(table).values())
    assert starred == (permutations >= 119)  # 6 tests at 0.05 together: 120 values of p or more
    assert starred == ("119 would allow one" not in about_tests(table))
    assert LEVEL == 0.05


P, Q = np.array([40, 25, 20, 10, 5, 0, 3, 7]), np.array([20, 35, 10, 20, 1, 4, 15, 5])
STYLE = Style("#16946c", "dash", "square")


def test_errors_against_n_are_drawn_as_measured() -> None:
    advice = recommend_texts(P, Q, replicates=50)
    figure = texts_figure(advice, STYLE)
    (line,) = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert np.array_equal(line.x, advice.curve.n)
    assert np.array_equal(line.y, advice.curve.mean)
    assert line.line.color == STYLE.colour
    (band,) = [trace for trace in figure.data if trace.fill == "toself"]
    count = len(advice.curve.n)
    assert band.y[count:] == pytest.approx((advice.curve.mean + advice.curve.spread)[::-1], rel=1e-15)
    assert (np.array(band.y) > 0).all()
    (needed,) = [trace for trace in figure.data if trace.meta == "needed"]
    assert (needed.x[0], needed.y[0]) == (advice.needed_n, advice.target)
    guides = {(shape.x0, shape.x1, shape.y0, shape.y1) for shape in figure.layout.shapes}
    assert guides == {(110, 110, 0, 1), (0, 1, advice.target, advice.target)}
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert list(figure.layout.yaxis.ticktext) == [f"{value:,.10g}" for value in figure.layout.yaxis.tickvals]
    frame = texts_frame(advice)
    assert frame["mean"].tolist() == advice.curve.mean.tolist()
    assert frame["promised"].tolist() == advice.promised.tolist()
    assert set(frame["replicates"]) == {50}
