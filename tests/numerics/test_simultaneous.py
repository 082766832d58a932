"""Simultaneous intervals against a plain twin, and how often they hold for the largest of many."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats.resampling import simultaneous_intervals

ROUNDING = 1e-12


def plain_intervals(
    estimates: list[float], replicates: list[list[float]], confidence: float
) -> list[tuple[float, float]]:
    """Estimate by estimate, resample by resample."""
    columns = [list(column) for column in zip(*replicates, strict=True)]
    means = [statistics.fmean(column) for column in columns]
    spreads = [statistics.pstdev(column) for column in columns]
    scales = [spread + statistics.fmean(spreads) for spread in spreads]
    farthest = [
        max(abs(value - mean) / scale for value, mean, scale in zip(row, means, scales, strict=True))
        for row in replicates
    ]
    reach = float(np.quantile(farthest, confidence))
    return [(value - reach * scale, value + reach * scale) for value, scale in zip(estimates, scales, strict=True)]


@given(st.integers(1, 6), st.integers(2, 30), st.integers(0, 99), st.sampled_from([0.5, 0.9, 0.95]))
def test_the_intervals_of_a_plain_twin(k: int, count: int, seed: int, confidence: float) -> None:
    rng = np.random.default_rng(seed)
    estimates, replicates = rng.normal(size=k), rng.gamma(1 + np.arange(k), size=(count, k))
    expected = np.array(plain_intervals(estimates.tolist(), replicates.tolist(), confidence))
    np.testing.assert_allclose(
        np.stack(simultaneous_intervals(estimates, replicates, confidence), axis=1), expected, atol=ROUNDING
    )
    clipped = simultaneous_intervals(estimates, replicates, confidence, bounds=(0.0, 1.0))
    np.testing.assert_allclose(np.stack(clipped, axis=1), expected.clip(0, 1), atol=ROUNDING)


def test_estimates_that_never_vary_are_points() -> None:
    low, high = simultaneous_intervals([0.2, 1.5], [[0.3, 0.1]] * 5, 0.95, bounds=(0, 1))
    assert low.tolist() == high.tolist() == [0.2, 1.0]


def test_the_largest_of_many_is_covered_where_a_pointwise_interval_fails() -> None:
    """40 equal means, the largest picked: 95 % or more of 400; a standard error is 1.1 %. Pointwise: far fewer."""
    rng, k = np.random.default_rng(4), 40
    covered, pointwise = [], []
    for _ in range(400):
        estimates, replicates = rng.normal(size=k), rng.normal(size=(300, k))
        picked = int(estimates.argmax())
        low, high = simultaneous_intervals(estimates, replicates, 0.95)
        covered.append(low[picked] <= 0 <= high[picked])
        pointwise.append(abs(estimates[picked]) <= 1.96)
    assert np.mean(covered) >= 0.93
    assert np.mean(pointwise) < 0.5


@pytest.mark.parametrize(
    ("estimates", "replicates", "confidence"),
    [
        ([0.1, 0.2], [[0.1, 0.2]], 0.95),
        ([0.1, 0.2], [[0.1], [0.2]], 0.95),
        ([0.1, np.nan], [[0.1, 0.2]] * 2, 0.95),
        ([0.1, 0.2], [[0.1, np.inf]] * 2, 0.95),
        ([], np.empty((2, 0)), 0.95),
        ([0.1], [[0.1], [0.2]], 1.0),
    ],
)
def test_unusable_input(estimates: list[float], replicates: list[list[float]], confidence: float) -> None:
    with pytest.raises(InputError):
        simultaneous_intervals(estimates, replicates, confidence)
