"""Stability over a comparison: the right labels, sides and streams reach the numerics."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analysis.stability import assess_stability
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.numerics.resampling.stability import Stability, cluster_stability
from mauve_core.scoring.result import Comparison, Partition
from tests.handmade import N, make_comparison

MODEL = "b"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return make_comparison()


def stacked(part: Partition) -> np.ndarray:
    return np.concatenate([part.labels[HUMAN], part.labels[MODEL]])


def assert_same_statistics(found: Stability, expected: Stability) -> None:
    """All that does not depend on the draws."""
    for name in ("excess", "elsewhere", "combined", "sd", "agreement", "kept"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_reference_comes_first_and_the_other_seeds_follow(
    comparison: Comparison, kind: PartitionKind, seed
) -> None:
    parts = [comparison.partition(kind, MODEL, each) for each in (seed, 1 - seed)]
    expected = cluster_stability([stacked(part) for part in parts], N[HUMAN], k=parts[0].k, seed=0)
    assert_same_statistics(assess_stability(comparison, MODEL, kind, seed), expected)
