"""Permutation tests and ceilings: enumeration, level, power, units that stay whole, and slow twins."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from mauve_core.base.errors import InputError
from mauve_core.stats import resampling
from mauve_core.stats.divergences import frontier_integral, kl_divergence, mauve, probabilities
from mauve_core.stats.resampling import draw_sides, draw_splits, histogram_statistic, permutation_test


def difference_of_means(values):
    """Mean of the second side less that of the first, for all draws at once."""
    values = np.asarray(values, dtype=float)
    return lambda first, second: second @ values / second.sum(axis=1) - first @ values / first.sum(axis=1)


class TestAgainstEnumeration:
    def test_the_p_value_tends_to_that_of_all_relabellings(self):
        values = [0.3, 1.1, -0.4, 0.9, 2.0, 1.7, 0.2]
        results = [
            np.mean(np.delete(values, rows)) - np.mean(np.take(values, rows)) for rows in combinations(range(7), 3)
        ]
        exact = np.mean(np.array(results) >= results[0] - 1e-12)
        found = permutation_test(difference_of_means(values), 3, 4, permutations=20_000, seed=0)
        assert found.statistic == pytest.approx(results[0], rel=1e-12)
        # Five standard errors of a share of 20,000 draws; the observed draw adds 1 / 20,001 at most.
        assert found.p_value == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
        assert set(np.round(found.null, 9)) == set(np.round(results, 9))

    def test_the_p_value_of_pairs_tends_to_that_of_all_swaps(self):
        p, q = np.array([0.3, 1.1, -0.4, 0.9, 0.5]), np.array([0.6, 1.0, 0.4, 1.9, 0.7])
        results = [np.mean(np.array(signs) * (q - p)) for signs in product([1, -1], repeat=5)]
        exact = np.mean(np.array(results) >= results[0] - 1e-12)
        # Q's texts in another order than P's: units tell which belong together.
        order = [3, 0, 4, 1, 2]
        values = np.concatenate([p, q[order]])
        units = [*range(5), *order]
        found = permutation_test(difference_of_means(values), 5, 5, permutations=20_000, seed=0, units=units)
        assert found.p_value == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
        assert set(np.round(found.null, 9)) == set(np.round(results, 9))
        assert found.notes == ()

    @pytest.mark.parametrize("permutations", [4, 19])
    def test_the_level_holds_exactly_for_few_draws_with_ties(self, permutations):
        # Every labelling of five texts in turn is the truth; scores tie. P(p <= a) <= a up to the draws' own noise.
        values = np.array([0, 0, 1, 1, 2])
        p_values = []
        for rows in combinations(range(5), 2):
            order = [*rows, *(i for i in range(5) if i not in rows)]
            statistic = difference_of_means(values[order])
            p_values += [
                permutation_test(statistic, 2, 3, permutations=permutations, seed=seed).p_value for seed in range(100)
            ]
        for level in (0.2, 0.4, 0.6):
            assert np.mean(np.array(p_values) <= level + 1e-12) <= level + 4 * np.sqrt(level * (1 - level) / 1000)


class TestLevelAndPower:
    def test_p_values_are_uniform_for_equal_sources(self):
        # Continuous scores: each of the 50 values has probability 1/50 exactly, ten groups of five 1/10 each. A seed
        # that is drawn once fails at 1e-3 once in a thousand.
        p_values = []
        for seed in range(400):
            values = np.random.default_rng(seed).normal(size=23)
            p_values.append(
                permutation_test(difference_of_means(values), 10, 13, permutations=49, seed=seed + 10**6).p_value
            )
        groups = np.bincount(np.ceil(np.array(p_values) * 10 - 1e-9).astype(int) - 1, minlength=10)
        assert groups.size == 10
        assert chisquare(groups).pvalue > 1e-3

    def test_pairs_hold_the_level_where_prompts_differ_and_gain_power(self):
        # Prompts differ by 5, texts of a prompt by 1, the sides by 0 or 1. Swaps of pairs are ties of no two draws
        # here, so that the ten groups have probability 1/10 each.
        level, found = [], []
        for seed in range(300):
            rng = np.random.default_rng(seed)
            prompts = 5 * rng.normal(size=30)
            p, q = prompts + rng.normal(size=30), prompts + rng.normal(size=30)
            units = np.tile(np.arange(30), 2)
            settings = {"permutations": 99, "seed": seed}
            level.append(permutation_test(difference_of_means([*p, *q]), 30, 30, units=units, **settings).p_value)
            if seed < 60:
                shifted = difference_of_means([*p, *(q + 1)])
                found.append(
                    [permutation_test(shifted, 30, 30, units=ids, **settings).p_value for ids in (units, None)]
                )
        groups = np.bincount(np.ceil(np.array(level) * 10 - 1e-9).astype(int) - 1, minlength=10)
        assert chisquare(groups).pvalue > 1e-3
        paired, unpaired = (np.array(found) <= 0.05).mean(axis=0)
        # 1 is 3.9 standard errors of a paired difference of means and 0.75 of an unpaired one: powers 0.97 and 0.2.
        assert paired > 0.85
        assert unpaired < 0.4

    def test_a_shift_of_histograms_is_found(self):
        rng = np.random.default_rng(0)
        p, q = rng.integers(0, 10, size=400), rng.integers(0, 9, size=300)
        labels = np.concatenate([p, q])
        far = permutation_test(histogram_statistic(labels, 10, frontier_integral), 400, 300, permutations=199, seed=0)
        assert far.p_value == 1 / 200
        assert far.statistic == pytest.approx(
            float(frontier_integral(*(probabilities(np.bincount(side, minlength=10)) for side in (p, q)))), rel=1e-14
        )
        closeness = histogram_statistic(labels, 10, mauve)
        near = permutation_test(closeness, 400, 300, permutations=199, seed=0, higher_is_closer=True)
        assert near.p_value == 1 / 200
        assert permutation_test(closeness, 400, 300, permutations=199, seed=0).p_value == 1


class TestTies:
    def test_equal_scores_count_as_far(self):
        constant = lambda first, second: np.zeros(len(first))  # noqa: E731
        assert permutation_test(constant, 3, 3, permutations=99, seed=0).p_value == 1
        assert permutation_test(constant, 3, 3, permutations=99, seed=0, higher_is_closer=True).p_value == 1

    def test_rounding_does_not_break_a_tie(self):
        # The score of one draw at a time is a rounding larger than that of many: the observed one would win alone.
        wobbling = lambda first, second: np.full(len(first), 0.1 + 1e-15 * (len(first) == 1))  # noqa: E731
        assert permutation_test(wobbling, 3, 3, permutations=99, seed=0).p_value == 1

    def test_infinite_scores_are_far_and_tie(self):
        labels = [0, 0, 0, 1, 1, 1]
        found = permutation_test(histogram_statistic(labels, 2, kl_divergence), 3, 3, permutations=999, seed=0)
        assert found.statistic == np.inf
        # Infinite only where P is one cluster and Q the other: 2 of the 20 choices of three.
        assert np.isinf(found.null).mean() == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / 999))
        assert found.p_value == (1 + np.isinf(found.null).sum()) / 1000


class TestDraws:
    def test_all_arrangements_are_equally_likely(self):
        codes = np.array([0, 1, 0, 1, 1, 2, 2, 3, 3])
        sides = np.array([True, True, False, False, False, True, True, False, False])
        drawn = draw_sides(sides, codes, 12_000, np.random.default_rng(0))
        _, counts = np.unique(drawn, axis=0, return_counts=True)
        # The first unit swaps, the one of the second has three places, and the two others are dealt as wholes.
        assert counts.size == 2 * 3 * 2
        assert chisquare(counts).pvalue > 1e-3

    def test_splits_are_disjoint_and_equally_likely(self):
        first, second = draw_splits(5, 2, 6000, np.random.default_rng(0))
        assert (first.sum(axis=1) == 2).all()
        assert (second.sum(axis=1) == 2).all()
        assert not (first & second).any()
        _, counts = np.unique(first + 2 * second.astype(int), axis=0, return_counts=True)
        assert counts.size == 30
        assert chisquare(counts).pvalue > 1e-3

    def test_portions_do_not_change_a_result(self, monkeypatch):
        labels = np.random.default_rng(0).integers(0, 4, size=30)
        statistic = histogram_statistic(labels, 4, frontier_integral)
        units = np.concatenate([np.arange(15), np.arange(5), np.arange(5) // 2, np.arange(20, 25)])

        def results():
            return permutation_test(statistic, 15, 15, permutations=50, seed=3, units=units).null

        whole = results()
        monkeypatch.setattr(resampling, "_ENTRIES", 7 * 30)
        np.testing.assert_allclose(results(), whole, rtol=1e-14)

    def test_a_seed_repeats(self):
        statistic = difference_of_means(np.random.default_rng(0).normal(size=20))
        sequence = np.random.SeedSequence(5)
        once, again = (permutation_test(statistic, 10, 10, permutations=9, seed=sequence) for _ in range(2))
        np.testing.assert_array_equal(once.null, again.null)
        np.testing.assert_array_equal(once.null, permutation_test(statistic, 10, 10, permutations=9, seed=5).null)
        other = permutation_test(statistic, 10, 10, permutations=9, seed=6)
        assert not np.array_equal(once.null, other.null)


class TestUnits:
    def test_units_without_counterparts_never_move_and_are_told(self):
        units = [0, 1, 2, 0, 1, 1]
        seen = []

        def watch(first, second):
            seen.extend(first)
            return np.zeros(len(first))

        found = permutation_test(watch, 3, 3, permutations=50, seed=0, units=units)
        rows = np.array(seen)
        assert rows[:, 2].all()
        assert 0 < rows[:, 0].mean() < 1
        assert (rows[:, 0] ^ rows[:, 3]).all()
        assert (rows[:, [1, 4, 5]].sum(axis=1) == 1).all()
        told = "1 points of P and 0 of Q have no counterpart on the other side, so they never change sides"
        assert found.notes == (told,)

    def test_the_p_value_of_documents_tends_to_that_of_all_ways_to_deal_them(self):
        values = np.array([0.3, 1.1, -0.4, 0.9, 2.0, 1.7, 0.2])[np.repeat(np.arange(7), 2)]
        results = []
        for chosen in combinations(range(7), 3):
            first = np.isin(np.repeat(np.arange(7), 2), chosen)
            results.append(values[~first].mean() - values[first].mean())
        exact = np.mean(np.array(results) >= results[0] - 1e-12)
        units = np.repeat(np.arange(7), 2)
        found = permutation_test(difference_of_means(values), 6, 8, permutations=20_000, seed=0, units=units)
        assert found.p_value == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
        assert set(np.round(found.null, 9)) == set(np.round(results, 9))
        assert found.notes == ()

    @pytest.mark.parametrize("units", [[0, 0, 0], [[0, 0], [0, 0]], [0.0, 0.0, 1.0, 1.0], ["a"] * 4])
    def test_units_that_are_none_are_refused(self, units):
        with pytest.raises(InputError, match="Units are not usable"):
            permutation_test(difference_of_means(range(4)), 2, 2, seed=0, units=units)


class TestStatistics:
    def test_histograms_against_a_slow_twin(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 5, size=40)
        first, second = draw_splits(40, 15, 8, rng)
        found = histogram_statistic(labels, 5, kl_divergence, smoothing="krichevsky-trofimov")(first, second)
        for value, a, b in zip(found, first, second, strict=True):
            p = [(sum(label == j for label in labels[a]) + 0.5) / 17.5 for j in range(5)]
            q = [(sum(label == j for label in labels[b]) + 0.5) / 17.5 for j in range(5)]
            assert value == pytest.approx(sum(x * np.log(x / y) for x, y in zip(p, q, strict=True)), rel=1e-12)

    def test_statistics_that_give_no_scores_are_refused(self):
        with pytest.raises(InputError, match=r"score for each draw.*Received: shape \(\) for 1 draws"):
            permutation_test(lambda first, second: np.float64(1), 2, 2, seed=0)
        with pytest.raises(InputError, match="is NaN for some draws"):
            permutation_test(lambda first, second: np.full(len(first), np.nan), 2, 2, seed=0)

    @pytest.mark.parametrize("setting", [{"n": 0}, {"m": 2.5}, {"permutations": 0}, {"seed": -1}])
    def test_settings_out_of_range_are_refused(self, setting):
        with pytest.raises(InputError, match="not usable"):
            permutation_test(difference_of_means(range(4)), **{"n": 2, "m": 2, "seed": 0, **setting})
