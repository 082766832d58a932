"""Error against n, slopes, and numbers of texts that further measurements bear out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_spread
from mauve_core.stats.divergences import frontier_integral, mid_point, probabilities
from mauve_core.stats.sampling_error import (
    PlugIn,
    doublings,
    errors_against_k,
    errors_against_n,
    log_slope,
    measured_errors,
    merged,
    recommend_texts,
)
from tests.numerics.sampled import assert_equal, sample


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
        with pytest.raises(InputError, match="Unknown smoothing"):
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
            f"At n = 600 of P and 300 of Q, k = 40 the resampling error of the frontier integral is "
            f"{with_spread(advice.error, advice.standard_error)}; halving it requires about "
            f"n = {advice.needed_n:,} of P and {advice.needed_m:,} of Q "
        )
        assert f"{advice.slope.value:.3f} ± {advice.slope.standard_error:.3f}" in advice.reason

    def test_promises_never_grow_with_texts(self):
        # Four draws are so few that the measured errors themselves go up and down.
        advice = recommend_texts(*sample(k=2), replicates=4, seed=1)
        assert (np.diff(advice.curve.mean) > 0).any()
        assert (np.diff(advice.promised) <= 0).all()
        assert (advice.promised >= advice.curve.mean).all()
        assert advice.error == advice.promised[advice.curve.n == 600][0]

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
        assert advice.reason.endswith("is 0: no draw changes the score.")

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
        assert "halving it requires more than n = 104,857,600, the largest n tried" in advice.reason
