"""The table behind the cluster pages: closed forms, published intervals, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cluster_table import ORDERS, cluster_table, error_intervals, ordered, value_counts, wilson_interval
from mauve_core.errors import InputError
from mauve_core.numerics.divergences import kl_divergence

ROUNDING = 1e-12


def test_hand_values() -> None:
    table = cluster_table([3, 1, 0], [1, 1, 2], 0.5)
    assert table["cluster"].tolist() == [0, 1, 2]
    assert table["p"].tolist() == [0.75, 0.25, 0]
    assert table["q"].tolist() == [0.25, 0.25, 0.5]
    assert table["difference"].tolist() == [0.5, 0, -0.5]
    # (3 + 1/2) / (1 + 1/2) and (0 + 1/2) / (2 + 1/2): equal totals cancel.
    assert table["log2_ratio"].tolist() == pytest.approx([math.log2(3.5 / 1.5), 0, math.log2(0.2)], abs=ROUNDING)
    # Cluster 2 at r = 1/4: q log(q / r) - q + r = 1/2 log 2 - 1/4, and p = 0 adds r = 1/4 to type II.
    assert table["type_1_nats"][2] == pytest.approx(math.log(2) / 2 - 0.25, abs=ROUNDING)
    assert table["type_2_nats"][2] == pytest.approx(0.25, abs=ROUNDING)
    assert table["type_1"][1] == table["type_2"][1] == 0


counts = st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.floats(0.01, 0.99))
def test_shares_add_up_to_the_errors(data: st.DataObject, weight: float) -> None:
    human = data.draw(counts)
    model = data.draw(st.lists(st.integers(0, 50), min_size=len(human), max_size=len(human)).filter(any))
    table = cluster_table(human, model, weight)
    p, q = table["p"].to_numpy(), table["q"].to_numpy()
    mixture = weight * p + (1 - weight) * q
    assert table["type_1_nats"].sum() == pytest.approx(float(kl_divergence(q, mixture)), rel=1e-9, abs=ROUNDING)
    assert table["type_2_nats"].sum() == pytest.approx(float(kl_divergence(p, mixture)), rel=1e-9, abs=ROUNDING)
    for column in ("type_1", "type_2"):
        assert (table[column] >= 0).all()
        assert table[column].sum() == pytest.approx(1.0 if (p != q).any() else 0.0, abs=1e-9)
    swapped = cluster_table(model, human, 1 - weight)
    np.testing.assert_allclose(swapped["type_1_nats"], table["type_2_nats"], rtol=1e-6, atol=1e-15)


def test_orders() -> None:
    table = cluster_table([3, 1, 0, 1], [1, 1, 2, 1], 0.5)
    assert ordered(table, "difference")["cluster"].tolist() == [0, 1, 3, 2]
    assert ordered(table, "q")["cluster"].tolist() == [2, 0, 1, 3]
    assert ordered(table, "cluster")["cluster"].tolist() == [0, 1, 2, 3]
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


def test_error_intervals_cover_the_truth_of_a_large_effect() -> None:
    """A cluster that holds nearly all of both errors must be told from one that holds nearly none."""
    human, model = [40, 460, 500], [400, 100, 500]
    intervals = error_intervals(human, model, 0.5)
    table = cluster_table(human, model, 0.5)
    for column, (low, high) in intervals.items():
        assert ((low >= 0) & (high <= 1)).all()
        assert (low <= table[column]).all()
        assert (table[column] <= high).all()
        assert high[2] < low[0]
    again = error_intervals(human, model, 0.5)
    np.testing.assert_array_equal(again["type_1"], intervals["type_1"])


def test_error_intervals_narrow_with_more_texts() -> None:
    """Ten times the texts: intervals about 1/sqrt(10) as wide; half is far above the noise of 400 replicates."""
    few = error_intervals([20, 30], [30, 20], 0.5)["type_1"]
    many = error_intervals([2000, 3000], [3000, 2000], 0.5)["type_1"]
    assert (np.diff(np.array(many), axis=0) < np.diff(np.array(few), axis=0) / 2).all()


def test_value_counts() -> None:
    human = pd.Series(["a", "b", None, "a"])
    table = value_counts(human, pd.Series([1, 2]), [0, 2, 3], [1])
    assert table.values.tolist() == [["a", 2, 2, 0, 0], ["(missing)", 1, 1, 0, 0], ["2", 0, 0, 1, 1]]
    alone = value_counts(human, None, [1], [])
    assert alone.values.tolist() == [["b", 1, 1, 0, 0]]
