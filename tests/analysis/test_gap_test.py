"""The test of the gap against a plain twin, its level on sides of one writer, and what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.optimize import brentq

from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS
from mauve_core.findings.clusters import DRAWS, LEVEL, GapTest, gap_test, gap_test_of, mean_integral
from mauve_core.scoring.result import Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import frontier_integral
from mauve_core.stats.resampling import child_generator, draw_sides
from tests.handmade import make_comparison
from tests.scoring.test_intervals import integral, made

ROUNDING = 1e-12


def partition(human: list[int], model: list[int], k: int, seed: int = 0) -> Partition:
    return Partition("joint", seed, k, 0.0, {HUMAN: np.array(human, np.int32), "m": np.array(model, np.int32)})


def plain_mean(partitions: list[Partition], on_p: list[bool], name: str = "m") -> float:
    """The mean over seeds of the frontier integral, texts counted one at a time."""
    values = []
    for part in partitions:
        labels = [*part.labels[HUMAN].tolist(), *part.labels[name].tolist()]
        shares = []
        for side in (True, False):
            own = [label for label, where in zip(labels, on_p, strict=True) if where == side]
            shares.append([own.count(cluster) / len(own) for cluster in range(part.k)])
        values.append(integral(*shares))
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("how", ["shared", "none"])
def test_the_test_of_a_plain_twin(how: str) -> None:
    comparison = made(how)
    for name in ("close", "shifted"):
        found = gap_test(comparison, "joint", name, draws=60)
        own, other = (len(comparison.joint[0].labels[side]) for side in (HUMAN, name))
        observed = [True] * own + [False] * other
        assert found.observed == pytest.approx(plain_mean(list(comparison.joint), observed, name), abs=ROUNDING)
        codes = np.arange(own + other)
        if comparison.prompts is not None:
            both = np.concatenate([comparison.prompts[side] for side in (HUMAN, name)])
            codes = np.unique(both, return_inverse=True)[1]
        rng = child_generator(stream(comparison.config.score.seed, "gap").spawn(1)[0])
        null = [
            plain_mean(list(comparison.joint), row.tolist(), name)
            for row in draw_sides(np.array(observed), codes, 60, rng)
        ]
        assert found.reached == sum(value >= found.observed - ROUNDING for value in null)
        assert found.draws == 60
        assert found.p_value == (1 + found.reached) / 61


def test_units_are_exchanged_as_wholes() -> None:
    """Ten texts of each of four documents, two a side: three draws of four are as far apart, of texts hardly any."""
    part = partition([0] * 20, [1] * 20, 2)
    documents = np.repeat(np.arange(4), 10)
    wholes, texts = (gap_test_of([part], "m", each, draws=99, seed=SeedSequence(1)) for each in (documents, None))
    assert wholes.reached > 15
    assert texts.reached == 0


def test_too_few_units_are_not_tested() -> None:
    found = gap_test(make_comparison(), "pairwise", "b")
    assert (found.draws, found.p_value, found.explains) == (0, 1, False)
    assert found.in_words(TEXTS) == f"No test of the gap: {found.why}."
    assert "an interval needs 20" in found.why


def test_the_statistic_is_the_mean_over_the_partitions() -> None:
    parts = [partition([0, 0, 1, 1], [1, 1, 1], 2), partition([0, 1, 1, 1], [0, 1, 1], 2, seed=1)]
    sides = np.array([[True, True, True, True, False, False, False], [True, False, True, True, True, False, False]])
    found = mean_integral(parts, "m")(sides, ~sides)
    assert found == pytest.approx([plain_mean(parts, row.tolist()) for row in sides], abs=ROUNDING)


def test_sides_of_one_writer_have_nothing_to_explain() -> None:
    """200 pairs of samples of one distribution: p-values at most 0.1 in about 20 of them, at most 0.01 in about 2."""
    rng, k, n = np.random.default_rng(11), 12, 120
    p_values = []
    for trial in range(200):
        parts = [
            partition(rng.integers(k, size=n).tolist(), rng.integers(k, size=n).tolist(), k, seed) for seed in range(2)
        ]
        p_values.append(gap_test_of(parts, "m", None, draws=99, seed=SeedSequence(trial)).p_value)
    assert 10 <= sum(p <= 0.1 for p in p_values) <= 33  # three standard errors
    assert sum(p <= LEVEL for p in p_values) <= 6
    assert 0.4 < np.mean(p_values) < 0.6


def test_sides_that_differ_have_a_gap_to_explain() -> None:
    rng = np.random.default_rng(2)
    part = partition(rng.integers(4, size=100).tolist(), rng.choice(4, 100, p=[0.7, 0.1, 0.1, 0.1]).tolist(), 4)
    found = gap_test_of([part], "m", None, seed=SeedSequence(0))
    assert (found.reached, found.draws) == (0, DRAWS)
    assert found.explains
    assert 0 < found.detectable < found.observed


def test_a_gap_of_the_detectable_size_is_found_8_times_in_10() -> None:
    rng, k, n = np.random.default_rng(5), 20, 300

    def tested(q: NDArray[np.float64], seed: int) -> GapTest:
        part = partition(rng.integers(k, size=n).tolist(), rng.choice(k, n, p=q).tolist(), k)
        return gap_test_of([part], "m", None, draws=199, seed=SeedSequence(seed))

    def tilted(size: float) -> NDArray[np.float64]:
        return (1 + size * np.linspace(-1, 1, k)) / k

    least = np.mean([tested(tilted(0), seed).detectable for seed in range(20)])
    size = brentq(lambda size: frontier_integral(tilted(0), tilted(size)) - least, 0, 0.99)
    found = [tested(tilted(size), seed).explains for seed in range(200)]
    assert np.mean(found) == pytest.approx(0.8, abs=3 * (0.8 * 0.2 / 200) ** 0.5)


def test_the_level_is_reached_exactly_and_with_room_for_accidents() -> None:
    allowed = round(LEVEL * (1 + DRAWS)) - 1
    assert DRAWS >= 199
    assert pytest.approx(allowed + 1) == (1 + DRAWS) * LEVEL
    assert allowed >= 1
    assert GapTest(0.1, allowed, DRAWS).explains
    assert not GapTest(0.1, allowed + 1, DRAWS).explains
    assert "at least as large in 1,200 of 9,999 draws; costs are shown if at most 99 are." in GapTest(
        0.1, 1200, 9999
    ).in_words(TEXTS)


@pytest.mark.parametrize("draws", [99, 199, 200, 499, 999, 1000, 12345])
def test_a_gap_is_explained_up_to_the_level(draws: int) -> None:
    for reached in range(200):
        found = GapTest(0.1, reached, draws)
        assert found.explains == (100 * (1 + reached) <= 1 + draws)
        assert found.explains == (reached <= found.allowed)


def test_what_exchange_cannot_change_has_no_detectable_gap() -> None:
    found = gap_test_of([partition([0] * 40, [0] * 40, 1)], "m", None, draws=19, seed=SeedSequence(0))
    assert math.isnan(found.detectable)
    assert found.could_find() == ""
