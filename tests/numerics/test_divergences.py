"""Divergences: hand values, 60-digit twins where p is close to q, and the laws every divergence obeys."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import error_shares, frontier_integral, kl_divergence, mid_point, mixture_terms
from tests.numerics.histograms import (
    exact_frontier_integral,
    exact_near_pair,
    exact_shares,
    exact_terms,
    near_pair,
    pairs,
    relative_error,
)

# The terms are sums of a dozen roundings of 1.1e-16, and the logarithm loses one digit just outside the series.
RELATIVE = 1e-13
# Sums over at most twelve bins in another order.
REORDERED = 1e-12
# Each has an uneven histogram of its own.
EPSILONS = [10.0**-power for power in range(2, 16)]
# A sum of at most 500 signed terms, each below 40 nats here, with their total size near 1.
SUMMED = 1e-12
WEIGHTS = (1e-6, 0.1, 0.25, 0.5, 0.9, 1 - 1e-6)


def signed_shares(p: NDArray[np.float64], q: NDArray[np.float64], weight: float) -> list[list]:
    """q log(q / r) and p log(p / r) of each bin in 60 digits: the non-negative terms without what makes them so."""
    w, sides = mpmath.mpf(weight), [[mpmath.mpf(value) for value in side] for side in (q, p)]
    mixtures = [w * a + (1 - w) * b for b, a in zip(*sides, strict=True)]
    return [[x * mpmath.log(x / r) if x else x for x, r in zip(side, mixtures, strict=True)] for side in sides]


class TestHandValues:
    def test_two_bins(self):
        p, q = [0.5, 0.5], [0.25, 0.75]
        assert kl_divergence(p, q) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), rel=1e-14)
        # (p + q)/2 - p q log(p/q)/(p - q): 3/8 - log(2)/2 and 5/8 - 3/2 log(3/2).
        expected = 3 / 8 - math.log(2) / 2 + 5 / 8 - 1.5 * math.log(1.5)
        assert frontier_integral(p, q) == pytest.approx(expected, rel=1e-13)

    def test_disjoint_histograms_reach_the_upper_ends(self):
        p, q = [1.0, 0.0], [0.0, 1.0]
        assert kl_divergence(p, q) == np.inf
        assert mid_point(p, q) == pytest.approx(math.log(2), rel=1e-15)
        assert frontier_integral(p, q) == 1.0
        type_1, type_2 = error_shares(p, q, 0.25)
        np.testing.assert_allclose(type_1, [0, -math.log(0.75)], rtol=1e-14)
        np.testing.assert_allclose(type_2, [-math.log(0.25), 0], rtol=1e-14)
        type_1, type_2 = mixture_terms(np.array(p), np.array(q), 0.25, 0.75)
        # q = 1 alone in its bin: -log(3/4) - 1 + 3/4; the bin it lacks adds r = 1/4. And the like for p.
        np.testing.assert_allclose(type_1, [0.25, -math.log(0.75) - 0.25], rtol=1e-14)
        np.testing.assert_allclose(type_2, [-math.log(0.25) - 0.75, 0.75], rtol=1e-14)

    def test_shares_of_an_overwritten_and_a_missed_bin(self):
        # r = (0.3, 0.7): bin 0 is overwritten by the model, bin 1 missed.
        type_1, type_2 = error_shares([0.2, 0.8], [0.4, 0.6], 0.5)
        np.testing.assert_allclose(type_1, [0.4 * math.log(4 / 3), 0.6 * math.log(6 / 7)], rtol=1e-14)
        np.testing.assert_allclose(type_2, [0.2 * math.log(2 / 3), 0.8 * math.log(8 / 7)], rtol=1e-14)
        assert type_1[0] > 0 > type_1[1]
        assert type_2[0] < 0 < type_2[1]

    def test_candidate_inside_the_human_support(self):
        # P uniform on two bins, Q on one of them: Jensen-Shannon = 3/4 log(4/3).
        assert mid_point([0.5, 0.5], [1.0, 0.0]) == pytest.approx(0.75 * math.log(4 / 3), rel=1e-14)
        assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
        assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2), rel=1e-15)

    def test_equal_histograms_give_exact_zeros(self):
        p = np.random.default_rng(0).dirichlet(np.ones(30))
        assert kl_divergence(p, p) == mid_point(p, p) == frontier_integral(p, p) == 0.0
        assert not np.any(error_shares(p, p, 0.3))

    def test_shares_at_the_ends_of_the_frontier_are_the_divergences(self):
        p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
        type_1, type_2 = error_shares(p, q, 1.0)
        assert type_1.sum() == pytest.approx(float(kl_divergence(q, p)), rel=1e-15)
        assert not type_2.any()
        type_1, type_2 = error_shares(p, q, 0.0)
        assert type_2.sum() == pytest.approx(float(kl_divergence(p, q)), rel=1e-15)
        assert not type_1.any()


class TestNearlyEqualHistograms:
    @pytest.mark.parametrize(("seed", "epsilon"), [*enumerate(EPSILONS)])
    def test_signed_shares_against_sixty_digits(self, seed, epsilon):
        p, q = near_pair(epsilon, seed)
        for weight in WEIGHTS:
            for side, truth in zip(error_shares(p, q, weight), signed_shares(p, q, weight), strict=True):
                assert max(map(relative_error, side, truth)) < RELATIVE

    @pytest.mark.parametrize("weight", [0.0, *WEIGHTS, 1.0])
    def test_signed_shares_sum_to_the_divergences(self, weight):
        # Both sums are 1 without rounding, so the divergences are the sums of non-negative terms in 60 digits.
        for power in range(3, 50, 3):
            p, q = exact_near_pair(power)
            for side, truth in zip(error_shares(p, q, weight), exact_shares(p, q, weight), strict=True):
                assert abs(mpmath.mpf(float(side.sum())) - mpmath.fsum(truth)) < SUMMED, power

    @pytest.mark.parametrize(("seed", "epsilon"), [*enumerate(EPSILONS)])
    def test_terms_against_sixty_digits(self, seed, epsilon):
        p, q = near_pair(epsilon, seed)
        for weight in WEIGHTS:
            found = mixture_terms(p, q, weight, 1 - weight)
            for side, truth in zip(found, exact_shares(p, q, weight), strict=True):
                assert max(map(relative_error, side, truth)) < RELATIVE

    @pytest.mark.parametrize(("seed", "epsilon"), [*enumerate(EPSILONS)])
    def test_sums_against_sixty_digits(self, seed, epsilon):
        p, q = near_pair(epsilon, seed)
        type_1, type_2 = exact_shares(p, q, 0.5)
        assert relative_error(mid_point(p, q), (mpmath.fsum(type_1) + mpmath.fsum(type_2)) / 2) < RELATIVE
        divergence = mpmath.fsum(exact_terms(a, mpmath.mpf(b)) for a, b in zip(p, q, strict=True))
        assert relative_error(kl_divergence(p, q), divergence) < RELATIVE
        assert relative_error(frontier_integral(p, q), exact_frontier_integral(p, q)) < RELATIVE

    def test_textbook_sum_where_both_histograms_are_exact(self):
        # Here sum p = sum q = 1 without rounding, so the sum of p log(p / q) itself is the truth.
        for power in range(3, 50):
            p, q = exact_near_pair(power)
            textbook = mpmath.fsum(
                mpmath.mpf(a) * mpmath.log(mpmath.mpf(a) / mpmath.mpf(b)) for a, b in zip(p, q, strict=True)
            )
            assert relative_error(kl_divergence(p, q), textbook) < RELATIVE, power

    @pytest.mark.parametrize("ratio", [0.89, 0.9, 0.91, 1.09, 1.1, 1.11, 0.33, 1 / 3, 0.34, 2.9, 3.0, 3.1])
    def test_both_sides_of_each_switch_from_series_to_logarithm(self, ratio):
        p = np.array([0.1 * ratio, 1 - 0.1 * ratio])
        q = np.array([0.1, 0.9])
        truth = mpmath.fsum(exact_terms(a, mpmath.mpf(b)) for a, b in zip(p, q, strict=True))
        assert relative_error(kl_divergence(p, q), truth) < RELATIVE
        assert relative_error(frontier_integral(p, q), exact_frontier_integral(p, q)) < RELATIVE

    def test_numbers_at_the_edge_of_float64(self):
        # 1e-310 is subnormal, so the quotient of the bins overflows and must not become NaN.
        p, q = np.array([1e-310, 1.0]), np.array([0.5, 0.5])
        truth = [mpmath.fsum(side) for side in exact_shares(p, q, 0.5)]
        for side, exact in zip(mixture_terms(p, q, 0.5, 0.5), truth, strict=True):
            assert relative_error(side.sum(), exact) < RELATIVE
        for side, exact in zip(error_shares(p, q, 0.5), signed_shares(p, q, 0.5), strict=True):
            assert max(map(relative_error, side, exact)) < RELATIVE
        assert relative_error(frontier_integral(p, q), exact_frontier_integral(p, q)) < RELATIVE
        tiny = exact_terms(0.5, mpmath.mpf(1e-310)) + exact_terms(0.5, mpmath.mpf(1))
        assert relative_error(kl_divergence(q, p), tiny) < RELATIVE

    @given(st.integers(0, 290), st.integers(0, 290), st.floats(0.2, 1), st.sampled_from(WEIGHTS))
    def test_bins_of_very_different_size(self, first, second, spread, weight):
        # Bins of 1e-1 to 1e-291 against a bin that takes the rest: the ratio, not the difference, holds the digits.
        small = np.array([spread * 10.0 ** -(first + 1), spread * 10.0 ** -(second + 1)])
        p, q = np.append(small, 1 - small.sum()), np.append(small[::-1] / 3, 1 - small.sum() / 3)
        for side, truth in zip(mixture_terms(p, q, weight, 1 - weight), exact_shares(p, q, weight), strict=True):
            assert max(map(relative_error, side, truth)) < RELATIVE
        for side, truth in zip(error_shares(p, q, weight), signed_shares(p, q, weight), strict=True):
            assert max(map(relative_error, side, truth)) < RELATIVE
        truth = mpmath.fsum(exact_terms(a, mpmath.mpf(b)) for a, b in zip(p, q, strict=True))
        assert relative_error(kl_divergence(p, q), truth) < RELATIVE


class TestLaws:
    @given(pairs(), st.floats(0, 1))
    def test_range(self, pair, weight):
        p, q = pair
        assert kl_divergence(p, q) >= 0
        assert 0 <= mid_point(p, q) <= math.log(2)
        assert 0 <= frontier_integral(p, q) <= 1
        assert all((side >= 0).all() for side in mixture_terms(p, q, weight, 1 - weight))

    @given(pairs(), st.floats(0, 1))
    def test_sign_and_range_of_the_shares(self, pair, weight):
        """Positive where the side puts more than the mixture, and between the two bounds of the docstring."""
        p, q = pair
        with np.errstate(divide="ignore"):
            highest = -np.log1p(-weight), -np.log(weight)
        sides = ((q, p, weight, highest[0]), (p, q, 1 - weight, highest[1]))
        for (x, other, step, most), share in zip(sides, error_shares(p, q, weight), strict=True):
            inside = (x > 0) & (step > 1e-300)  # a product below that rounds to 0
            np.testing.assert_array_equal(np.sign(share[inside]), np.sign(x - other)[inside])
            assert not share[x == 0].any()
            assert (share >= -step * other * (1 + RELATIVE)).all()
            if min(weight, 1 - weight) > 1e-290 or weight in (0, 1):  # the mixture is no subnormal number
                assert (share[x > 0] <= x[x > 0] * most * (1 + RELATIVE)).all()

    @given(pairs(), st.floats(0, 1))
    def test_shares_sum_to_the_divergences_at_any_weight(self, pair, weight):
        p, q = pair
        mixture = weight * p + (1 - weight) * q
        for side, x in zip(error_shares(p, q, weight), (q, p), strict=True):
            with np.errstate(divide="ignore"):
                divergence = float(kl_divergence(x, mixture))
            assert side.sum() == divergence or abs(side.sum() - divergence) < SUMMED

    def test_shares_of_many_bins_sum_to_the_divergences(self):
        rng = np.random.default_rng(2)
        q = rng.dirichlet(np.ones(500))
        for p in (rng.dirichlet(np.full(500, 0.1)), (1 - 1e-9) * q + 1e-9 * rng.dirichlet(np.ones(500))):
            for weight in WEIGHTS:
                mixture = weight * p + (1 - weight) * q
                for side, x in zip(error_shares(p, q, weight), (q, p), strict=True):
                    assert abs(side.sum() - kl_divergence(x, mixture)) < SUMMED

    @given(pairs(), st.integers(0, 64))
    def test_swap_of_the_sides(self, pair, step):
        p, q = pair
        weight = step / 64  # exact in binary, and so is 1 - weight
        type_1, type_2 = error_shares(p, q, weight)
        swapped1, swapped2 = error_shares(q, p, 1 - weight)
        np.testing.assert_array_equal(type_1, swapped2)
        np.testing.assert_array_equal(type_2, swapped1)
        assert mid_point(p, q) == mid_point(q, p)
        assert frontier_integral(p, q) == frontier_integral(q, p)

    @given(pairs(), st.randoms(use_true_random=False))
    def test_permutation_of_the_bins(self, pair, random):
        p, q = pair
        order = random.sample(range(p.size), p.size)
        for divergence in (kl_divergence, mid_point, frontier_integral):
            np.testing.assert_allclose(divergence(p[order], q[order]), divergence(p, q), rtol=REORDERED)
        for side, permuted in zip(error_shares(p, q, 0.3), error_shares(p[order], q[order], 0.3), strict=True):
            np.testing.assert_array_equal(permuted, side[order])

    @given(pairs(), st.data())
    def test_merging_bins_never_raises_a_divergence(self, pair, data):
        p, q = pair
        k = p.size
        groups = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=k)))
        merged = [np.bincount(groups, weights=side, minlength=k) for side in (p, q)]
        # Merging rounds the sums of bins, which moves a divergence d by about 1e-16 (sqrt(d) + 1e-16).
        for divergence in (kl_divergence, mid_point, frontier_integral):
            assert divergence(*merged) <= divergence(p, q) * (1 + REORDERED) + 1e-15
        for side, coarse in zip(error_shares(p, q, 0.3), error_shares(*merged, 0.3), strict=True):
            assert coarse.sum() <= side.sum() * (1 + REORDERED) + 1e-15

    @given(pairs())
    def test_a_bin_that_is_empty_on_both_sides_changes_nothing(self, pair):
        p, q = pair
        for divergence in (kl_divergence, mid_point, frontier_integral):
            np.testing.assert_allclose(divergence(np.append(p, 0), np.append(q, 0)), divergence(p, q), rtol=REORDERED)

    @pytest.mark.slow
    @given(pairs())
    @settings(max_examples=20)
    def test_frontier_integral_is_the_integral_that_defines_it(self, pair):
        # 2 x integral of l KL(P||R) + (1 - l) KL(Q||R) by a Gauss-Legendre rule; the integrand has at worst
        # l log(l) behaviour at the ends, where 200 nodes leave about 1e-6.
        p, q = pair
        nodes, factors = np.polynomial.legendre.leggauss(200)
        total = 0.0
        for node, factor in zip((nodes + 1) / 2, factors / 2, strict=True):
            type_1, type_2 = error_shares(p, q, float(node))
            total += 2 * factor * (node * type_2.sum() + (1 - node) * type_1.sum())
        assert frontier_integral(p, q) == pytest.approx(total, abs=1e-5)


class TestBroadcastingAndErrors:
    def test_leading_axes_broadcast(self):
        rng = np.random.default_rng(1)
        p, q = rng.dirichlet(np.ones(6), size=(4, 1)), rng.dirichlet(np.ones(6), size=(1, 3))
        for divergence in (kl_divergence, mid_point, frontier_integral):
            table = divergence(p, q)
            assert table.shape == (4, 3)
            assert table[2, 1] == divergence(p[2, 0], q[0, 1])
        assert error_shares(p, q, 0.5)[0].shape == (4, 3, 6)

    @pytest.mark.parametrize(
        ("p", "q", "said"),
        [
            ([0.5, 0.5], [1.0], "different numbers of bins"),
            ([0.5, 0.6], [0.5, 0.5], "a sum of 1.1"),
            ([1.5, -0.5], [0.5, 0.5], "not negative"),
            ([np.nan, 1.0], [0.5, 0.5], "finite"),
            ([], [], "no bins"),
            (["a", "b"], [0.5, 0.5], "real numbers"),
            ([[0.5, 0.5], [1.0]], [0.5, 0.5], "ragged"),
            (np.full((2, 2), 0.5), np.full((3, 2), 0.5), "leading axes"),
        ],
    )
    def test_what_is_not_a_pair_of_histograms_is_refused(self, p, q, said):
        for divergence in (kl_divergence, mid_point, frontier_integral):
            with pytest.raises(InputError, match=said):
                divergence(p, q)

    @pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan])
    def test_a_weight_outside_its_range_is_refused(self, weight):
        with pytest.raises(InputError, match="mixture weight"):
            error_shares([0.5, 0.5], [0.5, 0.5], weight)
