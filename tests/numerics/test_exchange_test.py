"""The exact test of a property against all exchanges one by one, and against SciPy's tests of the two plain cases."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from mauve_core.base.errors import InputError
from mauve_core.numerics.statistics import exchange_test as module
from mauve_core.numerics.statistics.exchange_test import exchange_test


def plain(has: list[bool], of_p: list[bool], blocks: list[int]) -> float:
    """Count all ways to choose P's texts within each block."""
    ways = []
    for block in sorted(set(blocks)):
        rows = [row for row, own in enumerate(blocks) if own == block]
        ways.append(list(combinations(rows, sum(of_p[row] for row in rows))))
    counts = [sum(has[row] for chosen in each for row in chosen) for each in product(*ways)]
    chance = {count: counts.count(count) for count in counts}
    own = chance[sum(mark for mark, side in zip(has, of_p, strict=True) if side)]
    return sum(times for times in chance.values() if times <= own) / len(counts)


TEXTS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=10)


@given(texts=TEXTS)
def test_all_exchanges_are_counted(texts):
    has, of_p, blocks = map(list, zip(*texts, strict=True))
    assert exchange_test(has, of_p, blocks)[0] == pytest.approx(plain(has, of_p, blocks))


def test_one_block_is_fishers_test():
    has = [True] * 9 + [False] * 11 + [True] * 2 + [False] * 15
    of_p = np.arange(37) < 20
    expected = fisher_exact([[9, 11], [2, 15]]).pvalue
    assert exchange_test(has, of_p, np.zeros(37, dtype=int))[0] == pytest.approx(expected)


@pytest.mark.parametrize(("only_p", "only_q", "both"), [(12, 3, 5), (300, 250, 40), (5, 5, 0)])
def test_pairs_are_the_sign_test(only_p, only_q, both):
    pairs = [(1, 0)] * only_p + [(0, 1)] * only_q + [(1, 1)] * both
    has, of_p = np.array(pairs, dtype=bool).T.ravel(), np.repeat([True, False], len(pairs))
    expected = binomtest(only_p, only_p + only_q).pvalue
    assert exchange_test(has, of_p, np.tile(np.arange(len(pairs)), 2))[0] == pytest.approx(expected, rel=1e-6)


def test_many_texts_by_fourier_transforms_have_the_same_chances(monkeypatch):
    rng = np.random.default_rng(0)
    has, of_p, blocks = rng.random(900) < 0.4, rng.random(900) < 0.5, rng.integers(0, 300, 900)
    direct = exchange_test(has, of_p, blocks)
    monkeypatch.setattr(module, "DIRECT", 4)
    np.testing.assert_allclose(exchange_test(has, of_p, blocks), direct, rtol=1e-6)


def test_what_all_or_none_have_says_nothing():
    of_p = np.arange(10) < 5
    table = np.stack([np.ones(10, dtype=bool), np.zeros(10, dtype=bool), of_p])
    np.testing.assert_allclose(exchange_test(table, of_p, np.zeros(10, dtype=int)), [1, 1, 2 / 252])


@pytest.mark.slow
def test_a_true_hypothesis_is_rejected_no_oftener_than_the_level():
    rng = np.random.default_rng(3)
    of_p = np.tile([True, False], 60)
    table = rng.random((4000, 120)) < 0.3
    p_values = exchange_test(table, of_p, np.repeat(np.arange(60), 2))
    for level in (0.01, 0.05, 0.2):
        assert (p_values <= level).mean() <= level + 4 * np.sqrt(level / 4000)


@pytest.mark.parametrize(
    ("has", "of_p", "blocks"), [([True], [True, False], [0, 0]), ([True], [True], [0, 0]), (np.ones((1, 0)), [], [])]
)
def test_texts_that_do_not_match_are_refused(has, of_p, blocks):
    with pytest.raises((InputError, ValueError)):
        exchange_test(has, of_p, blocks)
