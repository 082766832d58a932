"""f-divergences: the paper's formulas in 60 digits, its table of constants, and the laws every f-divergence obeys."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import frontier_integral, kl_divergence, mid_point
from mauve_core.stats.f_divergences import (
    FAMILIES,
    GENERATORS,
    Generator,
    f_divergence,
    generator_of,
    interpolated_chi2,
    interpolated_kl,
    skew_js,
)
from tests.numerics.histograms import exact_near_pair, near_pair, pairs, relative_error

RELATIVE = 1e-12
# Sums over at most twelve bins in another order.
REORDERED = 1e-12
WEIGHTS = (0.01, 0.9)
ALL = [*GENERATORS.values(), *(make(weight) for make in FAMILIES.values() for weight in WEIGHTS)]
NAMES = [generator.name for generator in ALL]
every_generator = pytest.mark.parametrize("generator", ALL, ids=NAMES)


def mixture(t, weight):
    return weight * t + 1 - weight


def textbook(name, t):
    """The paper's generators, written as it prints them, for mpmath numbers t > 0 (section 2.3 and 3.3, Table 1)."""
    log = mpmath.log
    family, _, number = name.rpartition("-")
    if family in FAMILIES:
        w = mpmath.mpf(float(number))
        r = mixture(t, w)
        if family == "interpolated-kl":
            return t * log(t / r) - t + r
        if family == "interpolated-chi2":
            return (1 - w) ** 2 * (t - 1) ** 2 / r
        return w * t * log(t / r) + (1 - w) * log(1 / r)
    if t == 1:
        return mpmath.mpf(0)
    return {
        "kl": lambda: t * log(t) - t + 1,
        "chi2": lambda: (t - 1) ** 2,
        "js": lambda: t * log(2 * t / (t + 1)) / 2 + log(2 / (t + 1)) / 2,
        "squared-hellinger": lambda: (mpmath.sqrt(t) - 1) ** 2,
        "total-variation": lambda: abs(t - 1) / 2,
        "le-cam": lambda: (t - 1) ** 2 / (2 * (t + 1)),
        "fi-kl": lambda: (t + 1) / 2 - t / (t - 1) * log(t),
        "fi-chi2": lambda: (t + 1) - 2 * t / (t - 1) * log(t),
        "fi-chi2-printed": lambda: (t * t + t + 1) / (t - 1) * log(t) - mpmath.mpf(3) / 2 * (t + 1),
    }[name]()


def exact_divergence(generator, p, q):
    """Sum of q f(p / q) in 60 digits, for bins that are empty on neither side, and the limits where one is."""
    total = mpmath.mpf(0)
    for a, b in zip(map(mpmath.mpf, p), map(mpmath.mpf, q), strict=True):
        if a > 0 and b > 0:
            total += b * textbook(generator.name, a / b)
        elif b > 0:
            total += b * generator.at_zero
        elif a > 0:
            total += a * generator.conjugate_at_zero
    return total


