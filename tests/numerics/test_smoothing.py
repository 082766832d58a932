"""Counts to probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mauve_core.errors import InputError
from mauve_core.numerics.smoothing import ADDED_COUNT, probabilities
from tests.numerics.histograms import count_pairs


def test_hand_values():
    np.testing.assert_array_equal(probabilities([1, 3, 0]), [0.25, 0.75, 0.0])
    # (1 + 1/2) / (4 + 3/2), (3 + 1/2) / (4 + 3/2), (1/2) / (4 + 3/2)
    np.testing.assert_allclose(probabilities([1, 3, 0], "krichevsky-trofimov"), [3 / 11, 7 / 11, 1 / 11], rtol=1e-15)


@given(count_pairs())
def test_rows_sum_to_one_and_keep_the_order_of_the_counts(pair):
    for counts in pair:
        for smoothing in ADDED_COUNT:
            p = probabilities(counts, smoothing)
            assert p.dtype == np.float64
            assert p.sum() == pytest.approx(1, abs=1e-14)
            assert np.all(np.diff(p[np.argsort(counts, kind="stable")]) >= 0)
            assert np.all((p > 0) | ((counts == 0) & (smoothing == "none")))


def test_leading_axes_are_rows_of_their_own():
    counts = np.arange(1, 25).reshape(2, 3, 4)
    np.testing.assert_array_equal(probabilities(counts)[1, 2], probabilities(counts[1, 2]))


def test_the_counts_are_left_as_they_were():
    counts = np.array([1.0, 3.0])
    probabilities(counts, "krichevsky-trofimov")
    np.testing.assert_array_equal(counts, [1.0, 3.0])


@pytest.mark.parametrize(
    ("counts", "smoothing", "said"),
    [
        ([1, -1], "none", "not negative"),
        ([1, np.inf], "none", "finite"),
        ([0, 0], "none", "empty"),
        ([[1, 1], [0, 0]], "none", "empty"),
        ([], "none", "no bins"),
        (3, "none", "no bins"),
        ([1, 1], "laplace", "none, krichevsky-trofimov"),
        (["1"], "none", "real numbers"),
    ],
)
def test_what_is_not_a_histogram_is_refused(counts, smoothing, said):
    with pytest.raises(InputError, match=said):
        probabilities(counts, smoothing)
