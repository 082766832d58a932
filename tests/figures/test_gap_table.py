"""The ledger adds up and cuts nothing in silence; the list's spread is that of scoring each seed by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.analyses.gap import DIRECTIONS, TOGETHER, ledger_rows, row_labels, step_rows
from mauve_core.base.config import HUMAN
from mauve_core.findings.clusters import cluster_table, with_intervals
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import frontier_integral, probabilities
from mauve_core.stats.scores import score_counts
from mauve_core.stats.what_if import Step, greedy

# Sums of at most 60 terms below 1, in another order.
ROUNDING = 1e-12

counts = st.integers(2, 60).flatmap(
    lambda k: st.tuples(*(st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any) for _ in range(2)))
)


def costed(human: list[int], model: list[int], smoothing: str = "none") -> pd.DataFrame:
    """A table with ends of intervals that name their cluster."""
    table = cluster_table(human, model, 0.5, smoothing)
    return with_intervals(table, np.arange(len(table)) / 100, np.arange(len(table)) / 50)


@pytest.mark.slow
@given(counts, st.sampled_from(["none", "laplace"]), st.integers(1, 20))
def test_both_directions_add_up_to_the_frontier_integral(
    sides: tuple[list[int], list[int]], smoothing: str, most: int
) -> None:
    table = costed(*sides, smoothing)
    p, q = (probabilities(np.array(side), smoothing) for side in sides)
    ledgers = {direction: ledger_rows(table, direction, most) for direction in DIRECTIONS}
    assert sum(rows["cost"].sum() for rows in ledgers.values()) == pytest.approx(
        float(frontier_integral(p, q)), abs=ROUNDING
    )
    for direction, above in (("adds", q > p), ("misses", p > q)):
        rows, own = ledgers[direction], np.flatnonzero(above)
        assert rows["clusters"].sum() == own.size
        assert rows["human"].sum() == sum(sides[0][cluster] for cluster in own)
        assert rows["model"].sum() == sum(sides[1][cluster] for cluster in own)
        single = rows[rows["cluster"] != TOGETHER]
        assert len(single) == min(most, own.size)
        assert set(single["cluster"]) <= set(own.tolist())
        np.testing.assert_array_equal(single["cost"], table["cost"][single["cluster"]])
        np.testing.assert_array_equal(single["low"], single["cluster"] / 100)
        assert (single["cost"].diff().dropna() <= 0).all()
        others = np.setdiff1d(own, single["cluster"])
        assert others.size == 0 or single["cost"].min() >= table["cost"][others].max()
        assert (rows["share"] >= 0).all()


def test_the_rest_of_a_direction_is_one_row() -> None:
    table = costed([5, 5, 1, 1, 1, 7, 4], [1, 1, 4, 5, 6, 3, 4])
    rows = ledger_rows(table, "adds", 2)
    assert rows["cluster"].tolist() == [4, 3, TOGETHER]
    assert row_labels(rows, ["a", "b", "c", "d", "e"]) == ["e · 4", "d · 3", "1 more"]
    assert rows["low"].tolist()[:2] == [0.04, 0.03]
    assert rows["high"].tolist()[:2] == [0.08, 0.06]
    assert rows["low"].isna().tolist() == [False, False, True]
    np.testing.assert_allclose(rows["cost"][2], table["cost"][2])
    missed = ledger_rows(table, "misses", 2)
    assert missed["cluster"].tolist() == [0, 1, TOGETHER]
    np.testing.assert_allclose(missed["share"][2], table["cost_share"][5])


def test_a_direction_without_clusters_has_no_rows() -> None:
    assert ledger_rows(costed([2, 3], [2, 3]), "adds").empty


def partition(seed: int, human: list[int], model: list[int], k: int) -> Partition:
    return Partition("pairwise", seed, k, 0.0, {HUMAN: np.array(human, np.int32), "m": np.array(model, np.int32)})


PARTS = (
    partition(0, [0, 0, 0, 0, 1, 2, 2, 2], [0, 1, 1, 1, 1, 1, 1, 2], 3),
    partition(1, [0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 1, 1, 2, 1, 2, 2], 3),
)


@pytest.mark.parametrize("action", ["match", "drop"])
def test_the_spread_is_of_the_same_texts_in_every_seed(action: str) -> None:
    shown, other = PARTS
    p, q = shown.counts(HUMAN), shown.counts("m")
    steps = greedy(p, q, action=action, steps=1)
    rows = step_rows(
        steps, PARTS, shown, "m", action=action, score="mauve", scale=5.0, smoothing="none"
    )  # fmt: skip
    assert rows["cluster"].tolist() == [TOGETHER, 1]
    # Cluster 1 has 1 of 8 human texts and 6 of 8 of the model's: each of these counts 0, or 1 / 6 and the others 7 / 2.
    inside, outside = (0.0, 1.0) if action == "drop" else (1 / 6, 7 / 2)
    texts = np.where(shown.labels["m"] == 1, inside, outside)
    values = [
        [
            float(
                score_counts(part.counts(HUMAN), np.bincount(part.labels["m"], weights=weights, minlength=3))["mauve"]
            )
            for part in (shown, other)
        ]
        for weights in (np.ones(8), texts)
    ]
    np.testing.assert_allclose(rows["mean"], np.mean(values, axis=1), rtol=1e-12)
    np.testing.assert_allclose(rows["sd"], np.std(values, axis=1, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(rows["mauve"], [row[0] for row in values], rtol=1e-12)
    assert rows["closed"].tolist() == [0.0, steps[0].closed]


def test_nothing_is_said_over_seeds_from_a_cluster_on_that_no_text_can_fill() -> None:
    part = partition(0, [0, 0, 0, 1], [0, 1, 1, 1], 3)
    empty = partition(0, [0, 0, 0, 1, 2, 2, 2], [0, 1, 1, 1], 3)
    steps = greedy(empty.counts(HUMAN), empty.counts("m"), steps=3)
    assert [step.filled for step in steps] == [step.cluster == 2 for step in steps]
    settings = {"action": "match", "score": "mauve", "scale": 5.0, "smoothing": "none"}
    rows = step_rows(steps, [empty], empty, "m", **settings)  # type: ignore[arg-type]
    first = next(place for place, step in enumerate(steps, start=1) if step.filled)
    assert rows["mean"].isna().tolist() == [place >= first for place in range(len(rows))]
    assert rows["sd"].isna().all(), "one seed has no spread"
    none = step_rows([], [part], part, "m", **settings)  # type: ignore[arg-type]
    assert len(none) == 1
    assert isinstance(steps[0], Step)