class TestValues:
    @every_generator
    def test_two_bins_against_sixty_digits(self, generator):
        for p, q in (([0.5, 0.5], [0.25, 0.75]), ([0.9, 0.1], [0.1, 0.9]), ([1e-9, 1 - 1e-9], [0.3, 0.7])):
            assert relative_error(f_divergence(p, q, generator), exact_divergence(generator, p, q)) < RELATIVE

    def test_hand_values(self):
        p, q = [0.5, 0.5], [0.2, 0.8]
        assert f_divergence(p, q, "chi2") == pytest.approx(0.09 / 0.2 + 0.09 / 0.8, rel=1e-14)
        assert f_divergence(p, q, "total-variation") == pytest.approx(0.3, rel=1e-15)
        assert f_divergence(p, q, "le-cam") == pytest.approx(0.09 / 1.4 + 0.09 / 2.6, rel=1e-14)
        affinity = math.sqrt(0.1) + math.sqrt(0.4)
        assert f_divergence(p, q, "squared-hellinger") == pytest.approx(2 - 2 * affinity, rel=1e-13)

    @every_generator
    def test_disjoint_histograms_reach_the_sum_of_the_limits(self, generator):
        highest = generator.at_zero + generator.conjugate_at_zero
        assert f_divergence([1.0, 0.0], [0.0, 1.0], generator) == pytest.approx(highest, rel=RELATIVE)

    @every_generator
    def test_a_bin_that_is_empty_on_one_side(self, generator):
        # Two bins shared, one only on P's side, one only on Q's, one on neither.
        p, q = [0.5, 0.2, 0.3, 0.0, 0.0], [0.1, 0.5, 0.0, 0.4, 0.0]
        found, truth = f_divergence(p, q, generator), exact_divergence(generator, p, q)
        assert found == truth == np.inf or relative_error(found, truth) < RELATIVE

    @every_generator
    def test_equal_histograms_give_exact_zeros(self, generator):
        p = np.random.default_rng(0).dirichlet(np.full(30, 0.1))
        p[:3] = 0
        p /= p.sum()
        assert f_divergence(p, p, generator) == 0.0
        assert generator.f(1.0) == generator.conjugate(1.0) == 0.0

    def test_registered_divergences_that_have_functions_of_their_own(self):
        rng = np.random.default_rng(1)
        p, q = rng.dirichlet(np.full(40, 0.3), size=(5, 1)), rng.dirichlet(np.full(40, 0.3), size=3)
        np.testing.assert_array_equal(f_divergence(p, q), kl_divergence(p, q))
        np.testing.assert_allclose(f_divergence(p, q, "js"), mid_point(p, q), rtol=1e-15)
        np.testing.assert_allclose(f_divergence(p, q, "fi-kl"), frontier_integral(p, q), rtol=1e-14)


class TestNearlyEqualHistograms:
    @every_generator
    def test_sums_against_sixty_digits(self, generator):
        for power in range(1, 16):
            p, q = near_pair(10.0**-power, seed=power)
            assert relative_error(f_divergence(p, q, generator), exact_divergence(generator, p, q)) < RELATIVE, power

    @every_generator
    def test_generator_and_conjugate_against_sixty_digits(self, generator):
        for power in range(1, 16):
            for t in (1 + 10.0**-power, 1 - 10.0**-power):
                exact = mpmath.mpf(t)
                assert relative_error(generator.f(t), textbook(generator.name, exact)) < RELATIVE
                conjugate = exact * textbook(generator.name, 1 / exact)
                assert relative_error(generator.conjugate(t), conjugate) < RELATIVE

    @every_generator
    def test_both_sides_of_each_switch_from_series_to_logarithm(self, generator):
        for ratio in (0.89, 0.9, 0.91, 1.09, 1.1, 1.11, 0.33, 1 / 3, 0.34, 2.9, 3.0, 3.1, 1e-5, 1e5):
            assert relative_error(generator.f(ratio), textbook(generator.name, mpmath.mpf(ratio))) < RELATIVE, ratio

    @every_generator
    def test_histograms_that_are_exact_in_binary(self, generator):
        for power in range(3, 50, 5):
            p, q = exact_near_pair(power)
            assert relative_error(f_divergence(p, q, generator), exact_divergence(generator, p, q)) < RELATIVE, power

    @given(st.sampled_from(ALL), st.integers(0, 290), st.integers(0, 290), st.floats(0.2, 1))
    def test_bins_of_very_different_size(self, generator, first, second, spread):
        small = np.array([spread * 10.0 ** -(first + 1), spread * 10.0 ** -(second + 1)])
        p, q = np.append(small, 1 - small.sum()), np.append(small[::-1] / 3, 1 - small.sum() / 3)
        found, truth = f_divergence(p, q, generator), exact_divergence(generator, p, q)
        assert relative_error(found, truth) < RELATIVE

    @every_generator
    def test_numbers_at_the_edge_of_float64(self, generator):
        # 1e-310 is subnormal, so the quotient of the bins overflows.
        p, q = np.array([1e-310, 1.0]), np.array([0.5, 0.5])
        assert relative_error(f_divergence(p, q, generator), exact_divergence(generator, p, q)) < RELATIVE
        found, truth = f_divergence(q, p, generator), exact_divergence(generator, q, p)
        assert (found == np.inf and truth > 1e308) or relative_error(found, truth) < RELATIVE


