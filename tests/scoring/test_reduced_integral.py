"""The frontier integral less its bias against a plain twin, and what two samples of one source show."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.scoring.differences import FOLDS, deal_to_groups
from mauve_core.scoring.estimates import scored
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.streams import stream
from mauve_core.scoring.tables import floor, reduced_integral
from tests.scoring.test_differences import SKEWED, UNIFORM, comparison_of
from tests.scoring.test_intervals import integral

ROUNDING = 1e-12


def made(n: int, skew: bool, prompts: int, seed: int = 0) -> Comparison:
    sides = (HUMAN, "a")
    shares = {HUMAN: UNIFORM, "a": SKEWED if skew else UNIFORM}
    own = {name: [prompts * place + text % prompts for text in range(n)] for place, name in enumerate(sides)}
    return scored(comparison_of(dict.fromkeys(sides, n), shares, prompts=own, seed=seed), {})


def by_hand(comparison: Comparison) -> float:
    """Pseudo-values of the mean over seeds, folds left out one at a time, texts counted one at a time."""
    units = comparison.units(HUMAN, "a")
    folds = deal_to_groups(units, stream(comparison.config.score.seed, "differences"), most=FOLDS)

    def mean_without(fold: int) -> float:
        found = []
        for part in comparison.candidate("a").partitions:
            shares = []
            for name in (HUMAN, "a"):
                kept = [label for label, of in zip(part.labels[name], folds[name], strict=True) if of != fold]
                shares.append([kept.count(cluster) / len(kept) for cluster in range(part.k)])
            found.append(integral(*shares))
        return sum(found) / len(found)

    whole, n = mean_without(-1), sum(own.size for own in folds.values())
    estimate = 0.0
    for fold in range(max(int(own.max()) for own in folds.values()) + 1):
        ratio = n / sum(int((own == fold).sum()) for own in folds.values())
        estimate += (ratio * whole - (ratio - 1) * mean_without(fold)) / ratio
    return estimate


@pytest.mark.parametrize("prompts", [40, 30])
def test_equal_to_a_plain_twin(prompts: int) -> None:
    comparison = made(60, True, prompts)
    found, plain = reduced_integral(comparison, "a"), comparison["a"]["frontier_integral"]
    assert found is not None
    assert found.value == pytest.approx(by_hand(comparison), abs=ROUNDING)
    bias = plain.mean - found.value
    assert bias > 0
    assert (found.low, found.high) == pytest.approx((plain.low - bias, plain.high - bias), abs=ROUNDING)


def test_two_samples_of_one_source_have_the_floor_and_are_reduced_to_0() -> None:
    plain, reduced, least = [], [], 0.0
    for seed in range(60):
        comparison = made(200, False, 200, seed)
        found = reduced_integral(comparison, "a")
        assert found is not None
        plain.append(comparison["a"]["frontier_integral"].mean)
        reduced.append(found.value)
        least = floor(comparison, comparison["a"])
    error = np.std(plain) / math.sqrt(len(plain))
    assert np.mean(plain) == pytest.approx(least, abs=4 * error)
    assert np.mean(reduced) == pytest.approx(0, abs=4 * error)
    assert np.mean(plain) > 8 * error


def test_too_few_units_leave_no_estimate() -> None:
    comparison = made(60, True, 19)
    assert reduced_integral(comparison, "a") is None
    assert reduced_integral(dataclasses.replace(comparison, prompts=None), "a") is not None
