"""Frontiers from ratios: closed forms, plain twins of the three expectations, and the laws of a divergence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gamma
from sklearn.decomposition import PCA

from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import (
    EXPECTATIONS,
    SCALES,
    LogRatios,
    coordinates_kept,
    direct_ratios,
    principal_coordinates,
    ratio_atoms,
    ratio_frontier,
)
from mauve_core.stats.divergences import (
    REFERENCE_WEIGHTS,
    frontier_integral,
    mauve,
    mauve_area,
    mid_point,
    trapezoid_area,
)
from mauve_core.stats.f_divergences import GENERATORS, f_frontier
from tests.numerics.gaussian_pairs import ENDS, Pair

PAIRS = [Pair(3, shift=1.0), Pair(1, shift=2.0), Pair(2, scale=1.5), Pair(6, scale=0.8)]
# Root mean square errors at 8,000 points; the mean over the other sample has the heavier tails.
CLOSE = {"union": 0.02, "own": 0.02, "other": 0.06}
INNER = np.array([0.05, 0.3, 0.5, 0.8, 0.95])
# Sums of some thousand terms near 1, in another order than the twin's.
REORDERED = 1e-12
LOG_RATIO = st.one_of(st.floats(-50, 50), st.sampled_from([-np.inf, np.inf, 0.0, 1000.0, -1000.0]))


@st.composite
def any_ratios(draw: st.DrawFn) -> LogRatios:
    """Ratios that leave each side some probability, extremes and infinities included."""
    at_p = draw(st.lists(LOG_RATIO, min_size=1, max_size=12).filter(lambda side: max(side) > -np.inf))
    at_q = draw(st.lists(LOG_RATIO, min_size=1, max_size=12).filter(lambda side: min(side) < np.inf))
    return LogRatios(np.array(at_p), np.array(at_q))


def swapped(ratios: LogRatios) -> LogRatios:
    return LogRatios(-ratios.at_q, -ratios.at_p)


class TestTheTruthItself:
    """The known frontiers, on which the tests of the estimators rest."""

    @pytest.mark.parametrize("pair", PAIRS)
    def test_ends_are_the_closed_forms(self, pair):
        truth = pair.frontier(np.array([1e-12, 1 - 1e-12]))
        type_1, type_2 = pair.divergences()
        # D(P || R) falls short of KL(P || Q) by l times chi-square or so, which is below 100 here.
        assert truth.type_2[0] == pytest.approx(type_2, abs=1e-9)
        assert truth.type_1[1] == pytest.approx(type_1, abs=1e-9)

    @pytest.mark.parametrize("pair", PAIRS)
    def test_points_between_against_a_plain_mean(self, pair):
        n = 200_000
        ratios = pair.exact(n, n, seed=1)
        truth = pair.frontier(INNER)
        for column, weight in enumerate(INNER):
            at_p = -np.log(weight + (1 - weight) * np.exp(-ratios.at_p))
            at_q = -np.log(weight * np.exp(ratios.at_q) + 1 - weight)
            assert abs(at_p.mean() - truth.type_2[column]) < 5 * at_p.std() / math.sqrt(n)
            assert abs(at_q.mean() - truth.type_1[column]) < 5 * at_q.std() / math.sqrt(n)


class TestExactRatios:
    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize("expectation", EXPECTATIONS)
    def test_frontier_approaches_the_truth(self, pair, expectation):
        """Root mean square error over runs falls about as the root of n: 16 times the points, a quarter, here half."""
        truth = pair.frontier(INNER)
        sizes = {}
        for n in (500, 8000):
            errors = []
            for seed in range(6):
                found = ratio_frontier(pair.exact(n, n, seed), weights=INNER, expectation=expectation)
                errors.append(np.stack([found.type_1 - truth.type_1, found.type_2 - truth.type_2]))
            sizes[n] = float(np.sqrt(np.mean(np.square(errors))))
        assert sizes[8000] < sizes[500] / 2
        assert sizes[8000] < CLOSE[expectation]

    @pytest.mark.parametrize("pair", [Pair(3, shift=1.0), Pair(6, scale=0.8)])
    def test_ends_approach_the_closed_forms(self, pair):
        found = ratio_frontier(pair.exact(40_000, 40_000, 0), weights=ENDS)
        type_1, type_2 = pair.divergences()
        # The standard error of either is below 0.01 at 40,000 points; the weight 1e-6 moves them by 1e-5.
        assert found.type_2[0] == pytest.approx(type_2, abs=0.04)
        assert found.type_1[1] == pytest.approx(type_1, abs=0.04)

    def test_the_union_varies_least(self):
        """What speaks for it: with the same exact ratios its mid-point scatters less than the other two."""
        pair, spread = Pair(3, shift=1.0), {}
        for expectation in EXPECTATIONS:
            found = [
                ratio_frontier(pair.exact(500, 500, seed), weights=[0.5], expectation=expectation) for seed in range(60)
            ]
            spread[expectation] = np.std([point.type_2[0] for point in found])
        assert spread["union"] < min(spread["other"], spread["own"])

    def test_sides_of_unequal_size_weigh_the_same(self):
        pair = Pair(3, shift=1.0)
        found, truth = ratio_frontier(pair.exact(30_000, 3_000, 2), weights=INNER), pair.frontier(INNER)
        np.testing.assert_allclose(found.type_1, truth.type_1, atol=0.03)
        np.testing.assert_allclose(found.type_2, truth.type_2, atol=0.03)


class TestHandValues:
    @pytest.mark.parametrize("expectation", EXPECTATIONS)
    def test_ratios_of_one_give_zeros(self, expectation):
        found = ratio_frontier(LogRatios(np.zeros(7), np.zeros(3)), expectation=expectation)
        np.testing.assert_allclose(found.type_1, 0, atol=1e-15)
        np.testing.assert_allclose(found.type_2, 0, atol=1e-15)

    def test_atoms_of_two_points(self):
        # r = 3 at P's point, 1/3 at Q's: M = (1/2, 1/2), p = M 2r/(1+r) = (3/4, 1/4), q the other way round.
        p, q = ratio_atoms(LogRatios(np.log([3.0]), np.log([1 / 3])))
        np.testing.assert_allclose(p, [0.75, 0.25], rtol=1e-14)
        np.testing.assert_allclose(q, [0.25, 0.75], rtol=1e-14)

    def test_atoms_of_unequal_sides(self):
        # M = (1/4, 1/4, 1/2); r = 1, 3, 1/3: 2r/(1+r) M = (1/4, 3/8, 1/4) over 7/8 and 2/(1+r) M = (1/4, 1/8, 3/4).
        p, q = ratio_atoms(LogRatios(np.log([1.0, 3.0]), np.log([1 / 3])))
        np.testing.assert_allclose(p, np.array([2, 3, 2]) / 7, rtol=1e-14)
        np.testing.assert_allclose(q, np.array([2, 1, 6]) / 9, rtol=1e-14)

    @pytest.mark.parametrize("far", [np.inf, 1000.0])
    def test_separate_samples(self, far):
        ratios = LogRatios(np.full(4, far), np.full(9, -far))
        union, other = (ratio_frontier(ratios, expectation=name) for name in ("union", "other"))
        np.testing.assert_allclose(union.type_1, -np.log1p(-REFERENCE_WEIGHTS), rtol=1e-9)
        np.testing.assert_allclose(union.type_2, -np.log(REFERENCE_WEIGHTS), rtol=1e-9)
        # The mean over the other sample never sees a side's own part: f_l(0) = (1 - l) f(0) = 1 - l.
        np.testing.assert_allclose(other.type_1, REFERENCE_WEIGHTS, rtol=1e-9)
        np.testing.assert_allclose(other.type_2, 1 - REFERENCE_WEIGHTS, rtol=1e-9)
        own = ratio_frontier(ratios, expectation="own")
        np.testing.assert_allclose(own.type_2, union.type_2, atol=1e-12)

    def test_other_sample_by_hand(self):
        # Q's points have r = 2 and 1/2, l = 1/2: f_l = 3/2 f(4/3) and 3/4 f(2/3), f(t) = t log t - t + 1.
        found = ratio_frontier(LogRatios([0.0], np.log([2.0, 0.5])), weights=[0.5], expectation="other")
        f = [t * math.log(t) - t + 1 for t in (4 / 3, 2 / 3)]
        assert found.type_2[0] == pytest.approx((1.5 * f[0] + 0.75 * f[1]) / 2, rel=1e-13)
        assert found.type_1[0] == 0

    def test_a_ratio_of_infinity_at_a_point_of_the_other_sample(self):
        ratios = LogRatios([0.0], [np.inf, 0.0])
        other = ratio_frontier(ratios, weights=[0.0, 0.5, 1.0], expectation="other")
        np.testing.assert_array_equal(other.type_2, [np.inf, np.inf, 0.0])
        assert np.isfinite(ratio_frontier(ratios, weights=[0.5]).type_2).all()

    def test_negative_means_are_raised_to_zero(self):
        # P's point is likelier under Q: the mean of log(p / r) is below 0, which no divergence is.
        found = ratio_frontier(LogRatios([-2.0], [2.0]), weights=INNER, expectation="own")
        assert not found.type_1.any()
        assert not found.type_2.any()


class TestTwins:
    @pytest.mark.parametrize("name", ["kl", "chi2", "js", "le-cam", "skew-js-0.1", "total-variation"])
    def test_other_against_plain_loops(self, name):
        ratios = Pair(2, shift=1.0).exact(60, 40, 3)
        generator = GENERATORS.get(name, name)
        found = ratio_frontier(ratios, generator, INNER, expectation="other")
        f = GENERATORS[name].f if name in GENERATORS else _skew_js
        for column, weight in enumerate(INNER):
            for side, logs, own in ((found.type_2, ratios.at_q, weight), (found.type_1, -ratios.at_p, 1 - weight)):
                mixtures = [own * math.exp(value) + 1 - own for value in logs]
                terms = [mix * float(f(math.exp(value) / mix)) for value, mix in zip(logs, mixtures, strict=True)]
                assert side[column] == pytest.approx(math.fsum(terms) / len(terms), rel=1e-11)

    def test_own_against_plain_loops(self):
        ratios = Pair(2, shift=1.0).exact(60, 40, 3)
        found = ratio_frontier(ratios, weights=INNER, expectation="own")
        for column, weight in enumerate(INNER):
            type_2 = [math.log(1 / (weight + (1 - weight) * math.exp(-value))) for value in ratios.at_p]
            type_1 = [math.log(1 / (weight * math.exp(value) + 1 - weight)) for value in ratios.at_q]
            assert found.type_1[column] == pytest.approx(max(0.0, math.fsum(type_1) / 40), abs=REORDERED)
            assert found.type_2[column] == pytest.approx(max(0.0, math.fsum(type_2) / 60), abs=REORDERED)

    @pytest.mark.parametrize("name", ["kl", "chi2", "js"])
    def test_union_against_plain_loops(self, name):
        ratios = Pair(2, shift=1.0).exact(60, 40, 3)
        logs = [*ratios.at_p, *ratios.at_q]
        half = [1 / 120] * 60 + [1 / 80] * 40
        p = [share * 2 * math.exp(value) / (1 + math.exp(value)) for share, value in zip(half, logs, strict=True)]
        q = [share * 2 / (1 + math.exp(value)) for share, value in zip(half, logs, strict=True)]
        p, q = ([value / math.fsum(side) for value in side] for side in (p, q))
        found, f = ratio_frontier(ratios, name, INNER), GENERATORS[name].f
        for column, weight in enumerate(INNER):
            mixtures = [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
            for side, x in ((found.type_1, q), (found.type_2, p)):
                terms = [r * float(f(a / r)) for a, r in zip(x, mixtures, strict=True)]
                assert side[column] == pytest.approx(math.fsum(terms), rel=1e-11)


class TestLaws:
    @given(any_ratios())
    def test_union_is_a_frontier_of_two_distributions(self, ratios):
        p, q = ratio_atoms(ratios)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert q.sum() == pytest.approx(1, abs=1e-12)
        found = ratio_frontier(ratios)
        for side, highest in (
            (found.type_1, -np.log1p(-REFERENCE_WEIGHTS)),
            (found.type_2, -np.log(REFERENCE_WEIGHTS)),
        ):
            assert (side >= 0).all()
            assert (side <= highest * (1 + REORDERED)).all()
        assert (np.diff(found.type_1) >= -REORDERED).all()
        assert (np.diff(found.type_2) <= REORDERED).all()

    @given(any_ratios())
    def test_the_ratio_of_the_atoms_is_the_ratio_given_up_to_one_factor(self, ratios):
        p, q = ratio_atoms(ratios)
        logs = np.concatenate([ratios.at_p, ratios.at_q])
        told = (p > 1e-300) & (q > 1e-300)
        factors = np.log(p[told]) - np.log(q[told]) - logs[told]
        np.testing.assert_allclose(factors, factors[:1].repeat(factors.size), atol=1e-10)

    @given(any_ratios(), st.sampled_from(EXPECTATIONS), st.sampled_from(["kl", "chi2", "le-cam"]))
    def test_swap_of_the_sides(self, ratios, expectation, generator):
        weights = np.array([0.125, 0.5, 0.75])  # exact in binary, and so is 1 - weight
        if expectation == "own":
            generator = "kl"
            assume(not np.isneginf(ratios.at_p).any() and not np.isposinf(ratios.at_q).any())
        forward = ratio_frontier(ratios, generator, weights, expectation=expectation)
        backward = ratio_frontier(swapped(ratios), generator, 1 - weights[::-1], expectation=expectation)
        np.testing.assert_allclose(forward.type_1, backward.type_2[::-1], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(forward.type_2, backward.type_1[::-1], rtol=1e-10, atol=1e-13)

    @pytest.mark.slow
    def test_everything_for_histograms_takes_the_atoms(self):
        pair = Pair(3, shift=1.0)
        p, q = ratio_atoms(pair.exact(20_000, 20_000, 4))
        grid = np.linspace(0.0005, 0.9995, 1000)
        truth, middle = pair.frontier(grid), pair.frontier(np.array([0.5]))
        integral = 2 * np.mean(grid * truth.type_2 + (1 - grid) * truth.type_1)
        # Standard errors at 20,000 points are near 0.002.
        assert frontier_integral(p, q) == pytest.approx(integral, abs=0.01)
        assert mid_point(p, q) == pytest.approx((middle.type_1[0] + middle.type_2[0]) / 2, abs=0.01)
        scores = [float(mauve(p, q, scale)) for scale in sorted(SCALES.values())]
        assert scores == sorted(scores, reverse=True)

    def test_generators_by_name_and_by_themselves(self):
        ratios = Pair(2, shift=1.0).exact(50, 50, 0)
        for expectation in ("union", "other"):
            named = ratio_frontier(ratios, "chi2", INNER, expectation=expectation)
            itself = ratio_frontier(ratios, GENERATORS["chi2"], INNER, expectation=expectation)
            np.testing.assert_array_equal(named.type_1, itself.type_1)
        other = f_frontier(*ratio_atoms(ratios), "chi2", INNER)
        np.testing.assert_array_equal(ratio_frontier(ratios, "chi2", INNER).type_2, other.type_2)


class TestDirect:
    def test_ratios_are_differences(self):
        ratios = direct_ratios([-10.0, -20.0], [-12.0, -np.inf], [-30.0, -np.inf, -5.0], [-25.0, -40.0, -5.0])
        np.testing.assert_array_equal(ratios.at_p, [2.0, np.inf])
        np.testing.assert_array_equal(ratios.at_q, [-5.0, -np.inf, 0.0])
        assert ratios.notes == ("1 of 2 points of P and 1 of 3 of Q have density on one side only",)

    def test_likelihoods_of_gaussians(self):
        pair = Pair(4, shift=1.5)
        sides = [
            (-(((side - pair.shift * np.eye(4)[0]) ** 2).sum(axis=1)) / 2, -(side**2).sum(axis=1) / 2)
            for side in pair.draw(5000, 5000, 0)
        ]
        ratios = direct_ratios(*sides[0], *sides[1])
        truth = pair.frontier(INNER)
        found = ratio_frontier(ratios, weights=INNER, expectation="own")
        # Standard errors are below 0.015 at 5,000 points.
        np.testing.assert_allclose(found.type_1, truth.type_1, atol=0.05)
        np.testing.assert_allclose(found.type_2, truth.type_2, atol=0.05)

    def test_far_likelihoods_do_not_overflow(self):
        ratios = direct_ratios([-1e4, -2e4], [-3e4, -1.1e4], [-2.5e4], [-1e4])
        for expectation in ("union", "own"):
            found = ratio_frontier(ratios, expectation=expectation)
            assert np.isfinite(found.type_1).all()
            assert np.isfinite(found.type_2).all()

    @pytest.mark.slow
    @pytest.mark.parametrize("distance", [200.0, np.inf])
    def test_separate_sides_have_the_area_of_figure_10(self, distance):
        """Its scores start at pi / 4: with c = 1/2 the curve is a quarter of a circle, on the published grid or not."""
        rng = np.random.default_rng(0)
        own_p, own_q = -100 * rng.random(40), -100 * rng.random(60)
        ratios = direct_ratios(own_p, own_p - distance, own_q - distance, own_q)
        scale = SCALES["direct"]
        assert mauve_area(*ratio_atoms(ratios), scale) == pytest.approx(np.pi / 4, abs=1e-6)
        assert float(mauve(*ratio_atoms(ratios), scale)) == pytest.approx(np.pi / 4, abs=2e-3)
        for expectation in ("union", "own"):
            curve = ratio_frontier(ratios, weights=np.linspace(0, 1, 4001)[1:-1], expectation=expectation).curve(scale)
            np.testing.assert_allclose(np.hypot(*curve), 1, rtol=1e-12)
            assert trapezoid_area(*curve) == pytest.approx(np.pi / 4, abs=1e-5)

    @pytest.mark.parametrize("c", sorted({0.25, 1.0, *SCALES.values()}))
    def test_the_least_area_by_its_closed_form(self, c):
        """Only c = 1/2 gives the paper's 0.785."""
        least = gamma(c + 1) ** 2 / gamma(2 * c + 1)
        assert mauve_area([1.0, 0.0], [0.0, 1.0], c) == pytest.approx(least, abs=1e-9)
        assert (abs(least - 0.785) < 1e-3) == (c == SCALES["direct"])

    @pytest.mark.parametrize(
        ("arrays", "said"),
        [
            (([0.0], [0.0, 1.0], [0.0], [0.0]), "same human texts"),
            (([0.0], [0.0], [0.0], [0.0, 0.0]), "same candidate's texts"),
            (([-np.inf], [0.0], [0.0], [0.0]), "row 0"),
            (([0.0], [0.0], [0.0, 0.0], [0.0, -np.inf]), "row 1"),
            (([0.0], [np.nan], [0.0], [0.0]), "under the candidate"),
            (([0.0], [0.0], [np.inf], [0.0]), "human side's model"),
            (([[0.0]], [0.0], [0.0], [0.0]), "not a row of numbers"),
            (([], [], [0.0], [0.0]), "not a row of numbers"),
            ((["a"], [0.0], [0.0], [0.0]), "real numbers"),
        ],
    )
    def test_what_is_refused(self, arrays, said):
        with pytest.raises(InputError, match=said):
            direct_ratios(*arrays)


