"""The histogram over clusters draws the numbers of its table, in its order, for every cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from mauve_core.analysis.cluster_table import cluster_table, ordered
from mauve_core.figures.clusters import HOVERED, MOST_TICKS, cluster_figure
from mauve_core.figures.theme import HUMAN_COLOUR, MODEL_COLOUR, NEUTRAL_COLOUR

SINGLE = 1e-6
"""Values travel as float32."""


@pytest.fixture
def rows() -> pd.DataFrame:
    return ordered(cluster_table([3, 1, 0, 6], [1, 1, 8, 0], 0.3), "difference")


def bars(figure: go.Figure, place: int) -> go.Bar:
    return figure.data[place]


def test_bars_are_the_table_in_its_order(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows, "greedy")
    for place, column in enumerate(["p", "q", "type_1", "type_2"]):
        np.testing.assert_allclose(bars(figure, place).y, rows[column], atol=SINGLE)
        np.testing.assert_array_equal(bars(figure, place).x, np.arange(4))
    assert rows["cluster"].tolist() == [3, 0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["3", "0", "1", "2"]


def test_negative_shares_are_drawn_below_a_visible_zero_line() -> None:
    rows = cluster_table([3, 1, 5, 6], [1, 1, 8, 2], 0.3)
    figure = cluster_figure(rows, "greedy")
    assert min(bars(figure, 2).y) < 0 < max(bars(figure, 2).y)
    assert min(bars(figure, 3).y) < 0 < max(bars(figure, 3).y)
    axis = figure.layout.yaxis2
    assert axis.zeroline
    assert axis.zerolinecolor == NEUTRAL_COLOUR
    assert axis.range is None
    assert axis.rangemode == "tozero"


def test_human_is_blue_and_model_orange(rows: pd.DataFrame) -> None:
    figure = cluster_figure(rows, "greedy")
    assert bars(figure, 0).marker.color == HUMAN_COLOUR
    assert bars(figure, 1).marker.color == MODEL_COLOUR
    assert "human" in bars(figure, 0).name
    assert "greedy" in bars(figure, 1).name


def test_every_cluster_can_be_clicked_also_an_empty_one(rows: pd.DataFrame) -> None:
    columns = cluster_figure(rows, "greedy").data[-1]
    assert (columns.y == 1).all()
    np.testing.assert_allclose(columns.customdata, rows[HOVERED], atol=SINGLE)


def test_only_the_chosen_column_is_shaded(rows: pd.DataFrame) -> None:
    colours = cluster_figure(rows, "greedy", chosen=2).data[-1].marker.color
    assert len(set(colours[:3])) == 1
    assert colours[3] != colours[0]
    assert len(set(cluster_figure(rows, "greedy").data[-1].marker.color)) == 1


def test_many_clusters_thin_the_numbers_but_not_the_bars() -> None:
    rng = np.random.default_rng(1)
    rows = cluster_table(rng.integers(1, 9, 500), rng.integers(1, 9, 500), 0.5)
    figure = cluster_figure(rows, "greedy")
    assert all(trace.x.size == 500 for trace in figure.data)
    assert len(figure.layout.xaxis.ticktext) <= MOST_TICKS
    assert all(trace.y.dtype == np.float32 for trace in figure.data)


def test_a_hostile_name_is_escaped(rows: pd.DataFrame) -> None:
    text = cluster_figure(rows, "<img src=x onerror=alert(1)>").to_json()
    assert "<img" not in text
    assert "\\u003cimg" not in text
    assert "&lt;img" in text or "\\u0026lt;img" in text
