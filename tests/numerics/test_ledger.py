"""Ledger: shares add up, equal what leaving a term out takes away, and the slopes of MAUVE equal finite differences."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.frontier import Frontier, divergence_frontier, mauve, trapezoid_area
from mauve_core.numerics.divergences.kl import frontier_integral, mid_point
from mauve_core.numerics.divergences.ledger import ledger, mauve_shares
from tests.numerics.histograms import exact_terms, near_pair, pairs, relative_error

SUMMED = 1e-12
"""A sum of a dozen to some hundred terms whose sizes sum to at most some ten: so many roundings of 1e-16."""

WEIGHTS = st.one_of(
    st.sampled_from([1e-300, 1e-12, 1e-6, 0.5, 1 - 1e-6, 1 - 1e-12, np.nextafter(1, 0)]), st.floats(1e-9, 1 - 1e-9)
)


def random_pair(seed: int, k: int = 20) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two histograms without an empty cluster."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, 2.0)), rng.dirichlet(np.full(k, 2.0))


def errors_without(p: NDArray[np.float64], q: NDArray[np.float64], weight: float, left_out: int) -> tuple[float, float]:
    """Both errors by their textbook sums over all clusters but one, in 60 digits."""
    w = mpmath.mpf(weight)
    sums = [mpmath.mpf(0), mpmath.mpf(0)]
    for j, (a, b) in enumerate(zip(map(mpmath.mpf, p), map(mpmath.mpf, q), strict=True)):
        r = w * a + (1 - w) * b
        if j != left_out:
            sums[0] += b * mpmath.log(b / r) if b else 0
            sums[1] += a * mpmath.log(a / r) if a else 0
    return sums[0], sums[1]


class TestShares:
    def test_hand_values(self):
        # r = (0.3, 0.7) at weight 1/2: bin 0 is overwritten by the model, bin 1 missed.
        found = ledger([0.2, 0.8], [0.4, 0.6], 0.5)
        type1 = [0.4 * math.log(4 / 3), 0.6 * math.log(6 / 7)]
        type2 = [0.2 * math.log(2 / 3), 0.8 * math.log(8 / 7)]
        np.testing.assert_allclose(found.type1, type1, rtol=1e-14)
        np.testing.assert_allclose(found.type2, type2, rtol=1e-14)
        np.testing.assert_allclose(found.both, np.add(type1, type2) / 2, rtol=1e-13)
        # (p + q)/2 - p q log(p/q)/(p - q) of each bin.
        integral = [0.3 - 0.4 * math.log(2), 0.7 - 2.4 * math.log(4 / 3)]
        np.testing.assert_allclose(found.integral, integral, rtol=1e-13)

    @given(pairs(), WEIGHTS)
    def test_they_add_up_to_the_totals_at_any_weight(self, pair, weight):
        p, q = pair
        found, points = ledger(p, q, weight), divergence_frontier(p, q, [weight])
        type1, type2 = points.type1[0], points.type2[0]
        assert np.isfinite([found.type1, found.type2, found.both, found.integral]).all()
        # Near an end the signed terms are larger than their sum: what they sum to is known to their own rounding.
        assert found.type1.sum() == pytest.approx(type1, abs=SUMMED * max(1.0, type1))
        assert found.type2.sum() == pytest.approx(type2, abs=SUMMED * max(1.0, type2))
        assert found.both.sum() == pytest.approx(weight * type2 + (1 - weight) * type1, abs=SUMMED)
        assert found.integral.sum() == pytest.approx(float(frontier_integral(p, q)), abs=SUMMED)
        assert (found.both >= 0).all()
        assert (found.integral >= 0).all()

    @given(pairs(), st.sampled_from([1e-6, 0.2, 0.5, 0.9, 1 - 1e-6]), st.integers(0, 11))
    def test_a_share_is_what_leaving_the_term_out_takes_away(self, pair, weight, cluster):
        p, q = pair
        cluster %= p.size
        found, everything = ledger(p, q, weight), errors_without(p, q, weight, -1)
        rest = errors_without(p, q, weight, cluster)
        moved = [float(before - after) for before, after in zip(everything, rest, strict=True)]
        assert found.type1[cluster] == pytest.approx(moved[0], abs=SUMMED)
        assert found.type2[cluster] == pytest.approx(moved[1], abs=SUMMED)
        assert found.both[cluster] == pytest.approx(weight * moved[1] + (1 - weight) * moved[0], abs=SUMMED)

    @pytest.mark.parametrize("epsilon", [1e-2, 1e-6, 1e-12])
    @pytest.mark.parametrize("weight", [1e-6, 0.3, 0.5])
    def test_both_keeps_its_digits_where_the_histograms_nearly_agree(self, epsilon, weight):
        # The two signed terms cancel there to a number of the order epsilon^2: 60 digits tell it, float64 sums do not.
        p, q = near_pair(epsilon)
        w = mpmath.mpf(weight)
        for a, b, found in zip(p, q, ledger(p, q, weight).both, strict=True):
            r = w * mpmath.mpf(a) + (1 - w) * mpmath.mpf(b)
            truth = w * exact_terms(a, r) + (1 - w) * exact_terms(b, r)
            assert relative_error(found, truth) < 1e-12

    def test_half_the_sum_at_one_half_is_mid(self):
        p, q = random_pair(3)
        assert ledger(p, q, 0.5).both.sum() == pytest.approx(float(mid_point(p, q)), abs=SUMMED)

    def test_the_integral_is_that_of_both(self):
        p, q = random_pair(0)
        nodes, factors = np.polynomial.legendre.leggauss(200)
        points = [ledger(p, q, (1 + node) / 2).both for node in nodes]
        # Twice the integral over [0, 1]; each cluster's share for itself. Gauss's rule is exact to 1e-9 here.
        np.testing.assert_allclose(factors @ np.array(points), ledger(p, q, 0.5).integral, atol=1e-9)

    def test_empty_clusters_and_the_ends(self):
        p, q = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.0, 0.5, 0.5, 0.0])
        inside = ledger(p, q, 0.25)
        np.testing.assert_allclose(inside.type1[[0, 2, 3]], [0, -0.5 * math.log(0.75), 0], rtol=1e-14)
        np.testing.assert_allclose(inside.type2[[0, 2, 3]], [-0.5 * math.log(0.25), 0, 0], rtol=1e-14)
        np.testing.assert_allclose(inside.integral, [0.25, 0, 0.25, 0], atol=1e-15)
        first, last = ledger(p, q, 0.0), ledger(p, q, 1.0)
        np.testing.assert_array_equal(first.type2, [np.inf, 0, 0, 0])
        np.testing.assert_array_equal(last.type1, [0, 0, np.inf, 0])
        assert not first.both.any()
        assert not last.both.any()

    def test_leading_axes_broadcast(self):
        rng = np.random.default_rng(0)
        p, q = rng.dirichlet(np.ones(6), size=(3, 1)), rng.dirichlet(np.ones(6), size=4)
        table, shares = ledger(p, q, 0.3), mauve_shares(p, q)
        for i in range(3):
            for j in range(4):
                one, own = ledger(p[i, 0], q[j], 0.3), mauve_shares(p[i, 0], q[j])
                np.testing.assert_allclose(table.type1[i, j], one.type1, rtol=1e-15)
                np.testing.assert_allclose(table.both[i, j], one.both, rtol=1e-15)
                np.testing.assert_allclose(shares.terms[i, j], own.terms, atol=1e-15)
                np.testing.assert_allclose(shares.mass[i, j], own.mass, atol=1e-13)

    @pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan])
    def test_weights_outside_are_refused(self, weight):
        with pytest.raises(InputError, match="weight"):
            ledger([0.5, 0.5], [0.4, 0.6], weight)


def mauve_of_terms(p: NDArray[np.float64], q: NDArray[np.float64], keep: NDArray[np.float64], scale: float) -> float:
    """MAUVE with each cluster's terms of the errors multiplied by ``keep``, all points of the grid alike."""
    weights = divergence_frontier(p, q).weights
    parts = [ledger(p, q, weight) for weight in weights]
    points = Frontier(
        weights,
        np.array([(keep * part.type1).sum() for part in parts]),
        np.array([keep @ part.type2 for part in parts]),
    )
    return float(trapezoid_area(*points.curve(scale)))