class TestPrincipalCoordinates:
    @pytest.mark.parametrize("shape", [(60, 40, 8), (10, 7, 30)])
    def test_scikit_learn_finds_the_same_up_to_signs(self, shape):
        n, m, d = shape
        rng = np.random.default_rng(0)
        x = (rng.normal(size=(n + m, d)) * np.linspace(3, 0.5, d) + 5).astype(np.float32)
        u_p, u_q, note = principal_coordinates(x[:n], x[n:], 4)
        found = np.concatenate([u_p, u_q])
        twin = PCA(4, svd_solver="full").fit(x.astype(np.float64))
        other = twin.transform(x.astype(np.float64))
        signs = np.sign((found * other).sum(axis=0))
        np.testing.assert_allclose(found, other * signs, atol=1e-5)  # features are float32
        assert note == f"4 principal components with {twin.explained_variance_ratio_.sum():.1%} of the variance"

    def test_fewer_dimensions_than_asked_for(self):
        u_p, u_q, note = principal_coordinates(*Pair(3).draw(20, 10, 0), 10)
        assert u_p.shape == (20, 3)
        assert u_q.shape == (10, 3)
        assert note.startswith("3 principal components with 100.0%")

    def test_lengths_of_rows_are_kept(self):
        x_p, x_q = Pair(3, shift=2.0).draw(20, 10, 0)
        u_p, u_q, _ = principal_coordinates(x_p, x_q, 3)
        between = np.linalg.norm(x_p[:, None] - x_q, axis=2)
        np.testing.assert_allclose(np.linalg.norm(u_p[:, None] - u_q, axis=2), between, rtol=1e-5)

    def test_those_that_are_kept_are_the_same_for_the_same_features_alone(self):
        kept = {}
        pairs = [Pair(5, shift=shift).draw(20, 12, seed) for seed, shift in enumerate((0.0, 1.0))]
        pairs += [(pairs[0][1], pairs[0][0])]
        with coordinates_kept(kept):
            for asked in (2, 3):
                for x_p, x_q in pairs * 2:
                    found = principal_coordinates(x_p.copy(), x_q.copy(), asked)
                    with coordinates_kept({}):
                        alone = principal_coordinates(x_p, x_q, asked)
                    np.testing.assert_array_equal(found[0], alone[0])
                    np.testing.assert_array_equal(found[1], alone[1])
                    assert found[2] == alone[2]
                    with pytest.raises(ValueError, match="read-only"):
                        found[0][0] = 1
            with pytest.raises(InputError, match="different dimensions"):
                principal_coordinates(np.eye(3), np.eye(4), 2)
            assert len(kept) == 6
        principal_coordinates(*Pair(5).draw(9, 9, 9), 2)
        assert len(kept) == 6

    @pytest.mark.parametrize(
        ("x_p", "x_q", "components", "said"),
        [
            (np.full((4, 3), 0.1), np.full((5, 3), 0.1), 2, "All features are equal"),
            (np.eye(3), np.eye(4), 2, "different dimensions"),
            (np.eye(3), np.full((3, 3), np.nan), 2, "candidate's features"),
            (np.full((3, 3), np.inf), np.eye(3), 2, "human features"),
            (np.eye(3), np.eye(3), 0, "principal components"),
            (np.zeros((0, 3)), np.eye(3), 1, "Too few rows of human features"),
        ],
    )
    def test_what_is_refused(self, x_p, x_q, components, said):
        with pytest.raises(InputError, match=said):
            principal_coordinates(x_p, x_q, components)


