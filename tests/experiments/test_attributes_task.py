"""What clusters capture, on made-up runs: topics that features follow, and the run's own partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analysis.attributes import SURFACE, Attribute, attributes
from mauve_core.base.config import HUMAN
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.experiments.attributes_over_k import ALL, AttributeTable, attributes_run, held_out
from mauve_core.scoring.partitioning import clustering_seeds, partitions
from mauve_core.scoring.streams import stream
from mauve_core.store import Run
from tests.synthetic import TOPICS, make_run

N, SEEDS = 160, 2
NAMES = (HUMAN, "close", "shifted", "collapsed")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attributes")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    return make_run(home, n=N, seeds=SEEDS, projection=False)


@pytest.fixture(scope="module")
def table(run: Run) -> AttributeTable:
    return attributes_run(run)


@pytest.fixture(autouse=True)
def stored(home: Path, run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's home is the program's; asks for ``own_home`` so that this comes after it."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))


@pytest.fixture
def no_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        pytest.fail("texts were clustered")

    monkeypatch.setattr(held_out, "partition", refuse)


def line(table: AttributeTable, column: str) -> dict[int, Attribute]:
    return {row.k: row for row in table.rows if row.column == column}


# Numbers


def test_clusters_tell_the_topic_once_there_are_as_many(table: AttributeTable) -> None:
    topic = line(table, "topic")
    for k, row in topic.items():
        scores = {name: found.mean for name, found in row.scores.items()}
        assert scores["baseline"] < 0.25  # eight topics, about as frequent as each other
        if k < len(TOPICS):
            assert scores["baseline"] < scores["accuracy"]
            assert scores["purity"] <= k * row.by_value[0].share  # a cluster has one most frequent topic
        else:
            assert scores["purity"] > 0.95  # k-means may put a few topics into one cluster
            assert scores["accuracy"] > (0.95 if k <= 16 else 0.5)
    # Beyond that, clusters split topics, and ever more of them have no text to be named after.
    accuracy = {k: row.scores["accuracy"].mean for k, row in topic.items()}
    assert accuracy[64] < accuracy[32] < accuracy[16]
    assert topic[len(TOPICS)].scores["ami"].mean > topic[64].scores["ami"].mean
    assert {(row.n, row.missing, row.kind) for row in topic.values()} == {(N, 0, "category")}


def test_clusters_of_topics_know_nothing_of_surface(table: AttributeTable) -> None:
    # Texts have 22 words of their topic each, and no stop words.
    assert [name for name in SURFACE if line(table, name)] == []
    assert {note.split(":")[0] for note in table.notes if "left out" in note} >= {"length", "words", "stop_words"}


def test_at_the_own_k_the_partitions_are_the_stored_ones(run: Run, table: AttributeTable, no_clustering: None) -> None:
    own = run.comparison.joint
    seed = stream(run.comparison.config.score.seed, "attributes")
    expected = attributes(own, {HUMAN: run.corpora[HUMAN]}, seed=seed)
    (row,) = [row for row in attributes_run(run, [own[0].k]).rows if row.column == "topic"]
    assert row == next(row for row in expected.rows if row.column == "topic")
    assert row == line(table, "topic")[own[0].k]


@pytest.mark.parametrize("candidate", [None, "shifted"])
def test_other_ks_are_clustered_as_the_run_itself_would(run: Run, candidate: str | None) -> None:
    names = list(NAMES) if candidate is None else [HUMAN, candidate]
    found: dict[str, Any] = {name: run.features(name) for name in names}
    score = replace(run.comparison.config.score, k=5)
    joint, pairwise = clustering_seeds(score, len(NAMES) - 1)
    seeds = joint if candidate is None else pairwise[NAMES.index(candidate) - 1]
    kind = "joint" if candidate is None else "pairwise"
    parts = partitions(kind, found, seeds, score, lambda: None)  # type: ignore[arg-type]
    looked_at = {name: run.corpora[name] for name in names}
    expected = attributes(parts, looked_at, columns=["topic"], splits=3, seed=stream(score.seed, "attributes"))
    made = attributes_run(run, [5], ["topic"], source=ALL, candidate=candidate, splits=3)
    assert made.rows == expected.rows
    assert made.settings["texts"] == dict.fromkeys(names, N)
