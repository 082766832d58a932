"""The slope by which the soak judges: exact on a line, and its interval holds the truth although samples are alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from benchmarks.plots import BLOCKS, FEWEST, Slope, slope

pytestmark = pytest.mark.integration

# The second half of an hour.
SECONDS = np.arange(0, 1800, 5.0)

TRUE = 0.1


def alike(rng: np.random.Generator, lasting_s: float) -> np.ndarray:
    """A stationary series of unit variance whose correlation falls by e in that time."""
    share = np.exp(-5 / lasting_s)
    shocks = np.sqrt(1 - share**2) * rng.normal(size=SECONDS.size)
    shocks[0] = rng.normal()
    return np.asarray(lfilter([1], [1, -share], shocks))


@pytest.mark.parametrize(
    ("lasting_s", "least"),
    [(1, 0.93), (60, 0.90), (120, 0.87)],  # 95 % but for what is alike for long; three standard errors of 1,000 trials
)
def test_the_interval_holds_the_truth_as_often_as_it_says(lasting_s: float, least: float) -> None:
    rng = np.random.default_rng(0)
    found = [slope(SECONDS, alike(rng, lasting_s) + TRUE * SECONDS / 60) for _ in range(1000)]
    assert least <= np.mean([each.low <= TRUE <= each.high for each in found]) <= 0.98


def test_a_line_has_its_slope_and_a_constant_none() -> None:
    found = slope(SECONDS, 400 + 0.25 * SECONDS / 60)
    assert (found.value, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))
    assert found.in_words == "above zero"
    still = slope(SECONDS, np.full(SECONDS.size, 0.1))
    assert still == Slope(0.0, 0.0, 0.0)
    assert still.in_words == "includes zero"
    assert slope(SECONDS, -SECONDS).in_words == "below zero"


def test_blocks_without_a_sample_are_left_out_and_too_few_are_refused() -> None:
    part = SECONDS < 600
    ends = part | (SECONDS > 1790)
    with pytest.raises(ValueError, match=f"3 of {BLOCKS} blocks have a sample, and a slope needs {FEWEST}"):
        slope(SECONDS[ends], SECONDS[ends])
    gap = (SECONDS < 600) | (SECONDS > 900)
    assert slope(SECONDS[gap], 2 * SECONDS[gap] / 60).value == pytest.approx(2)
