"""Resamples counted on a device, for which torch on the CPU stands in, are those that NumPy counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mauve_core.base.config import CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters import devices
from mauve_core.clusters.devices import counts_by_side_on, weighted_counts_on
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import two_sides
from mauve_core.stats import resampling
from mauve_core.stats.units import Draws
from tests.handmade import make_comparison
from tests.numerics.test_units import RATES, SIDES, named
from tests.synthetic import make_comparison_inputs

DEVICE = "torch:cpu"


def labels_of(texts: int, k: int, seeds: int = 3) -> np.ndarray:
    return np.random.default_rng(5).integers(k, size=(seeds, texts)).astype(np.int32)


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("block", [2**28, 1])
def test_histograms_are_those_of_numpy(name, block, monkeypatch, device):
    monkeypatch.setattr(devices, "BLOCK_BYTES", block)
    units, k = named(name), 6
    labels = labels_of(units.n + units.m, k)
    draws = Draws(units, 30, np.random.default_rng(1))
    for rate in RATES:
        for weights, expected in zip(draws.weights(rate), draws.counts(labels, k, rate), strict=True):
            found = weighted_counts_on(device, labels, k, weights)
            np.testing.assert_array_equal(found, expected)
            assert (found.dtype, found.shape) == (np.int64, (30, 3, k))


@pytest.mark.parametrize("sides", [2, 5])
def test_histograms_by_side_are_those_of_numpy(sides, device):
    drawn = np.random.default_rng(3).integers(sides, size=(25, 40)).astype(np.int32)
    labels, k = labels_of(40, 6), 6
    expected = resampling.counts_by_side(drawn, labels, k, sides)
    np.testing.assert_array_equal(counts_by_side_on(device, drawn, labels, k, sides), expected)
    for side, draw, seed in np.ndindex(sides, 25, 3):
        plain = [np.sum((drawn[draw] == side) & (labels[seed] == cluster)) for cluster in range(k)]
        np.testing.assert_array_equal(expected[side, draw, seed], plain)


def test_the_exchange_rate_is_that_of_the_cpu(device):
    for candidate in ("grün & <b>", "b"):
        here, there = (two_sides(make_comparison(), "joint", candidate, at) for at in ("cpu", device))
        assert there.exchange_rate(80) == here.exchange_rate(80)


@pytest.mark.slow
def test_scores_intervals_and_tests_of_a_comparison_are_those_of_the_cpu(monkeypatch):
    human, candidates, features = make_comparison_inputs(80)
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=3, restarts=2, bootstrap=120), projection=False)
    found = []
    for device in ("cpu", DEVICE):
        monkeypatch.setattr("mauve_core.scoring.compare.array_device", lambda requested, at=device: at)
        found.append(compare(human, candidates, config, features=features))
    here, there = found
    for before, after in zip(here.candidates, there.candidates, strict=True):
        assert before.scores == after.scores
        assert before.joint_scores == after.joint_scores
    assert here.halves.scores == there.halves.scores
    assert here.like_for_like == there.like_for_like
    assert here.differences == there.differences


def test_a_device_without_memory_says_what_to_do(monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(devices, "_sent", full)
    drawn = np.ones((4, 10), dtype=np.int32)
    for count in (
        lambda: weighted_counts_on(DEVICE, labels_of(10, 3), 3, drawn),
        lambda: counts_by_side_on(DEVICE, drawn, labels_of(10, 3), 3, 2),
    ):
        with pytest.raises(InputError, match="--device cpu"):
            count()
