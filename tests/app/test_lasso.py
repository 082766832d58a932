"""A lasso from the chart into the URL and back: one polygon, with the same texts in it on either side of a link."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mauve_app.selection import MAX_CORNERS, polygon_of_event
from mauve_app.url.parameters import State, changed, parse, to_query
from mauve_core.analyses.selection import inside_polygon

DIAMOND = [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]
# Two teeth on a bar; the notch between them ends at (2, 1).
TEETH = [(0.0, 0.0), (4.0, 0.0), (4.0, 1.0), (3.0, 2.0), (2.0, 1.0), (1.0, 2.0), (0.0, 1.0)]


def dense(polygon: list[tuple[float, float]], points: int) -> list[tuple[float, float]]:
    """As a hand draws it: with more corners on every edge than a link carries."""
    corners = np.array(polygon)
    steps = np.linspace(0, 1, points, endpoint=False)[:, None]
    edges = [start + steps * (end - start) for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True)]
    return [(x, y) for x, y in np.vstack(edges).tolist()]


def by_a_link(polygon: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The polygon that a reader of the link sees, for one that was drawn."""
    x, y = zip(*polygon, strict=True)
    drawn = changed(State(), lasso=polygon_of_event({"lasso": [{"x": list(x), "y": list(y)}]}))
    assert drawn.lasso is not None
    assert len(drawn.lasso) <= MAX_CORNERS
    assert parse(to_query(drawn)) == drawn
    assert parse(to_query(changed(drawn, weight=0.25))).lasso == drawn.lasso
    return drawn.lasso


@pytest.mark.parametrize("points", [1, 64])
@pytest.mark.parametrize(
    ("polygon", "point", "expected"),
    [
        (DIAMOND, (-0.5, 0.0), True),  # level with the corner on its right
        (DIAMOND, (-2.0, 0.0), False),  # level with the corners on both sides
        (DIAMOND, (-0.5, 1.0), False),  # level with the top
        (DIAMOND, (-0.5, -1.0), False),  # level with the bottom
        (TEETH, (-1.0, 1.0), False),  # level with two shoulders and the notch
        (TEETH, (0.5, 1.0), True),  # level with the notch and a shoulder
        (TEETH, (3.0, 1.0), True),
        (TEETH, (0.0, 2.0), False),  # level with both tips
        (TEETH, (2.0, 2.0), False),  # between them
        (TEETH, (2.0, 1.5), False),  # in the notch
    ],
)
def test_a_point_level_with_a_vertex(
    polygon: list[tuple[float, float]], point: tuple[float, float], expected: bool, points: int
) -> None:
    assert inside_polygon([point], by_a_link(dense(polygon, points))).tolist() == [expected]


def test_the_corners_of_what_was_drawn_are_kept() -> None:
    assert set(DIAMOND) <= set(by_a_link(dense(DIAMOND, 64)))


def test_a_link_keeps_the_area_of_a_freehand_circle() -> None:
    angle = np.linspace(0, 2 * math.pi, 500, endpoint=False)
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (2000, 2))
    radius = np.hypot(*points.T)
    inside = inside_polygon(points, by_a_link(list(zip(np.cos(angle).tolist(), np.sin(angle).tolist(), strict=True))))
    # A chord over 2π/30, twice the mean angle of a corner, lies at most 1 - cos(π/30) = 0.0055 within the circle.
    clear = np.abs(radius - 1) > 0.0056
    np.testing.assert_array_equal(inside[clear], (radius < 1)[clear])
