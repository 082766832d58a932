"""Figures of the gap draw the numbers of their tables, on one scale, and can be clicked everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mauve_core.analysis.cluster_table import cluster_table
from mauve_core.analysis.gap_table import TOGETHER, ledger_rows
from mauve_core.base.config import SCORES
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.gap import LABEL_LENGTH, common_reach, ledger_figure, steps_figure, what_if_figure
from mauve_core.figures.theme import HUMAN_COLOUR, MODEL_COLOUR
from mauve_core.scoring.result import Estimate

SINGLE = 1e-6
"""Values travel as float32."""


@pytest.fixture
def table() -> pd.DataFrame:
    return cluster_table([5, 5, 1, 1, 1, 7], [1, 1, 4, 5, 6, 3], 0.5)


def around(table: pd.DataFrame, error: str, below: float, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of the shares."""
    shares = table[error].to_numpy()
    return shares - below, shares + above


@pytest.fixture
def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Two clusters and two sums; intervals that the figure has to turn from shares into nats."""
    return ledger_rows(table, "type_1", around(table, "type_1", 0.25, 0.5), 2)


def test_a_bar_a_cluster_in_nats_with_its_interval(table: pd.DataFrame, rows: pd.DataFrame) -> None:
    figure = ledger_figure(rows, "type_1", {})
    bars, total = figure.data[0], table["type_1_nats"].sum()
    assert bars.orientation == "h"
    np.testing.assert_allclose(bars.x, table["type_1_nats"][[4, 3]], atol=SINGLE)
    np.testing.assert_allclose(bars.error_x.arrayminus, [0.25 * total] * 2, atol=SINGLE)
    np.testing.assert_allclose(bars.error_x.array, [0.5 * total] * 2, atol=SINGLE)
    assert list(figure.layout.yaxis.ticktext) == ["4", "3"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the largest stands on top"


def test_orange_adds_and_blue_misses(rows: pd.DataFrame) -> None:
    assert ledger_figure(rows, "type_1", {}).data[0].marker.color == MODEL_COLOUR
    assert ledger_figure(rows, "type_2", {}).data[0].marker.color == HUMAN_COLOUR


def test_every_row_can_be_clicked_over_its_whole_width(rows: pd.DataFrame) -> None:
    figure = ledger_figure(rows, "type_1", {}, chosen=3)
    clear = figure.data[1]
    assert (clear.x == 1).all()
    assert clear.width == 1
    assert tuple(figure.layout.xaxis2.range) == (0, 1)
    single = rows[rows["cluster"] != TOGETHER]
    np.testing.assert_allclose(clear.customdata, single[["cluster", "human", "model"]], atol=SINGLE)
    lines = [title.split("<br>")[1] for title in clear.text]
    parts = zip(single["nats"], single["share"], strict=True)
    assert lines == [f"{nats:.4f} nats, {share:.1%} of the error" for nats, share in parts]
    assert clear.marker.color[0] != clear.marker.color[1]


def test_one_scale_holds_both_errors_and_their_intervals(table: pd.DataFrame) -> None:
    wide = ledger_rows(table, "type_1", around(table, "type_1", 0.1, 2.0), 3)
    narrow = ledger_rows(table, "type_2", around(table, "type_2", 0.1, 0.1), 6)
    low, high = common_reach(wide, narrow)
    figures = [ledger_figure(rows, "type_1", {}, reach=(low, high)) for rows in (wide, narrow)]
    for figure in figures:
        bars = figure.data[0]
        assert tuple(figure.layout.xaxis.range) == (low, high)
        assert (bars.x + bars.error_x.array <= high).all()
        assert (bars.x - bars.error_x.arrayminus >= low).all()
    assert low < 0 < high


def test_sides_that_agree_give_a_figure_too() -> None:
    table = cluster_table([2, 3], [2, 3], 0.5)
    rows = ledger_rows(table, "type_1", (np.zeros(2), np.zeros(2)))
    low, high = common_reach(rows)
    assert low == 0 < high
    assert not ledger_figure(rows, "type_1", {}, reach=(low, high)).data[0].x.any()


def test_words_stand_by_the_bar_cut_and_escaped(rows: pd.DataFrame) -> None:
    words = {4: "<b>river</b>", 3: "a, " * 30}
    figure = ledger_figure(rows, "type_1", words)
    first, second = figure.layout.yaxis.ticktext
    assert first == "4 · &lt;b&gt;river&lt;/b&gt;"
    assert len(second) <= LABEL_LENGTH
    assert second.endswith("…")
    assert figure.data[1].text[0].startswith("<b>Cluster 4: &lt;b&gt;river&lt;/b&gt;</b><br>")
    assert "<b>river" not in figure.to_json()


def test_a_what_if_shows_both_states_of_every_score_with_intervals() -> None:
    before = {score: Estimate(0.4 + i / 10, 0.01, 0.3, 0.9, (0.4, 0.5)) for i, score in enumerate(SCORES)}
    after = {score: Estimate(0.5 + i / 10, None, 0.45, 0.95, (0.5,)) for i, score in enumerate(SCORES)}
    figure = what_if_figure(before, after)
    assert len(figure.data) == 3 * len(SCORES)
    for place, score in enumerate(SCORES):
        joined, now, then = figure.data[3 * place : 3 * place + 3]
        assert list(joined.x) == [before[score].mean, after[score].mean]
        for dot, estimate in ((now, before[score]), (then, after[score])):
            assert dot.x[0] == estimate.mean
            assert dot.x[0] + dot.error_x.array[0] == pytest.approx(estimate.high)
            assert dot.x[0] - dot.error_x.arrayminus[0] == pytest.approx(estimate.low)
        assert now.marker.symbol == "circle-open"
        assert now.y[0] > then.y[0]
        assert "± 0.010 over 2 seeds" in with_plain_spaces(now.hovertemplate)
        assert "±" not in then.hovertemplate


def test_steps_show_the_list_and_its_spread_as_far_as_it_is_known() -> None:
    rows = pd.DataFrame(
        {
            "step": [0, 1, 2], "cluster": [TOGETHER, 7, 3], "filled": [False, False, True], "closed": [0, 0.5, 0.8],
            "mauve": [0.5, 0.75, 0.9], "mean": [0.52, 0.7, np.nan], "sd": [0.1, np.nan, np.nan],
        }
    )  # fmt: skip
    figure = steps_figure(rows, "mauve", {7: "<i>sea</i>"})
    seeds, here = figure.data
    assert list(here.y) == [0.5, 0.75, 0.9]
    assert list(seeds.y) == [0.52, 0.7]
    assert list(seeds.error_y.array) == [0.1, 0.0]
    assert list(figure.layout.xaxis.ticktext) == ["now", "+ 7", "+ 3"]
    assert here.text[0] == "As it is"
    assert here.text[1] == "+ cluster 7: &lt;i&gt;sea&lt;/i&gt;"
    assert figure.layout.shapes[0].y0 == 1.0, "MAUVE of equal sides"
