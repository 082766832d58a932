"""Resampling error: exact enumeration, closed forms of large samples, advice that further measurements bear out."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence
from scipy.special import xlogy

from mauve_core.errors import InputError
from mauve_core.numerics import sampling_error
from mauve_core.numerics.divergences import frontier_integral, kl_divergence, mid_point
from mauve_core.numerics.frontier import mauve
from mauve_core.numerics.sampling_clusters import errors_against_k, merged, recommend_clusters
from mauve_core.numerics.sampling_error import FRONTIER, PlugIn, measured_errors
from mauve_core.numerics.sampling_texts import doublings, errors_against_n, log_slope, recommend_texts
from mauve_core.numerics.smoothing import probabilities
from mauve_core.numerics.smoothness import JENSEN_SHANNON
from tests.numerics.histograms import count_pairs

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
SIZES = ("n", "m", "k", "truth", "mean", "spread", "bias", "sd")


def exact_figures(estimator, p, q, n, m):
    """truth, mean, spread, bias and sd over every pair of histograms, and the error that one draw gives to each."""
    tables, chances = [], []
    for side, size in ((p, n), (q, m)):
        table = np.array([c for c in itertools.product(range(size + 1), repeat=side.size) if sum(c) == size])
        ways = np.array([factorial(size) // np.prod([factorial(c) for c in counts]) for counts in table])
        tables.append(table)
        chances.append(ways * np.exp(xlogy(table, side).sum(axis=1)))
    pairs = np.array(list(itertools.product(range(len(tables[0])), range(len(tables[1])))))
    estimates = estimator(tables[0][pairs[:, 0]], tables[1][pairs[:, 1]])
    chance = chances[0][pairs[:, 0]] * chances[1][pairs[:, 1]]
    truth = estimator.truth(p, q)
    figures, errors = [truth], [0.0]
    for values in (np.abs(estimates - truth), estimates - truth):
        mean = chance @ values
        sd = np.sqrt(chance @ (values - mean) ** 2)
        figures += [mean, sd]
        errors += [sd, np.sqrt(chance @ (values - mean) ** 4 - sd**4) / (2 * sd)]
    return figures, errors


def sample(k=40, n=600, m=600, seed=0):
    """Counts of two different distributions."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 2.0))
    q = p * np.exp(0.5 * rng.standard_normal(k))
    return rng.multinomial(n, p), rng.multinomial(m, q / q.sum())


def assert_equal(one, other):
    for name in SIZES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


