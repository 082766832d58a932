"""Point in polygon against hand values, a slow twin and properties; rows that are chosen."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.analysis.selection import inside_polygon, rows_in_lasso
from mauve_core.base.config import HUMAN
from mauve_core.store import Run
from tests.synthetic import make_run

SQUARE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]


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


@pytest.fixture(scope="module")
def stored_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("stored"), n=60, seeds=1, projection=False)


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
