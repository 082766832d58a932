"""The test of a property against all exchanges one by one, SciPy's tests of the plain cases, and drawn exchanges."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from mauve_core.base.errors import InputError
from mauve_core.stats import two_groups as module
from mauve_core.stats.resampling import draw_sides
from mauve_core.stats.two_groups import exchange_test


def ways_of(of_p: list[bool], units: list[int]) -> list[list[int]]:
    """All ways to choose P's texts, equally likely; units of one side are single texts."""
    parts, alone = [], []
    for unit in sorted(set(units)):
        rows = [row for row, own in enumerate(units) if own == unit]
        p, q = [row for row in rows if of_p[row]], [row for row in rows if not of_p[row]]
        if not p or not q:
            alone += rows
        elif len(p) == len(q):
            parts.append([p, q])
        else:
            parts.append([list(each) for each in combinations(rows, len(p))])
    parts.append([list(each) for each in combinations(alone, sum(of_p[row] for row in alone))])
    return [[row for part in each for row in part] for each in product(*parts)]


def plain(has: list[bool], of_p: list[bool], units: list[int]) -> float:
    """Count the ways that are at most as likely as the observed number of P's texts."""
    counts = Counter(sum(has[row] for row in way) for way in ways_of(of_p, units))
    own = counts[sum(mark for mark, side in zip(has, of_p, strict=True) if side)]
    return sum(times for times in counts.values() if times <= own) / counts.total()


KINDS = {"pair": (1, 1), "swap": (2, 2), "dealt": (1, 2), "dealt the other way": (3, 1)}


@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), max_size=3),
    p_alone=st.integers(0, 3),
    q_alone=st.integers(0, 3),
    bits=st.lists(st.booleans(), min_size=18, max_size=18),
)
def test_all_exchanges_are_counted(kinds, p_alone, q_alone, bits):
    sizes = [KINDS[kind] for kind in kinds] + [(1, 0)] * p_alone + [(0, 1)] * q_alone
    assume(sizes)
    units = [unit for unit, (p, q) in enumerate(sizes) for _ in range(p + q)]
    of_p = [side for p, q in sizes for side in [True] * p + [False] * q]
    has = bits[: len(units)]
    assert exchange_test(has, of_p, units)[0] == pytest.approx(plain(has, of_p, units))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=25))
def test_every_arrangement_has_a_p_value(texts):
    has, of_p, units = map(list, zip(*texts, strict=True))
    assert 0 < exchange_test(has, of_p, units)[0] <= 1


def documents(seed: int, most: int, count: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Documents of one to ``most`` texts, the first half P's; a fifth of the texts have a property, by document."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(count), rng.integers(1, most + 1, count))
    return units, rng.random(units.size) < rng.beta(0.5, 2, count)[units]


@pytest.mark.parametrize("shared", [0, 30])
def test_pieces_of_documents_are_near_all_exchanges(shared):
    """Against drawn exchanges of documents, to which pairs may come, at p-values where it matters."""
    compared = 0
    for seed in range(40):
        units, has = documents(seed, 6)
        of_p = units < 40
        pairs = np.repeat(np.arange(1000, 1000 + shared), 2)
        units, of_p = np.concatenate([units, pairs]), np.concatenate([of_p, np.tile([True, False], shared)])
        has = np.concatenate([has, np.random.default_rng(seed).random(2 * shared) < 0.2])
        found = float(exchange_test(has, of_p, units)[0])
        if not 0.01 <= found <= 0.1:
            continue
        # What P has beyond its share of all texts: documents that are dealt differ in size.
        drawn = draw_sides(of_p, units, 20_000, np.random.default_rng(1))
        beyond = has - has.mean()
        again = np.abs(drawn @ beyond) >= abs(of_p @ beyond) - 1e-9
        assert 1 / 1.3 <= found / again.mean() <= 1.3
        compared += 1
    assert compared >= 2


def test_a_property_of_few_documents_is_that_of_documents():
    units = np.repeat(np.arange(20), 3)
    has = np.isin(units, [0, 1, 2, 3]) & (np.arange(60) % 3 > 0)
    expected = fisher_exact([[4, 6], [0, 10]]).pvalue
    np.testing.assert_allclose(exchange_test([has, ~has], units < 10, units), expected)
    # A unit of both sides that has it everywhere, or pairs that tell as much, leave few what they are.
    of_p, with_pair = np.append(units < 10, [True, False]), np.append(units, [20, 20])
    assert exchange_test(np.append(has, [True, True]), of_p, with_pair)[0] == pytest.approx(expected)
    has, of_p = np.append(np.zeros(60), np.tile([True, False], 5)), np.append(units < 10, np.tile([True, False], 5))
    found = exchange_test(has, of_p, np.append(units, np.repeat(np.arange(30, 35), 2)))[0]
    assert found == pytest.approx(2 / 2**5)


def test_one_unit_of_unequal_sides_is_fishers_test():
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
    has, of_p, units = rng.random(900) < 0.4, np.tile([True, False, False], 300), np.repeat(np.arange(300), 3)
    direct = exchange_test(has, of_p, units)
    monkeypatch.setattr(module, "DIRECT", 4)
    np.testing.assert_allclose(exchange_test(has, of_p, units), direct, rtol=1e-6)


def test_what_all_or_none_have_says_nothing():
    of_p = np.arange(10) < 5
    table = np.stack([np.ones(10, dtype=bool), np.zeros(10, dtype=bool), of_p])
    np.testing.assert_allclose(exchange_test(table, of_p, np.arange(10)), [1, 1, 2 / 252])


@pytest.mark.slow
def test_a_true_hypothesis_is_rejected_no_oftener_than_the_level():
    rng = np.random.default_rng(3)
    of_p = np.tile([True, False], 60)
    table = rng.random((4000, 120)) < 0.3
    p_values = exchange_test(table, of_p, np.repeat(np.arange(60), 2))
    for level in (0.01, 0.05, 0.2):
        assert (p_values <= level).mean() <= level + 4 * np.sqrt(level / 4000)


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 6])
def test_documents_hold_the_level(most):
    p_values = []
    for seed in range(1500):
        units, has = documents(seed, most)
        p_values.append(float(exchange_test(has, units < 40, units)[0]))
    for level in (0.01, 0.05, 0.2):
        share = np.mean(np.array(p_values) <= level)
        assert abs(share - level) <= 4 * np.sqrt(level / 1500)


@pytest.mark.parametrize(
    ("has", "of_p", "units"), [([True], [True, False], [0, 0]), ([True], [True], [0, 0]), (np.ones((1, 0)), [], [])]
)
def test_texts_that_do_not_match_are_refused(has, of_p, units):
    with pytest.raises((InputError, ValueError)):
        exchange_test(has, of_p, units)