class TestMeasuredErrors:
    @pytest.mark.parametrize(
        "estimator",
        [
            FRONTIER,
            replace(FRONTIER, smoothing="krichevsky-trofimov"),
            replace(FRONTIER, smoothing="good-turing"),
            PlugIn("MAUVE", mauve),
        ],
        ids=["frontier", "smoothed", "good-turing", "mauve"],
    )
    def test_against_exact_enumeration(self, estimator):
        draws = 5000
        found = measured_errors([(P, Q, 4, 3)], estimator=estimator, replicates=draws, seed=7)
        figures, errors = exact_figures(estimator, P, Q, 4, 3)
        for name, figure, error in zip(("truth", "mean", "spread", "bias", "sd"), figures, errors, strict=True):
            # Five standard errors, and the rounding of a truth that has none.
            assert getattr(found, name)[0] == pytest.approx(figure, abs=5 * error / draws**0.5 + 1e-15), name
        assert found.standard_error[0] == found.spread[0] / np.sqrt(draws)

    def test_equal_sides_of_many_texts_have_a_closed_form(self):
        # To second order FI = sum (p^ - q^)^2 / (6 p), whose mean is (k - 1)(1/n + 1/m) / 6; it has a distribution of
        # (1/n + 1/m) / 6 times chi-square with k - 1 degrees of freedom.
        k, n, m, draws = 30, 3_000_000, 1_500_000, 4000
        flat = np.full(k, 1 / k)
        found = measured_errors([(flat, flat, n, m)], replicates=draws)
        scale = (1 / n + 1 / m) / 6
        assert found.truth[0] == 0
        assert found.mean[0] == found.bias[0] == pytest.approx((k - 1) * scale, rel=5 * np.sqrt(2 / (k - 1) / draws))
        assert found.sd[0] == found.spread[0] == pytest.approx(np.sqrt(2 * (k - 1)) * scale, rel=5 / np.sqrt(draws))

    def test_different_sides_of_many_texts_have_a_normal_error(self):
        # Delta method for P = (a, 1 - a) and Q known nearly exactly: sd = |FI'(a)| sqrt(a (1 - a) / n).
        a, b, n, draws, step = 0.3, 0.6, 10**6, 4000, 1e-6
        slope = (
            frontier_integral([a + step, 1 - a - step], [b, 1 - b]) - frontier_integral([a, 1 - a], [b, 1 - b])
        ) / step
        sd = abs(float(slope)) * np.sqrt(a * (1 - a) / n)
        found = measured_errors([([a, 1 - a], [b, 1 - b], n, 10**13)], replicates=draws)
        assert found.sd[0] == pytest.approx(sd, rel=5 / np.sqrt(2 * draws))
        assert found.mean[0] == pytest.approx(sd * np.sqrt(2 / np.pi), rel=5 / np.sqrt(draws))

    def test_a_setting_has_its_own_draws(self, monkeypatch):
        settings = [(P, Q, 50, 40), (P, Q, 100, 40), (Q, P, 50, 40)]
        together = measured_errors(settings, replicates=300, seed=3)
        for place, setting in enumerate(settings):
            alone = measured_errors([setting], replicates=300, seed=3)
            assert [getattr(alone, name)[0] for name in SIZES] == [getattr(together, name)[place] for name in SIZES]
        assert_equal(together, measured_errors(settings, replicates=300, seed=SeedSequence(3)))
        assert (together.mean != measured_errors(settings, replicates=300, seed=4).mean).all()
        monkeypatch.setattr(sampling_error, "CELLS_AT_ONCE", 7)
        assert_equal(together, measured_errors(settings, replicates=300, seed=3))

    def test_draws_of_two_settings_are_independent(self):
        # Otherwise the standard error of a slope would not be that of its values. 0.5 is four standard errors of r.
        settings = [(P, Q, 1000, 1000), (P, Q, 1001, 1001)]
        bias = np.array([measured_errors(settings, replicates=5, seed=seed).bias for seed in range(64)])
        assert abs(np.corrcoef(bias.T)[0, 1]) < 0.5

    def test_a_seed_that_is_given_stays_as_it_was(self):
        seed = SeedSequence(5)
        first = measured_errors([(P, Q, 50, 40)], replicates=10, seed=seed)
        assert_equal(first, measured_errors([(P, Q, 50, 40)], replicates=10, seed=seed))

    def test_what_no_draw_can_move_has_no_error(self):
        found = measured_errors([([1.0, 0.0], [0.0, 1.0], 5, 5)], replicates=10)
        assert found.mean[0] == found.sd[0] == found.standard_error[0] == 0

    def test_input_that_is_not_usable_is_refused(self):
        with pytest.raises(InputError, match="no setting"):
            measured_errors([])
        with pytest.raises(InputError, match="replicates"):
            measured_errors([(P, Q, 5, 5)], replicates=1)
        with pytest.raises(InputError, match="number of texts"):
            measured_errors([(P, Q, 5, 0)])
        with pytest.raises(InputError, match="not a distribution"):
            measured_errors([(P * 2, Q, 5, 5)])
        with pytest.raises(InputError, match="one pair"):
            measured_errors([(np.stack([P, P]), Q, 5, 5)])
        with pytest.raises(InputError, match="The seed"):
            measured_errors([(P, Q, 5, 5)], seed=-1)
        with pytest.raises(InputError, match="KL is not finite"):
            measured_errors([(P, Q, 3, 3)], estimator=PlugIn("KL", kl_divergence))
        with pytest.raises(InputError, match="one score a pair"):
            measured_errors([(P, Q, 3, 3)], estimator=PlugIn("pair", lambda p, q: p[..., 0] if p.ndim == 1 else p))


