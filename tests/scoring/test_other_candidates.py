"""A candidate's scores, intervals, labels and human halves depend on no other candidate, nor on its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.findings.clusters import gap_test
from mauve_core.scoring import compare as comparing
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.shards.plan import plan_of
from tests.sharded import SCORE, carried_out, written_features
from tests.synthetic import make_side

pytestmark = pytest.mark.integration

CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
N, OTHERS = 60, tuple(f"other {place}" for place in range(9))


def sides() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Texts with prompts; others answer fewer of them, more than once, or others, or come without prompts."""
    corpora, features = {}, {}
    for place, name in enumerate((HUMAN, "own", *OTHERS)):
        corpora[name], features[name] = make_side(name, np.exp(-0.1 * place * np.arange(8)), N, 16, 20 + place)
    few = np.arange(N - 20)
    for name in OTHERS[:2]:
        corpora[name], features[name] = corpora[name].take(few), features[name][few]
    corpora[OTHERS[2]] = dataclasses.replace(corpora[OTHERS[2]], prompts=tuple(f"Else {number}" for number in range(N)))
    ids = tuple(f"u{number}" for number in range(N))
    corpora[OTHERS[3]] = dataclasses.replace(corpora[OTHERS[3]], prompts=None, ids=ids)
    return corpora, features


def compared(names: Sequence[str]) -> Comparison:
    corpora, features = sides()
    given = {name: features[name] for name in (HUMAN, *names)}
    return compare(corpora[HUMAN], {name: corpora[name] for name in names}, CONFIG, features=given, progress="none")


def assert_equal(one: Comparison, other: Comparison) -> None:
    found, expected = one.candidate("own"), other.candidate("own")
    assert found.scores == expected.scores
    for mine, its in zip(found.partitions, expected.partitions, strict=True):
        for side in (HUMAN, "own"):
            np.testing.assert_array_equal(mine.labels[side], its.labels[side])
    assert one.halves is not None
    assert other.halves is not None
    assert one.halves.scores == other.halves.scores
    assert one.at_size_of_halves("own") == other.at_size_of_halves("own") is not None
    assert gap_test(one, "pairwise", "own") == gap_test(other, "pairwise", "own")


ORDERS = {
    "first": ("own", *OTHERS[:3]),
    "last": (*OTHERS[:3], "own"),
    "among ten": (*OTHERS[:5], "own", *OTHERS[5:]),
    "beside one without prompts": (OTHERS[3], "own"),
}


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
def test_in_memory(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "array_device", lambda _: device)
    monkeypatch.setattr("mauve_core.scoring.differences.PERMUTATIONS", 20)  # of tests between candidates
    alone = compared(["own"])
    for names in ORDERS.values():
        assert_equal(alone, compared(names))


def test_over_shards(tmp_path: Path) -> None:
    places = written_features(tmp_path / "features", sides()[1], 2)

    def found(order: str, names: Sequence[str]) -> Any:
        plan = plan_of(places[HUMAN], {name: places[name] for name in names}, encoder=None, score=SCORE)
        return carried_out(plan, tmp_path / order)["own"]

    alone = found("alone", ["own"])
    for order, names in ORDERS.items():
        assert found(order, names) == alone
