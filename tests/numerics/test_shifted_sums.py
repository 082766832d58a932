"""Frontiers from sums that are kept, against the same frontiers with a logarithm for every bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.stats.divergences import count_pairs, error_sums, frontier_integral
from mauve_core.stats.what_if import REACH, Bins, shifted_sums

K, SEEDS = 30, 2

# Sums of terms up to log of the smallest weight, 14, each to some 1e-16 of itself, and the polynomials' own error.
ROUNDING = 2e-13


def drawn(seed: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """(4, SEEDS, K) histograms of n and of m texts, of shares that differ much."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(K, 0.5), size=2)
    return tuple(rng.multinomial(size, share, size=(4, SEEDS)) for size, share in zip((n, m), shares, strict=True))


def changed(counts: np.ndarray, places: tuple[np.ndarray, np.ndarray], factors: np.ndarray) -> np.ndarray:
    """The bins at ``places`` times the factors, for a change that leaves every seed with one sum a resample."""
    after = counts.astype(np.float64)
    after[:, *places] *= factors
    after[..., -1] += after.sum(axis=-1).max() - after.sum(axis=-1)
    return after


@given(st.integers(0, 999), st.integers(60, 3000), st.integers(60, 3000), st.sampled_from([0.0, 0.5, 1.0]))
def test_they_are_those_of_all_bins(seed: int, n: int, m: int, added: float) -> None:
    p, q = drawn(seed, n, m)
    rng = np.random.default_rng(seed)
    seeds, clusters = np.repeat(np.arange(SEEDS), 4), np.tile([0, 3, 7, K - 1], SEEDS)
    places = seeds, clusters
    p_after, q_after = (changed(side, places, rng.choice([0.0, 0.4, 1.0, 1.7], size=seeds.size)) for side in (p, q))
    totals = tuple(side.sum(axis=-1)[:, 0] + added * K for side in (p_after, q_after))
    sums = shifted_sums(count_pairs(p, q), added)
    if not sums.serves(totals):
        assert np.abs(np.log(totals[0] / totals[1]) - sums.centre).max() > REACH
        return
    before, after = ((a[:, *places] + added, b[:, *places] + added) for a, b in ((p, q), (p_after, q_after)))
    bins = Bins(before, after, (seeds == np.arange(SEEDS)[:, None]).astype(np.float64))
    left, right = (
        (side + added) / total[:, None, None] for side, total in zip((p_after, q_after), totals, strict=True)
    )
    np.testing.assert_allclose(sums.errors(totals, bins), error_sums(left, right), rtol=0, atol=ROUNDING)
    integral = sums.frontier_integral(totals, bins)
    np.testing.assert_allclose(integral, frontier_integral(left, right), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("shift", [-REACH, -0.1, REACH])
def test_they_hold_up_to_the_reach(shift: float) -> None:
    """One side of the texts alone counts differently: nothing of a bin changes but what it is a share of."""
    p, q = drawn(5, 2000, 900)
    sums = shifted_sums(count_pairs(p, q), 0.0)
    gone = np.zeros((4, 0))
    bins = Bins((gone, gone), (gone, gone), np.zeros((SEEDS, 0)))
    totals = np.full(4, 2000.0), np.full(4, 900.0 * np.exp(-shift * (1 - 1e-9)))
    assert sums.serves(totals)
    odds = q / totals[1][:, None, None]
    found = sums.frontier_integral(totals, bins)
    x, y = p / 2000, odds
    near = np.isclose(x, y, rtol=1e-9, atol=0)
    ratio = np.where((x > 0) & (y > 0) & ~near, x / np.where(y > 0, y, 1), 2.0)
    middle = np.where((x > 0) & (y > 0), x * np.log(ratio) / (ratio - 1), 0.0)  # x y log(x / y) / (x - y)
    expected = ((x + y) / 2 - np.where(near, x, middle)).sum(axis=-1)
    np.testing.assert_allclose(found, np.clip(expected, 0, 1), rtol=0, atol=1e-9)  # the plain form cancels near x = y
