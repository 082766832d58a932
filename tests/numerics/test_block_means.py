"""Means of groups that share prompts with their neighbors: intervals against known answers and a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analyses.diversity import dealt
from mauve_core.base.errors import InputError
from mauve_core.stats.diversity import CONFIDENCE, RESAMPLES, block_mean

SEED = np.random.SeedSequence(3)


def test_blocks_of_one_are_the_usual_bootstrap() -> None:
    values = np.random.default_rng(0).normal(size=40)
    found = block_mean(values, 1, SEED)
    drawn = np.random.default_rng(SEED).integers(40, size=(RESAMPLES, 40))
    ends = np.quantile([values[each].mean() for each in drawn], [0.025, 0.975])
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), *ends))


def test_blocks_go_around_the_circle() -> None:
    found = block_mean([1.0, 0.0, 0.0, 0.0, 1.0], 2, SEED)
    starts = np.random.default_rng(SEED).integers(5, size=(RESAMPLES, 3))
    values = [1.0, 0.0, 0.0, 0.0, 1.0]
    means = [np.mean([values[start % 5] for each in draw for start in (each, each + 1)]) for draw in starts]
    ends = (0.4 + np.sqrt(12 / 9) * (np.quantile(means, [0.025, 0.975]) - 0.4)).clip(0, 1)
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_equal_values_have_no_spread() -> None:
    found = block_mean(np.full(12, 0.25), 4, SEED)
    assert (found.value, found.low, found.high) == (0.25, 0.25, 0.25)


def test_a_widened_interval_stays_within_the_values() -> None:
    values = np.zeros(12)
    values[0] = 1.0
    found = block_mean(values, 3, SEED)
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("own", [0.2, 3.0], ids=["prompts differ", "answers differ"])
def test_means_of_groups_that_share_prompts_are_covered(own: float) -> None:
    prompts, m, repeats = 120, 4, 400
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(repeats):
        answers = rng.normal(size=prompts)[:, None] + own * rng.normal(size=(prompts, m))
        groups = answers.ravel()[dealt(prompts, m)].mean(axis=1)
        found = block_mean(groups, m, SEED)
        covered += found.low <= 0 <= found.high
    assert covered / repeats == pytest.approx(CONFIDENCE, abs=0.04)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [[1.0, 2.0]]])
def test_values_without_a_mean_are_refused(values: list[float]) -> None:
    with pytest.raises(InputError, match="no mean"):
        block_mean(values, 1, SEED)
