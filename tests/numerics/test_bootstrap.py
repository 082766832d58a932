"""Resampling: sums, expectations, the slow twin, and an interval that contains its estimate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.numerics.resampling.bootstrap import centred_interval, resample_weights, resampled_counts, weight_blocks


class TestResampleWeights:
    def test_rows_sum_to_n_and_repeat_with_the_generator(self):
        weights = resample_weights(50, 20, np.random.default_rng(3))
        assert weights.shape == (20, 50)
        assert weights.dtype == np.int32
        assert np.all(weights.sum(axis=1) == 50)
        assert weights.min() >= 0
        np.testing.assert_array_equal(weights, resample_weights(50, 20, np.random.default_rng(3)))

    def test_moments_are_those_of_drawing_with_replacement(self):
        n, replicates = 20, 20_000
        weights = resample_weights(n, replicates, np.random.default_rng(0))
        # Binomial(n, 1/n): mean 1, variance 1 - 1/n, covariance of two texts -1/n. Five standard errors.
        assert weights.mean(axis=0) == pytest.approx(1, abs=5 / np.sqrt(replicates))
        covariance = np.cov(weights.T)
        assert np.diag(covariance) == pytest.approx(1 - 1 / n, abs=5 * np.sqrt(3 / replicates))
        off = covariance[~np.eye(n, dtype=bool)]
        assert off == pytest.approx(-1 / n, abs=5 / np.sqrt(replicates))

    @pytest.mark.parametrize(("n", "replicates"), [(0, 5), (5, 0), (2.5, 5), (True, 5)])
    def test_numbers_that_are_not_whole_are_refused(self, n, replicates):
        with pytest.raises(InputError, match="number of"):
            resample_weights(n, replicates, np.random.default_rng(0))


class TestResampledCounts:
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 8), st.integers(0, 1000))
    def test_slow_twin(self, labels, replicates, seed):
        weights = resample_weights(len(labels), replicates, np.random.default_rng(seed))
        counts = resampled_counts(np.array(labels, dtype=np.int32), 6, weights)
        twin = [[sum(w for w, at in zip(row, labels, strict=True) if at == j) for j in range(6)] for row in weights]
        np.testing.assert_array_equal(counts, twin)

    def test_labels_that_do_not_fit_are_refused(self):
        weights = resample_weights(3, 2, np.random.default_rng(0))
        for labels in ([0, 1, 2], [0, -1, 1], [0.0, 1.0, 1.0], []):
            with pytest.raises(InputError, match="Labels are not usable"):
                resampled_counts(labels, 2, weights)
        with pytest.raises(InputError, match="do not match"):
            resampled_counts([0, 1], 2, weights)


class TestCentredInterval:
    def test_hand_value(self):
        # Replicates 0, 1, ..., 100: mean 50, the central 90 % from 5 to 95.
        assert centred_interval(7.0, np.arange(101), 0.9) == pytest.approx((7 - 45, 7 + 45))

    def test_a_shift_of_the_replicates_changes_nothing(self):
        replicates = np.random.default_rng(0).normal(size=500)
        shifted = centred_interval(0.5, replicates + 3, 0.95)
        assert shifted == pytest.approx(centred_interval(0.5, replicates, 0.95), abs=1e-12)

    def test_the_bounds_of_the_score_are_kept(self):
        assert centred_interval(0.9, [-1.0, 0.0, 1.0], 0.99, bounds=(0.0, 1.0)) == (0.0, 1.0)

    def test_it_contains_the_estimate_where_the_percentile_interval_misses_it(self):
        # Both sides from one source: the plug-in divergence is positive by chance alone, its resamples more so.
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 50, size=(2, 500))
        counts = [np.bincount(side, minlength=50) for side in labels]
        resampled = [resampled_counts(side, 50, resample_weights(500, 400, rng)) for side in labels]
        estimate = float(score_counts(*counts)["frontier_integral"])
        replicates = score_counts(*resampled)["frontier_integral"]
        assert estimate < np.quantile(replicates, 0.025)
        low, high = centred_interval(estimate, replicates, 0.95, bounds=(0.0, 1.0))
        assert low < estimate < high

    @pytest.mark.parametrize(
        ("estimate", "replicates", "confidence"),
        [(0.5, [1.0], 0.9), (0.5, [1.0, np.nan], 0.9), (np.nan, [1.0, 2.0], 0.9), (0.5, [[1.0, 2.0]], 0.9)],
    )
    def test_values_that_give_no_interval_are_refused(self, estimate, replicates, confidence):
        with pytest.raises(InputError, match="Bootstrap values"):
            centred_interval(estimate, replicates, confidence)

    @pytest.mark.parametrize("confidence", [0.0, 1.0, np.nan])
    def test_a_confidence_outside_its_range_is_refused(self, confidence):
        with pytest.raises(InputError, match="confidence"):
            centred_interval(0.5, [1.0, 2.0], confidence)


@pytest.mark.parametrize("most_bytes", [1, 50 * 4 * 3, 2**26])
def test_resamples_in_blocks_are_those_drawn_at_once(most_bytes):
    blocks = list(weight_blocks(50, 20, np.random.default_rng(3), most_bytes=most_bytes))
    assert {len(block) for block in blocks[:-1]} <= {max(1, most_bytes // 200)}
    np.testing.assert_array_equal(np.concatenate(blocks), resample_weights(50, 20, np.random.default_rng(3)))
