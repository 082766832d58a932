"""Ratios of fitted Gaussians: a plain twin, closed forms, the paper's counterexample, the ridge, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mauve_core.base.errors import InputError
from mauve_core.estimators import ratio_estimators as module
from mauve_core.estimators.ratio_estimators import gaussian_ratios
from mauve_core.estimators.ratios import ratio_frontier
from tests.numerics.gaussian_pairs import ENDS, MIDDLE, Pair, mid_error, rotation


def estimate(x_p, x_q):
    return gaussian_ratios(x_p, x_q, seed=0)


def test_log_density_against_scipy():
    rng = np.random.default_rng(0)
    side, points = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3)) + 2, rng.normal(size=(7, 3))
    mean, factor = module._fit_gaussian(side, 0.01, "human")
    np.testing.assert_allclose(mean, side.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(factor @ factor.T, np.cov(side.T) + 0.01 * np.eye(3), rtol=1e-12)
    truth = multivariate_normal(mean, factor @ factor.T).logpdf(points) + 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(module._log_density(points, mean, factor), truth, rtol=1e-11)


class TestTruth:
    @pytest.mark.parametrize("pair", [Pair(4, shift=1.0), Pair(4, scale=1.3)])
    def test_error_shrinks_with_the_sample(self, pair):
        small, large = mid_error(estimate, pair, 50, 10), mid_error(estimate, pair, 5000, 5)
        assert np.sqrt(np.mean(large**2)) < np.sqrt(np.mean(small**2)) / 2
        assert np.abs(large.mean(axis=0)).max() < 0.01

    @pytest.mark.parametrize("pair", [Pair(3, shift=1.0), Pair(3, scale=1.2)])
    def test_ends_are_the_closed_forms(self, pair):
        ratios = gaussian_ratios(*pair.draw(20_000, 20_000, 0), draws=100_000, seed=0)
        found = ratio_frontier(ratios, weights=ENDS)
        type_1, type_2 = pair.divergences()
        # 20,000 texts leave a standard error of about 1 % of the shift's KL, 2 % of the smaller one of the scale.
        assert found.type_1[1] == pytest.approx(type_1, rel=0.06)
        assert found.type_2[0] == pytest.approx(type_2, rel=0.06)

    def test_example_30_misses_the_modes(self):
        """P of two modes at -3 and 3, Q normal: the fitted KL(P || Q) is (mu^2 - log(1 + mu^2)) / 2, as printed."""
        rng = np.random.default_rng(0)
        x_p = rng.normal(size=(40_000, 1)) + 3.0 * rng.choice([-1.0, 1.0], size=(40_000, 1))
        x_q = rng.normal(size=(40_000, 1))
        ratios = gaussian_ratios(x_p, x_q, draws=100_000, seed=0)
        found = ratio_frontier(ratios, weights=[0.0, 0.5], expectation="own")
        assert found.type_2[0] == pytest.approx((9 - np.log(10)) / 2, rel=0.03)

    def test_equal_sources(self):
        assert np.abs(mid_error(estimate, Pair(5), 2000, 3)).max() < 0.01


class TestLaws:
    def test_swap_of_the_sides(self):
        """Other draws, the same Gaussians: the errors change places up to the chance of 40,000 draws, about 0.003."""
        x_p, x_q = Pair(3, scale=1.5).draw(500, 400, 0)
        forward, backward = (
            ratio_frontier(gaussian_ratios(*sides, draws=40_000, seed=0), weights=MIDDLE)
            for sides in ((x_p, x_q), (x_q, x_p))
        )
        assert forward.type_1[0] == pytest.approx(backward.type_2[0], abs=0.015)
        assert forward.type_2[0] == pytest.approx(backward.type_1[0], abs=0.015)

    def test_rotation_shift_and_scale(self):
        """The fitted ratio itself is unchanged; the draws differ, since principal axes have no particular sign."""
        x_p, x_q = Pair(4, shift=1.0).draw(500, 500, 0)
        turn = rotation(4)
        found = gaussian_ratios(x_p, x_q, draws=40_000, seed=0)
        other = gaussian_ratios(3 * x_p @ turn + 7, 3 * x_q @ turn + 7, draws=40_000, seed=0)
        # Means of 40,000 draws of deviation 1.
        assert found.at_p.mean() == pytest.approx(other.at_p.mean(), abs=0.03)
        assert found.at_q.mean() == pytest.approx(other.at_q.mean(), abs=0.03)

    def test_seeds(self):
        sides = Pair(2, shift=1.0).draw(40, 40, 0)
        sequence = np.random.SeedSequence(5)
        first, again, other = (gaussian_ratios(*sides, draws=20, seed=seed) for seed in (5, sequence, 6))
        np.testing.assert_array_equal(first.at_p, again.at_p)
        np.testing.assert_array_equal(first.at_q, again.at_q)
        assert sequence.n_children_spawned == 0
        assert not np.intersect1d(first.at_p, other.at_p).size
        assert first.at_p.shape == first.at_q.shape == (20,)
        assert first.notes == ("2 principal components with 100.0% of the variance", "20 draws from each side")

    def test_components(self):
        ratios = gaussian_ratios(*Pair(12, shift=1.0).draw(60, 60, 0), components=5, draws=10, seed=0)
        assert ratios.notes[0].startswith("5 principal components with ")


class TestDegenerateSides:
    def test_copies_alone_are_far_from_everything(self):
        x_p = np.random.default_rng(0).normal(size=(100, 3))
        found = ratio_frontier(gaussian_ratios(x_p, np.zeros((5, 3)), seed=0), weights=MIDDLE)
        # Nothing in common: the errors at weight 1/2 are log 2, but for the few points of P at the very place of Q.
        assert found.type_1[0] == pytest.approx(np.log(2), abs=1e-3)
        assert found.type_2[0] == pytest.approx(np.log(2), abs=1e-3)

    def test_without_a_ridge_they_are_refused(self):
        x = np.random.default_rng(0).normal(size=(100, 3))
        with pytest.raises(InputError, match="covariance of the candidate's features is singular"):
            gaussian_ratios(x, np.zeros((5, 3)), ridge=0.0, seed=0)

    @pytest.mark.parametrize(
        ("setting", "said"),
        [
            ({"draws": 0}, "draws"),
            ({"ridge": -1.0}, "ridge"),
            ({"ridge": np.inf}, "ridge"),
            ({"components": 0}, "components"),
            ({"seed": -1}, "seed"),
        ],
    )
    def test_settings(self, setting, said):
        with pytest.raises(InputError, match=said):
            gaussian_ratios(*Pair(2).draw(10, 10, 0), **({"seed": 0} | setting))

    def test_a_side_of_one_text(self):
        with pytest.raises(InputError, match="Too few rows of human features"):
            estimate(np.ones((1, 2)), np.eye(2))
