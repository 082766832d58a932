"""Holding something equal: what goes of the gap, against a plain twin, and what random texts take away."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analysis.findings.held_equal import DRAWS, held_equal
from mauve_core.numerics.divergences.kl import frontier_integral
from mauve_core.scoring.result import Partition

SIDES = ("human", "m")


def partition(human, model, k: int) -> Partition:
    return Partition("pairwise", 0, k, 0.0, {"human": np.asarray(human), "m": np.asarray(model)})


def planted(n: int = 400):
    """A trait that fills cluster 0, which people hardly have; the other clusters are alike on both sides."""
    rng = np.random.default_rng(0)
    human_has, model_has = rng.random(n) < 0.1, rng.random(n) < 0.5
    human, model = (np.where(has, 0, rng.integers(1, 8, size=n)) for has in (human_has, model_has))
    return partition(human, model, 8), human_has, model_has


def test_a_trait_that_makes_the_gap_takes_it_away_and_names_its_cluster():
    parts, human, model = planted()
    found = held_equal([parts], SIDES, human, model, 0)
    assert found.differs
    assert found.gone > 0.85
    assert found.gone_range[0] <= found.gone <= found.gone_range[1]
    assert found.clusters[0] == 0


def test_it_is_the_integral_of_texts_counted_by_hand():
    parts, human, model = planted()
    found = held_equal([parts], SIDES, human, model, 0)
    share = human.mean()
    weights = np.where(model, share / model.mean(), (1 - share) / (1 - model.mean()))
    p = np.bincount(parts.labels["human"], minlength=8) / 400
    q = np.bincount(parts.labels["m"], weights, minlength=8) / 400
    assert found.after == pytest.approx(float(frontier_integral(p, q)), rel=1e-12)
    q = np.bincount(parts.labels["m"], minlength=8) / 400
    assert found.before == pytest.approx(float(frontier_integral(p, q)), rel=1e-12)
    rng = np.random.default_rng(0)
    random = []
    for _ in range(DRAWS):
        own = np.bincount(parts.labels["m"], rng.permutation(weights), minlength=8) / 400
        random.append(float(frontier_integral(p, own)))
    assert found.random == pytest.approx(np.mean(random), rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(random, [0.025, 0.975])), rel=1e-12)


def test_a_trait_without_a_place_of_its_own_takes_nothing_beyond_random_texts():
    taken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        parts = partition(rng.integers(8, size=200), rng.integers(8, size=200) // 2, 8)
        found = held_equal([parts], SIDES, rng.random(200) < 0.2, rng.random(200) < 0.6, seed)
        taken += found.differs
    assert taken <= 6  # about 1.5 expected; 7 or more have a chance below 0.1%


def test_the_mean_over_partitions():
    parts, human, model = planted()
    rng = np.random.default_rng(5)
    other = partition(rng.permutation(parts.labels["human"]), rng.permutation(parts.labels["m"]), 8)
    alone = [held_equal([each], SIDES, human, model, 0) for each in (parts, other)]
    both = held_equal([parts, other], SIDES, human, model, 0)
    assert both.after == pytest.approx(np.mean([each.after for each in alone]))
    assert both.random == pytest.approx(np.mean([each.random for each in alone]))
    assert both.clusters == alone[0].clusters


@pytest.mark.parametrize("with_it", [0, 400, 399])
def test_weights_that_cannot_do_it_give_no_result(with_it):
    """All texts have it, or none, or one is left that would stand for nine tenths of all."""
    parts, human, _ = planted()
    assert held_equal([parts], SIDES, human, np.arange(400) < with_it, 0) is None


def test_without_a_gap_there_is_nothing_to_take_away():
    same = partition(np.zeros(100, int), np.zeros(100, int), 1)
    assert held_equal([same], SIDES, np.arange(100) < 20, np.arange(100) < 40, 0) is None
