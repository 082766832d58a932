"""Highest density regions against a plain twin, and against regions that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.clusters.projection import DENSITY_BANDWIDTH, FEWEST_POINTS, region_probabilities


def plain_regions(points: list[list[float]], x: list[float], y: list[float]) -> list[list[float]]:
    """By loops from the definition: the share of the grid's density at places that are at least as dense."""
    n = len(points)
    widths = []
    for axis in range(2):
        values = [point[axis] for point in points]
        mean = sum(values) / n
        sd = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
        widths.append(DENSITY_BANDWIDTH * sd * n ** (-1 / 6))
    density = [
        [
            sum(
                math.exp(-0.5 * ((across - px) / widths[0]) ** 2 - 0.5 * ((along - py) / widths[1]) ** 2)
                for px, py in points
            )
            for across in x
        ]
        for along in y
    ]
    every = [value for row in density for value in row]
    return [[sum(other for other in every if other >= value) / sum(every) for value in row] for row in density]


def test_regions_are_those_of_the_plain_twin() -> None:
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(size=(20, 2)), rng.normal((4, 1), 0.3, size=(15, 2))])
    x, y = np.linspace(-3, 6, 13), np.linspace(-3, 4, 9)
    found = region_probabilities(points, x, y)
    assert found.shape == (9, 13)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain_regions(points.tolist(), x.tolist(), y.tolist()), atol=1e-6)


def test_a_line_encloses_its_share_of_a_normal_distribution() -> None:
    points = np.random.default_rng(1).normal(size=(20_000, 2))
    grid = np.linspace(-5, 5, 101)
    found = region_probabilities(points, grid, grid)
    radius = np.hypot(*np.meshgrid(grid, grid))
    for share in (0.25, 0.5, 0.75):
        expected = math.sqrt(-2 * math.log(1 - share))  # of the disc that holds the share
        inside = radius[found <= share]
        assert inside.max() == pytest.approx(expected, abs=0.25)
        assert (found[radius < expected - 0.25] <= share).all()


@pytest.mark.parametrize(
    "points", [np.zeros((FEWEST_POINTS - 1, 2)), np.zeros((50, 2)), np.c_[np.arange(20), np.ones(20)]]
)
def test_without_a_density_there_is_no_region(points: np.ndarray) -> None:
    assert (region_probabilities(points, np.arange(3), np.arange(4)) == 1).all()


def test_points_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"an \(n, 2\) array"):
        region_probabilities(np.zeros((3, 3)), np.arange(3), np.arange(3))
