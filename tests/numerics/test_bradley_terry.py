"""Bradley-Terry scores: hand values, the published update, direct maximum likelihood, what has no score, coverage."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, logsumexp

from mauve_core.base.errors import InputError
from mauve_core.stats import bradley_terry
from mauve_core.stats.bradley_terry import fit_bradley_terry, score_intervals, standard_errors, win_probability

INF, NAN = np.inf, np.nan


@st.composite
def tables(draw, least=1, most=7):
    """Tables of wins with many zeros and some halves."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    wins = rng.integers(0, 5, size=(n, n)) * (rng.random((n, n)) < draw(st.sampled_from([0.2, 0.5, 1.0])))
    ties = np.triu(rng.integers(0, 2, size=(n, n)) * (rng.random((n, n)) < 0.2), k=1)
    wins = wins + (ties + ties.T) / 2
    np.fill_diagonal(wins, 0)
    return wins.astype(float)


def simulate(scores, per_pair, rng):
    """Wins when each two players meet so often."""
    met = np.triu(np.full((len(scores),) * 2, per_pair), k=1)
    won = rng.binomial(met, win_probability(scores[:, None], scores))
    return (won + (met - won).T).astype(float)


def published_update(wins, iterations):
    """Appendix E.1 letter by letter."""
    games, w = wins + wins.T, np.zeros(len(wins))
    for _ in range(iterations):
        with np.errstate(divide="ignore"):
            terms = np.log(games) - np.logaddexp(w[:, None], w)
        u = np.log(wins.sum(axis=1)) - logsumexp(terms, axis=1)
        w = u - u.mean()
    return 100 * w


def direct(wins):
    """Maximum likelihood by a general optimiser, the first player held at 0."""

    def loss(free):
        w = np.concatenate([[0.0], free])
        expected = (wins + wins.T) * expit(w[:, None] - w)
        return -(wins * log_expit(w[:, None] - w)).sum(), (expected.sum(axis=1) - wins.sum(axis=1))[1:]

    free = minimize(loss, np.zeros(len(wins) - 1), jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 5000}).x
    w = np.concatenate([[0.0], free])
    return 100 * (w - w.mean())


