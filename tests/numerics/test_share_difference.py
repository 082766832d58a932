"""Newcombe's intervals against his published examples and plain twins, their coverage, and their word with a test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from mauve_core.base.errors import InputError
from mauve_core.stats.two_groups import share_difference, stratified_difference

Counts = tuple[int, int, int, int]


def single(counts: Counts, confidence: float = 0.95, p: float | None = None) -> tuple[float, float]:
    """Of ``counts[0]`` successes among ``counts[1]`` texts and ``counts[2]`` among ``counts[3]``, each a unit."""
    one, n, other, m = counts
    has = np.repeat([True, False, True, False], [one, n - one, other, m - other])
    return share_difference(has, np.arange(n + m) < n, np.arange(n + m), confidence, p)


def paired(cells: Counts, copies: int = 1) -> tuple[float, float]:
    """Of pairs in which both have it, the first alone, the second alone, and neither; every text so often."""
    has = np.tile(np.repeat([[True, True, False, False], [True, False, True, False]], cells, axis=1), copies)
    first, units = np.repeat([True, False], has.shape[1]), np.tile(np.arange(sum(cells)), 2 * copies)
    return share_difference(has.ravel(), first, units, 0.95)


def newcombe(one: float, n: float, other: float, m: float, phi: float = 0.0) -> tuple[float, float]:
    """The interval by its formula, with Wilson's intervals by SciPy."""
    p, q = one / n, other / m
    (low, high), (q_low, q_high) = (
        binomtest(count, size).proportion_ci(0.95, "wilson") for count, size in ((one, n), (other, m))
    )
    down = (p - low) ** 2 - 2 * phi * (p - low) * (q_high - q) + (q_high - q) ** 2
    up = (high - p) ** 2 - 2 * phi * (high - p) * (q - q_low) + (q - q_low) ** 2
    return p - q - down**0.5, p - q + up**0.5


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ],
)
def test_of_single_texts_it_is_that_of_the_paper(counts, expected):
    """Newcombe 1998, 873-890, table II, method 10."""
    assert single(counts) == pytest.approx(expected, abs=6e-5)
    assert single(counts) == pytest.approx(newcombe(*counts))


@given(st.tuples(*[st.integers(0, 20)] * 4).filter(any))
def test_of_pairs_it_is_that_of_the_paper_on_them(cells):
    """Newcombe 1998, 2635-2650, method 10; pairs that all agree leave doubt all the same."""
    both, first, second, neither = cells
    n, determinant = sum(cells), both * neither - first * second
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    less = max(0.0, determinant - n / 2) if determinant > 0 else determinant
    expected = newcombe(both + first, n, both + second, n, less / product**0.5 if product else 0.0)
    assert paired(cells) == pytest.approx(expected, abs=1e-9)


def test_a_published_pair_of_numbers():
    assert paired((36, 12, 2, 0)) == pytest.approx((0.0569, 0.3404), abs=6e-5)


def test_copies_of_texts_say_nothing_new():
    cells = (12, 9, 4, 15)
    low, high = paired(cells, copies=5)
    once = paired(cells)
    assert (low, high) == pytest.approx(once, abs=0.02)  # n - 1 in place of n in the robust variance
    few = np.repeat(np.arange(12) < 5, 10), np.arange(120) < 60, np.repeat(np.arange(12), 10)
    assert share_difference(*few, 0.95) == pytest.approx(single((5, 6, 0, 6)), abs=0.1)
    assert np.diff(share_difference(*few[:2], np.arange(120), 0.95)) < 0.5 * np.diff(share_difference(*few, 0.95))


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.5, 0.3), (0.02, 0.4)])
def test_it_covers_the_difference(p, q):
    n, counts = 40, np.arange(41)
    chances = np.outer(binom.pmf(counts, n, p), binom.pmf(counts, n, q))
    covered = 0.0
    for first, second in np.argwhere(chances > 1e-6).tolist():
        low, high = single((first, n, second, n), 0.9)
        covered += (low <= p - q <= high) * chances[first, second]
    assert 0.87 < covered < 0.98


def test_it_covers_the_difference_of_documents():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        units = np.repeat(np.arange(80), rng.integers(2, 7, 80))
        has = rng.random(units.size) < rng.beta(0.4, 0.6, 80)[units]
        low, high = share_difference(has, units < 40, units, 0.9)
        covered += low <= 0 <= high
    assert 342 <= covered <= 385  # 360 expected; three standard deviations are 18


@pytest.mark.parametrize("p", [0.04, 0.06])
@pytest.mark.parametrize(
    "counts", [(9, 10, 3, 10), (5, 10, 4, 10), (4, 10, 5, 10), (3, 10, 9, 10), (5, 10, 10, 20), (0, 10, 0, 20)]
)
def test_it_agrees_with_the_test_about_none_unless_there_is_none(counts, p):
    low, high = single(counts, p=p)
    assert (low <= 0 <= high) == (p > 0.05 or counts[0] / counts[1] == counts[2] / counts[3])
    assert low <= counts[0] / counts[1] - counts[2] / counts[3] <= high
    assert single(counts, p=p) == pytest.approx(single(counts), abs=0.5)


def test_a_sample_without_a_case_is_refused():
    with pytest.raises(InputError, match="A sample has no case"):
        share_difference([True, False], [True, True], [0, 1], 0.95)


def test_in_strata_it_is_the_weighted_mean_of_their_differences():
    has = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], dtype=bool)
    first = np.array([1, 1, 0, 0, 0, 1, 1, 0, 1, 0], dtype=bool)
    strata = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    expected = [(2 * 3 / 5, 1 / 2 - 2 / 3), (2 * 1 / 3, 1 / 2 - 0), (1 / 2, 1 - 1)]
    weights = sum(weight for weight, _ in expected)
    found = stratified_difference(has, first, strata, 0.95)
    assert found is not None
    assert found[0] == pytest.approx(sum(weight * each for weight, each in expected) / weights)
    assert -1 <= found[1] < found[0] < found[2] <= 1


def test_one_stratum_is_like_the_plain_difference():
    rng = np.random.default_rng(0)
    has, first = rng.random(600) < 0.4, np.arange(600) < 250
    found = stratified_difference(has, first, np.zeros(600), 0.95)
    plain = share_difference(has, first, np.arange(600), 0.95)
    assert found[1:] == pytest.approx(plain, abs=0.01)


def test_strata_without_both_samples_do_not_count():
    assert stratified_difference([True, False], [True, False], [0, 1], 0.95) is None


def test_the_interval_in_strata_covers_no_difference_as_often_as_it_says():
    """A trait that depends on the stratum alone, with strata that the samples have unequally often."""
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        first = np.arange(300) < 150
        strata = rng.random(300) < np.where(first, 0.7, 0.3)
        has = rng.random(300) < np.where(strata, 0.6, 0.2)
        _, low, high = stratified_difference(has, first, strata, 0.95)
        covered += low <= 0 <= high
    assert 365 <= covered <= 395  # 380 expected; three standard deviations are 13
