"""What clusters capture, on made-up runs: topics that features follow, and the run's own partitions."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses import attributes_over_k
from mauve_core.analyses.attributes_over_k import AttributeTable, attributes_run, usual_ks
from mauve_core.analyses.cluster_attributes import SURFACE, Attribute, attributes
from mauve_core.base.config import ALL_SIDES as ALL
from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import clustering_seeds, partitions
from mauve_core.scoring.streams import stream
from tests.synthetic import TOPICS, make_comparison_inputs, make_run

pytestmark = pytest.mark.integration

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
def bare(run: Run, tmp_path: Path) -> Run:
    """A copy of the run whose features were not kept."""
    shutil.copytree(run.path.parent, tmp_path / "runs")
    for path in (tmp_path / "runs" / run.id).glob("features-*.npy"):
        path.unlink()
    return RunStore(tmp_path / "runs").load(run.id)


@pytest.fixture
def no_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        pytest.fail("texts were clustered")

    monkeypatch.setattr(attributes_over_k, "partition", refuse)


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
            least = 0.85 if k == len(TOPICS) else 0.95  # k-means may put two topics into one cluster
            assert scores["purity"] > least
            assert scores["accuracy"] > (least if k <= 16 else 0.5)
    # Beyond that, clusters split topics, and ever more of them have no text to be named after.
    accuracy = {k: row.scores["accuracy"].mean for k, row in topic.items()}
    assert accuracy[64] < accuracy[32] < accuracy[16]
    assert topic[len(TOPICS)].scores["ami"].mean > topic[64].scores["ami"].mean
    assert {(row.n, row.missing, row.kind) for row in topic.values()} == {(N, 0, "category")}


def test_clusters_of_topics_know_nothing_of_surface(table: AttributeTable) -> None:
    # Texts have 22 words of their topic each, and no stop words.
    assert [name for name in SURFACE if line(table, name)] == []
    assert {note.split(":")[0] for note in table.notes if "left out" in note} >= {"length", "words", "stop_words"}


def test_the_runs_own_k_and_its_neighbours_by_doubling(run: Run, table: AttributeTable) -> None:
    own = run.comparison.joint[0].k
    assert own == 16
    assert table.ks == usual_ks(run) == (2, 4, 8, 16, 32, 64)
    assert table.settings["own_k"] == own
    assert [row.k for row in table.lines["topic", "category"]] == list(table.ks)
    assert (table.settings["seeds"], table.settings["splits"]) == (SEEDS, attributes_over_k.ATTRIBUTE_SPLITS)
    scores = line(table, "topic")[own].scores
    assert len(scores["accuracy"].values) == SEEDS * attributes_over_k.ATTRIBUTE_SPLITS
    assert len(scores["ami"].values) == SEEDS
    assert len(scores["baseline"].values) == attributes_over_k.ATTRIBUTE_SPLITS


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
    kind: PartitionKind = "joint" if candidate is None else "pairwise"
    parts = partitions(kind, found, clustering_seeds(score)[kind], score, lambda: None)
    looked_at = {name: run.corpora[name] for name in names}
    expected = attributes(parts, looked_at, columns=["topic"], splits=3, seed=stream(score.seed, "attributes"))
    made = attributes_run(run, [5], ["topic"], source=ALL, candidate=candidate, splits=3)
    assert made.rows == expected.rows
    assert made.settings["texts"] == dict.fromkeys(names, N)


def test_whose_texts_are_looked_at(run: Run) -> None:
    own = [run.comparison.joint[0].k]
    for source, n in ((HUMAN, N), ("collapsed", N), (ALL, 4 * N)):
        found = attributes_run(run, own, ["topic"], source=source)
        assert {row.n for row in found.rows} == {n}
    collapsed = line(attributes_run(run, own, ["topic"], source="collapsed"), "topic")[16]
    assert {item.value for item in collapsed.by_value} == set(TOPICS[:2])
    with pytest.raises(InputError, match="No such texts"):
        attributes_run(run, own, source="close", candidate="shifted")
    with pytest.raises(InputError, match="No candidate named"):
        attributes_run(run, own, candidate="gone")
    begun: list[str] = []
    with pytest.raises(InputError, match="Not every corpus"):
        attributes_run(run, [2, 3], ["gone"], progress=lambda stage, *_: begun.append(stage))
    assert begun == [], "nothing is clustered for it"


@pytest.mark.parametrize("ks", [[], [1], [N + 1], [2.5], [True]])
def test_ks_out_of_their_range_are_refused(run: Run, ks: list[Any]) -> None:
    with pytest.raises(InputError, match="numbers of clusters"):
        attributes_run(run, ks)


def test_without_features_the_own_k_is_left(bare: Run, table: AttributeTable) -> None:
    found = attributes_run(bare)
    assert found.ks == (16,)
    assert line(found, "topic")[16] == line(table, "topic")[16]
    assert any("Only at the run's own k" in note and "were not stored" in note for note in found.notes)
    assert line(attributes_run(bare, [16]), "topic") == line(found, "topic")
    with pytest.raises(InputError, match="were not stored"):
        attributes_run(bare, [8, 16])


def test_a_k_that_cannot_be_clustered_is_left_out_and_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    six = np.tile(np.eye(6, 4, dtype=np.float32) + 1, (N // 6 + 1, 1))[:N]  # five of these rows are different
    monkeypatch.setattr(Run, "features", lambda self, source: six)
    found = attributes_run(run, [4, 16, 40])
    assert found.ks == (4, 16)
    assert any(note.startswith("k = 40 is left out") for note in found.notes)
    with pytest.raises(InputError, match="could not be clustered"):
        attributes_run(run, [40])


def test_one_seed_and_few_texts_are_said(tmp_path: Path) -> None:
    small = make_run(tmp_path, n=40, seeds=1, projection=False)
    found = attributes_run(small, [4, 20], splits=1)
    said = " ".join(found.notes)
    assert "With one seed, what is computed" in said
    assert "no spread at all" in said
    assert "At k = 20, a cluster has fewer than 5" in said
    assert all(score.sd is None for row in found.rows for score in row.scores.values())


@pytest.mark.trial
def test_numbers_that_clusters_do_not_tell_are_explained(tmp_path: Path) -> None:
    human, sides, features = make_comparison_inputs(60)
    noise = np.random.default_rng(0).normal(size=len(human))
    human = replace(human, metadata=human.metadata.assign(noise=noise, known=[len(t) for t in human.metadata["topic"]]))
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    comparison = compare(human, sides, config, features=features)
    made = RunStore(tmp_path / "runs").save("numbers", comparison, {HUMAN: human, **sides}, features)
    found = attributes_run(made, [8])
    assert line(found, "noise")[8].scores["r2"].mean < 0.2
    # Words of equal length are one number, so that whoever knows the topic knows it.
    assert line(found, "known")[8].scores["r2"].mean > 0.8
    assert line(found, "known")[8].kind == "number"
    below = [row for row in found.rows if "r2" in row.scores and row.scores["r2"].mean < 0]
    assert any("R² is below 0" in note for note in found.notes) == bool(below)
    assert [row.column for row in below] == ["noise"]
