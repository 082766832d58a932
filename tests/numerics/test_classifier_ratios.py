"""Ratios from a classifier: the truth where logistic regression is right, the halves, the penalty, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators import ratio_estimators as module
from mauve_core.estimators.ratio_estimators import classifier_ratios
from mauve_core.estimators.ratios import LogRatios, ratio_frontier
from tests.numerics.gaussian_pairs import MIDDLE, Pair, mid_error, rotation

PENALTIES = (0.01, 1.0, 100.0)


def estimate(x_p, x_q, seed=0):
    return classifier_ratios(x_p, x_q, penalties=PENALTIES, seed=seed)


def slope_and_rows(ratios: LogRatios, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Of one feature the log odds are a straight line: its slope, and the features behind ``at_p``, found by it."""
    low, high = ratios.at_p.min(), ratios.at_p.max()
    span = [(x[i], x[j]) for i in range(len(x)) for j in range(len(x)) if i != j]
    for first, last in span:
        features = first + (ratios.at_p - low) * (last - first) / (high - low)
        nearest = np.abs(features[:, None] - x).argmin(axis=1)
        if np.abs(features - x[nearest]).max() < 1e-6:
            return (high - low) / (last - first), nearest
    raise AssertionError("the log odds are no straight line over any half of the texts")


class TestTruth:
    def test_the_log_ratio_of_shifted_gaussians(self):
        """log p / q = shift x - shift^2 / 2, which logistic regression can learn: slope 1 and 0 at 1/2."""
        pair = Pair(1, shift=1.0)
        ratios = estimate(*pair.draw(20_000, 20_000, 0))
        # At fresh points x the truth is x - 1/2, of mean 1/2 under P and -1/2 under Q and deviation 1; the standard
        # errors of means, and of the slope, from 10,000 texts are about 0.015.
        assert ratios.at_p.mean() == pytest.approx(0.5, abs=0.06)
        assert ratios.at_q.mean() == pytest.approx(-0.5, abs=0.06)
        assert ratios.at_p.std() == pytest.approx(1, abs=0.06)

    def test_sides_of_unequal_size(self):
        """Three times the candidate's texts change the odds, and equation 28 takes that out again."""
        ratios = estimate(*Pair(1, shift=1.0).draw(5_000, 15_000, 0))
        assert ratios.at_p.mean() == pytest.approx(0.5, abs=0.08)
        assert ratios.at_q.mean() == pytest.approx(-0.5, abs=0.08)
        assert (ratios.at_p.size, ratios.at_q.size) == (2_500, 7_500)

    @pytest.mark.slow
    def test_error_shrinks_with_the_sample(self):
        pair = Pair(3, shift=1.0)
        small, large = mid_error(estimate, pair, 60, 12), mid_error(estimate, pair, 3000, 4)
        assert np.sqrt(np.mean(large**2)) < np.sqrt(np.mean(small**2)) / 2
        assert np.abs(large.mean(axis=0)).max() < 0.02

    def test_ends_are_near_the_closed_forms(self):
        pair = Pair(3, shift=1.0)
        found = ratio_frontier(estimate(*pair.draw(8000, 8000, 0)))
        type_1, type_2 = pair.divergences()
        assert found.type_1[-1] == pytest.approx(type_1, rel=0.15)
        assert found.type_2[0] == pytest.approx(type_2, rel=0.15)

    def test_what_no_line_divides_is_not_seen(self):
        """Two scales about one middle: linear log odds have nothing to find, however many the texts."""
        pair = Pair(2, scale=2.0)
        found = ratio_frontier(estimate(*pair.draw(2000, 2000, 0)), weights=MIDDLE)
        assert found.type_1[0] < 0.02 < pair.frontier(MIDDLE).type_1[0]

    def test_equal_sources(self):
        assert np.abs(mid_error(estimate, Pair(5), 1000, 3)).max() < 0.01

    def test_separate_sides_give_finite_ratios(self):
        x_p, x_q = Pair(2, shift=30.0).draw(40, 40, 0)
        ratios = estimate(x_p, x_q)
        assert np.isfinite(ratios.at_p).all()
        assert ratios.at_p.min() > 0 > ratios.at_q.max()


