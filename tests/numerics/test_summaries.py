"""Frontiers of any f-divergence and their summaries: known identities, 60-digit twins, quadrature and closed forms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats import f_divergences
from mauve_core.stats.divergences import (
    SMOOTHINGS,
    divergence_frontier,
    frontier_integral,
    kl_divergence,
    mauve,
    mid_point,
    reference_weights,
)
from mauve_core.stats.f_divergences import (
    CLUSTER_SCALE,
    CLUSTER_SMOOTHING,
    FIVE,
    GENERATORS,
    auc,
    backward_kl,
    exponentiated_kl,
    f_divergence,
    f_frontier,
    forward_kl,
    frontier_integral_f,
    integrated_frontier,
    interpolated_chi2,
    interpolated_kl,
    jensen_shannon,
    mauve_f,
    mid_f,
    ranges,
    skew_js,
)
from tests.numerics.histograms import near_pair, pairs, relative_error
from tests.numerics.test_generators import textbook

RELATIVE = 1e-12
QUADRATURE = 1e-10
AREA_ROUNDING = 1e-13
FRAMED = {name: generator for name, generator in GENERATORS.items() if np.isfinite(generator.at_zero)}
every_framed = pytest.mark.parametrize("generator", FRAMED.values(), ids=FRAMED.keys())


def exact_errors(generator, p, q, weight):
    """D_f(Q || R) and D_f(P || R) in 60 digits, where no bin is empty."""
    w = mpmath.mpf(weight)
    mixtures = [w * mpmath.mpf(a) + (1 - w) * mpmath.mpf(b) for a, b in zip(p, q, strict=True)]
    return [
        mpmath.fsum(r * textbook(generator.name, mpmath.mpf(x) / r) for x, r in zip(side, mixtures, strict=True))
        for side in (q, p)
    ]


class TestFrontier:
    @every_framed
    @pytest.mark.parametrize("epsilon", [0.5, 1e-1, 1e-4, 1e-8, 1e-12])
    def test_near_equal_histograms_against_sixty_digits(self, generator, epsilon):
        p, q = near_pair(epsilon)
        weights = reference_weights(3)
        frontier = f_frontier(p, q, generator, weights)
        for column, weight in enumerate(weights):
            type_1, type_2 = exact_errors(generator, p, q, weight)
            assert relative_error(frontier.type_1[column], type_1) < RELATIVE
            assert relative_error(frontier.type_2[column], type_2) < RELATIVE

    @every_framed
    def test_a_coordinate_is_the_divergence_from_the_mixture(self, generator):
        rng = np.random.default_rng(4)
        p, q = rng.dirichlet(np.full(20, 0.3)), rng.dirichlet(np.full(20, 0.3))
        p[:4], q[6:9] = 0, 0
        p, q = p / p.sum(), q / q.sum()
        frontier = f_frontier(p, q, generator, [0.25, 0.5, 0.75])
        for column, weight in enumerate(frontier.weights):
            mixture = weight * p + (1 - weight) * q
            # The mixture is rounded here; far from p = q that moves nothing.
            assert frontier.type_1[column] == pytest.approx(float(f_divergence(q, mixture, generator)), rel=1e-12)
            assert frontier.type_2[column] == pytest.approx(float(f_divergence(p, mixture, generator)), rel=1e-12)

    def test_property_5_the_coordinates_of_kl_and_chi2_are_interpolated_divergences(self):
        rng = np.random.default_rng(5)
        p, q = rng.dirichlet(np.full(9, 0.5)), rng.dirichlet(np.full(9, 0.5))
        for base, family in (("kl", interpolated_kl), ("chi2", interpolated_chi2)):
            frontier = f_frontier(p, q, base, [0.125, 0.5, 0.875])
            for column, weight in enumerate(frontier.weights):
                type_2 = f_divergence(p, q, family(weight))
                type_1 = f_divergence(q, p, family(1 - weight))
                assert frontier.type_2[column] == pytest.approx(float(type_2), rel=RELATIVE)
                assert frontier.type_1[column] == pytest.approx(float(type_1), rel=RELATIVE)

    def test_kl_is_the_frontier_that_was_there(self):
        rng = np.random.default_rng(6)
        p, q = rng.dirichlet(np.ones(30), size=(2, 3)), rng.dirichlet(np.ones(30))
        ours, there = f_frontier(p, q), divergence_frontier(p, q)
        np.testing.assert_array_equal(ours.type_1, there.type_1)
        np.testing.assert_array_equal(ours.type_2, there.type_2)
        np.testing.assert_array_equal(mauve_f(p, q, scale=3.0), mauve(p, q, 3.0))
        np.testing.assert_array_equal(mid_f(p, q), mid_point(p, q))
        np.testing.assert_array_equal(frontier_integral_f(p, q), frontier_integral(p, q))

    @every_framed
    def test_leading_axes_broadcast_and_blocks_do_not_matter(self, generator):
        rng = np.random.default_rng(7)
        # 300 rows of 250 bins lie in three blocks.
        p, q = rng.dirichlet(np.ones(250), size=(100, 1)), rng.dirichlet(np.ones(250), size=3)
        frontier = f_frontier(p, q, generator, [0.2, 0.7])
        assert frontier.type_1.shape == frontier.type_2.shape == (100, 3, 2)
        for row in (0, 43, 44, 99):
            alone = f_frontier(p[row, 0], q[1], generator, [0.2, 0.7])
            np.testing.assert_allclose(frontier.type_1[row, 1], alone.type_1, rtol=1e-14)
            np.testing.assert_allclose(frontier.type_2[row, 1], alone.type_2, rtol=1e-14)


class TestMidPoint:
    @given(pairs())
    def test_kl_gives_jensen_shannon_and_chi2_le_cam(self, pair):
        assert mid_f(*pair, "kl") == pytest.approx(float(f_divergence(*pair, "js")), rel=RELATIVE)
        assert mid_f(*pair, "chi2") == pytest.approx(float(f_divergence(*pair, "le-cam")), rel=RELATIVE)
        assert mid_f(*pair, "total-variation") == pytest.approx(float(f_divergence(*pair, "total-variation")) / 2)

    @pytest.mark.parametrize("power", range(1, 13))
    def test_the_same_where_p_is_near_q(self, power):
        p, q = near_pair(10.0**-power)
        assert mid_f(p, q, "kl") == pytest.approx(float(f_divergence(p, q, "js")), rel=RELATIVE)
        assert mid_f(p, q, "chi2") == pytest.approx(float(f_divergence(p, q, "le-cam")), rel=RELATIVE)
        for generator in FRAMED.values():
            truth = mpmath.fsum(exact_errors(generator, p, q, 0.5)) / 2
            assert relative_error(mid_f(p, q, generator), truth) < RELATIVE


class TestIntegral:
    @pytest.mark.parametrize("base", ["kl", "chi2"])
    @given(pair=pairs())
    def test_it_is_the_f_divergence_of_its_generator(self, base, pair):
        expected = float(f_divergence(*pair, f"fi-{base}"))
        assert frontier_integral_f(*pair, base) == pytest.approx(expected, rel=RELATIVE)

    @pytest.mark.parametrize("base", ["kl", "chi2"])
    @pytest.mark.parametrize("power", range(1, 13))
    def test_the_same_where_p_is_near_q(self, base, power):
        p, q = near_pair(10.0**-power)
        truth = mpmath.fsum(
            mpmath.mpf(b) * textbook(f"fi-{base}", mpmath.mpf(a) / mpmath.mpf(b)) for a, b in zip(p, q, strict=True)
        )
        assert relative_error(frontier_integral_f(p, q, base), truth) < RELATIVE
        assert relative_error(integrated_frontier(p, q, base), truth) < QUADRATURE

    @pytest.mark.parametrize("base", ["kl", "chi2", "total-variation"])
    @given(pair=pairs())
    def test_quadrature_against_the_closed_form(self, base, pair):
        closed = float(frontier_integral_f(*pair, base))
        assert integrated_frontier(*pair, base) == pytest.approx(closed, rel=QUADRATURE)

    @every_framed
    def test_quadrature_against_mpmath(self, generator):
        p, q = [0.5, 0.3, 0.15, 0.05], [0.02, 0.2, 0.38, 0.4]

        def cost(weight):
            type_1, type_2 = exact_errors(generator, p, q, weight)
            return weight * type_2 + (1 - weight) * type_1

        with mpmath.workdps(20):
            truth = 2 * mpmath.quad(cost, [0, 0.05, 0.3, 0.7, 0.95, 1], maxdegree=5)
        assert relative_error(integrated_frontier(p, q, generator), truth) < QUADRATURE
        assert relative_error(frontier_integral_f(p, q, generator), truth) < QUADRATURE

    def test_quadrature_where_bins_are_empty(self):
        # P on one bin of two, Q on both: the closed form of the Hellinger frontier. For p = 1 against q = 1/2 the
        # mixture is (1 + l) / 2, and (1 - l) / 2 where p = 0. Written out, with l integrated by mpmath.
        def cost(weight):
            first, second = (1 + weight) / 2, (1 - weight) / 2
            type_2 = (1 - mpmath.sqrt(first)) ** 2 + second
            type_1 = (mpmath.sqrt(0.5) - mpmath.sqrt(first)) ** 2 + (mpmath.sqrt(0.5) - mpmath.sqrt(second)) ** 2
            return weight * type_2 + (1 - weight) * type_1

        truth = 2 * mpmath.quad(cost, [0, 0.5, 1])
        assert relative_error(frontier_integral_f([1.0, 0.0], [0.5, 0.5], "squared-hellinger"), truth) < QUADRATURE

    def test_a_table_is_integrated_row_by_row(self):
        rng = np.random.default_rng(8)
        p, q = rng.dirichlet(np.ones(4), size=(2, 1)), rng.dirichlet(np.ones(4), size=3)
        table = frontier_integral_f(p, q, "js")
        assert table.shape == (2, 3)
        assert table[1, 2] == frontier_integral_f(p[1, 0], q[2], "js")
        assert frontier_integral_f(p[1, 0], p[1, 0], "js") == 0.0


class TestRanges:
    @given(st.sampled_from(list(FRAMED.values())), pairs())
    def test_nothing_leaves_its_range_and_sides_may_be_swapped(self, generator, pair):
        p, q = pair
        bounds = ranges(generator)
        for summary, name in ((mauve_f, "mauve"), (mid_f, "mid"), (frontier_integral_f, "frontier_integral")):
            low, high = bounds[name]
            value = float(summary(p, q, generator))
            assert low <= value <= high, name
            # The grid of MAUVE is symmetric up to the rounding of 1 - weight near 1e-6, 1e-10 relative.
            assert summary(q, p, generator) == pytest.approx(value, rel=1e-10, abs=1e-10 if name == "mauve" else 0)
        assert 0 <= f_divergence(p, q, generator) <= bounds["divergence"][1]

    def test_ranges_of_the_paper(self):
        assert ranges("kl")["frontier_integral"] == (0.0, 1.0)
        assert ranges("chi2")["frontier_integral"] == (0.0, 2.0)
        assert ranges("kl")["mid"] == (0.0, pytest.approx(math.log(2), rel=1e-15))
        assert ranges("chi2")["mid"] == (0.0, 1.0)
        assert ranges("js")["divergence"] == (0.0, pytest.approx(math.log(2), rel=1e-15))
        assert ranges("total-variation")["divergence"] == (0.0, 1.0)
        with pytest.raises(TypeError):
            ranges("kl")["mid"] = (0.0, 5.0)  # type: ignore[index]

    @every_framed
    def test_properties_7_and_8_tell_the_upper_ends_and_disjoint_histograms_reach_them(self, generator):
        def conjugate(weight):
            return weight * textbook(generator.name, 1 / weight)

        with mpmath.workdps(20):
            area = mpmath.quad(lambda weight: weight * conjugate(weight), [0, 0.1, 0.5, 1], maxdegree=6)
        integral = 4 * area + mpmath.mpf(2) / 3 * generator.at_zero
        mid = (generator.at_zero + textbook(generator.name, mpmath.mpf(2))) / 2
        bounds = ranges(generator)
        assert relative_error(bounds["frontier_integral"][1], integral) < QUADRATURE
        assert relative_error(bounds["mid"][1], mid) < RELATIVE
        p, q = [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7]
        assert frontier_integral_f(p, q, generator) == pytest.approx(bounds["frontier_integral"][1], rel=QUADRATURE)
        assert mid_f(p, q, generator) == pytest.approx(bounds["mid"][1], rel=RELATIVE)

    @given(st.sampled_from(list(FRAMED.values())), pairs(), st.data())
    def test_merging_bins_never_raises_a_summary(self, generator, pair, data):
        p, q = pair
        k = p.size
        groups = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=k)))
        merged = [np.bincount(groups, weights=side, minlength=k) for side in (p, q)]
        # Merging rounds the sums of bins, and the integral is settled to 1e-10 of its value.
        assert mid_f(*merged, generator) <= mid_f(p, q, generator) * (1 + RELATIVE) + 2e-15
        assert (
            frontier_integral_f(*merged, generator) <= frontier_integral_f(p, q, generator) * (1 + QUADRATURE) + 2e-15
        )
        assert mauve_f(*merged, generator) >= mauve_f(p, q, generator) - AREA_ROUNDING

    @every_framed
    def test_equal_histograms(self, generator):
        p = np.random.default_rng(9).dirichlet(np.full(12, 0.4))
        assert mauve_f(p, p, generator) == 1.0
        assert mid_f(p, p, generator) == frontier_integral_f(p, p, generator) == 0.0


class TestFive:
    def test_hand_values(self):
        p, q = [0.5, 0.5], [0.25, 0.75]
        forward = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
        assert forward_kl(p, q) == pytest.approx(forward, rel=1e-14)
        backward = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
        assert backward_kl(p, q) == pytest.approx(backward, rel=1e-13)
        assert exponentiated_kl(p, q) == pytest.approx(math.sqrt(4 / 3), rel=1e-14)  # exp(log(4 / 3) / 2)
        middle = [0.375, 0.625]
        shannon = sum(x * math.log(x / r) for side in (p, q) for x, r in zip(side, middle, strict=True)) / 2
        assert jensen_shannon(p, q) == pytest.approx(shannon, rel=1e-13)
        assert auc(p, q, 0.2) == 1 - mauve(p, q, 0.2)
        assert auc(p, q) == 1 - mauve(p, q, CLUSTER_SCALE) == FIVE["auc"](p, q)

    def test_a_bin_that_one_side_leaves_empty(self):
        p, q = [0.5, 0.5, 0.0], [0.2, 0.8, 0.0]
        spread = [0.4, 0.4, 0.2]
        assert forward_kl(p, spread) < np.inf
        assert backward_kl(p, spread) == forward_kl(spread, q) == exponentiated_kl(spread, q) == np.inf
        assert jensen_shannon(p, spread) < math.log(2)
        assert 0 < auc(p, spread) < 1

    def test_a_divergence_too_large_for_its_exponential(self):
        # log(1 / 1e-320) = 737 nats, and float64 ends at exp(709).
        assert exponentiated_kl([1.0, 0.0], [1e-320, 1.0]) == np.inf

    @given(pairs())
    def test_ranges_and_symmetry(self, pair):
        p, q = pair
        values = {name: float(divergence(p, q)) for name, divergence in FIVE.items()}
        assert all(value >= 0 for value in values.values())
        assert values["exponentiated-kl"] >= 1
        assert values["auc"] <= 1
        assert values["jensen-shannon"] <= math.log(2)
        assert values["forward-kl"] == kl_divergence(p, q) == backward_kl(q, p)
        assert jensen_shannon(q, p) == values["jensen-shannon"]
        assert auc(q, p) == pytest.approx(values["auc"], abs=1e-10)

    def test_equal_histograms_and_leading_axes(self):
        p = np.random.default_rng(3).dirichlet(np.ones(7), size=4)
        for name, divergence in FIVE.items():
            np.testing.assert_array_equal(divergence(p, p), np.full(4, 1.0 if name == "exponentiated-kl" else 0.0))
        assert CLUSTER_SMOOTHING in SMOOTHINGS


class TestErrors:
    def test_an_integral_that_does_not_settle_is_no_number(self, monkeypatch):
        monkeypatch.setattr(f_divergences, "_SETTLED", -1.0)
        with pytest.raises(InputError, match="does not converge"):
            integrated_frontier([0.5, 0.5], [0.4, 0.6], "js")

    def test_a_generator_without_a_frontier_is_refused(self):
        for summary in (f_frontier, mauve_f, mid_f, frontier_integral_f, integrated_frontier):
            with pytest.raises(InputError, match=r"finite f\(0\)"):
                summary([0.5, 0.5], [0.4, 0.6], "fi-chi2-printed")
        with pytest.raises(InputError, match=r"finite f\(0\)"):
            ranges("fi-chi2-printed")

    @pytest.mark.parametrize("weights", [[], [0.5, 0.5], [0.5, 1.1], [[0.5]]])
    def test_weights_that_are_no_grid_are_refused(self, weights):
        for generator in ("kl", "chi2"):
            with pytest.raises(InputError, match="mixture weights"):
                f_frontier([0.5, 0.5], [0.4, 0.6], generator, weights)

    def test_what_is_no_pair_of_histograms_is_refused(self):
        for summary in (f_frontier, mauve_f, mid_f, frontier_integral_f):
            for generator in ("kl", "chi2", skew_js(0.3)):
                with pytest.raises(InputError, match="a sum of"):
                    summary([0.5, 0.6], [0.5, 0.5], generator)
        with pytest.raises(InputError, match="Unknown generator"):
            mauve_f([0.5, 0.5], [0.5, 0.5], "kullback")
