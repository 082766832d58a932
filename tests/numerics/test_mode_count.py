"""Modes counted against modes planted, and against values by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from mauve_core.base.errors import InputError
from mauve_core.stats.diversity import count_modes, gap_between_modes, group, modes_per_prompt, unit_answers
from tests.planted_modes import draw_modes, equal, mode_features

PROMPTS, ANSWERS = 200, 8


@pytest.mark.parametrize("modes", [1, 2, 5, 10])
@pytest.mark.parametrize("noise", [0.2, 0.05, 0.0])
def test_planted_modes_are_counted_within_a_tenth(modes: int, noise: float) -> None:
    rng = np.random.default_rng(modes)
    x = unit_answers(mode_features(draw_modes(equal(modes), PROMPTS, ANSWERS, rng), rng, noise=noise))
    count = modes_per_prompt(x, gap_between_modes([x]))
    assert count is not None
    assert count.modes == pytest.approx(modes, rel=0.1)
    assert count.low <= count.modes <= count.high
    assert count.together == pytest.approx(1 / modes, rel=0.1)


@pytest.mark.parametrize(
    ("shares", "low", "high"),
    [
        ([0.7, 0.3], 1.9, 2.05),
        ([0.6, 0.2, 0.1, 0.05, 0.05], 3.5, 4.95),
        ([1 / k / 2.929 for k in range(1, 11)], 7.0, 9.5),
    ],
)
def test_rare_modes_make_the_count_a_lower_bound(shares: Sequence[float], low: float, high: float) -> None:
    probabilities = np.array(shares) / np.sum(shares)
    rng = np.random.default_rng(3)
    counts = [count_modes(draw_modes(list(probabilities), PROMPTS, ANSWERS, rng)).modes for _ in range(30)]
    assert low < np.mean(counts) < high < len(shares) + 0.1


@pytest.mark.slow
def test_prompts_may_have_different_numbers_of_modes() -> None:
    rng = np.random.default_rng(4)
    means = []
    for _ in range(30):
        halves = [draw_modes(equal(modes), PROMPTS // 2, ANSWERS, rng) for modes in (1, 10)]
        means.append(count_modes(np.concatenate(halves)).modes)
    assert np.mean(means) == pytest.approx(5.5, rel=0.05)


@pytest.mark.slow
def test_the_interval_holds_the_planted_number() -> None:
    rng = np.random.default_rng(6)
    found = [count_modes(draw_modes(equal(10), PROMPTS, ANSWERS, rng), seed) for seed in range(60)]
    assert sum(each.low <= 10 <= each.high for each in found) >= 52  # of 60 at 95%, 52 or fewer have a chance of 1%


def test_the_estimate_is_that_of_the_formula() -> None:
    count = count_modes([[7, 7, 1], [4, 5, 6]])
    assert count.modes == (5 + 2 / 3 * 4 * 3 / (2 * 2)) / 2  # 5 met, 4 of them once and 1 twice
    assert (count.met, count.together) == (2.5, 1 / 6)


def test_no_two_answers_of_one_mode_cannot_be_counted() -> None:
    count = count_modes([[0, 1, 2], [0, 1, 2]])
    assert (count.modes, count.low, count.high, count.met) == (math.inf, math.inf, math.inf, 3)


def test_groups_are_connected_components() -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(20, 9, 2))
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=3)
    found = group(distances, 0.6)
    for own, labels in zip(distances, found, strict=True):
        number, expected = connected_components(own <= 0.6)
        assert len(np.unique(labels)) == number
        assert len({*zip(labels.tolist(), expected.tolist(), strict=True)}) == number


@pytest.mark.parametrize("labels", [[[1], [2]], [1, 2], [[0.5, 1.0]], np.zeros((0, 3), dtype=int)])
def test_unusable_labels_are_refused(labels: object) -> None:
    with pytest.raises(InputError, match="at least two answers"):
        count_modes(labels)  # type: ignore[arg-type]
