"""Point in polygon against hand values, a slow twin and properties; rows that are chosen."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.analyses.selection import (
    MISSING,
    Stack,
    inside_polygon,
    rows_in_cluster,
    rows_in_lasso,
    rows_with_values,
    value_counts,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.runs import Run
from mauve_core.scoring.result import Partition
from tests.synthetic import make_run

SQUARE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]

RNG = np.random.default_rng(4)


def inside_by_winding(point: tuple[float, float], polygon: NDArray[np.float64]) -> bool:
    """A slow twin for simple polygons: the angles to the corners add up to a full turn inside, to nothing outside."""
    angles = np.arctan2(polygon[:, 1] - point[1], polygon[:, 0] - point[0])
    turns = np.diff(np.append(angles, angles[0]))
    turns = (turns + math.pi) % (2 * math.pi) - math.pi
    return abs(turns.sum()) > math.pi


def star(corners: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A simple polygon around the origin."""
    angle = np.sort(rng.uniform(0, 2 * math.pi, corners))
    radius = rng.uniform(0.2, 1, corners)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def test_square() -> None:
    points = [(0.5, 0.5), (1.5, 0.5), (-0.5, 0.5), (0.5, 1.5), (0.5, -0.5), (0.001, 0.999)]
    assert inside_polygon(points, SQUARE).tolist() == [True, False, False, False, False, True]


def test_orientation_and_start_do_not_matter() -> None:
    points = RNG.uniform(-0.5, 1.5, (500, 2))
    expected = ((points > 0) & (points < 1)).all(axis=1)
    for polygon in (SQUARE, SQUARE[::-1], SQUARE[2:] + SQUARE[:2], [*SQUARE, SQUARE[0]]):
        np.testing.assert_array_equal(inside_polygon(points, polygon), expected)


def test_concave_polygon_and_hole_by_even_odd() -> None:
    horseshoe = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
    assert inside_polygon([(0.5, 2), (1.5, 2), (2.5, 2), (1.5, 0.5)], horseshoe).tolist() == [True, False, True, True]
    pentagram = [(math.sin(i * 4 * math.pi / 5), math.cos(i * 4 * math.pi / 5)) for i in range(5)]
    assert inside_polygon([(0, 0), (0, 0.8)], pentagram).tolist() == [False, True]


@pytest.mark.parametrize("corners", [3, 7, 60])
def test_agrees_with_the_winding_twin(corners: int) -> None:
    rng = np.random.default_rng(corners)
    for _ in range(5):
        polygon, points = star(corners, rng), rng.uniform(-1, 1, (200, 2))
        gaps = np.diff(np.sort(np.arctan2(polygon[:, 1], polygon[:, 0])))
        if gaps.max(initial=0) > math.pi:
            continue
        expected = [inside_by_winding((x, y), polygon) for x, y in points]
        assert inside_polygon(points, polygon).tolist() == expected


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_a_cut_shares_out_every_point_once(seed: int, at: float) -> None:
    """Half-open edges: points on the cut and on a grid fall to exactly one of the two halves."""
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.uniform(0, 1, (100, 2)), np.column_stack([np.full(20, at), rng.uniform(0, 1, 20)])])
    left = [(0, 0), (at, 0), (at, 1), (0, 1)]
    right = [(at, 0), (1, 0), (1, 1), (at, 1)]
    halves = inside_polygon(points, left).astype(int) + inside_polygon(points, right)
    np.testing.assert_array_equal(halves, inside_polygon(points, SQUARE).astype(int))


def test_blocks_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    points, polygon = RNG.uniform(-1, 1, (997, 2)), star(12, RNG)
    whole = inside_polygon(points, polygon)
    monkeypatch.setattr("mauve_core.analyses.selection._BLOCK", 100)
    np.testing.assert_array_equal(inside_polygon(points, polygon), whole)
    assert 0 < whole.sum() < whole.size


def test_float32_points_and_nan() -> None:
    points = np.array([[0.5, 0.5], [np.nan, 0.5], [np.inf, 0.5]], dtype=np.float32)
    assert inside_polygon(points, SQUARE).tolist() == [True, False, False]
    assert inside_polygon(np.empty((0, 2)), SQUARE).shape == (0,)


@pytest.mark.parametrize(
    ("points", "polygon"),
    [([(0, 0)], SQUARE[:2]), ([0, 0], SQUARE), ([(0, 0, 0)], SQUARE), ([(0, 0)], [(0, 0), (1, 0), (math.nan, 1)])],
)
def test_unusable_input(points: object, polygon: object) -> None:
    with pytest.raises(InputError):
        inside_polygon(points, polygon)  # type: ignore[arg-type]


def test_stack() -> None:
    stack = Stack(
        names=("human", "a", "b"),
        source=np.array([0, 0, 1, 2, 2], dtype=np.int16),
        position=np.array([0, 1, 0, 0, 1], dtype=np.int32),
    )
    labels = {"human": np.array([4, 5], dtype=np.int32), "b": np.array([6, 7], dtype=np.int32)}
    partition = Partition("pairwise", 0, 8, 0.0, labels)
    assert stack.labels(partition).tolist() == [4, 5, -1, 6, 7]
    mask = np.array([False, True, True, True, True])
    assert stack.positions(mask, "human").tolist() == [1]
    assert stack.positions(mask, "b").tolist() == [0, 1]
    assert stack.visible((1,)).tolist() == [True, True, False, True, True]


@pytest.fixture(scope="module")
def stored_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("stored"), n=60, seeds=1, projection=False)


@pytest.mark.slow
def test_rows_of_a_cluster(stored_run: Run) -> None:
    part = stored_run.comparison.partition("pairwise", "close", 0)
    cluster = int(part.labels[HUMAN][0])
    assert rows_in_cluster(part, HUMAN, cluster) == tuple(np.flatnonzero(part.labels[HUMAN] == cluster))
    assert rows_in_cluster(part, "shifted", cluster) == ()
    assert rows_in_cluster(part, HUMAN, None) == ()


def test_rows_in_a_lasso(stored_run: Run) -> None:
    total = sum(source.n for source in stored_run.comparison.sources)
    places = np.random.default_rng(8).uniform(-1, 1, (total, 2)).astype(np.float32)
    comparison = dataclasses.replace(stored_run.comparison, projection=places)
    n = len(stored_run.corpora[HUMAN])
    quarter = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    assert rows_in_lasso(comparison, HUMAN, quarter) == tuple(np.flatnonzero((places[:n] > 0).all(axis=1)))
    second = rows_in_lasso(comparison, comparison.sources[1].name, quarter)
    assert second == tuple(np.flatnonzero((places[n : 2 * n] > 0).all(axis=1)))
    assert rows_in_lasso(comparison, HUMAN, None) == ()
    assert rows_in_lasso(stored_run.comparison, HUMAN, quarter) == ()


def test_rows_by_metadata(stored_run: Run) -> None:
    topics = stored_run.corpora[HUMAN].metadata["topic"]
    counts = value_counts(topics)
    assert sum(counts.values()) == len(topics)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert rows_with_values(topics, ["river", "engine"]) == tuple(np.flatnonzero(topics.isin(["river", "engine"])))
    mixed = pd.Series([1, None, "1", 2.5], dtype=object)
    assert value_counts(mixed) == {"1": 2, MISSING: 1, "2.5": 1}
    assert rows_with_values(mixed, [MISSING, "1"]) == (0, 1, 2)
    assert rows_with_values(mixed, []) == ()
