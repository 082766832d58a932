"""Summaries of frontiers from ratios: sums over atoms that samples repeat exactly, quadrature, infinite ratios."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import LogRatios, ratio_divergence, ratio_integral, ratio_mauve, ratio_mid
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, mauve
from mauve_core.stats.f_divergences import GENERATORS, f_divergence, frontier_integral_f, mauve_f, mid_f
from tests.numerics.gaussian_pairs import Pair

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
FINITE = [name for name, generator in GENERATORS.items() if np.isfinite(generator.at_zero)]


def repeated(texts=10):
    """Samples with every atom as often as its probability says, and its true ratio: each mean is then exact."""
    logs = np.log(P / Q)
    return LogRatios(*(np.repeat(logs, np.rint(side * texts).astype(int)) for side in (P, Q)))


def swapped(ratios):
    return LogRatios(-ratios.at_q, -ratios.at_p)


@pytest.mark.parametrize("name", FINITE)
def test_exact_samples_give_the_values_of_the_histograms(name):
    ratios = repeated()
    assert ratio_mauve(ratios, name, 3.0, expectation="other") == pytest.approx(
        float(mauve_f(P, Q, name, 3.0)), rel=1e-9
    )
    assert ratio_mid(ratios, name, expectation="other") == pytest.approx(float(mid_f(P, Q, name)), rel=1e-10)
    assert ratio_integral(ratios, name, expectation="other") == pytest.approx(
        float(frontier_integral_f(P, Q, name)), rel=1e-9
    )


@pytest.mark.parametrize("name", GENERATORS)
def test_the_divergence_is_from_p(name):
    found = ratio_divergence(repeated(), name, expectation="other")
    assert found == pytest.approx(float(f_divergence(P, Q, name)), rel=1e-10)
    assert ratio_divergence(swapped(repeated()), name, expectation="other") == pytest.approx(
        float(f_divergence(Q, P, name)), rel=1e-10
    )


def test_means_over_a_sides_own_sample_are_exact_as_well():
    ratios = repeated()
    assert ratio_mauve(ratios, "kl", 3.0, expectation="own") == pytest.approx(float(mauve(P, Q, 3.0)), rel=1e-9)
    assert ratio_mid(ratios, "kl", expectation="own") == pytest.approx(float(mid_f(P, Q)), rel=1e-10)
    assert ratio_divergence(ratios, "kl", expectation="own") == pytest.approx(float(f_divergence(P, Q)), rel=1e-10)


@pytest.mark.parametrize("name", ["kl", "chi2", "le-cam", "total-variation"])
@pytest.mark.parametrize("spread", [0.3, 3.0, 30.0])
def test_the_integral_is_that_of_a_plain_quadrature(name, spread):
    """Against adaptive quadrature over the weight, text by text, for ratios up to exp(60) on either side."""
    rng = np.random.default_rng(1)
    ratios = LogRatios(spread * rng.normal(0.3, 1, 3).clip(-2, 2), spread * rng.normal(-0.3, 1, 2).clip(-2, 2))
    f = GENERATORS[name].f

    def weighted(log_odds, log):
        weight, rest = expit(log_odds), expit(-log_odds)
        mixture = weight * math.exp(log) + rest
        return 2 * weight * mixture * float(f(math.exp(log) / mixture)) * weight * rest

    def integral(log):
        # The mixture turns from one side to the other about the weight of log odds -log.
        pieces = sorted([-70.0, -log, 0.0, 40.0])
        return sum(quad(weighted, *ends, args=(log,), epsabs=0, epsrel=1e-9)[0] for ends in pairwise(pieces))

    expected = math.fsum(map(integral, ratios.at_q)) / 2 + math.fsum(integral(-log) for log in ratios.at_p) / 3
    assert ratio_integral(ratios, name, expectation="other") == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("expectation", ["other", "own"])
def test_curves_stay_in_the_unit_square_and_fall(expectation):
    """Ratios without any relation to each other, which no pair of distributions has."""
    rng = np.random.default_rng(2)
    for scale in (0.5, 5.0, 50.0):
        ratios = LogRatios(scale * rng.normal(size=9), scale * rng.normal(size=4))
        assert 0 <= ratio_mauve(ratios, "kl", 10.0, expectation=expectation) <= 1


def test_an_infinite_ratio_at_a_text_of_the_other_side_is_an_infinite_divergence():
    ratios = LogRatios([0.0, 1.0], [np.inf, 0.0])
    assert ratio_divergence(ratios, "kl", expectation="other") == np.inf
    assert ratio_mid(ratios, "kl", expectation="other") == np.inf
    assert ratio_integral(ratios, "kl", expectation="other") == np.inf
    # D(P || R) is infinite on the whole curve: y is 0 there, and only the last step to (0, 1) has an area.
    x = math.exp(-float(np.mean([_f_mixed(math.exp(-log), 1 - REFERENCE_WEIGHTS[-1]) for log in ratios.at_p])))
    assert ratio_mauve(ratios, "kl", 1.0, expectation="other") == pytest.approx(x / 2, rel=1e-9)


def _f_mixed(t, weight):
    mixture = weight * t + 1 - weight
    s = t / mixture
    return mixture * (s * math.log(s) - s + 1)


def test_there_is_no_integral_of_means_over_the_own_sample():
    with pytest.raises(InputError, match="no integral of means over a side's own sample"):
        ratio_integral(repeated(), "kl", expectation="own")


def test_exact_ratios_approach_the_truth():
    pair = Pair(2, shift=1.0)
    ratios, middle = pair.exact(40_000, 40_000, 0), pair.frontier(np.array([0.5]))
    # Standard errors at 40,000 points are below 0.003.
    truth = float(middle.type_1[0] + middle.type_2[0]) / 2
    assert ratio_mid(ratios, "kl", expectation="other") == pytest.approx(truth, abs=0.01)
