"""Constants of the generators against derivatives in 60 digits."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.smoothness import (
    FRONTIER_INTEGRAL,
    JENSEN_SHANNON,
    LE_CAM,
    Smoothness,
    interpolated_chi2,
    interpolated_kl,
    skew_jensen_shannon,
)

PUBLISHED_FRONTIER_INTEGRAL = Smoothness(1 / 2, 1 / 2, 4.0, 4.0, 1 / 2, 1 / 2)
"""As table 1 has it."""


def kl(t):
    return t * mpmath.log(t) - t + 1


def chi2(t):
    return (t - 1) ** 2


def against_mixture(generator, weight):
    """The generator of D(P || R), from property 5 of the paper."""

    def f(t):
        r = weight * t + 1 - weight
        return r * generator(t / r)

    return f


def conjugate_of(f):
    return lambda t: t * f(1 / t)


def fi(t):
    return (t + 1) / 2 - t / (t - 1) * mpmath.log(t)


def skew_js(weight):
    type2, type1 = against_mixture(kl, weight), conjugate_of(against_mixture(kl, 1 - weight))
    return lambda t: weight * type2(t) + (1 - weight) * type1(t)


def table_rows():
    """Name, generator and constants of every row of table 1 that has constants."""
    yield "fi", fi, FRONTIER_INTEGRAL
    yield "fi, published", fi, PUBLISHED_FRONTIER_INTEGRAL
    yield "js", skew_js(mpmath.mpf(1) / 2), JENSEN_SHANNON
    for weight in (0.1, 0.5, 0.8):
        w = mpmath.mpf(weight)
        yield f"kl {weight}", against_mixture(kl, w), interpolated_kl(weight)
        yield f"skew js {weight}", skew_js(w), skew_jensen_shannon(weight)
        # The paper's interpolated chi2 is the mixture's over (1 - weight)^2.
        scaled = against_mixture(chi2, w)
        yield f"chi2 {weight}", lambda t, f=scaled, w=w: f(t) / (1 - w) ** 2, interpolated_chi2(weight)
    yield "le cam", lambda t: (t - 1) ** 2 / (2 * (t + 1)), LE_CAM


ROWS = {name: (f, constants) for name, f, constants in table_rows()}


class TestSmoothness:
    @pytest.mark.parametrize("name", ROWS)
    def test_the_constants_hold_for_the_generator_and_its_conjugate(self, name):
        f, constants = ROWS[name]
        for side, c in ((f, constants), (conjugate_of(f), constants.conjugate)):
            # f changes by about t log(1/t) near 0: 1e-18 at t = 1e-20.
            assert float(side(mpmath.mpf(10) ** -20)) == pytest.approx(c.at_zero, abs=1e-15)
            for power in (*range(-12, -2), *np.linspace(-2, 2, 21), *range(3, 13)):
                t = mpmath.mpf(10) ** (power + mpmath.mpf("0.01"))
                step = t * mpmath.mpf(10) ** -15
                if t < 1:
                    slope = (side(t + step) - side(t - step)) / (2 * step)
                    # 1e-9: table 1 gives suprema, and the smallest t comes within that of some.
                    assert abs(slope) <= c.slope * max(1, mpmath.log(1 / t)) * (1 + 1e-9)
                curvature = (side(t + step) - 2 * side(t) + side(t - step)) / step**2
                assert t / 2 * curvature <= c.curvature * (1 + 1e-9)

    def test_a_slope_of_one_is_the_least_for_the_frontier_integral(self):
        with mpmath.workdps(300):
            t = mpmath.mpf(10) ** -200
            slope = (fi(2 * t) - fi(t)) / t
            # The mean value theorem: the slope of a chord is f' somewhere between t and 2 t.
            assert 0.99 < abs(slope) / mpmath.log(1 / t) <= 1

    @pytest.mark.parametrize("name", ["fi", "js", "kl 0.1", "kl 0.5", "kl 0.8", "chi2 0.1", "le cam"])
    def test_lipschitz_up_to_a_logarithm(self, name):
        # Lemma 20 with 2 C2: |q f(p/q) - q f(p'/q)| <= (C1 max(1, log 1/max(p, p')) + c) |p - p'|.
        f, constants = ROWS[name]
        grid = [mpmath.mpf(x) for x in (0, 1e-9, 1e-4, 0.01, 0.2, 0.5, 0.9)]
        values = {
            (p, q): q * (f(p / q) if p else mpmath.mpf(constants.at_zero)) for p in grid for q in grid[1:] if p != q
        }
        for (p, q), (other, same) in itertools.product(values, repeat=2):
            if q == same and p < other:
                most = constants.slope * max(1, mpmath.log(1 / other)) + constants.offset
                # C0 is a float64: its rounding counts where p is 0.
                assert abs(values[p, q] - values[other, q]) <= most * (other - p) + 1e-16

    @pytest.mark.parametrize("weight", [0.0, 1.0, -0.5, np.nan])
    def test_a_weight_outside_its_range_is_refused(self, weight):
        for constants in (interpolated_kl, interpolated_chi2, skew_jensen_shannon):
            with pytest.raises(InputError, match="mixture weight"):
                constants(weight)
