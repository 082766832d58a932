"""Two candidates over shards: the joint partition and tests beside those in memory, and a sentence on the closest."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.over_shards import closest_over_all, over_all_rows
from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.words import TEXTS
from mauve_core.findings.verdicts import ALL_COPY
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.shards.clustering import JOINT, grouped_counts
from mauve_core.shards.plan import Plan, ShardedComparison, Work, plan_of
from mauve_core.stats.scores import SCORES
from tests.sharded import SCORE, carried_out, made_sides, written_features

pytestmark = pytest.mark.integration

SIDES = made_sides(300)
OTHER = np.concatenate([SIDES["model"][:200], made_sides(300)[HUMAN][:100][::-1]])


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path, ShardedComparison, Comparison]:
    """Two candidates over shards and in memory; the second has a third of its texts from near the human ones."""
    folder = tmp_path_factory.mktemp("two")
    sides = {**SIDES, "other": OTHER}
    places = written_features(folder / "features", sides)
    plan = plan_of(places[HUMAN], {name: places[name] for name in ("model", "other")}, encoder=None, score=SCORE)
    texts = {name: [f"{name} {row}" for row in range(len(x))] for name, x in sides.items()}
    config = CompareConfig(encoder=None, score=SCORE)
    plain = compare(texts.pop(HUMAN), texts, config, features=sides, draw_map=False, progress="none")
    return plan, folder, carried_out(plan, folder / "work"), plain


def test_the_joint_partition_is_that_in_memory(
    two: tuple[Plan, Path, ShardedComparison, Comparison],
) -> None:
    _, folder, _, plain = two
    work = Work.open(folder / "work")
    for source in (HUMAN, "model", "other"):
        counts = grouped_counts(work, JOINT, source, SCORE.k or 0).sum(axis=1)
        np.testing.assert_array_equal(counts, [partition.counts(source) for partition in plain.joint])


def test_differences_are_those_of_the_scores(two: tuple[Plan, Path, ShardedComparison, Comparison]) -> None:
    _, _, found, plain = two
    for name in SCORES:
        test, in_memory = found.difference(name, "model", "other"), plain.difference(name, "model", "other")
        assert test is not None
        assert in_memory is not None
        assert test.difference == pytest.approx(in_memory.difference, abs=1e-12)
        assert test.high - test.low == pytest.approx(in_memory.high - in_memory.low, rel=0.4)
        assert test.told_apart == in_memory.told_apart


def test_the_closest_is_named_as_in_a_verdict(two: tuple[Plan, Path, ShardedComparison, Comparison]) -> None:
    *_, found, _ = two
    said = str(closest_over_all(found))
    assert said.startswith("Under the features given, other is closer to the human texts than model: MAUVE")
    assert "ahead by 0.440 (" in said
    assert [row[0] for row in over_all_rows(found)[1]] == ["other", "model"]
    assert str(closest_over_all(found, ["other"])).startswith("Under the features given, model has MAUVE"), (
        "what copies is left out"
    )
    assert str(closest_over_all(found, ["other", "model"])) == TEXTS.fill(ALL_COPY)


def test_without_a_test_intervals_decide_and_that_is_said(
    two: tuple[Plan, Path, ShardedComparison, Comparison],
) -> None:
    *_, found, _ = two
    untested = dataclasses.replace(found, differences=())
    assert "numbers of texts differ by more than 1" in str(closest_over_all(untested))
    third = dataclasses.replace(found.candidates[0], name="third"), dataclasses.replace(found.sides[1], name="third")
    mixed = dataclasses.replace(found, candidates=(*found.candidates, third[0]), sides=(*found.sides, third[1]))
    ends = [(each.scores["mauve"].low, each.scores["mauve"].high) for each in found.candidates]
    lower = dataclasses.replace(found.candidates[0].scores["mauve"], high=ends[1][1])
    overlapping = dataclasses.replace(found.candidates[0], scores={**found.candidates[0].scores, "mauve": lower})
    mixed = dataclasses.replace(mixed, candidates=(overlapping, *mixed.candidates[1:]))
    assert mixed.difference("mauve", "other", "model") is not None, "told apart by the test, and not by the intervals"
    assert "cannot be told" in str(closest_over_all(mixed))
    one = dataclasses.replace(untested.candidates[0], scores=untested.candidates[1].scores)
    tied = dataclasses.replace(untested, candidates=(one, untested.candidates[1]))
    assert str(closest_over_all(tied)).startswith("Under the features given, whether model or other is closer to ")


def test_one_candidate_has_no_joint_partition(tmp_path: Path) -> None:
    places = written_features(tmp_path / "features", SIDES)
    found = carried_out(
        plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE), tmp_path / "work"
    )
    assert found.differences == ()
    assert not Work.open(tmp_path / "work").path("partitions", 0).exists()
    assert str(closest_over_all(found)).startswith("Under the features given, model has MAUVE")
