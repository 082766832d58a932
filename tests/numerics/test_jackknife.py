"""The delete-a-group jackknife against a known case and a simulation."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.stats.resampling import (
    difference_of_means,
    jackknife_estimate,
    jackknife_parts,
    jackknife_sd,
    t_interval,
)


def left_out(values, labels, statistic):
    return [statistic(values[labels != group]) for group in np.unique(labels)]


def test_for_a_mean_and_single_texts_it_is_the_textbook_formula():
    values = np.random.default_rng(0).normal(size=200)
    found = jackknife_sd(values.mean(), left_out(values, np.arange(200), np.mean), np.ones(200))
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(200), rel=1e-10)


def test_groups_of_unequal_size_estimate_the_spread_of_a_nonlinear_statistic():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 20, size=400)
    sizes = np.bincount(labels)

    def statistic(values):
        return float(np.exp(values.mean()))

    samples = [rng.exponential(size=400) for _ in range(400)]
    truth = np.std([statistic(values) for values in samples])
    found = [jackknife_sd(statistic(v), left_out(v, labels, statistic), sizes) for v in samples[:200]]
    # 200 estimates with 19 degrees of freedom each: their mean square is within 10 % of the truth, itself known to 4 %.
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(truth, rel=0.15)


def test_the_estimate_of_a_variance_loses_its_bias():
    values = np.random.default_rng(2).normal(size=50)
    found = jackknife_estimate(values.var(), left_out(values, np.arange(50), np.var), np.ones(50))
    assert found == pytest.approx(values.var(ddof=1), rel=1e-10)


def test_the_estimate_of_a_mean_stays_also_with_unequal_groups():
    values, labels = np.random.default_rng(3).normal(size=60), np.repeat([0, 1, 2], [10, 20, 30])
    found = jackknife_estimate(values.mean(), left_out(values, labels, np.mean), np.bincount(labels))
    assert found == pytest.approx(values.mean(), rel=1e-10)


def test_the_interval_is_students():
    assert t_interval(1.0, 0.5, 20) == pytest.approx((1 - 2.0930240544 * 0.5, 1 + 2.0930240544 * 0.5), abs=1e-9)
    assert t_interval(0.1, 0.5, 20, bounds=(0, 1))[0] == 0


@pytest.mark.parametrize(("values", "sizes"), [([1.0], [5]), ([1.0, np.nan], [5, 5]), ([1.0, 2.0], [5, 0])])
def test_unusable_groups_are_refused(values, sizes):
    for of in (jackknife_sd, jackknife_estimate):
        with pytest.raises(InputError):
            of(1.0, values, sizes)


def test_a_difference_of_means_leaves_out_units_on_both_sides() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(12), rng.random(9)
    units = np.repeat(np.arange(6), 2), np.array([0, 0, 1, 2, 3, 4, 5, 5, 5])
    found = difference_of_means(first, second, *units)
    parts = []
    for values, own in zip((first, second), units, strict=True):
        left_out = [values[own != unit].mean() for unit in range(6)]
        parts.append(jackknife_parts(values.mean(), left_out, np.bincount(own)))
    sd = np.sqrt(((parts[0] - parts[1]) ** 2).sum())
    assert found == pytest.approx((first.mean() - second.mean(), *t_interval(first.mean() - second.mean(), sd, 6)))
    assert difference_of_means(first, second, np.zeros(12, int), units[1]) is None, "one unit has no spread"
    assert difference_of_means([1.0] * 3, [], [0, 1, 2], []) is None


def test_the_interval_of_a_difference_covers_where_texts_of_a_unit_are_alike() -> None:
    """Sixty units of four equal texts a side; half of the units are on both sides."""
    rng, covered = np.random.default_rng(1), 0
    codes = np.repeat(np.arange(60), 4), np.repeat(np.arange(30, 90), 4)
    for _ in range(300):
        of_unit = rng.random(90) < 0.3
        found = difference_of_means(of_unit[codes[0]], of_unit[codes[1]], *codes)
        assert found is not None
        covered += found[1] <= 0 <= found[2]
    assert covered / 300 == pytest.approx(0.95, abs=0.035)