class TestScores:
    def test_two_players_by_hand(self):
        fit = fit_bradley_terry([[0, 3], [1, 0]])
        assert fit.scores == pytest.approx([50 * np.log(3), -50 * np.log(3)], abs=1e-6)
        assert win_probability(fit.scores[0], fit.scores[1]) == pytest.approx(0.75)

    def test_published_reading_of_the_scores(self):
        # JMLR 2023, E.2: the best model's text (15.664) loses to human text (47.251) with probability 0.578.
        assert win_probability(47.251, 15.664) == pytest.approx(0.578, abs=5e-4)

    def test_the_published_update_arrives_at_the_same_scores(self):
        wins = simulate(np.array([40.0, 10, 0, -20, -30]), 30, np.random.default_rng(0))
        # Both stop within 1e-9 of the observed wins; 30 comparisons a pair make that 1e-6 points at most.
        assert fit_bradley_terry(wins).scores == pytest.approx(published_update(wins, 500), abs=1e-6)

    def test_direct_maximum_likelihood_on_random_tables(self):
        rng = np.random.default_rng(1)
        compared = 0
        for _ in range(40):
            n = int(rng.integers(2, 9))
            wins = simulate(rng.normal(size=n) * 60, 8, rng) * (rng.random((n, n)) < 0.8)
            fit = fit_bradley_terry(wins)
            if np.isfinite(fit.scores).all() and not fit.group.any():
                compared += 1
                # The optimiser stops at a gradient of 1e-8; over a curvature of 0.01 that is 1e-4 of a point.
                assert fit.scores == pytest.approx(direct(wins), abs=1e-4)
        assert compared > 12

    @pytest.mark.slow
    @given(tables())
    def test_within_each_component_expected_wins_are_the_wins(self, wins):
        fit = fit_bradley_terry(wins)
        inner = np.where(fit.component[:, None] == fit.component, wins, 0.0)
        games = inner + inner.T
        expected = (games * win_probability(fit.within[:, None], fit.within)).sum(axis=1)
        assert np.abs(expected - inner.sum(axis=1)).max() <= 1e-8 * max(1, games.sum())
        for component in np.unique(fit.component):
            assert fit.within[fit.component == component].mean() == pytest.approx(0, abs=1e-9)

    @given(st.lists(tables(least=4, most=4), min_size=1, max_size=5))
    def test_a_batch_gives_what_each_table_gives(self, several):
        together = fit_bradley_terry(np.stack(several))
        for index, wins in enumerate(several):
            alone = fit_bradley_terry(wins)
            np.testing.assert_allclose(together.scores[index], alone.scores, atol=1e-9)
            np.testing.assert_array_equal(together.component[index], alone.component)
            np.testing.assert_array_equal(together.group[index], alone.group)

    @pytest.mark.parametrize(("n", "odds"), [(5, 20), (30, 20), (60, 1000)])
    def test_long_chains_settle(self, n, odds):
        wins = np.zeros((n, n))
        steps = np.arange(n - 1)
        wins[steps, steps + 1], wins[steps + 1, steps] = odds, 1
        # A chain's maximum is known: each step is the log odds of its own two players.
        # Wins are met within 1e-9 of the comparisons; one step's information is 1/odds, and a shortfall may add up.
        gaps = -np.diff(fit_bradley_terry(wins).scores)
        assert gaps == pytest.approx(100 * np.log(odds), abs=100 * n * odds * 1e-9 * 3)

    def test_scores_that_do_not_settle_are_an_error(self, monkeypatch):
        monkeypatch.setattr(bradley_terry, "ZERMELO_STEPS", 2)
        monkeypatch.setattr(bradley_terry, "NEWTON_STEPS", 0)
        with pytest.raises(InputError, match="do not converge"):
            fit_bradley_terry([[0, 3, 1], [1, 0, 2], [2, 2, 0]])

    @pytest.mark.parametrize("wins", [[[0, 1]], [[0, -1], [1, 0]], [[1, 1], [1, 0]], [[0, NAN], [1, 0]], [], [1, 2]])
    def test_tables_that_are_none_are_refused(self, wins):
        with pytest.raises(InputError, match="table of wins"):
            fit_bradley_terry(wins)