class TestMauve:
    STEP = 1e-5
    NEAR = 1e-7
    """A central difference with this step is off by step^2 times a third derivative of some hundred, and by rounding
    of 1e-16 / step."""

    @pytest.mark.parametrize("scale", [1.0, 5.0])
    @pytest.mark.parametrize("seed", range(2))
    def test_terms_are_finite_differences(self, scale, seed):
        p, q = random_pair(seed, k=8)
        p[0] += p[1]
        p[1] = 0.0
        found = mauve_shares(p, q, scale).terms
        for cluster in range(8):
            step = self.STEP * (np.arange(8) == cluster)
            rise = mauve_of_terms(p, q, 1 - step, scale) - mauve_of_terms(p, q, 1 + step, scale)
            assert found[cluster] == pytest.approx(rise / (2 * self.STEP), abs=self.NEAR)

    def test_terms_sum_to_the_slope_by_the_scale(self):
        p, q = random_pair(4)
        rise = (mauve(p, q, 5 * (1 - self.STEP)) - mauve(p, q, 5 * (1 + self.STEP))) / (2 * self.STEP)
        assert mauve_shares(p, q, 5.0).terms.sum() == pytest.approx(float(rise), abs=self.NEAR)

    @pytest.mark.parametrize("scale", [1.0, 5.0])
    def test_mass_is_a_finite_difference(self, scale):
        p, q = random_pair(1, k=8)
        p[0] += p[1]
        p[1] = 0.0
        found = mauve_shares(p, q, scale).mass
        for cluster in range(8):
            # Thinned by the negative step too: a central difference needs q > step in the cluster, as here.
            moved = [(1 - e) * q + e * (np.arange(8) == cluster) for e in (self.STEP, -self.STEP)]
            slope = (mauve(p, moved[0], scale) - mauve(p, moved[1], scale)) / (2 * self.STEP)
            assert found[cluster] == pytest.approx(float(slope), abs=1e-5)  # q of 1e-2: third derivatives of 1e4

    def test_mass_where_the_model_writes_nothing(self):
        # Where humans write, the slope is infinite; where nobody does, one-sided differences give it.
        p, q = np.array([0.4, 0.6, 0.0, 0.0]), np.array([0.0, 0.5, 0.5, 0.0])
        found = mauve_shares(p, q).mass
        assert found[0] == np.inf
        assert np.isfinite(found[1:]).all()
        step = 1e-7
        slope = (mauve(p, (1 - step) * q + step * np.array([0, 0, 0, 1.0])) - mauve(p, q)) / step
        assert found[3] == pytest.approx(float(slope), abs=1e-5)

    @given(pairs(), st.sampled_from([0.5, 5.0, 50.0]))
    def test_moving_along_q_itself_changes_nothing(self, pair, scale):
        p, q = pair
        found = mauve_shares(p, q, scale)
        assert np.isfinite(found.terms).all()
        assert not np.isnan(found.mass).any()
        held = q > 0
        size = np.abs(q[held] * found.mass[held]).sum()
        assert (q[held] * found.mass[held]).sum() == pytest.approx(0, abs=1e-9 * max(1, scale, size))

    def test_equal_histograms(self):
        p, _ = random_pair(2)
        found = mauve_shares(p, p)
        assert not found.terms.any()
        np.testing.assert_allclose(found.mass, 0, atol=1e-12)
