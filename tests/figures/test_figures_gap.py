"""Figures of the gap draw the numbers of their tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mauve_core.analyses.gap import TOGETHER, ledger_rows
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.gap import LABEL_WIDTH, common_reach, ledger_figure, steps_figure, what_if_figure
from mauve_core.figures.theme import HUMAN_COLOUR
from mauve_core.findings.clusters import cluster_table, with_intervals
from mauve_core.scoring.result import Estimate
from mauve_core.stats.scores import SCORES

COLOUR = "#118f5a"
# Values travel as float32.
SINGLE = 1e-6


@pytest.fixture
def table() -> pd.DataFrame:
    """Clusters 2 to 4 are added, 0, 1 and 5 missed; intervals are wider above than below."""
    return around(cluster_table([5, 5, 1, 1, 1, 7], [1, 1, 4, 5, 6, 3], 0.5), 0.01, 0.05)


def around(table: pd.DataFrame, below: float, above: float) -> pd.DataFrame:
    shares = table["cost_share"].to_numpy()
    return with_intervals(table, shares - below, shares + above)


@pytest.fixture
def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Two clusters and a sum."""
    return ledger_rows(table, "adds", 2)


def test_a_bar_a_cluster_as_a_share_with_its_interval(table: pd.DataFrame, rows: pd.DataFrame) -> None:
    figure = ledger_figure(rows, "adds", colour=COLOUR)
    bars = figure.data[0]
    assert bars.orientation == "h"
    np.testing.assert_allclose(bars.x, table["cost_share"][[4, 3]], atol=SINGLE)
    np.testing.assert_allclose(bars.error_x.arrayminus, [0.01] * 2, atol=SINGLE)
    np.testing.assert_allclose(bars.error_x.array, [0.05] * 2, atol=SINGLE)
    assert list(figure.layout.yaxis.ticktext) == ["4", "3"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the largest stands on top"
    assert figure.layout.xaxis.tickformat == ".0%"


def test_what_the_candidate_adds_has_its_colour_and_what_it_misses_is_blue(rows: pd.DataFrame) -> None:
    assert ledger_figure(rows, "adds", colour=COLOUR).data[0].marker.color == COLOUR
    assert ledger_figure(rows, "misses", colour=COLOUR).data[0].marker.color == HUMAN_COLOUR


def test_one_scale_holds_both_directions_and_their_intervals(table: pd.DataFrame) -> None:
    wide, narrow = ledger_rows(around(table, 0.1, 0.6), "adds", 3), ledger_rows(table, "misses", 6)
    low, high = common_reach(wide, narrow)
    figures = [ledger_figure(rows, "adds", colour=COLOUR, reach=(low, high)) for rows in (wide, narrow)]
    for figure in figures:
        bars = figure.data[0]
        assert tuple(figure.layout.xaxis.range) == (low, high)
        assert (bars.x + bars.error_x.array <= high).all()
    assert low == 0 < high <= 1


def test_a_direction_without_clusters_gives_a_figure_too() -> None:
    rows = ledger_rows(around(cluster_table([2, 3], [2, 3], 0.5), 0, 0), "adds")
    assert common_reach(rows) == (0.0, 1.0)
    assert not ledger_figure(rows, "adds", colour=COLOUR, reach=(0, 1)).data[0].x.any()


def test_names_stand_by_the_bar_whole_and_escaped(rows: pd.DataFrame) -> None:
    names = ["", "", "", "ends in a loop: albania, ottoman, collapse", "<b>river</b>", ""]
    figure = ledger_figure(rows, "adds", names, colour=COLOUR)
    first, second = map(with_plain_spaces, figure.layout.yaxis.ticktext)
    assert first == "&lt;b&gt;river&lt;/b&gt; · 4"
    assert second.split("<br>") == ["ends in a loop: albania, ottoman,", "collapse · 3"]
    assert max(map(len, second.split("<br>"))) <= LABEL_WIDTH
    assert figure.data[1].text[0].startswith("<b>&lt;b&gt;river&lt;/b&gt; · 4</b><br>")
    assert "<b>river" not in figure.to_json()


def test_a_what_if_shows_both_states_of_every_score_with_intervals() -> None:
    before = {score: Estimate(0.4 + i / 10, 0.01, 0.3, 0.9, (0.4, 0.5)) for i, score in enumerate(SCORES)}
    after = {score: Estimate(0.5 + i / 10, None, 0.45, 0.95, (0.5,)) for i, score in enumerate(SCORES)}
    figure = what_if_figure(before, after, COLOUR)
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
    figure = steps_figure(rows, "mauve", ["", "", "", "sky", "", "", "", "<i>sea</i>"], COLOUR)
    seeds, here = figure.data
    assert list(here.y) == [0.5, 0.75, 0.9]
    assert list(seeds.y) == [0.52, 0.7]
    assert list(seeds.error_y.array) == [0.1, 0.0]
    assert list(figure.layout.xaxis.ticktext) == ["now", "+ 7", "+ 3"]
    assert here.text[0] == "As it is"
    assert here.text[1] == "+ &lt;i&gt;sea&lt;/i&gt; · 7"
    assert figure.layout.shapes[0].y0 == 1.0, "MAUVE of equal sides"
