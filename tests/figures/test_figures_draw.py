"""Figures made without Plotly's check are the figures that its check lets through."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots
from scipy.optimize import minimize

from mauve_core.figures import draw


def made() -> go.Figure:
    traces = [
        draw.on_panel(draw.scatter(x=[1, 2], y=[3, 4], mode="lines", line={"color": "red", "dash": None}), 2),
        draw.bar(x=np.arange(3, dtype=np.float32), y=[1, None, 2], hoverinfo=None),
        draw.heatmap(z=np.ones((2, 3), dtype=np.float32)),
    ]
    layout = draw.panels(rows=1, cols=2, shared_yaxes=True, subplot_titles=["a", "b"], horizontal_spacing=0.1)
    layout = draw.with_titles(draw.with_axes(layout, "y", range=[0, 1], title={"text": "y"}))
    return draw.figure(traces, {**layout, "shapes": [draw.guide("x", 0.5, {"color": "red"}, panel=2)]})


def both(monkeypatch: pytest.MonkeyPatch, make: Callable[[], go.Figure]) -> list[Any]:
    """What is sent of a figure that was made with the check, and without it."""
    found = []
    for checked in (True, False):
        monkeypatch.setattr(draw, "CHECKED", checked)
        found.append(json.loads(make().to_json()))
    return found


def test_the_figure_is_the_one_that_the_check_lets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, free = both(monkeypatch, made)
    assert checked == free


def test_the_check_finds_a_property_that_plotly_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "CHECKED", True)
    with pytest.raises(ValueError, match="colour"):
        draw.figure([draw.scatter(line={"colour": "red"})], {})


def test_panels_are_those_of_plotly() -> None:
    settings = {"rows": 1, "cols": 3, "shared_yaxes": True, "subplot_titles": ["a", "b", "c"]}
    expected = make_subplots(**settings).layout.to_plotly_json()
    expected.pop("template", None)
    assert draw.panels(**settings) == expected
    trace = draw.on_panel(draw.scatter(x=[0], y=[0]), 3)
    figure = make_subplots(**settings).add_trace(go.Scatter(x=[0], y=[0]), row=1, col=3)
    assert (trace["xaxis"], trace["yaxis"]) == (figure.data[0].xaxis, figure.data[0].yaxis)


@pytest.mark.parametrize(
    ("wanted", "gap", "expected"),
    [
        ([], 0.1, []),
        ([0.5], 0.1, [0.5]),
        ([2.0], 0.1, [1.0]),
        ([0.9, 0.5, 0.1], 0.1, [0.9, 0.5, 0.1]),  # apart already
        ([0.5, 0.5], 0.2, [0.6, 0.4]),
        ([0.5, 0.45, 0.4], 0.2, [0.65, 0.45, 0.25]),
        ([0.0, 0.0, 0.0], 0.1, [0.2, 0.1, 0.0]),
        ([1.0, 1.0, 0.95], 0.1, [1.0, 0.9, 0.8]),
        ([0.3, 0.2, 0.1], 5.0, [1.0, 0.5, 0.0]),  # no room for such gaps
    ],
)
def test_places_are_spread_out(wanted: list[float], gap: float, expected: list[float]) -> None:
    assert draw.spread_out(wanted, gap, 0.0, 1.0) == pytest.approx(expected, abs=1e-12)


def test_no_other_places_are_nearer_to_the_wanted_ones() -> None:
    # Against scipy's general solver of the same constrained least squares.
    rng = np.random.default_rng(5)
    for _ in range(20):
        wanted, gap = np.sort(rng.uniform(-0.1, 1.1, 5))[::-1], 0.15
        found = np.array(draw.spread_out(wanted.tolist(), gap, 0.0, 1.0))
        apart = {"type": "ineq", "fun": lambda places: places[:-1] - places[1:] - 0.15}
        start = np.linspace(1, 0, 5)
        best = minimize(
            lambda places, wanted=wanted: ((places - wanted) ** 2).sum(),
            start,
            bounds=[(0, 1)] * 5,
            constraints=[apart],
            options={"ftol": 1e-12},
        )
        assert ((found - wanted) ** 2).sum() <= best.fun + 1e-8
        assert (found[:-1] - found[1:] >= gap - 1e-12).all()