class TestWhatIsRefused:
    @pytest.mark.parametrize(("at_p", "at_q"), [([], [0.0]), ([0.0], [np.nan]), ([[0.0]], [0.0]), (["a"], [0.0])])
    def test_ratios(self, at_p, at_q):
        with pytest.raises(InputError):
            LogRatios(at_p, at_q)

    @pytest.mark.parametrize("far", [np.inf, -np.inf])
    def test_no_probability_on_one_side(self, far):
        with pytest.raises(InputError, match="no probability at all"):
            ratio_frontier(LogRatios(np.full(2, far), np.full(3, far)))

    def test_probability_zero_at_an_own_point(self):
        for ratios in (LogRatios([-np.inf, 0.0], [0.0]), LogRatios([0.0], [np.inf, 0.0])):
            with pytest.raises(InputError, match="own sample"):
                ratio_frontier(ratios, expectation="own")

    def test_settings(self):
        ratios = LogRatios([0.0], [0.0])
        with pytest.raises(InputError, match="Unknown expectation"):
            ratio_frontier(ratios, expectation="third")
        with pytest.raises(InputError, match="only for KL"):
            ratio_frontier(ratios, "js", expectation="own")
        for expectation in EXPECTATIONS:
            with pytest.raises(InputError, match="Unknown generator"):
                ratio_frontier(ratios, "kullback", expectation=expectation)
            with pytest.raises(InputError, match="mixture weights"):
                ratio_frontier(ratios, weights=[0.5, 0.4], expectation=expectation)


def _skew_js(t: float) -> float:
    """Weight 1/10 on P: l KL(P || R) + (1 - l) KL(Q || R) as a function of t = p / q."""
    mix = 0.1 * t + 0.9
    return 0.1 * (t * math.log(t / mix) - t + mix) + 0.9 * (-math.log(mix) - 1 + mix)
