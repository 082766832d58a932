"""Newcombe's interval against his published examples, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from mauve_core.base.errors import InputError
from mauve_core.numerics.statistics.share_difference import share_difference, stratified_difference


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ],
)
def test_it_is_that_of_the_paper(counts, expected):
    """Newcombe 1998, table II, method 10."""
    assert share_difference(*counts, 0.95) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.5, 0.3), (0.02, 0.4)])
def test_it_covers_the_difference(p, q):
    n, counts = 40, np.arange(41)
    chances = np.outer(binom.pmf(counts, n, p), binom.pmf(counts, n, q))
    covered = 0.0
    for first, second in np.argwhere(chances > 1e-6).tolist():
        low, high = share_difference(first, n, second, n, 0.9)
        covered += (low <= p - q <= high) * chances[first, second]
    assert 0.87 < covered < 0.98


@pytest.mark.parametrize("counts", [(1, 0, 0, 4), (5, 4, 0, 4), (0, 3, -1, 4)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(InputError, match="counts are not usable"):
        share_difference(*counts, 0.95)


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
    plain = share_difference(int(has[first].sum()), 250, int(has[~first].sum()), 350, 0.95)
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