class TestHalves:
    def test_the_other_half_is_evaluated_in_its_order(self):
        rng = np.random.default_rng(0)
        x_p, x_q = rng.normal(size=21), rng.normal(size=30) - 1
        x_p, x_q = (side.astype(np.float32).astype(np.float64) for side in (x_p, x_q))
        ratios = estimate(x_p[:, None], x_q[:, None])
        slope, rows = slope_and_rows(ratios, x_p)
        assert slope > 0
        assert len(rows) == 11
        assert (np.diff(rows) > 0).all()
        assert ratios.at_q.size == 15

    def test_seeds(self):
        sides = Pair(2, shift=1.0).draw(40, 40, 0)
        sequence = np.random.SeedSequence(5)
        first, again, other = estimate(*sides, seed=5), estimate(*sides, seed=sequence), estimate(*sides, seed=6)
        np.testing.assert_array_equal(first.at_p, again.at_p)
        np.testing.assert_array_equal(first.at_q, again.at_q)
        assert sequence.n_children_spawned == 0
        assert not np.array_equal(first.at_p, other.at_p)

    def test_rotation_shift_and_scale(self):
        x_p, x_q = Pair(4, shift=1.0).draw(60, 60, 0)
        turn = rotation(4)
        found, other = estimate(x_p, x_q), estimate(3 * x_p @ turn + 7, 3 * x_q @ turn + 7)
        # Both fits stop where the slope of the loss is below 1e-4.
        np.testing.assert_allclose(found.at_p, other.at_p, atol=0.01)

    def test_swap_of_the_sides(self):
        """Other halves are drawn, so the errors change places up to chance, which is 0.02 at 3,000 texts."""
        x_p, x_q = Pair(3, shift=1.0).draw(3000, 3000, 0)
        forward, backward = (ratio_frontier(estimate(*sides), weights=MIDDLE) for sides in ((x_p, x_q), (x_q, x_p)))
        assert forward.type_1[0] == pytest.approx(backward.type_2[0], abs=0.03)
        assert forward.type_2[0] == pytest.approx(backward.type_1[0], abs=0.03)


class TestPenalty:
    def test_log_loss_chooses_a_strong_one_against_noise(self):
        """100 features of pure noise and 100 texts to learn from: hardly penalised, it would be sure of each text."""
        x_p, x_q = Pair(100).draw(100, 100, 0)
        ratios = estimate(x_p, x_q)
        assert "inverse penalty 0.01 by 5-fold log loss" in ratios.notes
        free = classifier_ratios(x_p, x_q, penalties=[100.0], seed=0)
        assert np.abs(free.at_p).mean() > 4 * np.abs(ratios.at_p).mean()

    def test_and_a_weak_one_for_many_texts(self):
        ratios = classifier_ratios(*Pair(2, shift=2.0).draw(1000, 1000, 0), penalties=[1e-4, 1.0], seed=0)
        assert "inverse penalty 1 by 5-fold log loss" in ratios.notes
        assert ratios.notes[0] == "learned from 500 points of P and 500 of Q"

    def test_a_fit_that_does_not_settle_is_noted(self, monkeypatch):
        monkeypatch.setattr(module, "ITERATIONS", 1)
        ratios = estimate(*Pair(5, shift=2.0).draw(60, 60, 0))
        assert ratios.notes[-1] == "a fit stopped after 1 iterations"


class TestWhatIsRefused:
    def test_too_few_texts(self):
        with pytest.raises(InputError, match="Too few rows of human features"):
            estimate(*Pair(2).draw(9, 10, 0))

    @pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
    def test_equal_features(self, value):
        with pytest.raises(InputError, match="All features are equal"):
            estimate(np.full((10, 3), value), np.full((13, 3), value))

    @pytest.mark.parametrize("penalties", [[], [0.0], [1.0, -1.0]])
    def test_penalties(self, penalties):
        with pytest.raises(InputError, match="penalty"):
            classifier_ratios(*Pair(2).draw(10, 10, 0), penalties=penalties, seed=0)

    @pytest.mark.parametrize("seed", [-1, 0.5, None])
    def test_seed(self, seed):
        with pytest.raises(InputError, match="seed"):
            estimate(*Pair(2).draw(10, 10, 0), seed=seed)
