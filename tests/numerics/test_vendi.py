"""The Vendi score against closed forms and a plain twin, and what leaves it as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats.diversity import vendi_score


def plain(x):
    """The definition: the n x n matrix of cosine similarities, pair by pair, and all its eigenvalues."""
    n = len(x)
    lengths = [math.sqrt(sum(a * a for a in row)) for row in x]
    kernel = [
        [sum(a * b for a, b in zip(x[i], x[j], strict=True)) / (lengths[i] * lengths[j]) for j in range(n)]
        for i in range(n)
    ]
    entropy = 0.0
    for share in np.linalg.eigvalsh(np.array(kernel) / n):
        entropy -= share * math.log(share) if share > 1e-15 else 0.0
    return math.exp(entropy)


@pytest.mark.parametrize(("n", "d"), [(1, 4), (7, 3), (3, 7), (12, 12), (40, 5)])
def test_slow_twin_whichever_matrix_is_smaller(n, d):
    x = np.random.default_rng(n).normal(size=(n, d)).astype(np.float32)
    assert vendi_score(x) == pytest.approx(plain(x.astype(float).tolist()), rel=1e-9)


def test_closed_forms():
    assert vendi_score(np.eye(6)) == pytest.approx(6)
    assert vendi_score(np.ones((9, 4))) == pytest.approx(1)
    # Three of one direction and one of another: shares 3/4 and 1/4.
    x = np.array([[2.0, 0], [5, 0], [1, 0], [0, 3]])
    assert vendi_score(x) == pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))
    # Two at an angle with cosine c: eigenvalues (1 + c)/2 and (1 - c)/2.
    c = 0.6
    expected = math.exp(-sum(s * math.log(s) for s in ((1 + c) / 2, (1 - c) / 2)))
    assert vendi_score(np.array([[1.0, 0], [0.6, 0.8]])) == pytest.approx(expected)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_range_and_what_changes_nothing(n, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    value = vendi_score(x)
    assert 1 <= value <= min(n, d) * (1 + 1e-12)
    scaled = x * rng.uniform(0.1, 10, size=(n, 1))
    turned, _ = np.linalg.qr(rng.normal(size=(d, d)))
    for same in (x[rng.permutation(n)], scaled, x @ turned, np.vstack([x, x])):
        assert vendi_score(same) == pytest.approx(value, rel=1e-4)  # features are float32


def test_tiny_and_huge_features_have_directions():
    assert vendi_score(np.array([[1e-30, 0], [0, 1e30]])) == pytest.approx(2)


def test_a_row_without_direction_is_refused():
    with pytest.raises(InputError, match="all 0"):
        vendi_score(np.array([[1.0, 0], [0, 0]]))
    with pytest.raises(InputError):
        vendi_score(np.array([[np.nan, 1.0]]))