class TestErrorsAgainstN:
    def test_the_population_is_the_smoothed_histogram(self):
        p_counts, q_counts = sample(k=10, n=80, m=60)
        found = errors_against_n(p_counts, q_counts, [40, 81], population="laplace", replicates=50, seed=1)
        p, q = probabilities(p_counts, "laplace"), probabilities(q_counts, "laplace")
        # 60 candidate texts go with 80 human ones: 30 with 40, and 60.75 with 81, rounded up.
        assert_equal(found, measured_errors([(p, q, 40, 30), (p, q, 81, 61)], replicates=50, seed=1))
        assert found.truth[0] == frontier_integral(p, q)

    def test_the_usual_population_predicts_the_error_of_a_long_tail(self):
        # Most of 200 bins are rare: a plain histogram forgets them, half a text in each makes too much of them.
        rng, n = np.random.default_rng(0), 1000
        p = np.arange(1, 201.0) ** -2
        q = p * np.exp(0.5 * rng.standard_normal(200))
        p, q = p / p.sum(), q / q.sum()
        true = measured_errors([(p, q, n, n)], replicates=500).mean[0]
        samples = [(rng.multinomial(n, p), rng.multinomial(n, q)) for _ in range(5)]

        def away(**population):
            found = [errors_against_n(*counts, [n], replicates=100, **population).mean[0] for counts in samples]
            return abs(np.log(np.mean(found) / true))

        assert away() < np.log(1.5)
        assert away() < min(away(population="none"), away(population="krichevsky-trofimov"))

    def test_sizes_unless_others_are_asked_for(self):
        found = errors_against_n(*sample(k=5, n=20, m=10), replicates=10)
        assert found.n.tolist() == [3, 5, 10, 20, 40, 80, 160]
        assert found.m.tolist() == [2, 3, 5, 10, 20, 40, 80]
        assert doublings(1, -2, 2) == [1, 2, 4]

    @pytest.mark.parametrize(
        ("p_counts", "q_counts", "said"),
        [
            ([1, 2], [1, 2, 3], "different numbers of bins"),
            ([1, -2], [1, 2], "Counts are not usable"),
            ([1.5, 2], [1, 2], "Counts are not usable"),
            ([1, 2], [0, 0], "Counts are not usable"),
            ([[1, 2]], [1, 2], "Counts are not usable"),
            ([1, np.nan], [1, 2], "Counts are not usable"),
            ([], [], "Counts are not usable"),
            (["a", "b"], [1, 2], "real numbers"),
        ],
    )
    def test_counts_that_are_not_usable_are_refused(self, p_counts, q_counts, said):
        for function in (errors_against_n, recommend_texts):
            with pytest.raises(InputError, match=said):
                function(p_counts, q_counts)
        with pytest.raises(InputError, match=said):
            merged(p_counts, q_counts, 1)
        with pytest.raises(InputError, match=said):
            errors_against_k([(p_counts, q_counts)])

    def test_sizes_and_names_that_are_not_usable_are_refused(self):
        with pytest.raises(InputError, match="number of texts"):
            errors_against_n([1, 2], [2, 1], [0])
        with pytest.raises(InputError, match="no setting"):
            errors_against_n([1, 2], [2, 1], [])
        with pytest.raises(InputError, match="No smoothing"):
            errors_against_n([1, 2], [2, 1], population="much")


class TestLogSlope:
    @given(st.floats(-3, 3), st.floats(0.01, 100))
    def test_a_power_is_found(self, power, factor):
        sizes = np.array([10, 30, 100, 5000])
        found = log_slope(sizes, factor * sizes**power)
        assert found.value == pytest.approx(power, abs=1e-12)
        assert found.standard_error == 0

    def test_the_standard_error_is_that_of_repeated_measurements(self):
        sizes, relative = np.array([10, 20, 40, 80]), np.array([0.01, 0.02, 0.01, 0.03])
        rng, values = np.random.default_rng(0), 5 * np.array([10, 20, 40, 80]) ** -0.7
        slopes = [log_slope(sizes, values * (1 + relative * rng.standard_normal(4))).value for _ in range(4000)]
        claimed = log_slope(sizes, values, values * relative).standard_error
        # A standard deviation of 4,000 values is good to 1.1 %; first order is good to 3 % of 3 %.
        assert np.std(slopes) == pytest.approx(claimed, rel=0.06)

    @pytest.mark.parametrize(
        ("sizes", "values"),
        [([1, 1], [1, 2]), ([1, 2], [1, 0]), ([0, 2], [1, 1]), ([1, 2], [1, np.inf]), ([1, 2], [1, 2, 3]), ([1], [1])],
    )
    def test_what_has_no_slope_is_refused(self, sizes, values):
        with pytest.raises(InputError, match="slope"):
            log_slope(sizes, values)