class TestGenerators:
    @every_generator
    def test_limits_are_those_of_the_paper_s_formulas(self, generator):
        # Some limits are approached as t log(1 / t) or sqrt(t), which at 1e-40 leave less than 1e-18. An infinite one
        # grows at least as log(1 / t), which is 92 there.
        t = mpmath.mpf("1e-40")
        for limit, value in (
            (generator.at_zero, textbook(generator.name, t)),
            (generator.conjugate_at_zero, t * textbook(generator.name, 1 / t)),
        ):
            assert value > 80 if limit == np.inf else relative_error(limit, value) < 1e-15
        assert generator.f(0.0) == pytest.approx(generator.at_zero, rel=1e-15)
        assert generator.conjugate(0.0) == pytest.approx(generator.conjugate_at_zero, rel=1e-15)

    @every_generator
    def test_far_arguments_and_shapes(self, generator):
        t = np.array([[1e-12, 0.5, 1.0], [7.0, 1e12, np.inf]])
        values, conjugates = generator.f(t), generator.conjugate(t)
        assert values.shape == conjugates.shape == t.shape
        assert values[1, 2] == conjugates[1, 2] == np.inf
        assert generator.f(0.5) == values[0, 1]
        for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
            exact = mpmath.mpf(t[row, column])
            assert relative_error(values[row, column], textbook(generator.name, exact)) < RELATIVE
            assert relative_error(conjugates[row, column], exact * textbook(generator.name, 1 / exact)) < RELATIVE

    @every_generator
    def test_second_derivative_against_mpmath(self, generator):
        for t in (0.01, 0.5, 0.999, 1.0, 1.5, 40.0):
            if generator.name == "total-variation":
                assert generator.second(t) == (np.inf if t == 1 else 0)
                continue
            truth = mpmath.diff(lambda x: textbook(generator.name, x), mpmath.mpf(t), 2)
            # mpmath's differences at 60 digits keep about 20.
            assert relative_error(generator.second(t), truth) < RELATIVE

    @every_generator
    def test_normalised_and_convex(self, generator):
        if generator.name != "total-variation":  # which has a kink at 1
            assert abs(mpmath.diff(lambda t: textbook(generator.name, t), mpmath.mpf(1) + mpmath.mpf("1e-30"))) < 1e-15
        assert (generator.second(np.logspace(-3, 3, 50)) >= 0).all()

    def test_constants_of_table_1(self):
        """f(0), f*(0) and the largest t f''(t) / 2 of f and of f*, as printed in table 1 of JMLR 2023.

        Those of the interpolated chi2 are printed for the generator without (1 - l)^2.
        """
        log, rows = math.log, []
        for w in (0.2, 0.5, 0.7):
            v = 1 - w
            rows += [
                (interpolated_kl(w), 1, (v, log(1 / w) - v, 1 / 2, v / (8 * w))),
                (skew_js(w), 1, (v * log(1 / v), w * log(1 / w), w / 2, v / 2)),
                (interpolated_chi2(w), v * v, (1 / v, 1 / w, 4 / (27 * w * v * v), 4 / (27 * w * w * v))),
            ]
        rows += [
            (GENERATORS["js"], 1, (log(2) / 2, log(2) / 2, 1 / 4, 1 / 4)),
            (GENERATORS["fi-kl"], 1, (1 / 2, 1 / 2, 1 / 2, 1 / 2)),
            (GENERATORS["le-cam"], 1, (1 / 2, 1 / 2, 8 / 27, 8 / 27)),
        ]
        t = np.logspace(-8, 8, 20_001)
        for generator, factor, (zero, conjugate_zero, bend, conjugate_bend) in rows:
            assert generator.at_zero == pytest.approx(factor * zero, rel=1e-12)
            assert generator.conjugate_at_zero == pytest.approx(factor * conjugate_zero, rel=1e-12)
            second = generator.second(t)
            # f*''(t) = f''(1 / t) / t^3. The grid's steps of 0.2 % miss a maximum by 1e-6 of it, and its ends a
            # supremum at 0 by 1e-7.
            conjugate_second = generator.second(1 / t) / t**3
            assert (t * second / 2).max() == pytest.approx(factor * bend, rel=1e-5), generator.name
            assert (t * conjugate_second / 2).max() == pytest.approx(factor * conjugate_bend, rel=1e-5), generator.name

    @pytest.mark.parametrize("t", [0.01, 0.7, 1.001, 3.0, 50.0])
    def test_frontier_integrals_are_generated_as_property_7_says(self, t):
        """Twice the integral of l f_l(t) + (1 - l) (f_(1-l))*(t), f_l of equation 4; and the printed chi2 formula."""

        def interpolated(base, weight, x):
            return mixture(x, weight) * textbook(base, x / mixture(x, weight))

        def generated(base, first, second):
            def inner(weight):
                own, conjugate = interpolated(base, weight, x), x * interpolated(base, 1 - weight, 1 / x)
                return first(weight) * own + second(weight) * conjugate

            return mpmath.quad(inner, [0, 0.1, 0.5, 0.9, 1])

        x = mpmath.mpf(t)
        for base, name in (("kl", "fi-kl"), ("chi2", "fi-chi2")):
            truth = 2 * generated(base, lambda w: w, lambda w: 1 - w)
            assert relative_error(GENERATORS[name].f(t), truth) < RELATIVE
        # Weights exchanged and not doubled: what section 3.3 prints for chi2.
        truth = generated("chi2", lambda w: 1 - w, lambda w: w)
        assert relative_error(GENERATORS["fi-chi2-printed"].f(t), truth) < RELATIVE

    def test_names(self):
        for name, generator in GENERATORS.items():
            assert generator_of(name) is generator_of(generator) is generator
            assert generator.name.startswith(name)
            assert generator.title
            assert generator.source.startswith("JMLR 2023")
        assert generator_of("skew-js-0.125") == skew_js(0.125) != skew_js(0.25)
        assert generator_of("interpolated-kl-1e-06").at_zero == 1 - 1e-6
        assert isinstance(hash(skew_js(0.3)), int)

    def test_the_ends_of_the_families(self):
        p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
        # D(P || l P + (1 - l) Q) differs from D(P || Q) by about l D'(0).
        assert f_divergence(p, q, interpolated_kl(1e-9)) == pytest.approx(float(f_divergence(p, q, "kl")), rel=1e-8)
        assert f_divergence(p, q, interpolated_chi2(1e-9)) == pytest.approx(float(f_divergence(p, q, "chi2")), rel=1e-8)
        assert f_divergence(p, q, skew_js(0.5)) == f_divergence(p, q, "js")
        assert f_divergence(p, q, interpolated_chi2(0.5)) == pytest.approx(
            float(f_divergence(p, q, "le-cam")), rel=1e-14
        )