class TestExistence:
    """Ford 1957: where the graph of wins is not strongly connected there is no maximum."""

    @pytest.mark.parametrize(
        ("wins", "scores", "component", "group"),
        [
            # The last player only ever loses, the first only ever wins; the two between have beaten each other.
            (
                [[0, 2, 0, 1], [0, 0, 1, 1], [0, 1, 0, 2], [0, 0, 0, 0]],
                [INF, 0, 0, -INF],
                [0, 1, 1, 2],
                [0, 0, 0, 0],
            ),
            # Who never met the others, in two groups.
            ([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]),
            # Nobody was compared at all.
            ([[0, 0], [0, 0]], [NAN, NAN], [0, 1], [0, 1]),
            # An order and no score: first, between, last.
            ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [INF, NAN, -INF], [0, 1, 2], [0, 0, 0]),
            # All beat the third, which does not tell the fourth from the first two.
            (
                [[0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]],
                [0, 0, -INF, NAN],
                [0, 0, 2, 1],
                [0, 0, 0, 0],
            ),
        ],
    )
    def test_by_hand(self, wins, scores, component, group):
        fit = fit_bradley_terry(wins)
        np.testing.assert_allclose(fit.scores, scores, atol=1e-6)
        np.testing.assert_array_equal(fit.component, component)
        np.testing.assert_array_equal(fit.group, group)

    def test_scores_within_a_smaller_component_remain(self):
        wins = np.zeros((5, 5))
        wins[0, 1], wins[1, 0] = 3, 1
        wins[2, 3], wins[3, 4], wins[4, 2] = 1, 1, 1
        wins[0, 2] = 1
        fit = fit_bradley_terry(wins)
        np.testing.assert_allclose(fit.scores, [INF, INF, 0, 0, 0], atol=1e-6)
        assert fit.within == pytest.approx([50 * np.log(3), -50 * np.log(3), 0, 0, 0], abs=1e-6)

    @given(tables())
    def test_components_and_their_order_are_those_of_the_graph(self, wins):
        fit = fit_bradley_terry(wins)
        for labels, kind in ((fit.component, "strong"), (fit.group, "weak")):
            _, twin = connected_components(wins > 0, directed=True, connection=kind)
            np.testing.assert_array_equal(labels[:, None] == labels, twin[:, None] == twin)
        winners, losers = np.nonzero(wins)
        assert (fit.component[winners] <= fit.component[losers]).all()

    @given(tables())
    def test_a_player_left_out_for_its_infinite_score_does_not_move_the_others(self, wins):
        fit = fit_bradley_terry(wins)
        for group in np.unique(fit.group):
            at = np.flatnonzero((fit.group == group) & np.isfinite(fit.scores))
            if at.size:
                assert fit_bradley_terry(wins[np.ix_(at, at)]).scores == pytest.approx(fit.scores[at], abs=1e-6)


class TestStandardErrors:
    def test_two_players_by_hand(self):
        wins = np.array([[0.0, 30], [10, 0]])
        # Var(log odds) = 1 / (n p q); each score is half the difference.
        expected = 100 / np.sqrt(40 * 0.75 * 0.25) / 2
        assert standard_errors(wins, fit_bradley_terry(wins)) == pytest.approx([expected, expected])

    def test_they_are_the_spread_of_repeated_studies(self):
        rng, scores = np.random.default_rng(0), np.array([40.0, 10, 0, -20, -30])
        studies = np.stack([simulate(scores, 90, rng) for _ in range(500)])
        fits = fit_bradley_terry(studies, tolerance=1e-6)
        expected = standard_errors(studies[0], fit_bradley_terry(studies[0]))
        # The deviation of 500 draws is known to 1/sqrt(1000) = 3.2 %, the information of one study to a few percent.
        assert fits.scores.std(axis=0) == pytest.approx(expected, rel=0.1)

    def test_who_has_no_finite_score_has_none(self):
        wins = np.array([[0.0, 2, 1], [1, 0, 1], [0, 0, 0]])
        assert np.isnan(standard_errors(wins, fit_bradley_terry(wins))).tolist() == [False, False, True]


def intervals(wins, ties=None, *, seed=0, replicates=300, confidence=0.95):
    ties = np.zeros_like(wins) if ties is None else ties
    fit = fit_bradley_terry(wins + (ties + ties.T) / 2)
    rng = np.random.default_rng(seed)
    return fit, *score_intervals(wins, ties, fit, replicates=replicates, confidence=confidence, rng=rng)