class TestRecommendTexts:
    def test_the_texts_advised_have_the_error_asked_for(self):
        counts = sample(n=600, m=300)
        advice = recommend_texts(*counts, seed=2)
        assert advice.target == advice.error / 2
        assert (advice.n, advice.m, advice.k) == (600, 300, 40)
        assert advice.needed_m == np.ceil(advice.needed_n / 2)
        check = errors_against_n(*counts, [advice.needed_n], replicates=4000, seed=99)
        # Rounding up to two digits takes up to 10 % of the texts and of the error; 5 standard errors on both means.
        slack = 5 * np.hypot(check.standard_error[0], advice.standard_error)
        assert 0.85 * advice.target - slack <= check.mean[0] <= advice.target + slack
        assert advice.reason.startswith(
            f"At n = 600 human and 300 candidate texts, k = 40 the resampling error of the frontier integral is "
            f"{advice.error:.2g}; halving it needs about n = {advice.needed_n:,} human and {advice.needed_m:,} "
        )
        assert f"{advice.slope.value:.3f} ± {advice.slope.standard_error:.3f}" in advice.reason

    def test_promises_never_grow_with_texts(self):
        # Four draws are so few that the measured errors themselves go up and down.
        advice = recommend_texts(*sample(k=2), replicates=4, seed=1)
        assert (np.diff(advice.curve.mean) > 0).any()
        assert (np.diff(advice.promised) <= 0).all()
        assert (advice.promised >= advice.curve.mean).all()
        assert advice.error == advice.promised[advice.curve.n == 600][0]

    def test_a_smaller_error_needs_no_fewer_texts(self):
        counts = sample()
        wanted = [0.1, 0.03, 0.01, 0.003, 0.001]
        needed = [recommend_texts(*counts, target=target, replicates=100).needed_n for target in wanted]
        assert needed == sorted(needed)
        assert needed[0] < 600 < needed[-1]

    def test_more_texts_have_less_error_and_are_advised_no_fewer(self):
        # The same shares of twice, four times and eight times the texts.
        p_counts, q_counts = sample()
        advices = [
            recommend_texts(times * p_counts, times * q_counts, population="none", replicates=400)
            for times in (1, 2, 4, 8)
        ]
        errors, needed = ([getattr(a, name) for a in advices] for name in ("error", "needed_n"))
        assert errors == sorted(errors, reverse=True)
        assert needed == sorted(needed)

    def test_the_slope_of_equal_sides_is_minus_one(self):
        flat = np.full(20, 100)
        slope = recommend_texts(flat, flat, population="none", replicates=2000).slope
        # Terms beyond the second order still bend the curve by about a thousandth at 100 texts a bin.
        assert slope.value == pytest.approx(-1, abs=5 * slope.standard_error + 0.01)

    def test_the_slope_of_different_sides_of_two_bins_is_minus_a_half(self):
        slope = recommend_texts([9000, 1000], [4000, 6000], replicates=2000).slope
        assert slope.value == pytest.approx(-0.5, abs=5 * slope.standard_error)

    def test_no_error_needs_no_more_texts(self):
        advice = recommend_texts([7, 0], [0, 7], population="none", replicates=10)
        assert advice.error == advice.target == 0
        assert advice.needed_n <= 7
        assert advice.slope is None
        assert advice.reason.endswith("is 0: no draw of the texts moves it.")

    def test_an_error_that_is_met_already(self):
        advice = recommend_texts(*sample(), target=0.5, replicates=50)
        assert advice.needed_n == advice.curve.n[0]
        assert advice.reason.endswith(f"0.5 is met with about n = {advice.needed_n} already.")

    def test_an_error_that_stays_is_said_to_stay(self):
        # Adding a tenth of the texts to every bin biases the estimate at any number of texts.
        def pulled(p, q):
            return mid_point(0.9 * p + 0.1 / p.shape[-1], q)

        class Biased(PlugIn):
            def truth(self, p, q):
                return float(mid_point(p, q))

        advice = recommend_texts([90, 10], [30, 70], estimator=Biased("mid", pulled), replicates=20)
        assert advice.needed_n is advice.needed_m is None
        assert advice.curve.n[-1] == 100 * 2**20
        assert "halving it needs more than n = 104,857,600, the most that was tried" in advice.reason

    @pytest.mark.parametrize("target", [0.0, -1.0, np.nan, np.inf])
    def test_a_target_that_is_not_positive_is_refused(self, target):
        with pytest.raises(InputError, match="target"):
            recommend_texts([1, 2], [2, 1], target=target)