class TestLaws:
    @given(pairs())
    def test_range(self, pair):
        for generator in ALL:
            assert 0 <= f_divergence(*pair, generator) <= generator.at_zero + generator.conjugate_at_zero

    @given(pairs())
    def test_swap_of_the_sides(self, pair):
        p, q = pair
        for generator in ALL:
            there, back = f_divergence(p, q, generator), f_divergence(q, p, generator)
            if generator.symmetric:
                assert there == back or there == pytest.approx(float(back), rel=REORDERED)

    @given(st.sampled_from(ALL), pairs())
    def test_against_sixty_digits(self, generator, pair):
        found, truth = f_divergence(*pair, generator), exact_divergence(generator, *pair)
        assert found == truth == np.inf or relative_error(found, truth) < RELATIVE

    def test_what_is_not_symmetric_is_not(self):
        p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
        for generator in ALL:
            there, back = f_divergence(p, q, generator), f_divergence(q, p, generator)
            assert (abs(there / back - 1) < RELATIVE) == generator.symmetric, generator.name

    @given(pairs(), st.data())
    def test_merging_bins_never_raises_a_divergence(self, pair, data):
        p, q = pair
        k = p.size
        groups = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=k)))
        merged = [np.bincount(groups, weights=side, minlength=k) for side in (p, q)]
        for generator in ALL:
            # Merging rounds the sums of bins by about 1e-16 each; total variation takes that as it is.
            bound = f_divergence(p, q, generator) * (1 + REORDERED) + 2e-15
            assert f_divergence(*merged, generator) <= bound, generator.name

    @given(pairs())
    def test_a_bin_that_is_empty_on_both_sides_changes_nothing(self, pair):
        p, q = pair
        for generator in ALL:
            padded = f_divergence(np.append(p, 0), np.append(q, 0), generator)
            np.testing.assert_allclose(padded, f_divergence(p, q, generator), rtol=REORDERED)

    @given(pairs())
    def test_the_order_of_the_divergences(self, pair):
        """Known inequalities: Pinsker, Hellinger between total variations, Le Cam between halves of Hellinger."""
        kl, hellinger, variation, le_cam = (
            float(f_divergence(*pair, name)) for name in ("kl", "squared-hellinger", "total-variation", "le-cam")
        )
        room = 1 + RELATIVE
        assert 2 * variation**2 <= kl * room
        assert hellinger <= 2 * variation * room
        assert variation <= math.sqrt(hellinger * (1 - hellinger / 4)) * room + 1e-15
        assert hellinger / 2 <= le_cam * room
        assert le_cam <= hellinger * room


