"""Resampling error of known distributions: exact enumeration, closed forms of large samples, streams of draws."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.special import xlogy

from mauve_core.base.errors import InputError
from mauve_core.stats import sampling_error
from mauve_core.stats.divergences import frontier_integral, kl_divergence, mauve
from mauve_core.stats.sampling_error import FRONTIER, PlugIn, measured_errors
from tests.numerics.sampled import SIZES, assert_equal

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])


def exact_figures(estimator, p, q, n, m):
    """truth, mean, spread, bias and sd over every pair of histograms, and the error that one draw gives to each."""
    tables, chances = [], []
    for side, size in ((p, n), (q, m)):
        table = np.array([c for c in itertools.product(range(size + 1), repeat=side.size) if sum(c) == size])
        ways = np.array([factorial(size) // np.prod([factorial(c) for c in counts]) for counts in table])
        tables.append(table)
        chances.append(ways * np.exp(xlogy(table, side).sum(axis=1)))
    pairs = np.array(list(itertools.product(range(len(tables[0])), range(len(tables[1])))))
    estimates = estimator(tables[0][pairs[:, 0]], tables[1][pairs[:, 1]])
    chance = chances[0][pairs[:, 0]] * chances[1][pairs[:, 1]]
    truth = estimator.truth(p, q)
    figures, errors = [truth], [0.0]
    for values in (np.abs(estimates - truth), estimates - truth):
        mean = chance @ values
        sd = np.sqrt(chance @ (values - mean) ** 2)
        figures += [mean, sd]
        errors += [sd, np.sqrt(chance @ (values - mean) ** 4 - sd**4) / (2 * sd)]
    return figures, errors


class TestMeasuredErrors:
    @pytest.mark.parametrize(
        "estimator",
        [
            FRONTIER,
            replace(FRONTIER, smoothing="krichevsky-trofimov"),
            replace(FRONTIER, smoothing="good-turing"),
            PlugIn("MAUVE", mauve),
        ],
        ids=["frontier", "smoothed", "good-turing", "mauve"],
    )
    def test_against_exact_enumeration(self, estimator):
        draws = 5000
        found = measured_errors([(P, Q, 4, 3)], estimator=estimator, replicates=draws, seed=7)
        figures, errors = exact_figures(estimator, P, Q, 4, 3)
        for name, figure, error in zip(("truth", "mean", "spread", "bias", "sd"), figures, errors, strict=True):
            # Five standard errors, and the rounding of a truth that has none.
            assert getattr(found, name)[0] == pytest.approx(figure, abs=5 * error / draws**0.5 + 1e-15), name
        assert found.standard_error[0] == found.spread[0] / np.sqrt(draws)

    def test_equal_sides_of_many_texts_have_a_closed_form(self):
        # To second order FI = sum (p^ - q^)^2 / (6 p), whose mean is (k - 1)(1/n + 1/m) / 6; it has a distribution of
        # (1/n + 1/m) / 6 times chi-square with k - 1 degrees of freedom.
        k, n, m, draws = 30, 3_000_000, 1_500_000, 4000
        flat = np.full(k, 1 / k)
        found = measured_errors([(flat, flat, n, m)], replicates=draws)
        scale = (1 / n + 1 / m) / 6
        assert found.truth[0] == 0
        assert found.mean[0] == found.bias[0] == pytest.approx((k - 1) * scale, rel=5 * np.sqrt(2 / (k - 1) / draws))
        assert found.sd[0] == found.spread[0] == pytest.approx(np.sqrt(2 * (k - 1)) * scale, rel=5 / np.sqrt(draws))

    def test_different_sides_of_many_texts_have_a_normal_error(self):
        # Delta method for P = (a, 1 - a) and Q known nearly exactly: sd = |FI'(a)| sqrt(a (1 - a) / n).
        a, b, n, draws, step = 0.3, 0.6, 10**6, 4000, 1e-6
        slope = (
            frontier_integral([a + step, 1 - a - step], [b, 1 - b]) - frontier_integral([a, 1 - a], [b, 1 - b])
        ) / step
        sd = abs(float(slope)) * np.sqrt(a * (1 - a) / n)
        found = measured_errors([([a, 1 - a], [b, 1 - b], n, 10**13)], replicates=draws)
        assert found.sd[0] == pytest.approx(sd, rel=5 / np.sqrt(2 * draws))
        assert found.mean[0] == pytest.approx(sd * np.sqrt(2 / np.pi), rel=5 / np.sqrt(draws))

    def test_a_setting_has_its_own_draws(self, monkeypatch):
        settings = [(P, Q, 50, 40), (P, Q, 100, 40), (Q, P, 50, 40)]
        together = measured_errors(settings, replicates=300, seed=3)
        for place, setting in enumerate(settings):
            alone = measured_errors([setting], replicates=300, seed=3)
            assert [getattr(alone, name)[0] for name in SIZES] == [getattr(together, name)[place] for name in SIZES]
        assert_equal(together, measured_errors(settings, replicates=300, seed=SeedSequence(3)))
        assert (together.mean != measured_errors(settings, replicates=300, seed=4).mean).all()
        monkeypatch.setattr(sampling_error, "CELLS_AT_ONCE", 7)
        assert_equal(together, measured_errors(settings, replicates=300, seed=3))

    def test_draws_of_two_settings_are_independent(self):
        # Otherwise the standard error of a slope would not be that of its values. 0.5 is four standard errors of r.
        settings = [(P, Q, 1000, 1000), (P, Q, 1001, 1001)]
        bias = np.array([measured_errors(settings, replicates=5, seed=seed).bias for seed in range(64)])
        assert abs(np.corrcoef(bias.T)[0, 1]) < 0.5

    def test_a_seed_that_is_given_stays_as_it_was(self):
        seed = SeedSequence(5)
        first = measured_errors([(P, Q, 50, 40)], replicates=10, seed=seed)
        assert_equal(first, measured_errors([(P, Q, 50, 40)], replicates=10, seed=seed))

    def test_what_no_draw_can_move_has_no_error(self):
        found = measured_errors([([1.0, 0.0], [0.0, 1.0], 5, 5)], replicates=10)
        assert found.mean[0] == found.sd[0] == found.standard_error[0] == 0

    def test_input_that_is_not_usable_is_refused(self):
        with pytest.raises(InputError, match="no setting"):
            measured_errors([])
        with pytest.raises(InputError, match="replicates"):
            measured_errors([(P, Q, 5, 5)], replicates=1)
        with pytest.raises(InputError, match="number of texts"):
            measured_errors([(P, Q, 5, 0)])
        with pytest.raises(InputError, match="not a distribution"):
            measured_errors([(P * 2, Q, 5, 5)])
        with pytest.raises(InputError, match="one pair"):
            measured_errors([(np.stack([P, P]), Q, 5, 5)])
        with pytest.raises(InputError, match="The seed"):
            measured_errors([(P, Q, 5, 5)], seed=-1)
        with pytest.raises(InputError, match="KL is not finite"):
            measured_errors([(P, Q, 3, 3)], estimator=PlugIn("KL", kl_divergence))
        with pytest.raises(InputError, match="one score per pair"):
            measured_errors([(P, Q, 3, 3)], estimator=PlugIn("pair", lambda p, q: p[..., 0] if p.ndim == 1 else p))
