"""How smooth a divergence is: the constants of its generator in the error bounds (JMLR 2023, assumption 9 and table 1).

D_f(P || Q) = sum q f(p / q), with f normalised so that f'(1) = 0. KL itself, chi2 and squared Hellinger have no such
constants: one of their limits is infinite or their slope grows faster than log 1/t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mauve_core.base.errors import InputError


@dataclass(frozen=True)
class Smoothness:
    """Constants of a generator f and of its conjugate f*(t) = t f(1/t) (JMLR 2023, assumption 9).

    Parameters
    ----------
    at_zero, conjugate_at_zero : float
        C0 = f(0) and C0* = f*(0).
    slope, conjugate_slope : float
        C1 and C1*: |f'(t)| <= C1 max(1, log 1/t) for t in (0, 1), and the same of f*.
    curvature, conjugate_curvature : float
        C2 and C2*: t f''(t) / 2 <= C2 for all t > 0, and the same of f*.
    """

    at_zero: float
    conjugate_at_zero: float
    slope: float
    conjugate_slope: float
    curvature: float
    conjugate_curvature: float

    @property
    def offset(self) -> float:
        """c = max(C0*, 2 C2), what does not grow with log n on P's side."""
        return max(self.conjugate_at_zero, 2 * self.curvature)

    @property
    def conjugate(self) -> Smoothness:
        """The constants of f*, which are those of f on Q's side."""
        return Smoothness(
            self.conjugate_at_zero,
            self.at_zero,
            self.conjugate_slope,
            self.slope,
            self.conjugate_curvature,
            self.curvature,
        )


FRONTIER_INTEGRAL = Smoothness(1 / 2, 1 / 2, 1.0, 1.0, 1 / 2, 1 / 2)
"""Of FI_KL. The paper's table 1 has C1 = 4; 1 is enough, since |f'(t)| = (t - 1 - log t) / (t - 1)^2 - 1/2 <= log 1/t.

With these constants (10) and (11) are at most 2 times the rates: (log n + 1) / log n < 2 for n >= 3, and C1 + c = 2.
"""
JENSEN_SHANNON = Smoothness(np.log(2) / 2, np.log(2) / 2, 1 / 2, 1 / 2, 1 / 4, 1 / 4)
"""Of Mid_KL."""
LE_CAM = Smoothness(1 / 2, 1 / 2, 2.0, 2.0, 8 / 27, 8 / 27)
"""Of Mid_chi2."""


def interpolated_kl(weight: float) -> Smoothness:
    """Of KL(P || R), R = weight P + (1 - weight) Q: the type II error at one point of the frontier (table 1).

    For the type I error KL(Q || R) take ``interpolated_kl(1 - weight).conjugate``.
    """
    rest = 1 - _weight(weight)
    return Smoothness(rest, np.log(1 / weight) - rest, 1.0, rest**2 / weight, 1 / 2, rest / (8 * weight))


def interpolated_chi2(weight: float) -> Smoothness:
    """Of f(t) = (t - 1)^2 / (weight t + 1 - weight), the sum of (p - q)^2 / r (table 1)."""
    rest = 1 - _weight(weight)
    curvature, conjugate = 4 / (27 * weight * rest**2), 4 / (27 * weight**2 * rest)
    return Smoothness(1 / rest, 1 / weight, 2 / rest**2, 2 / weight**2, curvature, conjugate)


def skew_jensen_shannon(weight: float) -> Smoothness:
    """Of weight KL(P || R) + (1 - weight) KL(Q || R) (table 1)."""
    rest = 1 - _weight(weight)
    at_zero, conjugate_at_zero = rest * np.log(1 / rest), weight * np.log(1 / weight)
    return Smoothness(at_zero, conjugate_at_zero, weight, rest, weight / 2, rest / 2)


def _weight(weight: float) -> float:
    if not 0 < weight < 1:
        raise InputError("The mixture weight is not usable", allowed="a number in (0, 1)", received=repr(weight))
    return weight
