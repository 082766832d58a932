"""The texts to read of a cluster: nearest to the center first, or paired by prompt."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.findings.why_cards import Row, WhySource, central_texts, paired, side_by_side, why_source
from mauve_core.scoring.result import Partition
from mauve_core.texts import corpus_from_texts


@pytest.fixture(scope="module")
def source() -> WhySource:
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(0, 3, 40).astype(np.int32) for name in (HUMAN, "m")}
    features = [rng.normal(size=(40, 4)).astype(np.float32) for _ in range(2)]
    sides = [corpus_from_texts([f"{name} {i}" for i in range(40)], name=name) for name in (HUMAN, "m")]
    return why_source(Partition("pairwise", 0, 4, 0.0, labels), *sides, "m", (features[0], features[1]))


def test_nearest_first_by_loops(source: WhySource) -> None:
    assert source.features is not None
    for cluster in range(3):
        rows = [row for row in range(80) if source.labels[row] == cluster]
        center = sum(source.features[row].astype(np.float64) for row in rows) / len(rows)
        away = {row: float(np.linalg.norm(source.features[row] - center)) for row in rows}
        expected = sorted(rows, key=away.__getitem__)
        human, model = central_texts(source, cluster)
        assert human.tolist() == [row for row in expected if row < 40]
        assert model.tolist() == [row - 40 for row in expected if row >= 40]


def test_empty_clusters_and_no_features(source: WhySource) -> None:
    assert [side.size for side in central_texts(source, 3)] == [0, 0]
    human, _ = central_texts(dataclasses.replace(source, features=None, centres=None), 0)
    assert human.tolist() == sorted(human.tolist())
    with pytest.raises(InputError):
        central_texts(source, 4)


def test_rows_of_both_sides() -> None:
    human, model = np.array([4, 1, 2, 3]), np.array([7])
    assert side_by_side(human, model, 3) == [Row(4, 7), Row(1, None), Row(2, None)]
    assert side_by_side(model, human, 1) == [Row(7, 4)]
    assert side_by_side(human[:0], model[:0], 3) == []


def test_pairs_prefer_the_cluster_and_take_each_prompt_once() -> None:
    # Prompts of rows 0 to 4; the cluster holds human 3, 0, 1 and model 4, 2.
    codes = np.array([10, 11, 12, 13, 10]), np.array([10, 13, 99, 14, 10])
    human, model = np.array([3, 0, 1]), np.array([4, 2])
    assert paired(human, model, codes, 5) == [Row(3, 1), Row(0, 4)]
    assert paired(human, model, codes, 1) == [Row(3, 1)]
    assert paired(np.array([], dtype=int), np.array([1, 2, 0]), codes, 5) == [Row(3, 1), Row(0, 0)]
