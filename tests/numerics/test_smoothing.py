"""Counts to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import ADDED_COUNT, SMOOTHINGS, added_count, frontier_integral, probabilities
from tests.numerics.histograms import count_pairs

ADD_B = ("none", "krichevsky-trofimov", "laplace", "add-0.01", "add-3")
NAMES = (*SMOOTHINGS, "add-0.01", "add-3")


def plain_good_turing(counts):
    """The definition of JMLR 2023, section 4.1, bin by bin."""
    counts = [int(count) for count in counts]
    masses = []
    for count in counts:
        alike = sum(other == count for other in counts)
        one_more = sum(other == count + 1 for other in counts)
        masses.append(count if count > one_more else (one_more + 1) * (count + 1) / alike)
    return np.array(masses) / sum(masses)


def test_hand_values():
    np.testing.assert_array_equal(probabilities([1, 3, 0]), [0.25, 0.75, 0.0])
    # (1 + 1/2) / (4 + 3/2), (3 + 1/2) / (4 + 3/2), (1/2) / (4 + 3/2)
    np.testing.assert_allclose(probabilities([1, 3, 0], "krichevsky-trofimov"), [3 / 11, 7 / 11, 1 / 11], rtol=1e-15)
    np.testing.assert_allclose(probabilities([1, 3, 0], "laplace"), [2 / 7, 4 / 7, 1 / 7], rtol=1e-15)
    np.testing.assert_allclose(probabilities([1, 3, 0], "add-2"), [3 / 10, 5 / 10, 2 / 10], rtol=1e-15)
    # 1 + 1, 3 + 3/4, 0 + 1/2 and 2 + 3/4, of 9 in all.
    np.testing.assert_allclose(probabilities([1, 3, 0, 2], "braess-sauer"), np.array([8, 15, 2, 11]) / 36, rtol=1e-15)


def test_good_turing_by_hand():
    # phi: three bins empty, two with 1, one with 2, one with 5. Empty: 0 > 2 fails, (2 + 1) 1 / 3 = 1 each. One text:
    # 1 > 1 fails, (1 + 1) 2 / 2 = 2 each. Two: 2 > 0, so 2. Five: 5 > 0, so 5. The sum is 3 + 4 + 2 + 5 = 14.
    found = probabilities([0, 1, 5, 0, 1, 2, 0], "good-turing")
    np.testing.assert_allclose(found, np.array([1, 2, 5, 1, 2, 2, 1]) / 14, rtol=1e-15)


@given(count_pairs())
def test_good_turing_against_its_definition_bin_by_bin(pair):
    for counts in pair:
        np.testing.assert_allclose(probabilities(counts, "good-turing"), plain_good_turing(counts), rtol=1e-14)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60).filter(any))
def test_good_turing_where_many_bins_share_a_count(counts):
    np.testing.assert_allclose(probabilities(counts, "good-turing"), plain_good_turing(counts), rtol=1e-14)


@given(count_pairs())
def test_rows_sum_to_one_and_equal_counts_have_equal_probabilities(pair):
    for counts in pair:
        for smoothing in NAMES:
            p = probabilities(counts, smoothing)
            assert p.dtype == np.float64
            assert p.sum() == pytest.approx(1, abs=1e-14)
            assert np.all((p > 0) | ((counts == 0) & (smoothing == "none")))
            for value in np.unique(counts):
                assert np.unique(p[counts == value]).size == 1


@given(count_pairs())
def test_the_order_of_the_counts_is_kept(pair):
    for counts in pair:
        for smoothing in set(NAMES) - {"good-turing"}:
            assert np.all(np.diff(probabilities(counts, smoothing)[np.argsort(counts, kind="stable")]) >= 0)


def test_good_turing_need_not_keep_the_order_of_the_counts():
    # 1 > 0 keeps one text as 1; of the 0 > 1 two empty bins each gets (1 + 1) 1 / 2 = 1; were it one, 2.
    np.testing.assert_allclose(probabilities([0, 1], "good-turing"), [2 / 3, 1 / 3], rtol=1e-15)


@given(count_pairs())
def test_an_added_constant_is_all_that_add_b_does(pair):
    for counts in pair:
        for smoothing in ADD_B:
            b = added_count(smoothing)
            expected = (counts + b) / (counts.sum() + b * counts.size)
            np.testing.assert_allclose(probabilities(counts, smoothing), expected, rtol=1e-14)


def test_names_and_constants():
    assert set(ADDED_COUNT) < set(SMOOTHINGS)
    assert all(added_count(name) == b for name, b in ADDED_COUNT.items())
    assert (added_count("laplace"), added_count("add-0.25")) == (1.0, 0.25)
    assert added_count("braess-sauer") is added_count("good-turing") is None
    counts = [4, 0, 1, 9]
    np.testing.assert_array_equal(probabilities(counts, "add-0.5"), probabilities(counts, "krichevsky-trofimov"))
    np.testing.assert_array_equal(probabilities(counts, "add-1"), probabilities(counts, "laplace"))


@pytest.mark.parametrize("smoothing", NAMES)
def test_leading_axes_are_rows_of_their_own(smoothing):
    counts = np.random.default_rng(0).integers(1, 5, size=(20, 3, 4))
    counts[0] = [[0, 0, 0, 1], [2, 2, 3, 5], [6, 6, 6, 6]]  # the next row goes on where the one before ends
    found = probabilities(counts, smoothing)
    for place in np.ndindex(20, 3):
        np.testing.assert_array_equal(found[place], probabilities(counts[place], smoothing))


@pytest.mark.parametrize("smoothing", NAMES)
def test_the_counts_are_left_as_they_were(smoothing):
    counts = np.array([1.0, 3.0])
    probabilities(counts, smoothing)
    np.testing.assert_array_equal(counts, [1.0, 3.0])


@pytest.mark.parametrize("smoothing", NAMES)
def test_a_large_sample_leaves_nothing_to_smooth(smoothing):
    counts = np.array([1, 2, 3, 4]) * 10**12
    # b texts more in each bin of 1e12 or above.
    np.testing.assert_allclose(probabilities(counts, smoothing), [0.1, 0.2, 0.3, 0.4], rtol=1e-11)


def mean_errors(p, q, n, repetitions=40):
    """Mean |error| of the frontier integral from n draws of each side, by smoothing; the draws are the same for all."""
    rng = np.random.default_rng(17)
    drawn = rng.multinomial(n, p, size=repetitions), rng.multinomial(n, q, size=repetitions)
    truth = frontier_integral(p, q)
    return {
        name: np.abs(frontier_integral(*(probabilities(side, name) for side in drawn)) - truth).mean()
        for name in SMOOTHINGS
    }


@pytest.mark.parametrize("n", [1000, 10_000])
def test_smoothing_reduces_the_error_on_uniform_against_dirichlet(n):
    """Figure 6(a) of JMLR 2023: k = 1000, Zipf(0) and Dir(1/2). Both errors are less than half the empirical one."""
    k = 1000
    errors = mean_errors(np.full(k, 1 / k), np.random.default_rng(5).dirichlet(np.full(k, 0.5)), n)
    assert errors["krichevsky-trofimov"] < errors["none"] / 2
    assert errors["good-turing"] < errors["none"] / 2


@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
def test_good_turing_reduces_the_error_whatever_the_tail(decay):
    """Figure 6(c): k = 1000, n = 10,000, Dir(1) and Zipf(r)."""
    k = 1000
    zipf = np.arange(1, k + 1) ** -decay
    errors = mean_errors(np.random.default_rng(6).dirichlet(np.ones(k)), zipf / zipf.sum(), 10_000)
    assert errors["good-turing"] < errors["none"]


@pytest.mark.parametrize(
    ("counts", "smoothing", "said"),
    [
        ([1, -1], "none", "not negative"),
        ([1, np.inf], "none", "finite"),
        ([0, 0], "none", "empty"),
        ([[1, 1], [0, 0]], "none", "empty"),
        ([], "none", "no bins"),
        (3, "none", "no bins"),
        ([1, 1], "lidstone", "none, krichevsky-trofimov, laplace, braess-sauer, good-turing or add-<b>"),
        ([1, 1], "add-", "Unknown smoothing"),
        ([1, 1], "add-0", "positive number"),
        ([1, 1], "add--1", "positive number"),
        ([1, 1], "add-nan", "positive number"),
        ([1, 1], "add-inf", "positive number"),
        ([1, 1], "2", "Unknown smoothing"),
        ([0.5, 1], "good-turing", "whole numbers"),
        ([0.5, 1], "braess-sauer", "whole numbers"),
        (["1"], "none", "real numbers"),
    ],
)
def test_what_is_not_a_histogram_is_refused(counts, smoothing, said):
    with pytest.raises(InputError, match=said):
        probabilities(counts, smoothing)
