"""Rows of a source that a probe is made of: those of a cluster, within a lasso, by metadata."""

from __future__ import annotations

import numpy as np

from app.views.probes.probe_rows import MISSING, in_cluster, in_lasso, value_counts, with_values
from mauve_core.base.config import HUMAN
from mauve_core.store import Run


def test_rows_of_a_cluster(stored_run: Run) -> None:
    part = stored_run.comparison.partition("pairwise", "close", 0)
    cluster = int(part.labels[HUMAN][0])
    assert in_cluster(part, HUMAN, cluster) == tuple(np.flatnonzero(part.labels[HUMAN] == cluster))
    assert in_cluster(part, "shifted", cluster) == ()
    assert in_cluster(part, HUMAN, None) == ()


def test_rows_in_a_lasso(stored_run: Run) -> None:
    import dataclasses

    total = sum(source.n for source in stored_run.comparison.sources)
    places = np.random.default_rng(8).uniform(-1, 1, (total, 2)).astype(np.float32)
    comparison = dataclasses.replace(stored_run.comparison, projection=places)
    n = len(stored_run.corpora[HUMAN])
    quarter = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    assert in_lasso(comparison, HUMAN, quarter) == tuple(np.flatnonzero((places[:n] > 0).all(axis=1)))
    second = in_lasso(comparison, comparison.sources[1].name, quarter)
    assert second == tuple(np.flatnonzero((places[n : 2 * n] > 0).all(axis=1)))
    assert in_lasso(comparison, HUMAN, None) == ()
    assert in_lasso(stored_run.comparison, HUMAN, quarter) == ()


def test_rows_by_metadata(stored_run: Run) -> None:
    import pandas as pd

    topics = stored_run.corpora[HUMAN].metadata["topic"]
    counts = value_counts(topics)
    assert sum(counts.values()) == len(topics)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert with_values(topics, ["river", "engine"]) == tuple(np.flatnonzero(topics.isin(["river", "engine"])))
    mixed = pd.Series([1, None, "1", 2.5], dtype=object)
    assert value_counts(mixed) == {"1": 2, MISSING: 1, "2.5": 1}
    assert with_values(mixed, [MISSING, "1"]) == (0, 1, 2)
    assert with_values(mixed, []) == ()
