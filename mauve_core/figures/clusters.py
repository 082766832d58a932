"""Histogram of both sides over clusters, above each cluster's share of the two errors.

Top: paired bars with the human share p and the candidate's share q of every cluster. Bottom: the cluster's share of
the type I error (the model writes what humans don't) and of the type II error (humans write what the model misses),
at one mixture weight. A bar below zero offsets part of the error. A transparent column over each cluster takes
clicks, so that readers can select an empty bar; the selected cluster's column is shaded.
"""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.formatting import as_percent
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import HUMAN_COLOUR, MODEL_COLOUR, NEUTRAL_COLOUR, base_layout, translucent

HEIGHT = 370
MOST_TICKS = 60
"""Label every cluster up to this number, then every second, third, ...; hovers name all."""

HOVERED = ["cluster", "human", "p", "model", "q"]
_ZERO_LINE = {"zeroline": True, "zerolinecolor": NEUTRAL_COLOUR, "zerolinewidth": 1}


def cluster_figure(rows: pd.DataFrame, candidate: str, *, chosen: int | None = None) -> go.Figure:
    """Draw the histogram.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.analysis.cluster_table.cluster_table``, in display order.
    candidate : str
        Name of the model side.
    chosen : int or None
        Cluster whose column is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its cluster.
    """
    name, positions = html.escape(candidate), np.arange(len(rows), dtype=np.float32)
    traces = [
        _bars(positions, rows["p"], "human, p", HUMAN_COLOUR, "y"),
        _bars(positions, rows["q"], f"{name}, q", MODEL_COLOUR, "y"),
        _bars(positions, rows["type_1"], "type I error", translucent(MODEL_COLOUR, 0.55), "y2"),
        _bars(positions, rows["type_2"], "type II error", translucent(HUMAN_COLOUR, 0.55), "y2"),
        _columns(positions, rows, name, chosen),
    ]
    return draw.figure(traces, _layout(rows))


def _bars(positions: NDArray[np.float32], values: pd.Series, name: str, colour: str, axis: str) -> Trace:
    return draw.bar(
        x=positions,
        y=values.to_numpy(dtype=np.float32),
        name=name,
        yaxis=axis,
        marker={"color": colour, "line": {"width": 0}},
        hoverinfo="skip",
        **draw.UNFADED,
    )


def _columns(positions: NDArray[np.float32], rows: pd.DataFrame, name: str, chosen: int | None) -> Trace:
    """One transparent full-height bar per cluster, for hovers and clicks; shaded if chosen."""
    return draw.click_bars(
        rows["cluster"],
        chosen,
        x=positions,
        y=np.ones(len(rows), dtype=np.float32),
        yaxis="y3",
        customdata=rows[HOVERED].to_numpy(dtype=np.float32),
        text=[as_percent(share, 1) for share in rows["type_1"]],
        hovertext=[as_percent(share, 1) for share in rows["type_2"]],
        hovertemplate=(
            "<b>Cluster %{customdata[0]:.0f}</b>"
            "<br>human: %{customdata[1]:.0f} texts, %{customdata[2]:.1%}"
            f"<br>{name}: %{{customdata[3]:.0f}} texts, %{{customdata[4]:.1%}}"
            "<br>%{text} of the type I error<br>%{hovertext} of the type II error<extra></extra>"
        ),
    )


def _layout(rows: pd.DataFrame) -> dict[str, object]:
    step = -(-len(rows) // MOST_TICKS)
    axis = {"tickformat": ".0%", "rangemode": "tozero", "zeroline": False, "nticks": 4, "fixedrange": True}
    return base_layout(
        height=HEIGHT,
        barmode="group",
        bargap=0.2,
        bargroupgap=0.0,
        hovermode="closest",
        clickmode="event+select",
        dragmode="zoom",
        uirevision="clusters",
        xaxis=draw.cluster_axis(rows["cluster"].to_list(), step, autotickangles=[0, 90], anchor="y2"),
        yaxis={**axis, "domain": [0.44, 1], "title": {"text": "share of texts"}, "linecolor": NEUTRAL_COLOUR},
        yaxis2={**axis, "domain": [0, 0.36], "title": {"text": "share of error"}, **_ZERO_LINE},
        yaxis3={"domain": [0, 1], "range": [0, 1], "visible": False, "fixedrange": True, "overlaying": "y"},
    )