class TestIntervals:
    def test_much_data_gives_the_width_of_the_information(self):
        wins = simulate(np.array([40.0, 10, 0, -20, -30]), 90, np.random.default_rng(0))
        fit, low, high = intervals(wins, replicates=1000)
        # A quantile of 1,000 replicates is known to about 4 %, and the resampled pairs vary besides the answers.
        assert (high - low) / (2 * 1.96 * standard_errors(wins, fit)) == pytest.approx(np.ones(5), abs=0.12)
        assert ((low < fit.scores) & (fit.scores < high)).all()

    def test_the_same_seed_gives_the_same_interval(self):
        wins = simulate(np.array([20.0, 0, -20]), 20, np.random.default_rng(0))
        np.testing.assert_array_equal(intervals(wins)[1:], intervals(wins)[1:])
        assert not np.array_equal(intervals(wins)[1:], intervals(wins, seed=1)[1:])

    def test_replicates_without_a_score_leave_the_end_open(self):
        # One loss in ten: a third of the replicates do not draw it, and then there is no upper limit.
        fit, low, high = intervals(np.array([[0.0, 9], [1, 0]]))
        assert np.isfinite(fit.scores).all()
        assert (high[0], low[1]) == (INF, -INF)
        assert np.isfinite([low[0], high[1]]).all()

    def test_who_never_lost_has_a_lower_end_all_the_same(self):
        wins = np.array([[0.0, 4, 1], [0, 0, 10], [0, 10, 0]])
        fit, low, high = intervals(wins, confidence=0.9)
        assert fit.scores == pytest.approx([INF, 0, 0])
        assert high[0] == INF
        # Winning all five against players of score 0 has a chance of 5 % at this score.
        assert win_probability(low[0], 0) ** 5 == pytest.approx(0.05)
        mirrored = intervals(wins.T, confidence=0.9)
        assert (mirrored[1][0], mirrored[2][0]) == (-INF, pytest.approx(-low[0]))

    def test_what_nothing_places_is_open_on_both_sides(self):
        wins = np.zeros((4, 4))
        wins[0, 1], wins[1, 0] = 5, 5
        _, low, high = intervals(wins)
        assert (low[2:], high[2:]) == (pytest.approx([-INF, -INF]), pytest.approx([INF, INF]))

    def test_halves_for_ties_count_as_rated_pairs(self):
        ties = np.array([[0.0, 30], [0, 0]])
        wins = np.array([[0.0, 20], [10, 0]])
        narrow, wide = intervals(wins, ties), intervals(wins + np.array([[0.0, 15], [15, 0]]))
        assert narrow[0].scores == pytest.approx(wide[0].scores)
        # 20 wins, 10 losses, 30 ties of value 1/2 vary less than 35 wins and 25 losses.
        assert narrow[2][0] - narrow[1][0] < 0.85 * (wide[2][0] - wide[1][0])

    def test_five_hundred_replicates_of_nine_players_take_well_under_a_second(self):
        wins = simulate(np.linspace(-40, 40, 9), 90, np.random.default_rng(0))
        begin = time.process_time()
        intervals(wins, replicates=500)
        assert time.process_time() - begin < 1

    def test_settings_out_of_range_are_refused(self):
        wins = np.array([[0.0, 1], [1, 0]])
        for options in ({"replicates": 10}, {"confidence": 1.0}, {"confidence": NAN}):
            with pytest.raises(InputError):
                intervals(wins, **options)
        with pytest.raises(InputError, match="no rated pair"):
            intervals(np.zeros((2, 2)))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("players", "per_pair", "spread", "studies"),
        [
            (5, 10, 40, 50),
            (9, 90, 30, 50),
            *(pytest.param(*each, 200, marks=pytest.mark.trial)
              for each in ((5, 10, 40), (5, 90, 40), (9, 20, 30), (9, 90, 30))),
        ],
    )  # fmt: skip
    def test_intervals_cover_the_true_scores_as_often_as_they_claim(self, players, per_pair, spread, studies):
        rng = np.random.default_rng(players * per_pair)
        covered = []
        for study in range(studies):
            truth = rng.normal(size=players) * spread
            truth -= truth.mean()
            fit, low, high = intervals(simulate(truth, per_pair, rng), seed=study)
            if np.isfinite(fit.scores).all():
                covered.append(((low <= truth) & (truth <= high)).mean())
        assert len(covered) >= 0.99 * studies
        # Players of one study share their comparisons: the error is that of the studies' means. Three of them.
        error = np.std(covered, ddof=1) / np.sqrt(len(covered))
        assert error < 0.17 / np.sqrt(studies)
        assert np.mean(covered) == pytest.approx(0.95, abs=3 * error)
