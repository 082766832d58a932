"""Newcombe's interval against his published examples, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from mauve_core.base.errors import InputError
from mauve_core.numerics.statistics.share_difference import share_difference


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
    n = 40
    covered = 0.0
    for first in range(n + 1):
        for second in range(n + 1):
            low, high = share_difference(first, n, second, n, 0.9)
            covered += (low <= p - q <= high) * binom.pmf(first, n, p) * binom.pmf(second, n, q)
    assert 0.87 < covered < 0.98
    assert np.isfinite(covered)


@pytest.mark.parametrize("counts", [(1, 0, 0, 4), (5, 4, 0, 4), (0, 3, -1, 4)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(InputError, match="counts are not usable"):
        share_difference(*counts, 0.95)
