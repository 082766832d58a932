"""Holding something equal: what goes of the gap, against a plain twin, and when nothing is said of it."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.findings.finding import GROUPS, held_equal
from mauve_core.scoring.differences import deal_to_groups
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import frontier_integral
from mauve_core.stats.resampling import jackknife_estimate, jackknife_parts, t_interval

SIDES = ("human", "m")


def partition(human, model, k: int) -> Partition:
    return Partition("pairwise", 0, k, 0.0, {"human": np.asarray(human), "m": np.asarray(model)})


def planted(n: int = 400):
    """A trait that fills cluster 0, which people hardly have; the other clusters are alike on both sides."""
    rng = np.random.default_rng(0)
    human_has, model_has = rng.random(n) < 0.1, rng.random(n) < 0.5
    human, model = (np.where(has, 0, rng.integers(1, 8, size=n)) for has in (human_has, model_has))
    return partition(human, model, 8), human_has, model_has


def held(parts, human, model, units=None):
    units = np.arange(human.size + model.size) if units is None else units
    return held_equal(parts, SIDES, human, model, units, SeedSequence(0))


def plain_integrals(part, human, model, kept_human, kept_model):
    """Of all texts kept, alike and held equal, text by text."""
    share = np.mean([has for has, kept in zip(human, kept_human, strict=True) if kept])
    own = np.mean([has for has, kept in zip(model, kept_model, strict=True) if kept])
    p, before, after = np.zeros(part.k), np.zeros(part.k), np.zeros(part.k)
    for label, kept in zip(part.labels["human"], kept_human, strict=True):
        p[label] += kept
    for label, has, kept in zip(part.labels["m"], model, kept_model, strict=True):
        before[label] += kept
        after[label] += kept * (share / own if has else (1 - share) / (1 - own))
    return [float(frontier_integral(p / p.sum(), q / q.sum())) for q in (before, after)]


def test_it_is_the_jackknife_of_integrals_of_texts_counted_by_hand():
    """Units of different sizes, some of one side, some of both; two partitions."""
    first, human, model = planted()
    rng = np.random.default_rng(1)
    parts = [first, partition(rng.integers(6, size=400), rng.integers(6, size=400), 6)]
    units = np.concatenate([rng.integers(90, size=400), rng.integers(30, 120, size=400)])
    groups = deal_to_groups({"human": units[:400], "m": units[400:]}, SeedSequence(0), most=GROUPS)
    sizes = [sum((groups[side] == group).sum() for side in SIDES) for group in range(GROUPS)]
    values = []
    for left_out in range(-1, GROUPS):
        each = [
            plain_integrals(part, human, model, groups["human"] != left_out, groups["m"] != left_out) for part in parts
        ]
        values.append(np.mean(each, axis=0))
    before, after = np.transpose(values)
    whole, left = (jackknife_estimate(each[0], each[1:], sizes) for each in (before, after))
    changes = [jackknife_parts(each[0], each[1:], sizes) for each in (before, after)]
    variance = sum(((b - left / whole * a) / whole) ** 2 for a, b in zip(*changes, strict=True))
    low, high = t_interval(1 - left / whole, variance**0.5, GROUPS)
    found = held(parts, human, model, units)
    assert (found.share, found.low, found.high) == pytest.approx((1 - left / whole, low, min(high, 1)), rel=1e-9)


def test_a_trait_that_makes_the_gap_takes_it_away_and_names_its_cluster():
    parts, human, model = planted()
    found = held([parts], human, model)
    assert 0.85 < found.low < found.share <= found.high <= 1
    assert found.clusters[0] == 0


@pytest.mark.parametrize("place", range(3))
def test_the_interval_covers_the_share_in_the_distributions(place, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    made_up = importlib.import_module("calibration")
    setting = made_up.SETTINGS[place]
    truth = made_up.truth_of(setting)
    found = [held_equal(*made_up.sample(setting, repeat)) for repeat in range(100)]
    covered = sum(each is not None and each.low <= truth <= each.high + 1e-9 for each in found)
    assert covered >= 87  # of intervals that cover in 95%, fewer have a chance below 0.1%


def test_units_that_repeat_each_text_are_as_certain_as_the_texts():
    parts, human, model = planted()
    again = partition(*(np.repeat(parts.labels[side], 5) for side in SIDES), 8)
    alone = held([parts], human, model)
    units = np.repeat(np.arange(800), 5)
    both = held([again], np.repeat(human, 5), np.repeat(model, 5), units)
    assert (both.share, both.low, both.high) == pytest.approx((alone.share, alone.low, alone.high), rel=1e-9)


@pytest.mark.parametrize("with_it", [0, 400, 399])
def test_weights_that_cannot_do_it_give_no_result(with_it):
    """All texts have it, or none, or one is left that would stand for nine tenths of all."""
    parts, human, _ = planted()
    assert held([parts], human, np.arange(400) < with_it) is None


@pytest.mark.parametrize(("units", "given"), [(19, False), (20, True)])
def test_too_few_units_give_no_result(units, given):
    parts, human, model = planted()
    assert (held([parts], human, model, np.arange(800) % units) is not None) == given


def test_too_few_texts_for_the_clusters_give_no_result():
    """The bias that the jackknife leaves would hide most of the share."""
    parts, human, model = planted()
    wide = partition(parts.labels["human"], parts.labels["m"], 134)
    assert held([parts], human, model) is not None
    assert held([wide], human, model) is None


def test_without_a_gap_there_is_nothing_to_take_away():
    same = partition(np.zeros(100, int), np.zeros(100, int), 1)
    assert held([same], np.arange(100) < 20, np.arange(100) < 40) is None
