"""Samples for the tests of the sampling error, and the comparison of what was measured."""

from __future__ import annotations

import numpy as np

# Arrays of a SamplingError.
SIZES = ("n", "m", "k", "truth", "mean", "spread", "bias", "sd")


def sample(k=40, n=600, m=600, seed=0):
    """Counts of two different distributions."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 2.0))
    q = p * np.exp(0.5 * rng.standard_normal(k))
    return rng.multinomial(n, p), rng.multinomial(m, q / q.sum())


def assert_equal(one, other):
    for name in SIZES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
