"""A run in fewer and in more clusters: the same texts and the run's own stream."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import repartition
from mauve_core.runs import Run
from mauve_core.scoring.partitioning import clustering_seeds, partition, reduced_together
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("others"))


@pytest.mark.parametrize("kind", ["joint", "pairwise"])
def test_half_and_twice_the_clusters_of_the_same_texts(run: Run, kind: PartitionKind) -> None:
    own = run.comparison.partition(kind, "shifted", 0)
    found = repartition(run, "shifted", kind)
    assert [part.k for part in found] == [round(own.k / 2), own.k * 2]
    names = list(own.labels)
    sides = {name: np.asarray(run.features(name)) for name in names}
    score = run.comparison.config.score
    seed = clustering_seeds(score)[kind][0]
    for part in found:
        settings = dataclasses.replace(score, k=part.k, restarts=1)
        sizes = {name: len(array) for name, array in sides.items()}
        again = partition(kind, reduced_together(sides, score), sizes, seed_index=0, seed=seed, score=settings)
        assert list(part.labels) == names
        for name in names:
            np.testing.assert_array_equal(part.labels[name], again.labels[name])


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No candidate"):
        repartition(run, HUMAN)
    bare = dataclasses.replace(run, path=tmp_path)
    with pytest.raises(InputError, match="were not stored"):
        repartition(bare, "shifted")


def test_more_clusters_than_half_of_the_texts_are_left_out(run: Run) -> None:
    parts = tuple(dataclasses.replace(part, k=100) for part in run.comparison.candidate("shifted").partitions)
    candidates = tuple(
        dataclasses.replace(candidate, partitions=parts) if candidate.name == "shifted" else candidate
        for candidate in run.comparison.candidates
    )
    texts = sum(len(run.corpora[name]) for name in (HUMAN, "shifted"))
    assert 100 < texts < 400
    many = dataclasses.replace(run, comparison=dataclasses.replace(run.comparison, candidates=candidates))
    assert [part.k for part in repartition(many, "shifted", "pairwise")] == [50]
