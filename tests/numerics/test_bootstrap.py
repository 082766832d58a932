"""Resampling: sums, expectations, the slow twin, and an interval that contains its estimate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats.scores import score_counts
from mauve_core.stats.units import centred_interval, resampled_counts


def drawn(n: int, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of n texts is drawn when n are drawn with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n), size=replicates)


class TestResampledCounts:
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 8), st.integers(0, 1000))
    def test_slow_twin(self, labels, replicates, seed):
        weights = drawn(len(labels), replicates, np.random.default_rng(seed))
        counts = resampled_counts(np.array(labels, dtype=np.int32), 6, weights)
        twin = [[sum(w for w, at in zip(row, labels, strict=True) if at == j) for j in range(6)] for row in weights]
        np.testing.assert_array_equal(counts, twin)

    def test_labels_that_do_not_fit_are_refused(self):
        weights = drawn(3, 2, np.random.default_rng(0))
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
        resampled = [resampled_counts(side, 50, drawn(500, 400, rng)) for side in labels]
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
