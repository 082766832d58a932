"""Resamples counted on a device, for which torch on the CPU stands in, are those that NumPy counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mauve_core.base.config import CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.numerics.device import memory, resampling
from mauve_core.numerics.device.memory import torch_device
from mauve_core.numerics.device.resampling import DeviceDraws, counts_by_side_on, draw_blocks_on, draw_sides_on
from mauve_core.numerics.resampling import permutation
from mauve_core.numerics.resampling.exchange import Draws, generation_groups, prompt_groups, separate_prompts
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import two_sides
from tests.handmade import make_comparison
from tests.numerics.test_exchange import PROMPTS, RATES
from tests.synthetic import make_comparison_inputs

DEVICE = "torch:cpu"
HOST = torch.device("cpu")
GROUPS = {
    **{name: prompt_groups(*prompts) for name, prompts in PROMPTS.items()},
    "a smaller generation": generation_groups(np.arange(20), [np.arange(20), np.arange(17)])[1],
}


def labels_of(texts: int, k: int, seeds: int = 3) -> np.ndarray:
    return np.random.default_rng(5).integers(k, size=(seeds, texts)).astype(np.int32)


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("block", [2**28, 1])
def test_histograms_are_those_of_numpy(name, block, monkeypatch, device):
    monkeypatch.setattr(memory, "BLOCK_BYTES", block)
    groups, k = GROUPS[name], 6
    labels = labels_of(groups.n + groups.m, k)
    here = Draws(groups, 30, np.random.default_rng(1))
    there = DeviceDraws(groups, 30, np.random.default_rng(1), torch_device(device))
    for rate in RATES:
        for ours, expected in zip(there.counts(labels, k, rate), here.counts(labels, k, rate), strict=True):
            np.testing.assert_array_equal(ours, expected)
            assert (ours.dtype, ours.shape) == (np.int64, (30, 3, k))


@pytest.mark.parametrize(("held", "most", "sizes"), [(7, None, [7, 7, 6]), (100, 9, [9, 9, 2]), (0.2, None, [1] * 20)])
def test_blocks_fit_on_the_host_and_draw_the_same(held, most, sizes, monkeypatch):
    groups = separate_prompts(9, 12)
    monkeypatch.setattr(resampling, "HOST_BYTES", int(held * 8 * groups.row_width))
    require_blocks(groups, list(draw_blocks_on(DEVICE, groups, 20, np.random.default_rng(2), most=most)), sizes)


def test_blocks_that_a_device_refuses_are_halved_and_draw_the_same(monkeypatch):
    groups, sent = separate_prompts(9, 12), resampling._sent

    def small(array, device):
        if array.ndim == 3 and len(array) > 3:
            raise torch.OutOfMemoryError
        return sent(array, device)

    monkeypatch.setattr(resampling, "_sent", small)
    require_blocks(groups, list(draw_blocks_on(DEVICE, groups, 20, np.random.default_rng(2))), [3] * 6 + [2])


def test_a_device_that_refuses_one_resample_says_what_to_do(monkeypatch):
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(resampling, "_sent", full)
    with pytest.raises(InputError, match="--device cpu"):
        next(draw_blocks_on(DEVICE, separate_prompts(9, 12), 20, np.random.default_rng(2)))


def require_blocks(groups, blocks, sizes) -> None:
    assert [block.count for block in blocks] == sizes
    labels = labels_of(groups.n + groups.m, 4)
    whole = Draws(groups, 20, np.random.default_rng(2)).counts(labels, 4, 0.4)
    for side, expected in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([each.counts(labels, 4, 0.4)[side] for each in blocks]), expected)


@pytest.mark.parametrize("sides", [2, 5])
def test_exchanged_texts_and_their_histograms_are_those_of_numpy(sides, device):
    random = np.random.default_rng(3)
    own, codes = random.integers(sides, size=40).astype(np.int32), random.integers(7, size=40)
    here = permutation.draw_sides(own, codes, 25, np.random.default_rng(8))
    there = draw_sides_on(device, own, codes, 25, np.random.default_rng(8))
    np.testing.assert_array_equal(there.cpu(), here)
    labels, k = labels_of(40, 6), 6
    expected = permutation.counts_by_side(here, labels, k, sides)
    np.testing.assert_array_equal(counts_by_side_on(there, labels, k, sides), expected)
    for side, draw, seed in np.ndindex(sides, 25, 3):
        plain = [np.sum((here[draw] == side) & (labels[seed] == cluster)) for cluster in range(k)]
        np.testing.assert_array_equal(expected[side, draw, seed], plain)


def test_the_exchange_rate_is_that_of_the_cpu(device):
    for candidate in ("grün & <b>", "b"):
        here, there = (two_sides(make_comparison(), "joint", candidate, at) for at in ("cpu", device))
        assert there.exchange_rate(80) == here.exchange_rate(80)


@pytest.mark.parametrize("room", [0, 2**40])
def test_resamples_that_do_not_fit_are_drawn_again(room, monkeypatch):
    sides = two_sides(make_comparison(), "joint", "b", DEVICE)
    monkeypatch.setattr(resampling, "HOST_BYTES", 8 * 20 * sides.groups.row_width)
    monkeypatch.setattr(resampling, "free_bytes", lambda device: room)
    drawn, draw = [], type(sides).draws
    monkeypatch.setattr(type(sides), "draws", lambda self, *given: drawn.append(self.device) or draw(self, *given))
    assert sides.exchange_rate(80) == two_sides(make_comparison(), "joint", "b").exchange_rate(80)
    assert (drawn.count(DEVICE) > 1) == (room == 0)


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

    groups = separate_prompts(5, 5)
    draws = DeviceDraws(groups, 4, np.random.default_rng(0), HOST)
    monkeypatch.setattr(torch, "bincount", full)
    with pytest.raises(InputError, match="--device cpu"):
        draws.counts(labels_of(10, 3), 3, 0.5)
