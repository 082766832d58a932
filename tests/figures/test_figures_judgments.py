"""Tables and figure of people's judgments: the ranking's own numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import plotly.graph_objects as go
import pytest

from mauve_app.components.markup import escaped
from mauve_core.analyses.human_ranking import Correlation, Indicator, Player, Ranking, correlations, rank
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures import judgments as figures
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_style
from mauve_core.runs.ratings import Rating
from mauve_core.stats.rank_correlation import WorstCase

QUESTION = "interesting"
CANDIDATES = ["first", "second"]


def rated(left: str, right: str, option: str, number: int) -> Rating:
    return Rating("Ann", f"p{number}", left, right, QUESTION, option, "", 30.0, "", "")


def won(winner: str, loser: str, times: int, start: int = 0) -> list[Rating]:
    """``times`` wins, every other one with the winner on the right."""
    sides = [(winner, loser, "definitely A"), (loser, winner, "slightly B")]
    return [rated(*sides[i % 2], start + i) for i in range(times)]


def ranked(ratings: Sequence[Rating], sources: Sequence[str]) -> Ranking:
    return rank(ratings, sources, QUESTION, bootstrap=100)


@pytest.fixture(scope="module")
def placed() -> Ranking:
    """Humans won 30 of 40 against ``first``, which won 24 of 40 against ``second``; nothing else was compared."""
    ratings = won("human", "first", 30) + won("first", "human", 10, 30)
    ratings += won("first", "second", 24, 100) + won("second", "first", 16, 150)
    return ranked(ratings, ["human", *CANDIDATES])


@pytest.fixture(scope="module")
def unlimited() -> Ranking:
    """Humans never lost; ``second`` was never compared."""
    return ranked(won("human", "first", 6), ["human", *CANDIDATES])


def dots(figure: go.Figure, axis: str = "x") -> dict[str, go.Scatter]:
    return {trace.meta: trace for trace in figure.data if trace.meta and trace.xaxis == axis}


def test_the_frame_has_the_scores_of_the_closed_form(placed: Ranking) -> None:
    frame = figures.ranking_frame(placed).set_index("source")
    assert list(frame.index) == ["human", "first", "second"]
    # A chain of comparisons has the log odds of each link as differences; 100 points to a unit, mean 0.
    links = [100 * math.log(30 / 10), 100 * math.log(24 / 16)]
    assert frame["score"]["human"] - frame["score"]["first"] == pytest.approx(links[0], rel=1e-6)
    assert frame["score"]["first"] - frame["score"]["second"] == pytest.approx(links[1], rel=1e-6)
    assert frame["score"].sum() == pytest.approx(0, abs=1e-6)
    assert frame.loc["first", ["wins", "losses", "ties", "comparisons"]].tolist() == [34, 46, 0, 80]
    assert (frame["ratings"] == 80).all()
    assert (frame["low"] < frame["score"]).all()
    assert (frame["score"] < frame["high"]).all()


def test_groups_are_named_where_there_are_several() -> None:
    ratings = won("human", "first", 3) + won("first", "human", 2, 10) + won("second", "third", 3, 20)
    ranking = ranked(ratings + won("third", "second", 2, 30), ["human", "first", "second", "third"])
    shown = figures.shown_ranking(figures.ranking_frame(ranking), str)
    assert sorted(shown["Group"]) == ["1", "1", "2", "2"]


def test_the_figure_draws_scores_and_intervals_in_the_styles_of_the_run(placed: Ranking) -> None:
    drawn = dots(figures.ranking_figure({QUESTION: placed}, QUESTION, CANDIDATES))
    lines = [
        trace
        for trace in figures.ranking_figure({QUESTION: placed}, QUESTION, CANDIDATES).data
        if trace.mode == "lines"
    ]
    for place, player in enumerate(placed.players):
        assert drawn[player.name].x[0] == player.score
        assert drawn[player.name].y[0] == place
        assert tuple(lines[place].x) == (player.low, player.high)
    assert drawn["human"].marker.color == HUMAN_COLOUR
    for index, name in enumerate(CANDIDATES):
        assert (drawn[name].marker.color, drawn[name].marker.symbol) == candidate_style(index)[::2]


def test_what_has_no_limit_or_no_place_is_drawn_as_such(unlimited: Ranking) -> None:
    human, first = (next(p for p in unlimited.players if p.name == name) for name in ("human", "first"))
    assert (human.score, first.score) == (math.inf, -math.inf)
    figure = figures.ranking_figure({QUESTION: unlimited}, QUESTION, CANDIDATES)
    low, high = figure.layout.xaxis.range
    drawn = dots(figure)
    assert set(drawn) == {"human", "first"}
    assert drawn["human"].marker.symbol == "circle-open"
    assert low < drawn["first"].x[0] < 0 < drawn["human"].x[0] < high
    words = [trace for trace in figure.data if trace.mode == "text"]
    assert [trace.text[0] for trace in words] == [figures.NOT_PLACED]
    assert all(math.isfinite(x) for trace in figure.data for x in trace.x)


def test_an_end_without_limit_gets_an_arrow(placed: Ranking) -> None:
    first: Player = dataclasses.replace(placed.players[0], high=math.inf)
    figure = figures.ranking_figure({QUESTION: dataclasses.replace(placed, players=(first,))}, QUESTION, CANDIDATES)
    arrows = [trace for trace in figure.data if str(trace.marker.symbol).startswith("triangle-")]
    assert [arrow.marker.symbol for arrow in arrows] == ["triangle-right"]
    assert first.score < arrows[0].x[0] < figure.layout.xaxis.range[1]


def test_names_from_files_are_escaped_in_the_figure(placed: Ranking) -> None:
    hostile = dataclasses.replace(placed.players[1], name="<img src=x>")
    ranking = dataclasses.replace(placed, players=(placed.players[0], hostile))
    figure = figures.ranking_figure({QUESTION: ranking}, QUESTION, ["<img src=x>"])
    assert list(figure.layout.yaxis.ticktext) == ["human", "&lt;img src=x&gt;"]
    assert "<img" not in " ".join(str(trace.hovertemplate) for trace in figure.data)


def test_correlations_are_shown_with_their_worst_case_as_what_it_is(placed: Ranking) -> None:
    indicators = {
        "MAUVE": Indicator({"human": 1.0, "first": 0.9, "second": 0.5}),
        "Gap": Indicator({"human": 0.0, "first": 0.3, "second": 0.2}, {"first": 0.2}, higher_is_closer=False),
    }
    frame = figures.correlation_frame(correlations(placed, indicators), indicators, QUESTION)
    assert frame["spearman"].tolist() == [1.0, 0.5]  # the same order; two of three neighbours exchanged
    assert frame["closer"].tolist() == ["larger", "smaller"]
    shown = figures.shown_correlations(frame, escaped)
    assert shown["Indicator"].tolist() == ["**MAUVE** ↑", "**Gap** ↓"]
    assert shown["Spearman"].tolist() == ["+1.00", "+0.50"]
    # 0.3 + 0.2 leaves the order as it is; 0.3 - 0.2 restores that of people.
    assert shown["Worst case within 1 sd"].tolist() == ["– no sd", "+0.50 exact"]
    assert shown["n"].tolist() == ["3", "3"]
    assert "Note" not in shown


def test_a_bound_is_never_called_exact() -> None:
    row = Correlation("x", 0.9, WorstCase(0.41, exact=False, lower_bound=-0.2), 20)
    frame = figures.correlation_frame([row], {"x": Indicator({})}, QUESTION)
    (label,) = figures.shown_correlations(frame, str)["Worst case within 1 sd"]
    assert with_plain_spaces(label) == "bound: −0.20 to +0.41"


def test_an_undefined_correlation_has_a_note_in_place_of_a_number() -> None:
    row = Correlation("x", None, None, 2, "Too few.")
    shown = figures.shown_correlations(figures.correlation_frame([row], {"x": Indicator({})}, QUESTION), str)
    assert shown.iloc[0].tolist() == ["**x** ↑", "–", "– no sd", "2", "Too few."]


def test_few_candidates_are_called_few() -> None:
    assert "n = 4" in figures.few_candidates(4)
    assert "24 orders" in figures.few_candidates(4)
    assert figures.few_candidates(figures.FEW) == ""
