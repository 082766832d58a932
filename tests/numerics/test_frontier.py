"""The frontier and the area under it: closed forms, a brute-force area, the laws, and the curve's ends."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import beta, expit, xlogy

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import (
    REFERENCE_WEIGHTS,
    divergence_frontier,
    error_shares,
    kl_divergence,
    mauve,
    mauve_area,
    mixture_terms,
    reference_weights,
)
from tests.numerics.histograms import exact_shares, near_pair, pairs, relative_error

RELATIVE = 1e-13
# 25 trapezoids of numbers up to 1, each rounded a few times.
AREA_ROUNDING = 1e-13
AREA = 1e-6
SCALES = (0.1, 1.0, 5.0, 100.0, 1e4)


def brute_force_area(p, q, scale):
    """Trapezoids between 200,001 points, logarithms of the mixture itself and no other formula in common.

    Points are even in the log odds s, from -45 to 45. In s the curve bends by at most about 1, so that trapezoids of
    width 4.5e-4 leave 2e-8.
    """
    points = []
    for s in np.array_split(np.linspace(-45, 45, 200_001), 50):
        mixture = expit(s)[:, None] * p + expit(-s)[:, None] * q
        safe = np.where(mixture > 0, mixture, 1.0)
        type_1 = (xlogy(q, q) - xlogy(q, safe)).sum(axis=1)
        type_2 = (xlogy(p, p) - xlogy(p, safe)).sum(axis=1)
        points.append(np.exp(-scale * np.stack([type_1, type_2])))
    x, y = np.concatenate(points, axis=1)
    x, y = np.concatenate([[1], x, [0]]), np.concatenate([[0], y, [1]])
    return float(((x[:-1] - x[1:]) * (y[:-1] + y[1:])).sum() / 2)


class TestClosedForms:
    @pytest.mark.parametrize("scale", [0.01, 0.5, 1.0, 5.0, 40.0])
    @pytest.mark.parametrize("overlap", [0.0, 0.5, 0.999])
    def test_area_of_histograms_that_share_one_bin(self, scale, overlap):
        # P = (a, 1-a, 0), Q = (a, 0, 1-a): x = (1-l)^C and y = l^C with C = c (1-a). For small C nearly all of the
        # curve lies closer to the corner than any grid of float64 weights comes.
        c = scale * (1 - overlap)
        p, q = [overlap, 1 - overlap, 0.0], [overlap, 0.0, 1 - overlap]
        assert mauve_area(p, q, scale) == pytest.approx(c * beta(c + 1, c), abs=1e-9)

    def test_disjoint_histograms_on_the_reference_grid(self):
        weights = REFERENCE_WEIGHTS
        frontier = divergence_frontier([1.0, 0.0], [0.0, 1.0])
        np.testing.assert_allclose(frontier.type_1, -np.log1p(-weights), rtol=1e-12)
        np.testing.assert_allclose(frontier.type_2, -np.log(weights), rtol=1e-12)
        # The curve is ((1-l)^5, l^5) with its two ends, written out.
        x, y = np.concatenate([[1], (1 - weights) ** 5, [0]]), np.concatenate([[0], weights**5, [1]])
        expected = sum((x[i] - x[i + 1]) * (y[i] + y[i + 1]) / 2 for i in range(len(x) - 1))
        assert mauve([1.0, 0.0], [0.0, 1.0]) == pytest.approx(expected, rel=1e-12)

    def test_equal_histograms_score_exactly_one(self):
        for k in range(1, 40):
            p = np.random.default_rng(k).dirichlet(np.ones(k))
            assert mauve(p, p) == mauve_area(p, p) == 1.0

    def test_reference_grid(self):
        assert REFERENCE_WEIGHTS.shape == (25,)
        assert REFERENCE_WEIGHTS[0] == 1e-6
        assert REFERENCE_WEIGHTS[-1] == 1 - 1e-6
        np.testing.assert_allclose(np.diff(REFERENCE_WEIGHTS), (1 - 2e-6) / 24, rtol=1e-12)
        with pytest.raises(ValueError, match="read-only"):
            REFERENCE_WEIGHTS[0] = 0.5


class TestArea:
    @given(pairs(), st.sampled_from(SCALES))
    @settings(max_examples=10)
    @pytest.mark.slow
    def test_against_brute_force(self, pair, scale):
        p, q = pair
        assert mauve_area(p, q, scale) == pytest.approx(brute_force_area(p, q, scale), abs=AREA)

    @pytest.mark.parametrize("scale", SCALES)
    def test_against_brute_force_on_histograms_of_ordinary_size(self, scale):
        rng = np.random.default_rng(3)
        p, q = rng.dirichlet(np.full(20, 0.5)), rng.dirichlet(np.full(20, 0.5))
        assert mauve_area(p, q, scale) == pytest.approx(brute_force_area(p, q, scale), abs=AREA)

    def test_against_sixty_digit_quadrature(self):
        # y(x) for P = (1/2, 1/2), Q = (1, 0), c = 5, r = (1 - l/2, l/2): KL(Q||R) = -log(1 - l/2),
        # KL(P||R) = -log(l (2 - l)) / 2. Area = integral of y (-dx/dl) + the rectangle left of x(1).
        def integrand(weight):
            y = mpmath.power(weight * (2 - weight), mpmath.mpf(5) / 2)
            return y * mpmath.mpf(5) / 2 * (1 - weight / 2) ** 4

        truth = mpmath.quad(integrand, [0, 0.25, 0.5, 1]) + mpmath.mpf(1) / 32
        assert mauve_area([0.5, 0.5], [1.0, 0.0]) == pytest.approx(float(truth), abs=1e-10)

    @given(pairs(), st.sampled_from(SCALES))
    def test_the_trapezoidal_rule_is_as_close_as_its_points_allow(self, pair, scale):
        # A falling curve through the points stays in the boxes that neighbours span; a trapezoid halves each box.
        x, y = divergence_frontier(*pair).curve(scale)
        bound = np.abs(np.diff(x) * np.diff(y)).sum() / 2
        assert abs(mauve(*pair, scale) - mauve_area(*pair, scale)) <= bound + 1e-9

    def test_a_table_of_histograms_is_refused(self):
        with pytest.raises(InputError, match="one pair"):
            mauve_area(np.full((2, 2), 0.5), [0.5, 0.5])


class TestFrontier:
    @pytest.mark.parametrize("epsilon", [10.0**-power for power in range(2, 16)])
    def test_near_equal_histograms_against_sixty_digits(self, epsilon):
        p, q = near_pair(epsilon)
        weights = reference_weights(5)
        frontier = divergence_frontier(p, q, weights)
        for column, weight in enumerate(weights):
            type_1, type_2 = exact_shares(p, q, weight)
            assert relative_error(frontier.type_1[column], mpmath.fsum(type_1)) < RELATIVE
            assert relative_error(frontier.type_2[column], mpmath.fsum(type_2)) < RELATIVE
        x, y = frontier.curve()
        assert 0 <= min(x.min(), y.min()) <= max(x.max(), y.max()) <= 1
        # 1 - MAUVE is at most c times the larger error at the far ends, which is about c epsilon^2 / 2.
        assert 1 - 5 * epsilon**2 - AREA_ROUNDING <= mauve(p, q) <= 1

    def test_rows_are_sums_of_the_terms_of_their_pair(self):
        rng = np.random.default_rng(0)
        p, q = rng.dirichlet(np.ones(9), size=(3, 1)), rng.dirichlet(np.ones(9), size=(2, 4)[1:])
        frontier = divergence_frontier(p, q, [0.2, 0.7])
        assert frontier.type_1.shape == (3, 4, 2)
        terms = mixture_terms(p[2, 0], q[3], 0.7, 1 - 0.7)
        shares = error_shares(p[2, 0], q[3], 0.7)
        for found, own, signed in zip((frontier.type_1, frontier.type_2), terms, shares, strict=True):
            # The same nine non-negative terms, summed alike.
            assert found[2, 3, 1] == pytest.approx(own.sum(), rel=1e-15)
            # Signed terms cancel: their rounding counts against terms of order 1, not against the sum.
            assert found[2, 3, 1] == pytest.approx(signed.sum(), abs=1e-14)

    def test_many_rows_in_blocks_equal_one_row_at_a_time(self):
        rng = np.random.default_rng(0)
        p, q = rng.dirichlet(np.ones(60), size=1500), rng.dirichlet(np.ones(60), size=1500)
        together = mauve(p, q)
        for row in (0, 545, 546, 547, 1091, 1092, 1499):
            assert together[row] == pytest.approx(float(mauve(p[row], q[row])), rel=1e-14)

    @given(pairs(), st.sampled_from(SCALES))
    def test_the_curve_stays_in_the_unit_square_and_runs_from_end_to_end(self, pair, scale):
        x, y = divergence_frontier(*pair).curve(scale)
        assert (x[0], y[0], x[-1], y[-1]) == (1, 0, 0, 1)
        assert min(x.min(), y.min()) >= 0
        assert max(x.max(), y.max()) <= 1
        assert np.all(np.diff(x) <= 1e-15 * scale)
        assert np.all(np.diff(y) >= -1e-15 * scale)

    @given(pairs())
    def test_weights_from_end_to_end_are_allowed(self, pair):
        p, q = pair
        frontier = divergence_frontier(p, q, [0.0, 0.5, 1.0])
        assert frontier.type_1[0] == 0
        assert frontier.type_2[2] == 0
        assert frontier.type_1[2] == kl_divergence(q, p)
        assert frontier.type_2[0] == kl_divergence(p, q)
        x, y = frontier.curve()
        assert np.isfinite(x).all()
        assert np.isfinite(y).all()

    @pytest.mark.parametrize("weights", [[], [0.5, 0.5], [0.6, 0.4], [-0.1, 0.5], [0.5, 1.1], [[0.5]], [np.nan]])
    def test_weights_that_are_no_grid_are_refused(self, weights):
        with pytest.raises(InputError, match="mixture weights"):
            divergence_frontier([0.5, 0.5], [0.4, 0.6], weights)

    @pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf])
    def test_a_scale_that_is_not_positive_is_refused(self, scale):
        for score in (mauve, mauve_area):
            with pytest.raises(InputError, match="scale"):
                score([0.5, 0.5], [0.4, 0.6], scale)


class TestLawsOfMauve:
    @given(pairs(), st.sampled_from(SCALES))
    def test_range_and_swap(self, pair, scale):
        p, q = pair
        assert 0 <= mauve(p, q, scale) <= 1
        # The grid is symmetric up to the rounding of 1 - weight near 1e-6, 1e-10 relative.
        assert mauve(p, q, scale) == pytest.approx(float(mauve(q, p, scale)), abs=1e-10)

    @given(pairs(), st.sampled_from(SCALES))
    def test_range_and_swap_of_the_area(self, pair, scale):
        p, q = pair
        area = mauve_area(p, q, scale)
        assert 0 <= area <= 1
        assert area == pytest.approx(mauve_area(q, p, scale), abs=1e-9)

    @given(pairs(), st.randoms(use_true_random=False))
    def test_permutation_of_the_bins(self, pair, random):
        p, q = pair
        order = random.sample(range(p.size), p.size)
        assert mauve(p[order], q[order]) == pytest.approx(float(mauve(p, q)), abs=AREA_ROUNDING)

    @pytest.mark.slow
    @given(pairs(), st.data())
    def test_merging_bins_never_lowers_mauve(self, pair, data):
        p, q = pair
        k = p.size
        groups = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=k)))
        merged = [np.bincount(groups, weights=side, minlength=k) for side in (p, q)]
        assert mauve(*merged) >= mauve(p, q) - AREA_ROUNDING
        assert mauve_area(*merged) >= mauve_area(p, q) - 1e-9

    @pytest.mark.slow
    @given(pairs())
    def test_a_larger_scale_never_raises_mauve(self, pair):
        values = [float(mauve(*pair, scale)) for scale in SCALES]
        assert np.all(np.diff(values) <= AREA_ROUNDING)