class TestMerged:
    def test_hand_values(self):
        p, q = merged([6, 0, 3, 1], [1, 4, 3, 2], 2)
        # p / (p + q) is 6/7, 0, 1/2, 1/3: the second and fourth bins, then the third and first.
        assert p.tolist() == [1, 9]
        assert q.tolist() == [6, 4]
        # An empty bin counts as a half, between 1/4 and 2/3.
        p, q = merged([4, 0, 1], [2, 0, 3], 3)
        assert p.tolist() == [1, 0, 4]
        assert q.tolist() == [3, 0, 2]

    @given(count_pairs(), st.data())
    def test_texts_are_kept_and_no_score_grows(self, pair, data):
        p_counts, q_counts = pair
        k = data.draw(st.integers(1, p_counts.size))
        p, q = merged(p_counts, q_counts, k)
        assert p.shape == q.shape == (k,)
        assert (p.sum(), q.sum()) == (p_counts.sum(), q_counts.sum())
        fine = frontier_integral(p_counts / p_counts.sum(), q_counts / q_counts.sum())
        assert frontier_integral(p / p.sum(), q / q.sum()) <= fine + 1e-14
        if k == p_counts.size:
            assert sorted(zip(p, q, strict=True)) == sorted(zip(p_counts, q_counts, strict=True))

    def test_neighbours_in_the_ratio_lose_less_than_bins_at_random(self):
        counts = sample(k=200, n=20_000, m=20_000)
        p, q = merged(*counts, 10)
        near = float(frontier_integral(p / p.sum(), q / q.sum()))
        order = np.random.default_rng(0).permutation(200).reshape(10, 20)
        p, q = (side[order].sum(axis=1) for side in counts)
        far = float(frontier_integral(p / p.sum(), q / q.sum()))
        whole = float(frontier_integral(counts[0] / 20_000, counts[1] / 20_000))
        assert whole - near < 0.1 * (whole - far)

    @pytest.mark.parametrize("k", [0, 3, 1.5])
    def test_numbers_of_groups_that_are_not_usable_are_refused(self, k):
        with pytest.raises(InputError, match="groups"):
            merged([1, 2], [2, 1], k)


class TestRecommendClusters:
    def histograms(self, times=1):
        counts = [times * side for side in sample(k=150, n=1500, m=1500)]
        return [merged(*counts, k) for k in (40, 2, 10, 150, 80, 20)]

    def test_the_least_sum_is_advised(self):
        advice = recommend_clusters(self.histograms(), seed=1)
        assert advice.curve.k.tolist() == [2, 10, 20, 40, 80, 150]
        np.testing.assert_array_equal(advice.loss, [1, 1 / 5, 1 / 10, 1 / 20, 1 / 40, 1 / 75])
        np.testing.assert_array_equal(advice.total, advice.curve.mean + advice.loss)
        assert advice.k == advice.curve.k[advice.total.argmin()]
        assert advice.k in advice.alike
        assert "Of k = 2, 10, 20, 40, 80, 150, the two errors of the frontier integral balance" in advice.reason
        assert f"balance at k = {advice.k}: " in advice.reason
        assert_equal(advice.curve, errors_against_k(sorted(self.histograms(), key=lambda pair: len(pair[0])), seed=1))

    def test_more_texts_are_advised_no_fewer_clusters(self):
        advised = [recommend_clusters(self.histograms(times), replicates=300).k for times in (1, 8, 64)]
        assert advised == sorted(advised)
        assert advised[0] < advised[-1]

    def test_other_divergences_have_other_losses(self):
        estimator = PlugIn("midpoint", mid_point, smoothness=JENSEN_SHANNON)
        advice = recommend_clusters(self.histograms(), estimator=estimator, replicates=20)
        np.testing.assert_allclose(advice.loss, np.log(2) / np.array([1, 5, 10, 20, 40, 75]), rtol=1e-15)

    def test_totals_that_cannot_be_told_apart_are_named(self):
        # At k = 2 and 3 proposition 13 has the same loss, and one bin more of no texts leaves the error as it was.
        advice = recommend_clusters([([30, 20], [20, 30]), ([30, 20, 0], [20, 30, 0])], population="none")
        assert advice.alike == (2, 3)
        assert "k = 2, 3 are alike within the error of the measurement." in advice.reason

    def test_an_end_of_what_was_tried_is_named(self):
        counts = sample(k=60, n=6000, m=6000)
        assert recommend_clusters([merged(*counts, k) for k in (2, 4, 8)], replicates=50).reason.endswith(
            "largest k that was tried."
        )
        assert recommend_clusters([([30, 20], [20, 30])], replicates=50).reason.endswith("clusters loses.")

    def test_partitions_that_do_not_fit_are_refused(self):
        with pytest.raises(InputError, match=r"not of the same texts.*4 and 3 texts, 5 and 3 texts"):
            recommend_clusters([([2, 2], [2, 1]), ([2, 2, 1], [1, 1, 1])])
        with pytest.raises(InputError, match="same number of clusters"):
            recommend_clusters([([2, 2], [2, 1]), ([3, 1], [1, 2])], replicates=10)
        with pytest.raises(InputError, match="no setting"):
            recommend_clusters([])
        with pytest.raises(InputError, match="No bound on what a partition loses is known for the MAUVE"):
            recommend_clusters([([2, 2], [2, 1])], estimator=PlugIn("MAUVE", mauve))
