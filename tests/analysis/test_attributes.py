"""Attributes of a comparison: clusters that are the topic and clusters that are not, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analysis.attributes import SURFACE, Attribute, attributes
from mauve_core.base.config import HUMAN
from mauve_core.corpus import Corpus, corpus_from_texts
from mauve_core.scoring.result import Partition

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
