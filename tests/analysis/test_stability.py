"""Stability over a comparison: the right labels, sides and streams reach the numerics."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import assess_stability
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.stability import Stability, cluster_stability
from tests.handmade import N, make_comparison, with_tests

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


def test_more_partitions_and_units(comparison: Comparison) -> None:
    comparison = with_tests(comparison)
    reference, other = (comparison.partition("pairwise", MODEL, each) for each in (0, 1))
    coarse = dataclasses.replace(
        reference, k=2, labels={name: np.minimum(labels, 1) for name, labels in reference.labels.items()}
    )
    found = assess_stability(comparison, MODEL, others=[coarse])
    rows = [stacked(part) for part in (reference, other, coarse)]
    expected = cluster_stability(rows, N[HUMAN], k=reference.k, units=comparison.units_with(MODEL).codes, seed=0)
    assert_same_statistics(found, expected)
    assert found.elsewhere.shape == (2, reference.k)
    assert found.notes == expected.notes
    assert "never change sides" in found.notes[0]


def test_the_same_question_gets_the_same_numbers(comparison: Comparison) -> None:
    first, again = assess_stability(comparison, MODEL), assess_stability(comparison, MODEL)
    np.testing.assert_array_equal(first.p, again.p)
    score = dataclasses.replace(comparison.config.score, seed=comparison.config.score.seed + 1)
    other = dataclasses.replace(comparison, config=dataclasses.replace(comparison.config, score=score))
    assert not np.array_equal(first.p, assess_stability(other, MODEL).p)
    assert assess_stability(comparison, MODEL, permutations=7).permutations == 7


def test_what_is_refused(comparison: Comparison) -> None:
    with pytest.raises(InputError, match="No candidate"):
        assess_stability(comparison, "other")
    with pytest.raises(InputError, match="No partition with that seed"):
        assess_stability(comparison, MODEL, seed=5)
    with pytest.raises(InputError, match="does not belong to these texts"):
        assess_stability(comparison, MODEL, others=[comparison.candidates[0].partitions[0]])
