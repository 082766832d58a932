"""Pairs of Gaussians whose divergence frontier is known, for the tests of estimators without bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from mauve_core.estimators.ratios import LogRatios, ratio_atoms, ratio_frontier
from mauve_core.stats.divergences import Frontier

MIDDLE = np.array([0.5])
ENDS = np.array([1e-6, 1 - 1e-6])


@dataclass(frozen=True)
class Pair:
    """P = N(shift, I) and Q = N(0, scale^2 I) in d dimensions, ``shift`` the length along the first axis.

    One of the two is at rest (shift 0 or scale 1), so that log p / q depends on one normal or chi-square variable.
    """

    d: int
    shift: float = 0.0
    scale: float = 1.0

    def log_ratio(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = x - self.shift * np.eye(self.d)[0]
        squares = (x**2).sum(axis=1) / self.scale**2 - (moved**2).sum(axis=1)
        return squares / 2 + self.d * np.log(self.scale)

    def draw(self, n: int, m: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rng = np.random.default_rng(seed)
        x_p = rng.normal(size=(n, self.d)) + self.shift * np.eye(self.d)[0]
        return x_p, self.scale * rng.normal(size=(m, self.d))

    def exact(self, n: int, m: int, seed: int) -> LogRatios:
        """The true log ratios at fresh draws."""
        return LogRatios(*(self.log_ratio(side) for side in self.draw(n, m, seed)))

    def divergences(self) -> tuple[float, float]:
        """KL(Q || P) and KL(P || Q), the closed forms."""
        if self.scale == 1.0:
            return self.shift**2 / 2, self.shift**2 / 2
        variance, logarithm = self.scale**2, np.log(self.scale)
        return self.d * ((variance - 1) / 2 - logarithm), self.d * ((1 / variance - 1) / 2 + logarithm)

    def frontier(self, weights: NDArray[np.float64]) -> Frontier:
        """The truth, by a trapezoidal rule over the one variable; the integrand is smooth, so about 1e-12 is lost."""
        at_p, share_p, at_q, share_q = self._law()
        type_1, type_2 = [], []
        for weight in weights:
            own, rest = np.log(weight), np.log1p(-weight)
            type_1.append(-(share_q * np.logaddexp(own + at_q, rest)).sum())
            type_2.append(-(share_p * np.logaddexp(own, rest - at_p)).sum())
        return Frontier(weights, np.array(type_1), np.array(type_2))

    def _law(self) -> tuple[NDArray[np.float64], ...]:
        """Values of log p / q with their probabilities under P, and those under Q."""
        if self.scale == 1.0:
            z = np.linspace(-12, 12, 4001)
            share = norm.pdf(z) * (z[1] - z[0])
            half = self.shift**2 / 2
            return half + self.shift * z, share, -half + self.shift * z, share
        v = np.linspace(-40, 8, 20001)
        share = chi2.pdf(np.exp(v), self.d) * np.exp(v) * (v[1] - v[0])
        constant, factor = self.d * np.log(self.scale), (1 / self.scale**2 - 1) / 2
        return constant + factor * np.exp(v), share, constant + factor * self.scale**2 * np.exp(v), share


def mid_error(estimate: Callable[[NDArray[np.float64], NDArray[np.float64]], LogRatios], pair: Pair, n: int, runs: int):
    """(runs, 2) errors of both coordinates of the frontier's mid-point, from n points a side."""
    truth = pair.frontier(MIDDLE)
    errors = []
    for seed in range(runs):
        found = ratio_frontier(estimate(*pair.draw(n, n, seed)), weights=MIDDLE)
        errors.append([found.type_1[0] - truth.type_1[0], found.type_2[0] - truth.type_2[0]])
    return np.array(errors)


def assert_swapped(forward: LogRatios, backward: LogRatios, tolerance: float) -> None:
    """The ratios of (P, Q) and of (Q, P) are inverse, and so the two errors change places."""
    np.testing.assert_allclose(forward.at_p, -backward.at_q, atol=tolerance)
    np.testing.assert_allclose(forward.at_q, -backward.at_p, atol=tolerance)
    one, other = ratio_frontier(forward), ratio_frontier(backward)
    np.testing.assert_allclose(one.type_1, other.type_2[::-1], atol=10 * tolerance)
    np.testing.assert_allclose(one.type_2, other.type_1[::-1], atol=10 * tolerance)
    assert np.isclose(sum(ratio_atoms(forward)).sum(), 2)


def rotation(d: int, seed: int = 0) -> NDArray[np.float64]:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
