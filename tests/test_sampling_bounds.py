"""Error bounds: alpha and beta by brute force, hand values, every inequality on simulated cases."""

from __future__ import annotations

import itertools
from math import factorial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import binom

from benchmarks.sampling_bounds import (
    alpha,
    beta,
    oracle_rate,
    uniform_rate,
)
from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import frontier_integral, probabilities
from mauve_core.stats.sampling_error import quantisation_bound
from tests.numerics.histograms import pairs

NUMBERS_OF_TEXTS = st.sampled_from([3, 4, 10, 1000, 10**7, 10**15])
CASES = 1000
# Draws for the mean error of a case; the bounds lie so far above it that its own error does not count.
REPLICATES = 10


def exact_alpha(p, n):
    return mpmath.fsum(mpmath.sqrt(mpmath.mpf(x) / n) for x in p)


def exact_beta(p, n):
    inside = [mpmath.mpf(x) for x in p if 0 < x < 1]
    return mpmath.fsum((1 - x) ** n * x * max(1, mpmath.log(1 / x)) for x in inside)


class TestAlphaAndBeta:
    @pytest.mark.slow
    @given(pairs(), NUMBERS_OF_TEXTS)
    def test_against_sixty_digits(self, pair, n):
        p, _ = pair
        assert float(alpha(p, n)) == pytest.approx(float(exact_alpha(p, n)), rel=1e-14)
        # The exponent n log(1 - p) of a term that counts is at most some hundreds, each with a rounding of 1e-16.
        assert float(beta(p, n)) == pytest.approx(float(exact_beta(p, n)), rel=1e-12, abs=1e-300)

    @pytest.mark.parametrize("n", [3, 10**6, 10**18])
    def test_tiny_probabilities_and_huge_samples(self, n):
        p = np.array([1e-300, 1e-18, 1e-6, 0.0, 1 - 1e-6 - 1e-18])
        assert float(beta(p, n)) == pytest.approx(float(exact_beta(p, n)), rel=1e-12)
        assert beta([1.0, 0.0], n) == 0
        assert alpha([1.0, 0.0], n) == 1 / np.sqrt(n)

    @given(pairs(), NUMBERS_OF_TEXTS)
    def test_ranges(self, pair, n):
        p, _ = pair
        k = np.count_nonzero(p)
        assert n**-0.5 * (1 - 1e-12) <= alpha(p, n) <= np.sqrt(k / n) * (1 + 1e-12)
        assert 0 <= beta(p, n) <= k * np.log(n) / n

    @pytest.mark.parametrize("n", [3, 4, 5])
    def test_beta_is_the_expected_missing_mass(self, n):
        p = np.array([0.55, 0.4, 0.05])
        surprise = np.maximum(1, -np.log(p))
        expected = sum(
            np.prod(p[list(texts)]) * sum(p[b] * surprise[b] for b in range(3) if b not in texts)
            for texts in itertools.product(range(3), repeat=n)
        )
        assert beta(p, n) == pytest.approx(expected, rel=1e-13)

    @given(pairs(), st.integers(3, 60))
    def test_alpha_is_at_least_the_expected_distance_of_the_histogram(self, pair, n):
        # Lemma 21, with the exact expectation of |count / n - p| of every bin.
        p, _ = pair
        counts = np.arange(n + 1)[:, None]
        distance = (binom.pmf(counts, n, p) * np.abs(counts / n - p)).sum()
        assert distance <= alpha(p, n) * (1 + 1e-12)

    def test_leading_axes_broadcast(self):
        p = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 1))
        n = np.array([10, 100])
        for measure in (alpha, beta):
            table = measure(p, n)
            assert table.shape == (3, 2)
            assert table[2, 1] == measure(p[2, 0], 100)

    @pytest.mark.parametrize("n", [2, 0, -5, 3.5, np.nan, np.inf, [10, 2]])
    def test_too_few_or_broken_numbers_of_texts_are_refused(self, n):
        for measure in (alpha, beta):
            with pytest.raises(InputError, match="number of texts"):
                measure([0.5, 0.5], n)

    def test_what_is_no_distribution_is_refused(self):
        with pytest.raises(InputError, match="not a distribution"):
            beta([0.5, 0.6], 10)


def simulated_cases():
    """1,000 cases (p, q, n, m) in stacks of one k: Zipf, Dirichlet, uniform, and nearly equal sides."""
    rng = np.random.default_rng(2023)
    per_k = CASES // 5
    for k in (2, 5, 20, 80, 300):
        ranks = np.arange(1, k + 1.0)
        sides = []
        for _ in range(2):
            zipf = ranks ** -rng.uniform(0, 2.5, size=(per_k, 1))
            concentration = rng.choice([0.05, 0.5, 1.0, 20.0], size=(per_k, 1))
            dirichlet = rng.standard_gamma(np.broadcast_to(concentration, (per_k, k))) + 1e-300
            kind = np.arange(per_k)[:, None] % 3
            sides.append(np.where(kind == 0, zipf, np.where(kind == 1, dirichlet, 1.0)))
        p, q = sides
        near = rng.random((per_k, 1)) < 0.25
        q = np.where(near, p * np.exp(0.1 * rng.standard_normal((per_k, k))), q)
        shuffled = rng.random((per_k, 1)) < 0.5
        q = np.where(shuffled, rng.permuted(q, axis=1), q)
        n, m = (np.exp(rng.uniform(np.log(3), np.log(20_000), size=per_k)).astype(np.int64) for _ in range(2))
        m = np.where(rng.random(per_k) < 0.5, n, m)
        yield p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True), n, m


