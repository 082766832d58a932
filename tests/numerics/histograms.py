"""Histograms for the tests of this folder: strategies, near-equal pairs, and slow twins in 60-digit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

mpmath.mp.dps = 60

SIZES = st.integers(min_value=1, max_value=12)
COUNT = st.one_of(st.just(0), st.integers(min_value=0, max_value=5), st.integers(min_value=0, max_value=10**6))


@st.composite
def count_pairs(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two histograms over the same bins, with empty bins, tiny and huge counts, neither empty altogether."""
    k = draw(SIZES)
    sides = [draw(st.lists(COUNT, min_size=k, max_size=k).filter(any)) for _ in range(2)]
    return np.array(sides[0]), np.array(sides[1])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same as probabilities, divided here and not by the code under test."""
    p, q = draw(count_pairs())
    return p / p.sum(), q / q.sum()


def near_pair(epsilon: float, seed: int = 0, k: int = 16) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p = q (1 + epsilon) and p = q (1 - epsilon) in turn, over an uneven q whose neighbours are equal."""
    half = np.random.default_rng(seed).dirichlet(np.ones(k // 2)) / 2
    q = np.repeat(half, 2)
    return q * (1 + epsilon * np.tile([1, -1], k // 2)), q


def exact_near_pair(power: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p = q (1 + 2^-power) and q (1 - 2^-power) in turn, q = 1/8: every number and both sums are exact in binary."""
    q = np.full(8, 0.125)
    return q + q * 2.0**-power * np.tile([1, -1], 4), q


def exact_terms(x: float, y: mpmath.mpf) -> mpmath.mpf:
    """x log(x / y) - x + y in 60 digits."""
    x = mpmath.mpf(x)
    if x == 0:
        return y
    return mpmath.inf if y == 0 else x * mpmath.log(x / y) - x + y


def exact_shares(p: NDArray[np.float64], q: NDArray[np.float64], weight: float) -> tuple[list, list]:
    """Type I and type II shares of each bin in 60 digits."""
    w = mpmath.mpf(weight)
    mixtures = [w * mpmath.mpf(a) + (1 - w) * mpmath.mpf(b) for a, b in zip(p, q, strict=True)]
    type_1 = [exact_terms(b, r) for b, r in zip(q, mixtures, strict=True)]
    type_2 = [exact_terms(a, r) for a, r in zip(p, mixtures, strict=True)]
    return type_1, type_2


def exact_frontier_integral(p: NDArray[np.float64], q: NDArray[np.float64]) -> mpmath.mpf:
    """The closed form in 60 digits."""
    total = mpmath.mpf(0)
    for a, b in zip(map(mpmath.mpf, p), map(mpmath.mpf, q), strict=True):
        if a != b:
            total += (a + b) / 2
            total -= 0 if a * b == 0 else a * b / (a - b) * mpmath.log(a / b)
    return total


def relative_error(found: float, truth: mpmath.mpf) -> float:
    """|found / truth - 1|, and 0 when both are 0."""
    if truth == 0:
        return 0.0 if found == 0 else float("inf")
    return float(abs(mpmath.mpf(float(found)) / truth - 1))
