"""The ledger adds up and cuts nothing in silence; the list's spread is that of scoring each seed by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.analysis.cluster_table import cluster_table
from mauve_core.analysis.gap_table import ERRORS, TOGETHER, error_totals, ledger_rows, row_labels, step_rows
from mauve_core.base.config import HUMAN
from mauve_core.numerics.divergences.greedy import Step, greedy
from mauve_core.numerics.divergences.kl import mixture_terms
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.scoring.result import Partition

ROUNDING = 1e-12
"""Sums of at most 60 terms below 1 nat, in another order."""

counts = st.integers(2, 60).flatmap(
    lambda k: st.tuples(*(st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any) for _ in range(2)))
)


def no_intervals(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(len(table)), np.ones(len(table))


@given(counts, st.floats(0.01, 0.99), st.integers(1, 20))
def test_what_is_shown_adds_up_to_the_error(sides: tuple[list[int], list[int]], weight: float, most: int) -> None:
    table, totals = cluster_table(*sides, weight), error_totals(*sides, weight)
    for error in ERRORS:
        rows = ledger_rows(table, error, no_intervals(table), most)
        assert rows["nats"].sum() == pytest.approx(float(totals[error]), abs=ROUNDING)
        assert rows["clusters"].sum() == len(table)
        assert rows["human"].sum() == sum(sides[0])
        assert rows["model"].sum() == sum(sides[1])
        single = rows[rows["cluster"] != TOGETHER]
        assert len(single) == min(most, len(table))
        shown = table.set_index("cluster").loc[single["cluster"]]
        np.testing.assert_array_equal(single["nats"], shown[f"{error}_nats"])
        others = table.drop(index=single["cluster"].tolist())[f"{error}_nats"]
        assert others.empty or single["nats"].min() >= others.max()
        assert (single["nats"].diff().dropna() <= 0).all()


def test_the_rest_is_told_apart_by_its_sign() -> None:
    table = cluster_table([5, 5, 1, 1, 1, 7], [1, 1, 4, 5, 6, 3], 0.5)
    rows = ledger_rows(table, "type_1", (np.arange(6) / 10, np.arange(6) / 5), 2)
    assert rows["cluster"].tolist() == [4, 3, TOGETHER, TOGETHER]
    assert row_labels(rows) == ["4", "3", "1 more", "3 that offset it"]
    assert rows["low"].tolist()[:2] == [0.4, 0.3]
    assert rows["high"].tolist()[:2] == [0.8, 0.6]
    assert rows["low"].isna().tolist() == [False, False, True, True]
    np.testing.assert_allclose(rows["nats"][2], table["type_1_nats"][2])
    np.testing.assert_allclose(rows["nats"][3], table["type_1_nats"][[0, 1, 5]].sum())


def test_totals_of_every_seed_at_once() -> None:
    p, q = np.array([[3, 1, 0], [1, 1, 2]]), np.array([[1, 1, 8], [2, 4, 4]])
    totals = error_totals(p, q, 0.3, "laplace")
    for seed in range(2):
        left, right = (p[seed] + 1) / (p[seed] + 1).sum(), (q[seed] + 1) / (q[seed] + 1).sum()
        mixture = 0.3 * left + 0.7 * right
        assert totals["type_1"][seed] == pytest.approx((right * np.log(right / mixture)).sum(), rel=1e-12)
        assert totals["type_2"][seed] == pytest.approx((left * np.log(left / mixture)).sum(), rel=1e-12)
        np.testing.assert_allclose(totals["type_1"][seed], mixture_terms(left, right, 0.3, 0.7)[0].sum())


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
