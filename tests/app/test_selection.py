"""What the selection events of charts say: polygons, simplified, and clicked points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mauve_app.selection import MAX_CORNERS, clicked_value, polygon_of_event, rows_of_event, simplified

SQUARE = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]


def test_simplified_keeps_the_shape_of_a_circle() -> None:
    angle = np.linspace(0, 2 * math.pi, 500, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    simple = simplified(circle)
    assert len(simple) == MAX_CORNERS
    assert set(simple) <= {(x, y) for x, y in circle.tolist()}
    # Dropping neighbours of a regular 500-gon down to 60 corners loses at most the area between circle and 30-gon.
    area = abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(simple, simple[1:] + simple[:1], strict=True))) / 2
    assert 15 * math.sin(2 * math.pi / 30) < area < math.pi


def test_simplified_drops_corners_on_a_line_first() -> None:
    dense = [(x / 10, 0.0) for x in range(10)] + [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    assert simplified(dense, 4) == SQUARE
    assert simplified(SQUARE) == SQUARE


def test_events() -> None:
    assert polygon_of_event(None) is None
    assert polygon_of_event({"points": [1], "box": [], "lasso": []}) is None
    box = {"box": [{"x": [3, 1], "y": [5, 2]}], "lasso": []}
    assert polygon_of_event(box) == [(1, 2), (3, 2), (3, 5), (1, 5)]
    lasso = {"box": [], "lasso": [{"x": [0, 1, 1], "y": [0, 0, 1]}]}
    assert polygon_of_event(lasso) == [(0, 0), (1, 0), (1, 1)]
    assert polygon_of_event({"lasso": [{"x": [0, 1], "y": [0, 0]}]}) is None


def test_clicked_value_of_lists_and_of_typed_arrays() -> None:
    assert clicked_value({"points": [{"customdata": [7.0, 3.0]}]}, 1) == 3
    assert clicked_value({"points": [{"x": 1}, {"customdata": {"0": 7, "1": 3}}, {"x": 2}]}, 0) == 7
    assert clicked_value({"points": [{"customdata": [7.0]}]}, 1) is None
    assert clicked_value({"points": []}, 0) is None
    assert clicked_value(None, 0) is None


@pytest.mark.parametrize(
    "forged",
    [
        None, 3, "x", [], {"lasso": 3, "box": "x", "points": {}, "rows": None, "cells": 1},
        {"lasso": [{"x": [0, 1, 2]}], "box": [{"x": [1], "y": [1]}], "points": [None, {"customdata": "text"}]},
        {"lasso": [{"x": [0, 1, "2"], "y": [0, 1, 2]}, {"x": [0, 1, 2], "y": [0, 1]}]},
        {"lasso": [{"x": [0, 1, math.inf], "y": [0, 1, 2]}], "box": [{"x": [0, 10**400], "y": [0, 1]}]},
        {"points": [{"customdata": value} for value in ([[]], [math.nan], {"a": 1}, [10**400])]},
        {"rows": [-1, True, "0", 1.5]},
        {"cells": [[], [-1, "name"], ["0", "name"], 7]},
    ],
)  # fmt: skip
def test_what_no_chart_sends_selects_nothing(forged: Any) -> None:
    assert polygon_of_event(forged) is None
    assert clicked_value(forged, 0) is None
    assert rows_of_event(forged) == []


def test_rows_of_a_table_are_the_marked_cell_then_the_ticked_row() -> None:
    assert rows_of_event({"rows": [4], "cells": [[2, "name"]]}) == [2, 4]


def test_a_lasso_of_very_many_corners_is_thinned_out_first() -> None:
    angle = np.linspace(0, 2 * math.pi, 100_000, endpoint=False)
    found = polygon_of_event({"lasso": [{"x": np.cos(angle).tolist(), "y": np.sin(angle).tolist()}]})
    assert found is not None
    assert len(found) == MAX_CORNERS
