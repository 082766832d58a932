"""The histogram over clusters draws the numbers of its table, in its order, for every cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from mauve_core.base.formatting import percent_with_interval
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.theme import HUMAN_COLOUR, translucent
from mauve_core.findings.clusters import cluster_table, ordered, with_intervals

COLOUR = "#118f5a"
# Values travel as float32.
SINGLE = 1e-6


@pytest.fixture
def rows() -> pd.DataFrame:
    return costed(ordered(cluster_table([3, 1, 0, 6], [1, 1, 8, 0], 0.3), "difference"))


def costed(table: pd.DataFrame) -> pd.DataFrame:
    shares = table["cost_share"].to_numpy()
    return with_intervals(table, shares - 0.01, shares + 0.05)


def bars(figure: go.Figure, place: int) -> go.Bar:
    return figure.data[place]


def test_bars_are_the_table_in_its_order(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows, "greedy", colour=COLOUR)
    for place, column in enumerate(["p", "q"]):
        np.testing.assert_allclose(bars(figure, place).y, rows[column], atol=SINGLE)
        np.testing.assert_array_equal(bars(figure, place).x, np.arange(4))
    assert rows["cluster"].tolist() == [3, 0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["3", "0", "1", "2"]


def test_costs_stand_below_by_direction_with_their_intervals(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows, "greedy", colour=COLOUR)
    for place, direction in ((2, "adds"), (3, "misses")):
        trace, own = bars(figure, place), (rows["direction"] == direction).to_numpy()
        assert own.any()
        np.testing.assert_array_equal(trace.x, np.flatnonzero(own))
        np.testing.assert_allclose(trace.y, rows["cost_share"][own], atol=SINGLE)
        np.testing.assert_allclose(trace.error_y.array, 0.05, atol=SINGLE)
        np.testing.assert_allclose(trace.error_y.arrayminus, 0.01, atol=SINGLE)
        assert trace.yaxis == "y2"
    assert figure.layout.yaxis2.rangemode == "tozero"
    hovers = figure.data[-1].text
    shares = zip(rows["cost_share"], rows["low"], rows["high"], strict=True)
    assert list(hovers) == [
        f"<b>Cluster {cluster}</b><br>{percent_with_interval(*each)} of the frontier integral"
        for cluster, each in zip(rows["cluster"], shares, strict=True)
    ]


def test_without_intervals_no_cost_is_drawn_or_told(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows.drop(columns=["low", "high"]), "greedy", colour=COLOUR)
    assert len(figure.data) == 3
    assert tuple(figure.layout.yaxis.domain) == (0, 1)
    assert "frontier integral" not in figure.to_json()
    assert "cost" not in figure.to_json()


def test_human_is_blue_and_the_model_has_its_own_colour(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows, "greedy", colour=COLOUR)
    assert bars(figure, 0).marker.color == HUMAN_COLOUR
    assert bars(figure, 1).marker.color == COLOUR
    assert bars(figure, 2).marker.color == translucent(COLOUR, 0.55)
    assert bars(figure, 3).marker.color == translucent(HUMAN_COLOUR, 0.55)
    assert "human" in bars(figure, 0).name
    assert "greedy" in bars(figure, 1).name


def test_a_hostile_name_is_escaped(rows: pd.DataFrame) -> None:
    text = cluster_figure(rows, "<img src=x onerror=alert(1)>", colour=COLOUR).to_json()
    assert "<img" not in text
    assert "\\u003cimg" not in text
    assert "&lt;img" in text or "\\u0026lt;img" in text
