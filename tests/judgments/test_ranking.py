"""Rankings say what the ratings say and no more; indicators are held against them with the right sign."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from mauve_core.analyses.human_ranking import Indicator, Player, Ranking, correlations, rank
from mauve_core.base.errors import InputError
from mauve_core.runs.ratings import Rating, held, pair_plan
from mauve_core.stats import bradley_terry
from mauve_core.stats.bradley_terry import win_probability
from tests.judgments.made_up import STRENGTHS, make_corpora, make_rating, simulated

SOURCES = list(STRENGTHS)


def votes(*results: tuple[str, str, str, int]) -> list[Rating]:
    """(left, right, option, how often)."""
    return [
        make_rating(prompt_id=f"{left}{right}{option}{i}", left=left, right=right, option=option)
        for left, right, option, count in results
        for i in range(count)
    ]


def by_name(ranking: Ranking) -> dict[str, Player]:
    return {player.name: player for player in ranking.players}


class TestRank:
    def test_the_truth_lies_in_the_intervals(self):
        ranking = rank(simulated(per_pair=60), SOURCES, "sensible")
        assert [player.name for player in ranking.players] == ["human", "nucleus", "beam"]
        for player in ranking.players:
            assert player.low < player.score < player.high
            assert player.low < STRENGTHS[player.name] < player.high
        assert (ranking.n, ranking.raters, ranking.excluded) == (180, 2, 0)

    def test_definitely_and_slightly_count_the_same(self):
        ranking = rank(
            votes(("a", "b", "definitely A", 2), ("b", "a", "slightly B", 1), ("a", "b", "slightly B", 1)),
            "ab",
            "sensible",
        )
        a, b = ranking.players
        assert (a.name, a.wins, a.losses, b.wins) == ("a", 3, 1, 1)
        assert win_probability(a.score, b.score) == pytest.approx(0.75)
        assert ranking.wins == ((0, 3), (1, 0))

    def test_a_tie_is_half_a_win_to_both(self):
        ranking = rank(votes(("a", "b", "definitely A", 2), ("b", "a", "tie", 2)), "ab", "sensible")
        a, b = ranking.players
        assert win_probability(a.score, b.score) == pytest.approx(0.75)
        assert (a.wins, a.losses, a.ties, b.ties, ranking.ties) == (2, 0, 2, 2, 2)

    def test_or_a_win_to_one_by_a_coin(self):
        ratings = votes(("a", "b", "tie", 100), ("b", "c", "tie", 100), ("c", "a", "definitely A", 1))
        first = rank(ratings, "abc", "sensible", ties="random", seed=3)
        assert all(value == int(value) for row in first.wins for value in row)
        assert sum(map(sum, first.wins)) == 201
        assert first == rank(ratings[::-1], "abc", "sensible", ties="random", seed=3)
        assert first.wins != rank(ratings, "abc", "sensible", ties="random", seed=4).wins
        # 100 fair coins: five standard deviations.
        place = {player.name: index for index, player in enumerate(first.players)}
        assert first.wins[place["a"]][place["b"]] == pytest.approx(50, abs=25)

    def test_overlapping_intervals_share_a_rank(self):
        close = rank(simulated({"a": 1.0, "b": 0.0, "c": -1.0}, per_pair=10), "abc", "sensible")
        assert [player.rank for player in close.players] == [1, 1, 1]
        assert all(player.tied for player in close.players)
        apart = rank(simulated({"a": 300.0, "b": 0.0, "c": -300.0}, per_pair=400), "abc", "sensible")
        assert [(player.name, player.rank, player.tied) for player in apart.players] == [
            ("a", 1, False),
            ("b", 2, False),
            ("c", 3, False),
        ]

    def test_more_sources_than_can_be_ranked_are_refused_at_once(self):
        names = [f"s{i}" for i in range(bradley_terry.MOST_PLAYERS + 1)]
        with pytest.raises(InputError, match=r"too many sources to rank\. Allowed: at most 300\. Received: 301"):
            rank([], names, "sensible")

    def test_a_limit_allows_the_usual_replicates(self):
        assert bradley_terry.REPLICATE_CELLS // bradley_terry.MOST_PLAYERS**2 >= 500

    def test_results_do_not_depend_on_the_blocks_of_replicates(self, monkeypatch):
        ratings = simulated({"a": 30.0, "b": 0.0, "c": -10.0, "d": -20.0}, per_pair=6)
        whole = rank(ratings, "abcd", "sensible", bootstrap=150)
        monkeypatch.setattr(bradley_terry, "REPLICATES_AT_ONCE", 7 * 16)
        assert rank(ratings, "abcd", "sensible", bootstrap=150) == whole

    def test_what_is_left_out_is_counted_and_named(self):
        ratings = [
            *votes(("a", "b", "definitely A", 3), ("b", "a", "definitely A", 2), ("a", "x", "tie", 4)),
            replace(make_rating(left="a", right="b"), seconds=3.0),
            replace(make_rating(left="a", right="b"), seconds=None),
            make_rating(left="a", right="b", question="interesting"),
        ]
        ranking = rank(ratings, "ab", "sensible", min_seconds=25)
        assert (ranking.n, ranking.excluded) == (6, 5)
        assert "4 ratings of other sources were left out." in ranking.notes
        assert "1 rating made in under 25 seconds was left out." in ranking.notes

    def test_ratings_of_texts_that_are_gone_are_left_out(self):
        corpora = make_corpora()
        plan = pair_plan(corpora, rater="ann")
        ratings = [
            rating
            for i in range(plan.total)
            for rating in plan[i].ratings("ann", {"sensible": ("tie", "slightly A")[i % 2]})
        ]
        assert held(ratings, corpora) == (tuple(ratings), 0)
        gone = held(ratings, {**corpora, "beam": make_corpora(("other",))["other"]})
        assert gone[1] == 24
        assert all("beam" not in (rating.left, rating.right) for rating in gone[0])
        ranking = rank(ratings, SOURCES, "sensible", corpora={**corpora, "beam": make_corpora(("other",))["other"]})
        assert (ranking.n, ranking.excluded) == (12, 24)
        assert "24 ratings of texts that no longer exist were left out." in ranking.notes
        assert by_name(ranking)["beam"].rank is None

    def test_infinite_scores_are_told(self):
        ratings = votes(
            ("a", "b", "definitely A", 5),
            ("b", "c", "definitely A", 3),
            ("c", "b", "definitely A", 2),
            ("c", "d", "slightly A", 2),
        )
        ranking = rank(ratings, "abcde", "sensible")
        players = by_name(ranking)
        assert [player.name for player in ranking.players] == ["a", "b", "c", "d", "e"]
        assert (players["a"].score, players["a"].high, players["a"].se) == (math.inf, math.inf, None)
        assert math.isfinite(players["a"].low)
        assert (players["d"].score, players["d"].low) == (-math.inf, -math.inf)
        assert math.isnan(players["e"].score)
        assert players["e"].rank is None
        notes = " ".join(ranking.notes)
        assert "a never lost" in notes
        assert "d never won" in notes
        assert "do not place e" in notes

    def test_groups_that_nothing_links_are_told(self):
        ranking = rank(
            votes(("a", "b", "tie", 4), ("c", "d", "definitely A", 2), ("d", "c", "definitely A", 1)),
            "abcd",
            "sensible",
        )
        assert [(player.name, player.group, player.rank) for player in ranking.players] == [
            ("a", 0, 1),
            ("b", 0, 1),
            ("c", 1, 1),
            ("d", 1, 1),
        ]
        assert any("a, b; c, d" in note for note in ranking.notes)

    def test_who_only_met_each_other_above_the_rest(self):
        cycle = votes(("x", "y", "definitely A", 1), ("y", "z", "definitely A", 1), ("z", "x", "definitely A", 1))
        above = votes(("a", "b", "definitely A", 3), ("b", "a", "definitely A", 1), ("a", "x", "definitely A", 1))
        ranking = rank([*cycle, *above], "xyzab", "sensible")
        assert any(note == "Scores among these alone: a +54.9, b −54.9." for note in ranking.notes)

    def test_warnings_about_raters_and_ties(self):
        notes = rank(votes(("a", "b", "tie", 3), ("a", "b", "slightly A", 3)), "ab", "sensible").notes
        assert any("one rater" in note for note in notes)
        assert any(note.startswith("3 of 6 answers are ties") for note in notes)
        assert any("nothing" not in note and "independent" in note for note in notes)
        all_ties = rank(votes(("a", "b", "tie", 3)), "ab", "sensible")
        assert any("Every answer is a tie" in note for note in all_ties.notes)

    @pytest.mark.parametrize(
        ("sources", "question", "options"),
        [
            ("a", "sensible", {}),
            ("aa", "sensible", {}),
            ("ab", "unheard", {}),
            ("ab", "sensible", {"ties": "third"}),
            ("ab", "sensible", {"seed": -1}),
            ("ab", "sensible", {"bootstrap": 5}),
            ("ab", "sensible", {"confidence": 2}),
            ("ab", "sensible", {"min_seconds": 1e6}),
        ],
    )
    def test_what_cannot_be_ranked_is_refused(self, sources, question, options):
        with pytest.raises(InputError):
            rank(votes(("a", "b", "definitely A", 2)), sources, question, **options)


class TestCorrelations:
    @pytest.fixture
    def ranking(self) -> Ranking:
        return rank(
            simulated({"human": 200.0, "a": 60.0, "b": 0.0, "c": -60.0, "d": -200.0}, 300),
            ["human", *"abcd"],
            "sensible",
        )

    def test_the_sign_is_that_of_agreement(self, ranking: Ranking):
        up = Indicator({"a": 0.9, "b": 0.8, "c": 0.6, "d": 0.1})
        down = Indicator({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, higher_is_closer=False)
        rows = correlations(ranking, {"MAUVE": up, "gap": down, "against": replace(down, higher_is_closer=True)})
        assert [(row.indicator, row.spearman, row.n, row.worst) for row in rows] == [
            ("MAUVE", 1.0, 4, None),
            ("gap", 1.0, 4, None),
            ("against", -1.0, 4, None),
        ]

    def test_the_worst_case_within_one_deviation(self, ranking: Ranking):
        values = {"a": 0.9, "b": 0.8, "c": 0.6, "d": 0.1}
        for sign in (1, -1):
            indicator = Indicator({n: sign * v for n, v in values.items()}, {"a": 0.06, "b": 0.06}, sign > 0)
            (row,) = correlations(ranking, {"MAUVE": indicator})
            assert row.worst is not None
            # a and b may change places: ranks 3 4 2 1 against 4 3 2 1.
            assert (row.spearman, row.worst.value, row.worst.exact) == (1.0, pytest.approx(0.8), True)

    def test_few_or_equal_values_have_no_correlation(self, ranking: Ranking):
        rows = correlations(
            ranking,
            {
                "few": Indicator({"a": 1.0, "b": 2.0, "zz": 3.0, "c": math.nan}),
                "equal": Indicator(dict.fromkeys("abcd", 1.0)),
            },
        )
        assert [(row.spearman, row.worst, row.n) for row in rows] == [(None, None, 2), (None, None, 4)]
        assert "Fewer than 3" in rows[0].note
        assert "equal" in rows[1].note

    def test_infinite_scores_have_ranks_and_unplaced_players_none(self):
        ratings = votes(
            ("a", "b", "definitely A", 5),
            ("b", "c", "definitely A", 3),
            ("c", "b", "definitely A", 2),
            ("c", "d", "slightly A", 2),
        )
        ranking = rank(ratings, "abcde", "sensible")
        (row,) = correlations(ranking, {"x": Indicator({"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0, "e": 1.0})})
        assert (row.spearman, row.n) == (1.0, 4)

    def test_of_several_groups_one_is_taken(self):
        ratings = votes(
            ("a", "b", "tie", 2),
            ("c", "d", "definitely A", 2),
            ("d", "e", "definitely A", 1),
            ("e", "c", "definitely A", 1),
            ("d", "c", "tie", 1),
        )
        ranking = rank(ratings, "abcde", "sensible")
        (row,) = correlations(ranking, {"x": Indicator(dict(zip("abcde", range(5), strict=True)))})
        assert row.n == 3
        assert row.note.startswith("2 groups")