def mean_errors(score, smoothing, case, rng):
    """(cases,) mean |estimate - truth| over draws."""
    p, q, n, m = case
    drawn = [
        rng.multinomial(size[:, None], side[:, None, :], size=(len(size), REPLICATES))
        for side, size in ((p, n), (q, m))
    ]
    estimates = score(*(probabilities(counts, smoothing) for counts in drawn))
    return np.abs(estimates - score(p, q)[:, None]).mean(axis=1)


class TestBounds:
    @pytest.mark.slow
    def test_twice_the_rates_bound_the_frontier_integral(self):
        # The constant of (12), which the paper leaves open: (log n + 1) / log n < 2, and C1 + max(C0*, 2 C2) = 2.
        rng = np.random.default_rng(2)
        held = 0
        for case in simulated_cases():
            p, q, n, m = case
            error = mean_errors(frontier_integral, "none", case, rng)
            rate = oracle_rate(p, q, n, m)
            both = uniform_rate(p.shape[1], n) + uniform_rate(p.shape[1], m)
            held += np.count_nonzero((error <= 2 * rate) & (error <= 2 * both))
        assert held == CASES

    @pytest.mark.parametrize("k", [2, 3])
    def test_exact_errors_of_tiny_samples(self, k):
        # Where log n is least the bound is closest: every histogram of three texts, weighed by its probability.
        n, rng = 3, np.random.default_rng(4)
        histograms = np.array([c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n])
        ways = np.array([factorial(n) // np.prod([factorial(c) for c in counts]) for counts in histograms])
        estimates = probabilities(histograms)
        table = frontier_integral(estimates[:, None], estimates[None, :])
        worst = 0.0
        for concentration in (0.05, 0.5, 5.0):
            for p, q in rng.dirichlet(np.full(k, concentration), size=(100, 2)):
                weights = [ways * np.exp(xlogy(histograms, side).sum(axis=1)) for side in (p, q)]
                error = weights[0] @ np.abs(table - frontier_integral(p, q)) @ weights[1]
                worst = max(worst, error / (2 * oracle_rate(p, q, n)))
        assert 0.02 < worst <= 1

    @given(pairs(), NUMBERS_OF_TEXTS)
    def test_the_oracle_rate_is_at_most_two_uniform_ones(self, pair, n):
        p, q = pair
        assert oracle_rate(p, q, n) <= 2 * uniform_rate(p.size, n) * (1 + 1e-12)

    def test_hand_values(self):
        assert uniform_rate(64, 1000) == pytest.approx((0.064**0.5 + 0.064) * np.log(1000))
        # Uniform over four bins, n = 100: alpha = 4 sqrt(0.25 / 100) = 0.2, beta = 0.75^100 log 4, c = 1.
        flat, missing = np.full(4, 0.25), 0.75**100 * np.log(4)
        assert oracle_rate(flat, flat, 100) == pytest.approx(2 * (0.2 * np.log(100) + missing))
        # n = 3: alpha = 4 sqrt(1 / 12), beta = 27 / 64 log 4.
        few = np.log(3) * 4 / 12**0.5 + 27 / 64 * np.log(4)
        assert oracle_rate(flat, flat, 3) == pytest.approx(2 * few)

    def test_numbers_that_are_not_usable_are_refused(self):
        with pytest.raises(InputError, match="number of bins"):
            uniform_rate(0, 10)
        with pytest.raises(InputError, match=r"number of texts.*Received: 2\."):
            uniform_rate(4, [10, 2])
        with pytest.raises(InputError, match="different numbers of bins"):
            oracle_rate([0.5, 0.5], [1.0], 10)
        with pytest.raises(InputError, match="number of texts"):
            oracle_rate([0.5, 0.5], [0.5, 0.5], 10, 2)


def fi_generator(t):
    """(..., ) float64 generator of the frontier integral; t = 1 is left to the caller."""
    return (t + 1) / 2 - t / (t - 1) * np.log(t)


def papers_partition(p, q, half):
    """Labels of the partition in the proof of proposition 13: equal levels of f(p/q), of f(q/p) where p > q."""
    small, large = np.minimum(p, q), np.maximum(p, q)
    level = fi_generator(small / large) / 0.5
    return np.minimum((level * half).astype(int), half - 1) + half * (p > q)


class TestQuantisation:
    @pytest.mark.parametrize("half", [1, 2, 3, 8])
    def test_the_papers_partition_loses_at_most_the_bound(self, half):
        worst = 0.0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            p, q = rng.dirichlet(np.full(400, rng.choice([0.2, 0.5, 2.0])), size=2) + 1e-12
            p, q = p / p.sum(), q / q.sum()
            labels = papers_partition(p, q, half)
            merged = [np.bincount(labels, weights=side, minlength=2 * half) for side in (p, q)]
            loss = frontier_integral(p, q) - frontier_integral(*merged)
            assert 0 <= loss <= quantisation_bound(2 * half)
            worst = max(worst, loss / quantisation_bound(2 * half))
        assert worst > 0.02

    def test_hand_values(self):
        np.testing.assert_array_equal(quantisation_bound([1, 2, 3, 4, 500, 501]), [1, 1, 1, 1 / 2, 1 / 250, 1 / 250])
        assert quantisation_bound(4, float(np.log(2))) == pytest.approx(np.log(2) / 2)

    def test_one_bin_loses_the_largest_value_of_two_disjoint_sides(self):
        assert quantisation_bound(1) == frontier_integral([1.0, 0.0], [0.0, 1.0])