class TestBroadcastingAndErrors:
    def test_leading_axes_broadcast(self):
        rng = np.random.default_rng(1)
        p, q = rng.dirichlet(np.ones(6), size=(4, 1)), rng.dirichlet(np.ones(6), size=(1, 3))
        for generator in ALL:
            table = f_divergence(p, q, generator)
            assert table.shape == (4, 3)
            assert table[2, 1] == pytest.approx(float(f_divergence(p[2, 0], q[0, 1], generator)), rel=1e-14)

    def test_what_is_no_pair_of_histograms_is_refused(self):
        with pytest.raises(InputError, match="different numbers of bins"):
            f_divergence([0.5, 0.5], [1.0])

    @pytest.mark.parametrize(
        "name", ["", "tsallis", "skew-js-", "skew-js-1.0", "interpolated-kl-0", "skew-js-nan", "kl-0.5"]
    )
    def test_a_name_that_no_generator_has_is_refused(self, name):
        with pytest.raises(InputError, match="Allowed"):
            generator_of(name)

    @pytest.mark.parametrize("weight", [0, 1, -0.1, np.nan])
    def test_a_weight_outside_its_range_is_refused(self, weight):
        for make in FAMILIES.values():
            with pytest.raises(InputError, match="weight on P"):
                make(weight)

    def test_arguments_where_a_generator_is_not_defined_are_refused(self):
        generator = GENERATORS["kl"]
        assert isinstance(generator, Generator)
        for t in (-1e-9, np.nan, [1.0, -np.inf]):
            for function in (generator.f, generator.conjugate, generator.second):
                with pytest.raises(InputError, match="not defined"):
                    function(t)
        for t in (0.0, np.inf):
            with pytest.raises(InputError, match="border"):
                generator.second(t)
