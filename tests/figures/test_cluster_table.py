"""The table behind the cluster pages: closed forms, exact sums, and published intervals."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import (
    ORDERS,
    cluster_table,
    has_costs,
    ordered,
    value_counts,
    wilson_interval,
    with_found,
    with_intervals,
)
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import SMOOTHINGS, frontier_integral, kl_divergence, probabilities

ROUNDING = 1e-12


def test_hand_values() -> None:
    table = cluster_table([3, 1, 0], [1, 1, 2], 0.5)
    assert table["cluster"].tolist() == [0, 1, 2]
    assert table["p"].tolist() == [0.75, 0.25, 0]
    assert table["q"].tolist() == [0.25, 0.25, 0.5]
    assert table["difference"].tolist() == [0.5, 0, -0.5]
    # (3 + 1/2) / (1 + 1/2) and (0 + 1/2) / (2 + 1/2): equal totals cancel.
    assert table["log2_ratio"].tolist() == pytest.approx([math.log2(3.5 / 1.5), 0, math.log2(0.2)], abs=ROUNDING)
    # r = (1/2, 1/4, 1/4): q log(q / r) and p log(p / r).
    type_1, type_2 = [0.25 * math.log(1 / 2), 0, 0.5 * math.log(2)], [0.75 * math.log(3 / 2), 0, 0]
    assert table["type_1_nats"].tolist() == pytest.approx(type_1, abs=ROUNDING)
    assert table["type_2_nats"].tolist() == pytest.approx(type_2, abs=ROUNDING)
    # (3/4 + 1/4) / 2 - (3/4 x 1/4) / (1/2) log 3; nothing where p = q; half of q where p = 0.
    costs = [0.5 - 3 / 8 * math.log(3), 0, 0.25]
    assert table["cost"].tolist() == pytest.approx(costs, abs=ROUNDING)
    assert table["cost_share"].tolist() == pytest.approx([cost / sum(costs) for cost in costs], abs=ROUNDING)
    assert table["direction"].tolist() == ["misses", "", "adds"]


def test_an_overwritten_cluster_costs_as_much_as_a_missed_one_and_leads_type_1_alone() -> None:
    table = cluster_table([10, 200, 90, 200], [200, 10, 90, 200], 0.5)
    assert ordered(table, "cost")["cluster"].tolist() == [0, 1, 2, 3]
    assert table["cost_share"].tolist() == [0.5, 0.5, 0, 0]
    assert table["direction"].tolist() == ["adds", "misses", "", ""]
    assert ordered(table, "type_1_nats")["cluster"].tolist() == [0, 2, 3, 1]
    assert ordered(table, "type_2_nats")["cluster"].tolist() == [1, 2, 3, 0]
    assert table["type_1_nats"][1] < 0 < table["type_1_nats"][0]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_equal_sides_cost_nothing(smoothing: str) -> None:
    table = cluster_table([1, 2, 4], [1, 2, 4], 0.3, smoothing)
    assert not table[["cost", "cost_share", "type_1_nats", "type_2_nats"]].to_numpy().any()
    assert (table["direction"] == "").all()


def plain_cost(p: float, q: float) -> float:
    """(p + q) / 2 - p q / (p - q) log(p / q) in 50 digits, with its limits."""
    if p == q:
        return 0.0
    if p == 0 or q == 0:
        return (p + q) / 2
    with mpmath.workdps(50):
        left, right = mpmath.mpf(p), mpmath.mpf(q)
        return float((left + right) / 2 - left * right / (left - right) * mpmath.log(left / right))


counts = st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any)
sparse = st.integers(2, 60).flatmap(
    lambda k: st.tuples(
        *(st.lists(st.sampled_from([0, 0, 0, 1, 9]), min_size=k, max_size=k).filter(any) for _ in range(2))
    )
)
equal = counts.map(lambda own: (own, own))
disjoint = st.tuples(counts, counts).map(lambda two: (two[0] + [0] * len(two[1]), [0] * len(two[0]) + two[1]))
close = st.lists(st.integers(0, 5000), min_size=2, max_size=9).map(lambda own: ([*own, 7], [*own, 8]))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.one_of(sparse, equal, disjoint, close), st.sampled_from(["none", "krichevsky-trofimov", "laplace"]))
def test_costs_add_up_to_the_frontier_integral(sides: tuple[list[int], list[int]], smoothing: str) -> None:
    table = cluster_table(*sides, 0.5, smoothing)
    p, q = (probabilities(np.array(side), smoothing) for side in sides)
    total = float(frontier_integral(p, q))
    assert table["cost"].sum() == pytest.approx(total, abs=ROUNDING)
    assert table["cost"].tolist() == pytest.approx([plain_cost(*each) for each in zip(p, q, strict=True)], abs=ROUNDING)
    assert table["cost_share"].between(0, 1).all()
    assert table["cost_share"].sum() == pytest.approx(float(total > 0), abs=ROUNDING)
    assert table["direction"].tolist() == [
        "adds" if right > left else "misses" if left > right else "" for left, right in zip(p, q, strict=True)
    ]
    swapped = cluster_table(*sides[::-1], 0.2, smoothing)
    np.testing.assert_array_equal(swapped["cost"], table["cost"])
    assert (swapped["direction"] != table["direction"])[table["cost"] > 0].all()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.data(), st.floats(0.01, 0.99))
def test_terms_add_up_to_the_errors(data: st.DataObject, weight: float) -> None:
    human = data.draw(counts)
    model = data.draw(st.lists(st.integers(0, 50), min_size=len(human), max_size=len(human)).filter(any))
    table = cluster_table(human, model, weight)
    p, q = table["p"].to_numpy(), table["q"].to_numpy()
    mixture = weight * p + (1 - weight) * q
    assert table["type_1_nats"].sum() == pytest.approx(float(kl_divergence(q, mixture)), abs=ROUNDING)
    assert table["type_2_nats"].sum() == pytest.approx(float(kl_divergence(p, mixture)), abs=ROUNDING)
    for column, side, other in (("type_1_nats", q, p), ("type_2_nats", p, q)):
        assert (np.sign(table[column]) == np.where(side > 0, np.sign(side - other), 0)).all()
    swapped = cluster_table(model, human, 1 - weight)
    np.testing.assert_allclose(swapped["type_1_nats"], table["type_2_nats"], rtol=1e-6, atol=1e-15)


def test_only_a_table_with_intervals_may_show_costs() -> None:
    table = cluster_table([3, 1], [1, 3], 0.5)
    assert not has_costs(table)
    with_them = with_intervals(table, np.array([0.0, 0.1]), np.array([0.6, 1.0]))
    assert has_costs(with_them)
    assert with_them[["low", "high"]].values.tolist() == [[0.0, 0.6], [0.1, 1.0]]


def test_orders() -> None:
    assert next(iter(ORDERS)) == "cost", "pages start with it"
    table = cluster_table([3, 1, 0, 1], [1, 1, 2, 1], 0.5)
    assert ordered(table, "difference")["cluster"].tolist() == [0, 1, 3, 2]
    assert ordered(table, "q")["cluster"].tolist() == [2, 0, 1, 3]
    assert ordered(table, "cluster")["cluster"].tolist() == [0, 1, 2, 3]
    partition = Partition("pairwise", 0, 4, 0.0, {HUMAN: np.array([0, 0, 0, 1, 3]), "model": np.array([0, 1, 2, 2, 3])})
    found = {HUMAN: np.array([True, False, True, False, True]), "model": np.array([False, False, True, True, True])}
    table = with_found(table, partition, "model", found)
    assert table[["found_human", "found_model", "found"]].to_numpy().tolist() == [
        [2, 0, 2], [0, 0, 0], [0, 2, 2], [1, 1, 2]
    ]  # fmt: skip
    for order in ORDERS:
        assert sorted(ordered(table, order)["cluster"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("human", "model", "weight"), [([1, 2], [1, 2, 3], 0.5), ([0, 0], [1, 2], 0.5), ([1, 2], [1, 2], 1.0)]
)
def test_unusable_input(human: list[int], model: list[int], weight: float) -> None:
    with pytest.raises(InputError):
        cluster_table(human, model, weight)


def test_wilson_interval_against_published_values() -> None:
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81/263, 15/148, 0/20, 1/29, four decimals.
    for count, n, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)]:
        assert np.round(wilson_interval(count, n), 4).tolist() == [low, high]
    low, high = wilson_interval([0, 10], 10)
    assert low[0] == 0
    assert high[1] == 1
    with pytest.raises(InputError):
        wilson_interval(11, 10)


def test_value_counts() -> None:
    human = pd.Series(["a", "b", None, "a"])
    table = value_counts(human, pd.Series([1, 2]), [0, 2, 3], [1])
    assert table.values.tolist() == [["a", 2, 2, 0, 0], ["(missing)", 1, 1, 0, 0], ["2", 0, 0, 1, 1]]
    alone = value_counts(human, None, [1], [])
    assert alone.values.tolist() == [["b", 1, 1, 0, 0]]
