"""Attributes of a comparison: clusters that are the topic and clusters that are not, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from mauve_core.analyses.cluster_attributes import CATEGORICAL, SURFACE, Attribute, attributes, category_columns
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.scoring.result import Partition
from mauve_core.texts import Corpus, corpus_from_texts
from tests.synthetic import TOPICS, make_comparison_inputs

N = 60


def corpus(name: str = HUMAN, **metadata: list[object]) -> Corpus:
    texts = [("word " * (1 + i % 7)) + ("the " * (i % 3)) + "end." for i in range(N)]
    return corpus_from_texts(texts, name=name, ids=[f"t{i}" for i in range(N)], metadata=metadata)


def partition(labels: np.ndarray, seed: int = 0, source: str = HUMAN) -> Partition:
    return Partition("pairwise", seed, int(labels.max()) + 1, 0.0, {source: labels.astype(np.int32)})


def by_column(rows: tuple[Attribute, ...], column: str) -> list[Attribute]:
    return [row for row in rows if row.column == column]


def test_clusters_that_are_the_topic_and_clusters_that_are_not() -> None:
    topic = np.arange(N) % 3
    given = corpus(topic=[f"topic {i}" for i in topic], size=[10.0 * i for i in topic])
    noise = np.random.default_rng(0).integers(0, 5, size=N)
    found = attributes([partition(topic), partition(noise, 1)], {HUMAN: given}, seed=0).rows
    known, unknown = by_column(found, "topic")
    assert (known.k, unknown.k) == (3, 5)
    for score in ("accuracy", "ami", "v_measure", "purity"):
        assert known.scores[score].mean == pytest.approx(1)
        assert unknown.scores[score].mean < 0.6
    assert unknown.scores["ami"].mean == pytest.approx(0, abs=0.1)
    assert known.scores["baseline"].mean < 0.5
    assert [(v.value, v.n, v.share) for v in known.by_value] == [(f"topic {i}", 20, 1 / 3) for i in range(3)]
    assert all(v.purity.mean == 1 for v in known.by_value)
    size, _ = by_column(found, "size")
    assert size.kind == "number"
    assert size.scores["r2"].mean == pytest.approx(1)
    assert {row.column for row in found if row.kind == "surface"} == set(SURFACE)


def test_the_values_of_a_column_keep_their_names() -> None:
    topic = np.repeat(["a", "b", "c"], [10, 30, 20])
    clusters = np.repeat([0, 1, 2], [10, 30, 20])
    clusters[:5] = 1  # half of a's texts stand among b's
    found = attributes([partition(clusters)], {HUMAN: corpus(topic=topic.tolist())}, seed=0).rows
    values = by_column(found, "topic")[0].by_value
    assert [(v.value, v.n) for v in values] == [("b", 30), ("c", 20), ("a", 10)]
    assert [v.share for v in values] == pytest.approx([0.5, 1 / 3, 1 / 6])
    assert [v.purity.mean for v in values] == pytest.approx([30 / 35, 1, (1 + 5 / 35) / 2])


def test_every_value_is_kept_by_seed_and_split() -> None:
    rng = np.random.default_rng(1)
    given = corpus(topic=[f"topic {i % 4}" for i in range(N)])
    parts = [partition(np.append(rng.integers(0, 6, size=N - 1), 5), seed) for seed in range(3)]
    row = by_column(attributes(parts, {HUMAN: given}, splits=4, seed=0).rows, "topic")[0]
    assert len(row.scores["accuracy"].values) == 12
    assert len(row.scores["baseline"].values) == 4
    assert set(row.scores) == set(CATEGORICAL)
    codes = np.arange(N) % 4
    expected = [adjusted_mutual_info_score(codes, part.labels[HUMAN]) for part in parts]
    assert row.scores["ami"].values == pytest.approx(expected)
    assert row.scores["ami"].sd == pytest.approx(np.std(expected, ddof=1))
    single = by_column(attributes(parts[:1], {HUMAN: given}, splits=1, seed=0).rows, "topic")[0]
    assert single.scores["ami"].sd is None
    again = attributes(parts, {HUMAN: given}, splits=4, seed=0)
    assert by_column(again.rows, "topic")[0] == row
    assert by_column(attributes(parts, {HUMAN: given}, splits=4, seed=1).rows, "topic")[0] != row


def test_missing_values_and_columns_that_are_left_out() -> None:
    given = corpus(
        topic=[None if i < 10 else f"topic {i % 2}" for i in range(N)],
        year=[None if i % 2 else 1990 + i % 5 for i in range(N)],
        author=[f"author {i}" for i in range(N)],
        constant=["x"] * N,
        rare=["y" if i < 5 else None for i in range(N)],
        flag=[i % 3 == 0 for i in range(N)],
        far=[float("inf") if i == 3 else float(i) for i in range(N)],
    )
    found = attributes([partition(np.arange(N) % 4)], {HUMAN: given}, seed=0)
    topic, year, flag = (by_column(found.rows, name)[0] for name in ("topic", "year", "flag"))
    assert (topic.kind, topic.n, topic.missing) == ("category", 50, 10)
    assert (year.kind, year.n, year.missing) == ("number", 30, 30)
    assert (flag.kind, flag.n) == ("category", N)
    left_out = {note.split(":")[0] for note in found.notes}
    assert left_out == {"author", "constant", "rare", "far"}
    assert not left_out & {row.column for row in found.rows}


def test_two_sources_are_looked_at_together() -> None:
    labels = np.arange(N) % 3
    part = Partition("pairwise", 0, 3, 0.0, {HUMAN: labels.astype(np.int32), "m": labels[::-1].astype(np.int32)})
    sides = {
        HUMAN: corpus(topic=[f"topic {i % 3}" for i in range(N)], own=["a"] * N),
        "m": corpus("m", topic=[f"topic {i}" for i in labels[::-1]]),
    }
    found = attributes([part], sides, seed=0)
    topic = by_column(found.rows, "topic")[0]
    assert topic.n == 2 * N
    assert topic.scores["accuracy"].mean == 1
    assert found.notes == ("own: left out because not every corpus has it",)
    with pytest.raises(InputError, match="own"):
        attributes([part], sides, columns=["own"], seed=0)
    asked = attributes([part], sides, columns=["topic"], seed=0)
    assert {row.column for row in asked.rows} == {"topic", *SURFACE}


def test_texts_that_do_not_fit_are_refused() -> None:
    given = {HUMAN: corpus()}
    for parts, corpora in (
        ([], given),
        ([partition(np.zeros(N - 1, dtype=int))], given),
        ([partition(np.zeros(N, dtype=int), source="m")], given),
        ([partition(np.zeros(N, dtype=int))], {}),
    ):
        with pytest.raises(InputError):
            attributes(parts, corpora, seed=0)


def test_more_clusters_tell_more_of_topics_that_features_follow() -> None:
    human, _, features = make_comparison_inputs(n=240)
    parts = [
        partition(kmeans(features[HUMAN], k, restarts=1, seed=seed).labels, seed)
        for k in (2, len(TOPICS))
        for seed in range(2)
    ]
    few, many = by_column(attributes(parts, {HUMAN: human}, seed=0).rows, "topic")
    assert few.k < many.k
    assert few.scores["baseline"].mean < few.scores["accuracy"].mean < many.scores["accuracy"].mean
    assert few.scores["ami"].mean < many.scores["ami"].mean


def test_values_that_name_prompts_name_texts() -> None:
    labels = np.arange(N) % 3
    part = Partition("pairwise", 0, 3, 0.0, {name: labels.astype(np.int32) for name in (HUMAN, "m", "o")})
    url: list[object] = [f"url {i}" for i in range(N)]
    topic: list[object] = [f"topic {i}" for i in labels]
    sides = {name: corpus(name, url=url, topic=topic) for name in part.labels}
    found = attributes([part], sides, seed=0)
    # A third of the values of all texts are different, but each text has one that its prompt alone has.
    assert [note.split(":")[0] for note in found.notes] == ["url"]
    assert list(category_columns(sides)) == ["topic"]
    assert category_columns(sides)["topic"].tolist() == topic * 3
