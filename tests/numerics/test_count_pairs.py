"""Sums over bins by pairs of counts against the same sums bin by bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats import divergences as module
from mauve_core.stats.divergences import count_pairs


def drawn(seed: int, k: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """(3, 2, k) histograms of n and of m texts."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(k, 1 / k), size=(3, 2)), rng.multinomial(m, np.full(k, 1 / k), size=(3, 2))


@given(
    st.integers(0, 99),
    st.integers(1, 9),
    st.integers(1, 400),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
def test_sums_are_those_bin_by_bin(seed: int, k: int, n: int, m: int, added: float, uneven: bool) -> None:
    p_counts, q_counts = drawn(seed, k, n, m)
    if uneven:
        p_counts[0, 0] *= 2
        q_counts[1:] += 1
    pairs = count_pairs(p_counts, q_counts)
    p, q = pairs.probabilities(added)
    found = pairs.sums(np.column_stack([p * p + q, p - 3 * q]))
    left, right = (
        (counts + added) / (counts.sum(axis=-1, keepdims=True) + added * k) for counts in (p_counts, q_counts)
    )
    expected = np.stack([(left * left + right).sum(axis=-1), (left - 3 * right).sum(axis=-1)], axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)  # sums of at most nine terms below 4


def test_sorting_and_looking_up_give_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    p_counts, q_counts = drawn(1, 8, 300, 40)
    found = []
    for dense in (0, 10**9):
        monkeypatch.setattr(module, "_DENSE", dense)
        found.append(count_pairs(p_counts, q_counts))
    by_sorting, by_table = found
    np.testing.assert_array_equal(by_sorting.p, by_table.p)
    np.testing.assert_array_equal(by_sorting.q, by_table.q)
    np.testing.assert_array_equal(by_sorting.member.indices, by_table.member.indices)
    assert len({*zip(by_table.p.tolist(), by_table.q.tolist(), strict=True)}) == by_table.p.size


def test_histograms_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="do not match"):
        count_pairs(np.ones((2, 3), dtype=int), np.ones((2, 4), dtype=int))
