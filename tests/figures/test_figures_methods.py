"""Figures of methods: ties as intervals have them, corrected p-values and errors as computed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.analyses.method_scores import MethodResult, MethodScore, MethodTable, disagreements, method_standings
from mauve_core.analyses.methods import Method
from mauve_core.base.config import HUMAN
from mauve_core.cli.methods import agreement_table, scores_table
from mauve_core.figures.agreement import agreement_figure, agreement_frame, disagreements_frame
from mauve_core.figures.methods import LEVEL, about_tests, bump_figure, p_values_of, scores_frame
from mauve_core.figures.sampling import clusters_figure, clusters_frame, texts_figure, texts_frame
from mauve_core.figures.theme import NEUTRAL_COLOUR, SIGNED_SCALE, Style
from mauve_core.scoring.tables import overlap, rank_label, shared_ranks
from mauve_core.stats.sampling_error import merged, recommend_clusters, recommend_texts

NASTY = "grün & <b>"
# The run's candidates: the place here decides the style.
ORDER = ["absent", NASTY, "b", "c"]


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


def bars(figure: go.Figure, kind: str) -> set[tuple[float, float, float]]:
    """Column, upper and lower end of each bar."""
    (trace,) = [trace for trace in figure.data if trace.meta == kind]
    corners = list(zip(trace.x, trace.y, strict=True))
    return {(x, high, low) for (x, high), (_, low) in zip(corners[::3], corners[1::3], strict=True)}


def test_places_follow_closeness_whichever_way_a_method_counts() -> None:
    assert [(item.candidate, item.place) for item in method_standings(PUBLISHED, ORDER[1:], None)] == [
        (NASTY, 1),
        ("b", 2),
        ("c", 3),
    ]
    assert [item.candidate for item in method_standings(FRONTIER, ORDER[1:], None)] == ["b", "c", NASTY]
    assert [item.candidate for item in method_standings(CLASSIFIER, ORDER[1:], None)] == ["c", "b", NASTY]
    infinite = result(Method(summary="forward-kl"), score(math.inf, None), score(2.0), score(1.0))
    assert [item.candidate for item in method_standings(infinite, ORDER[1:], None)] == ["c", "b", NASTY]


def test_equal_values_stand_in_the_runs_order_and_are_joined() -> None:
    level = result(Method(), score(0.5), score(0.5), score(0.5))
    assert [(item.candidate, item.joined, item.label) for item in method_standings(level, ORDER[1:], None)] == [
        (NASTY, "", "1="),
        ("b", "overlap", "1="),
        ("c", "overlap", "1="),
    ]


@pytest.mark.parametrize("centres", [(0.9, 0.885, 0.87), (0.9, 0.885, 0.881), (0.9, 0.85, 0.84), (0.9, 0.8, 0.7)])
def test_ranks_are_shared_where_intervals_overlap(centres: tuple[float, ...]) -> None:
    found = method_standings(result(Method(), *map(score, centres)), ORDER[1:], None)
    expected = shared_ranks([(value - 0.01, value + 0.01) for value in centres], overlap)
    assert [(item.rank, item.tied) for item in found] == expected
    assert [item.label for item in found] == [rank_label(*pair) for pair in expected]
    assert [bool(item.joined) for item in found] == [item.rank < item.place for item in found]


def test_a_place_without_an_interval_has_a_question_mark() -> None:
    assert [item.label for item in method_standings(CLASSIFIER, ORDER[1:], None)] == ["1?", "2?", "3?"]


def test_groups_are_joined_where_intervals_share_a_point_or_are_not_there() -> None:
    figure = bump_figure(TABLE, ORDER, None)
    assert bars(figure, "one rank") == {(0, 2, 3)}  # 0.8 and 0.785, each +- 0.01
    assert bars(figure, "unknown") == {(2, 1, 2), (2, 2, 3)}
    apart = replace(PUBLISHED, scores={**PUBLISHED.scores, "c": score(0.775)})
    assert bars(bump_figure(MethodTable((apart,)), ORDER, None), "one rank") == set()


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


def test_the_command_line_stars_what_is_left_after_the_correction() -> None:
    printed = scores_table(TESTED, None)
    assert [label in printed for label in ("(p 0.001*)", "(p 0.015*)", "(p 0.5)")] == [True] * 3
    assert "*: at most 0.05 after Holm's correction for all 6 tests." in printed
    assert "Holm" not in scores_table(TABLE, None)


def test_what_a_test_cannot_say_is_said() -> None:
    assert about_tests(TABLE) == ""
    assert about_tests(MethodTable((CLASSIFIER,), {"permutations": 99})).startswith("P = Q was not tested")
    about = about_tests(TESTED)
    assert "by 999 permutations" in about
    assert "cannot be below 0.001. None of the 6 p-values is corrected" in about
    assert "there is no star" not in about
    alone = MethodTable((replace(PUBLISHED, scores={"b": replace(score(0.5), p_value=0.2)}),), {"permutations": 99})
    assert about_tests(alone).endswith("it cannot be below 0.01.")


@pytest.mark.parametrize("permutations", [19, 59, 118, 119, 120])
def test_too_few_permutations_for_any_star_are_said(permutations: int) -> None:
    least = 1 / (permutations + 1)
    table = MethodTable(
        (with_p(PUBLISHED, least, least, least), with_p(FRONTIER, least, least, least)), {"permutations": permutations}
    )
    starred = all(item.label.endswith("*") for item in p_values_of(table).values())
    assert starred == (permutations >= 119)  # 6 tests at 0.05 together: 120 values of p or more
    assert starred == ("119 would allow one" not in about_tests(table))
    assert LEVEL == 0.05


def test_the_grid_holds_the_correlations() -> None:
    assert len(agreement_table(TABLE).splitlines()) == 1 + len(TABLE.results)
    two = [replace(each, scores={name: each.scores[name] for name in ORDER[1:3]}) for each in TABLE.results]
    assert agreement_table(replace(TABLE, results=tuple(two))) == ""
    figure = agreement_figure(TABLE)
    grid, numbers = figure.data
    assert np.array_equal(np.asarray(grid.z), TABLE.agreement())
    # Places 1 2 3, 3 1 2 and 3 2 1: Spearman is 1 - sum of squared differences / 4.
    assert {(x, y): text for x, y, text in zip(numbers.x, numbers.y, numbers.text, strict=True)} == {
        **{(place, place): "1.00" for place in range(3)},
        **{(0, 1): "−0.50", (1, 0): "−0.50", (0, 2): "−1.00", (2, 0): "−1.00", (1, 2): "0.50", (2, 1): "0.50"},
    }
    assert (grid.zmin, grid.zmax) == (-1, 1)
    assert [list(stop) for stop in grid.colorscale] == [list(stop) for stop in SIGNED_SCALE]
    assert figure.layout.yaxis.ticktext[1] == "k-means · Frontier integral  2"
    assert grid.customdata[0][1] == "k-means · MAUVE<br>k-means · Frontier integral<br>Spearman −0.50"
    frame = agreement_frame(TABLE)
    assert frame.columns.tolist() == ["method", "title", "kmeans", "kmeans:summary=frontier-integral", "classifier"]
    assert np.array_equal(frame.iloc[:, 2:].to_numpy(), TABLE.agreement())


def test_a_method_that_puts_all_level_has_dashes() -> None:
    level = MethodTable((PUBLISHED, result(Method("classifier"), score(0.5), score(0.5), score(0.5))))
    numbers = agreement_figure(level).data[1]
    assert list(numbers.text) == ["1.00", "–", "–", "–"]
    assert set(numbers.textfont.color[1:]) == {NEUTRAL_COLOUR}


def test_what_is_ranked_otherwise_is_listed_with_a_reason() -> None:
    frame = disagreements_frame(TABLE, None)
    assert len(frame) == len(disagreements(TABLE, None)) == 5
    first = frame.iloc[0]
    assert (first["method"], first["closer"], first["farther"], first["told_apart"]) == (
        "kmeans:summary=frontier-integral",
        "b",
        NASTY,
        True,
    )
    assert set(frame["method"][~frame["told_apart"]]) == {"classifier"}
    assert disagreements_frame(MethodTable((PUBLISHED,)), None).columns.tolist() == frame.columns.tolist()


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


def test_errors_against_k_are_drawn_with_the_loss_and_their_sum() -> None:
    advice = recommend_clusters([merged(P, Q, k) for k in (2, 4, 8)], replicates=50)
    figure = clusters_figure(advice, 8, STYLE)
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [tuple(trace.x) for trace in lines] == [(2, 4, 8)] * 3
    for trace, values in zip(lines, (advice.curve.mean, advice.loss, advice.total), strict=True):
        assert np.array_equal(trace.y, values)
    (best,) = [trace for trace in figure.data if trace.meta == "best"]
    assert (best.x[0], best.y[0]) == (advice.k, advice.total.min())
    (guide,) = figure.layout.shapes
    assert guide.x0 == 8
    assert tuple(figure.layout.xaxis.ticktext) == ("2", "4", "8")
    frame = clusters_frame(advice)
    assert frame["total"].tolist() == (frame["mean"] + frame["loss"]).tolist()


def test_a_target_that_is_met_already_has_no_star() -> None:
    advice = recommend_texts(P, Q, replicates=50)
    advice = replace(advice, target=advice.error, needed_n=advice.n, needed_m=advice.m)
    assert not [trace for trace in texts_figure(advice, STYLE).data if trace.meta == "needed"]
