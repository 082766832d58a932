"""The gap between modes, where there is one and where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from mauve_core.base.errors import InputError
from mauve_core.stats.diversity import (
    distances_between,
    distances_within,
    find_gap,
    gap_between_modes,
    modes_per_prompt,
    unit_answers,
)
from tests.planted_modes import DIMENSION, draw_modes, equal, mode_features

SHAPE = (200, 8, DIMENSION)

Rng = np.random.Generator


@pytest.mark.parametrize(("modes", "noise", "kind"), [
    (5, 0.1, "within prompts"),
    (5, 0.0, "identical answers"),
    (1, 0.1, "between prompts"),
])  # fmt: skip
def test_the_gap_is_where_it_was_planted(modes: int, noise: float, kind: str) -> None:
    rng = np.random.default_rng(0)
    drawn = draw_modes(equal(modes), *SHAPE[:2], rng)
    x = unit_answers(mode_features(drawn, rng, noise=noise))
    gap = gap_between_modes([x])
    assert gap is not None
    assert gap.kind == kind
    same = drawn[:, :, None] == drawn[:, None, :]
    assert ((distances_within(x) <= gap.threshold) == same).all()


SCATTER: dict[str, Callable[[Rng], NDArray[np.float64]]] = {
    "as widely as prompts": lambda rng: rng.normal(size=SHAPE),
    "less widely": lambda rng: 0.7 * rng.normal(size=SHAPE),
    "heavy tails": lambda rng: 0.5 * rng.standard_t(3, size=SHAPE),
    "more widely to some prompts": lambda rng: rng.normal(size=SHAPE) * np.exp(0.5 * rng.normal(size=(200, 1, 1))),
    "along a line": lambda rng: rng.uniform(-2, 2, size=(200, 8, 1)) * rng.normal(size=(200, 1, DIMENSION)),
}


@pytest.mark.parametrize("scatter", SCATTER)
def test_answers_that_scatter_without_modes_have_none(scatter: str) -> None:
    rng = np.random.default_rng(0)
    x = unit_answers(rng.normal(size=(200, 1, DIMENSION)) + SCATTER[scatter](rng))
    gap = gap_between_modes([x])
    assert gap is None
    assert modes_per_prompt(x, gap) is None


def test_identical_answers_are_one_mode_whatever_the_others_do() -> None:
    rng = np.random.default_rng(1)
    scattered = unit_answers(rng.normal(size=SHAPE))
    greedy = unit_answers(np.repeat(rng.normal(size=(200, 1, DIMENSION)), 8, axis=1))
    gap = gap_between_modes([scattered, greedy])
    assert gap is None
    count = modes_per_prompt(greedy, gap)
    assert count is not None
    assert (count.modes, count.low, count.high) == (1, 1, 1)
    assert modes_per_prompt(scattered, gap) is None


def test_one_threshold_serves_all_writers() -> None:
    rng = np.random.default_rng(2)
    five = unit_answers(mode_features(draw_modes(equal(5), *SHAPE[:2], rng), rng))
    every = unit_answers(mode_features(np.tile(np.arange(8), (200, 1)), rng))  # no mode twice
    gap = gap_between_modes([five, every])
    assert gap is not None
    count = modes_per_prompt(every, gap)
    assert count is not None
    assert count.modes == np.inf
    assert gap_between_modes([every]) is None


def test_too_few_pairs_show_no_gap() -> None:
    assert find_gap([0.1] * 9 + [1.0] * 100, [1.0]) is None
    found = find_gap([0.1] * 10 + [1.0] * 100, [1.0])
    assert found is not None
    assert 0.1 < found.threshold < 1.0


@pytest.mark.parametrize("farthest", [1.0, 0.1])
def test_identical_answers_among_others_of_every_distance_show_no_gap(farthest: float) -> None:
    others = np.linspace(0.01, farthest, 300)
    assert find_gap([*np.zeros(300), *others], np.ones(9)) is None
    far = find_gap([*np.zeros(300), *np.linspace(0.6, 1, 300)], np.ones(9))
    assert far is not None
    assert far.kind == "identical answers"


def test_distances_are_those_of_scipy() -> None:
    x = np.random.default_rng(3).normal(size=(4, 5, 3))
    unit = unit_answers(x)
    rows, columns = np.triu_indices(5, 1)
    for own, distances in zip(x, distances_within(unit), strict=True):
        np.testing.assert_allclose(distances[rows, columns] ** 2 / 2, pdist(own, "cosine"), atol=1e-7)  # of float32
    drawn = distances_between(unit, pairs=50)
    every = cdist(unit.reshape(20, 3), unit.reshape(20, 3))
    every[np.kron(np.eye(4), np.ones((5, 5))) > 0] = np.nan
    assert np.nanmin(np.abs(every[None] - drawn[:, None, None]), axis=(1, 2)).max() < 1e-7


@pytest.mark.parametrize(
    ("x", "said"), [(np.zeros((2, 3, 4)), "all 0"), (np.zeros((2, 3)), "prompts, answers, dimensions")]
)
def test_unusable_features_are_refused(x: NDArray[np.float64], said: str) -> None:
    with pytest.raises(InputError, match=said):
        unit_answers(x)


@pytest.mark.parametrize("distances", [[-1.0], [np.nan], [[1.0]]])
def test_unusable_distances_are_refused(distances: object) -> None:
    with pytest.raises(InputError, match="within prompts are not usable"):
        find_gap(distances, [1.0])  # type: ignore[arg-type]
