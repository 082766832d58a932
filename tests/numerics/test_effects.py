"""Effects, log odds and pairs: hand values, plain twins, and intervals that cover what they claim to cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import mannwhitneyu

from mauve_core.base.errors import InputError
from mauve_core.clusters.neighbours import nearest_pairs
from mauve_core.stats.two_groups import auc_interval, effect, log_odds

GROUP = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


class TestEffect:
    def test_hand_value(self):
        # Of six pairs the first wins (3, 1), (3, 2), (2, 1), ties once, (2, 2), and (2, 4), (3, 4) are lost.
        found = effect([3, 2], [1, 2, 4])
        assert found.auc == pytest.approx(3.5 / 6)
        assert found.delta == pytest.approx(1 / 6)
        assert (found.n, found.m, found.first, found.second) == (2, 3, 2.5, pytest.approx(7 / 3))
        assert found.delta_interval == (2 * found.low - 1, 2 * found.high - 1)

    @given(GROUP, GROUP)
    def test_against_all_pairs_and_scipy(self, first, second):
        found = effect(first, second)
        wins = [(a > b) + (a == b) / 2 for a in first for b in second]
        assert found.auc == pytest.approx(np.mean(wins), abs=1e-12)
        statistic = mannwhitneyu(first, second, method="asymptotic").statistic if len({*first, *second}) > 1 else None
        assert statistic is None or found.auc == pytest.approx(statistic / (len(first) * len(second)), abs=1e-12)
        assert 0 <= found.low <= found.auc <= found.high <= 1
        swapped = effect(second, first)
        assert swapped.auc == pytest.approx(1 - found.auc, abs=1e-12)
        assert swapped.low == pytest.approx(1 - found.high, abs=1e-8)

    def test_ends_solve_their_equation(self):
        low, high = auc_interval(0.7, 30, 20)
        for t in (low, high):
            variance = t * (1 - t) * (1 + 24 * ((1 - t) / (2 - t) + t / (1 + t))) / 600
            assert abs(0.7 - t) == pytest.approx(1.959964 * math.sqrt(variance), rel=1e-5)

    def test_groups_that_do_not_overlap_still_have_an_interval(self):
        few, many = effect([4, 5, 6], [1, 2, 3]), effect(np.arange(100, 200), np.arange(100))
        assert few.auc == many.auc == few.high == many.high == 1
        assert few.low < 0.6
        assert 0.9 < many.low < 1
        assert not few.separates(0.8)
        assert many.separates(0.8)
        assert effect(np.arange(100), np.arange(100, 200)).separates(0.8)
        assert not effect(np.arange(100), np.arange(100)).separates(0.8)

    @pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
    def test_it_covers_the_truth_for_normal_numbers(self, shift):
        rng = np.random.default_rng(0)
        truth = float(ndtr(shift / math.sqrt(2)))
        hits = [
            found.low <= truth <= found.high
            for found in (effect(rng.normal(shift, size=25), rng.normal(size=40)) for _ in range(1000))
        ]
        # 95 % of 1,000: a standard error of 0.7 %; the interval is an approximation and on the safe side.
        assert np.mean(hits) >= 0.93

    def test_it_is_too_wide_rather_than_too_narrow_for_yes_and_no(self):
        rng = np.random.default_rng(0)
        truth = 0.5 + (0.7 - 0.4) / 2
        hits = [
            found.low <= truth <= found.high
            for found in (effect(rng.random(25) < 0.7, rng.random(40) < 0.4) for _ in range(1000))
        ]
        assert np.mean(hits) >= 0.95

    @pytest.mark.parametrize("groups", [([], [1]), ([1, np.nan], [1]), ([[1]], [1])])
    def test_groups_that_are_refused(self, groups):
        with pytest.raises(InputError):
            effect(*groups)
        with pytest.raises(InputError, match="confidence"):
            effect([1], [2], confidence=1.0)


class TestLogOdds:
    def test_hand_value(self):
        # Prior of 4 counts, a quarter of them the word: (3 + 1) / (10 + 4 - 3 - 1) and (1 + 1) / (20 + 4 - 1 - 1).
        difference, sd = log_odds([3], [1], (10, 20), [0.25], 4)
        assert difference[0] == pytest.approx(math.log(4 / 10) - math.log(2 / 22))
        assert sd[0] == pytest.approx(math.sqrt(1 / 4 + 1 / 10 + 1 / 2 + 1 / 22))

    def test_swap_and_shrinkage(self):
        counts, totals, background = ([5, 0, 2], [1, 3, 2]), (8, 9), [0.4, 0.2, 0.3]
        difference, sd = log_odds(*counts, totals, background, 2)
        swapped, same = log_odds(*counts[::-1], totals[::-1], background, 2)
        np.testing.assert_allclose(swapped, -difference)
        np.testing.assert_allclose(same, sd)
        strong, _ = log_odds(*counts, totals, background, 1e9)
        np.testing.assert_allclose(strong, 0, atol=1e-7)

    def test_intervals_of_documents_hold(self):
        # Words at one rate on both sides: 0 lies inside in 95 % or more, as the prior pulls towards it.
        rng = np.random.default_rng(0)
        rate = rng.uniform(0.02, 0.6, size=4000)
        first, second = rng.binomial(60, rate), rng.binomial(80, rate)
        background = (first + second + 0.5) / 141
        difference, sd = log_odds(first, second, (60, 80), background, 10.0)
        inside = np.abs(difference) <= 1.96 * sd
        assert inside.mean() >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / 4000)
        # And a word that is three times as likely on one side is found by a number of that size.
        first, second = rng.binomial(600, 0.3, size=500), rng.binomial(600, 0.1, size=500)
        difference, sd = log_odds(first, second, (600, 600), (first + second) / 1200, 10.0)
        truth = math.log(0.3 / 0.7) - math.log(0.1 / 0.9)
        assert np.mean(np.abs(difference - truth) <= 1.96 * sd) >= 0.92  # the prior pulls by some 2 %

    @pytest.mark.parametrize(
        "wrong",
        [
            ([3], [1], (2, 5), [0.5], 1),
            ([-1], [1], (2, 5), [0.5], 1),
            ([1], [1], (2, 5), [1.0], 1),
            ([1], [1], (2, 5), [0.5], 0),
            ([1, 2], [1], (2, 5), [0.5], 1),
        ],
    )
    def test_what_is_refused(self, wrong):
        with pytest.raises(InputError):
            log_odds(*wrong)


class TestPairs:
    def test_hand_value(self):
        x, y = [[0.0], [1.0], [9.0]], [[1.5], [0.9], [20.0]]
        found = nearest_pairs(x, y, 5)
        assert [(i, j) for i, j, _ in found] == [(1, 1), (0, 0), (2, 2)]
        assert [d for *_, d in found] == pytest.approx([0.1, 1.5, 11.0], abs=1e-6)

    @pytest.mark.parametrize("top", [1, 3, 50])
    @pytest.mark.parametrize("seed", range(3))
    def test_against_taking_the_closest_again_and_again(self, top, seed, monkeypatch):
        monkeypatch.setattr("mauve_core.clusters.neighbours._ENTRIES", 40)
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(17, 4)).astype(np.float32), rng.normal(size=(12, 4)).astype(np.float32)
        table = np.sqrt(((x[:, None].astype(float) - y[None]) ** 2).sum(axis=2))
        twin = []
        while len(twin) < min(top, 12):
            i, j = np.unravel_index(table.argmin(), table.shape)
            twin.append((int(i), int(j), float(table[i, j])))
            table[i], table[:, j] = np.inf, np.inf
        found = nearest_pairs(x, y, top)
        assert [pair[:2] for pair in found] == [pair[:2] for pair in twin]
        assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in twin])

    def test_what_is_refused(self):
        with pytest.raises(InputError, match="dimensions"):
            nearest_pairs([[0.0]], [[0.0, 1.0]], 1)
        with pytest.raises(InputError, match="number of pairs"):
            nearest_pairs([[0.0]], [[0.0]], 0)
