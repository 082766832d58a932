"""Both sides over clusters: a ranked list with names, for reading, and a histogram above the clusters' costs.

In the list, each cluster is a row: its name, the human share p and the candidate's share q as bars below an axis, and
its cost as a share of the frontier integral. In the histogram, top: paired bars with p and q of every cluster. Bottom:
the costs, in the candidate's color if it adds texts there, in human blue if it misses some. A transparent bar over each
cluster takes clicks, so that readers can select an empty bar; the selected cluster's is shaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.formatting import percent_with_interval
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    LEGEND_ROW,
    MODE_BAR,
    NEUTRAL_COLOUR,
    as_label,
    base_layout,
    translucent,
)
from mauve_core.findings.clusters import ADDS, MISSES, has_costs, has_found
from mauve_core.findings.why_cards import labelled

HEIGHT = 370
# Label every cluster up to this number, then every second, third, ...; hovers name all.
MOST_TICKS = 60

# Of a bar, as a share of its column.
_COST_WIDTH = 0.8

HOVERED = ["cluster", "human", "p", "model", "q"]


def ranked_figure(
    rows: pd.DataFrame,
    candidate: str,
    names: Sequence[str] | Mapping[int, str],
    *,
    colour: str,
    chosen: int | None = None,
    words: Words = TEXTS,
) -> go.Figure:
    """Draw the list, one row per cluster with its name above its two bars.

    Parameters
    ----------
    rows : DataFrame
        As for :func:`cluster_figure`; the first row is on top. Intervals of the shares are drawn if it has p_low,
        p_high, q_low and q_high.
    candidate : str
        Name of the model side.
    names : sequence of str, or mapping of int to str
        Name of each cluster of the partition, by number; untrusted.
    colour : str
        The candidate's, from ``theme.candidate_colour``.
    chosen : int or None
        Cluster whose row is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its cluster.
    """
    candidate_name, positions = as_label(candidate), np.arange(len(rows), dtype=np.float32)
    traces = [
        *_side_bars(positions, rows, "human", f"{words.reference}, p", HUMAN_COLOUR, _BAR_TOP),
        *_side_bars(positions, rows, "model", f"{candidate_name}, q", colour, _BAR_TOP + _BAR_HEIGHT),
        _row_titles(positions, rows, names, chosen),
        *((_row_costs(positions, rows),) if has_costs(rows) else ()),
        draw.click_bars(
            rows["cluster"],
            chosen,
            x=np.ones(len(rows), dtype=np.float32),
            y=positions,
            orientation="h",
            xaxis="x2",
            customdata=rows[HOVERED].to_numpy(dtype=np.float32),
            text=_hover_lines(rows, names),
            hovertemplate=_hover(candidate_name, words),
        ),
    ]
    ends = [end for share in ("p", "q") for end in (share, f"{share}_high") if end in rows]
    most = float(rows[ends].to_numpy().max(initial=0.0)) or 1.0
    layout = base_layout(
        height=_LIST_HEAD + _LIST_AXIS + _LIST_ROW * len(rows),
        margin={"l": _HALF_TICK, "r": _HALF_TICK, "t": _LIST_HEAD + _LIST_AXIS, "b": 0},
        barmode="overlay",
        hovermode="closest",
        clickmode="event+select",
        dragmode=False,
        uirevision="clusters",
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1 + _LIST_AXIS / (_LIST_ROW * max(len(rows), 1)),
            "yanchor": "bottom",
        },
        xaxis=_share_axis(most, most / (_BARS_WIDTH if has_costs(rows) else 1), words),
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True},
        yaxis={"range": [len(rows) - 0.5, -0.5], "visible": False, "fixedrange": True},
    )
    return draw.figure(traces, layout)


def _share_axis(most: float, end: float, words: Words) -> dict[str, object]:
    """The axis of the bars, on top because the list is longer than its window; no ticks beyond the longest bar."""
    step = _round_step(most / _LIST_TICKS)
    return {
        "range": [0, end],
        "side": "top",
        "title": {"text": f"share of a side's {words.items}", "standoff": 4},
        "tickvals": [place * step for place in range(int(most / step * (1 + 1e-9)) + 1)],
        "tickformat": "~%",
        "ticklabeloverflow": "allow",
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": NEUTRAL_COLOUR,
        "zeroline": False,
        "fixedrange": True,
    }


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least as large."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


_LIST_ROW, _LIST_HEAD, _LIST_AXIS = 46, MODE_BAR + LEGEND_ROW, 44
# Most ticks of the list's axis beside 0, and half the width of a tick's label.
_LIST_TICKS, _HALF_TICK = 4, 14
# Of a row's height, from its middle; the name stands above.
_BAR_TOP, _BAR_HEIGHT = -0.02, 0.2
_NAME_AT = -0.24
# Share of the list's width for the longest bar; costs stand to the right of it.
_BARS_WIDTH = 0.6


# Opacity of the bar of all texts behind that of the texts found.
_GHOST = 0.3


def _side_bars(
    positions: NDArray[np.float32], rows: pd.DataFrame, side: str, name: str, colour: str, top: float
) -> list[Trace]:
    """A side's bars; after a search, those of all texts as ghosts behind those of the texts found."""
    share = "p" if side == "human" else "q"
    shares = rows[share]
    if not has_found(rows):
        return [_row_bars(positions, shares, name, colour, top) | _row_ends(rows, share)]
    part = rows[f"found_{side}"] / rows[side].clip(lower=1)
    ghosts = _row_bars(positions, shares, name, translucent(colour, _GHOST), top)
    return [{**ghosts, "showlegend": False}, _row_bars(positions, shares * part, name, colour, top)]


def _row_bars(positions: NDArray[np.float32], values: pd.Series, name: str, colour: str, top: float) -> Trace:
    return draw.bar(
        x=values.to_numpy(dtype=np.float32),
        y=positions,
        orientation="h",
        offset=top,
        width=_BAR_HEIGHT,
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        hoverinfo="skip",
        **draw.UNFADED,
    )


def _row_ends(rows: pd.DataFrame, share: str) -> dict[str, object]:
    """The intervals of a side's shares, if they are known."""
    if f"{share}_low" not in rows:
        return {}
    low, value, high = (rows[name].to_numpy(dtype=np.float32) for name in (f"{share}_low", share, f"{share}_high"))
    return {"error_x": draw.error_bars(high - value, value - low, color=NEUTRAL_COLOUR, thickness=1.5, width=0)}


def _row_titles(
    positions: NDArray[np.float32], rows: pd.DataFrame, names: Sequence[str] | Mapping[int, str], chosen: int | None
) -> Trace:
    titles = {cluster: as_label(names[cluster]) for cluster in rows["cluster"].tolist()}
    return _row_texts(
        np.zeros(len(rows), dtype=np.float32),
        positions + np.float32(_NAME_AT),
        [f"<b>{title}</b>" if cluster == chosen else title for cluster, title in titles.items()],
        "middle right",
        {"size": 14},
    )


def _row_costs(positions: NDArray[np.float32], rows: pd.DataFrame) -> Trace:
    """The costs with their intervals, to the right of the bars."""
    return _row_texts(
        np.ones(len(rows), dtype=np.float32),
        positions + np.float32(_BAR_TOP + _BAR_HEIGHT),
        [percent_with_interval(*each) for each in zip(*(rows[name] for name in _COST), strict=True)],
        "middle left",
        {"size": 12},
    )


def _row_texts(
    x: NDArray[np.float32], y: NDArray[np.float32], texts: list[str], place: str, font: dict[str, object]
) -> Trace:
    return draw.scatter(
        x=x,
        y=y,
        xaxis="x2",
        mode="text",
        text=texts,
        textposition=place,
        textfont=font,
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


_COST = ("cost_share", "low", "high")


def _hover_lines(rows: pd.DataFrame, names: Sequence[str] | Mapping[int, str] | None) -> list[str]:
    """Name or number, and cost, of each row's cluster."""
    titles = [f"Cluster {each}" if names is None else labelled(names, each) for each in rows["cluster"].tolist()]
    if not has_costs(rows):
        return [f"<b>{as_label(title)}</b>" for title in titles]
    costs = [percent_with_interval(*each) for each in zip(*(rows[name] for name in _COST), strict=True)]
    return [
        f"<b>{as_label(title)}</b><br>{cost} of the frontier integral"
        for title, cost in zip(titles, costs, strict=True)
    ]


def _hover(candidate: str, words: Words) -> str:
    return (
        f"%{{text}}<br>{words.reference}: %{{customdata[1]:,.0f}} {words.items}, %{{customdata[2]:.1%}}"
        f"<br>{candidate}: %{{customdata[3]:,.0f}} {words.items}, %{{customdata[4]:.1%}}<extra></extra>"
    )


def cluster_figure(
    rows: pd.DataFrame,
    candidate: str,
    *,
    colour: str,
    names: Sequence[str] | None = None,
    chosen: int | None = None,
    words: Words = TEXTS,
) -> go.Figure:
    """Draw the histogram.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.findings.clusters.cluster_table``, in display order. Costs are drawn if it has the
        intervals of their shares (``with_intervals``): there is none where there is no gap to explain.
    candidate : str
        Name of the model side.
    colour : str
        The candidate's, from ``theme.candidate_colour``.
    names : sequence of str, optional
        Name of each cluster of the partition, by number, for the hovers; untrusted.
    chosen : int or None
        Cluster whose column is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its cluster.
    """
    name, positions = as_label(candidate), np.arange(len(rows), dtype=np.float32)
    traces = [
        _bars(positions, rows["p"], f"{words.reference}, p", HUMAN_COLOUR, "y"),
        _bars(positions, rows["q"], f"{name}, q", colour, "y"),
        *(_costs(positions, rows, colour) if has_costs(rows) else ()),
        _columns(positions, rows, name, names, chosen, words),
    ]
    return draw.figure(traces, _layout(rows, words))


def _costs(positions: NDArray[np.float32], rows: pd.DataFrame, candidate_colour: str) -> list[Trace]:
    """One bar per cluster with its interval, in the trace of its direction; empty clusters are in neither."""
    traces = []
    for direction, verb, colour in ((ADDS, "adds", candidate_colour), (MISSES, "misses", HUMAN_COLOUR)):
        own = (rows["direction"] == direction).to_numpy()
        share, low, high = (rows[name].to_numpy(dtype=np.float32)[own] for name in ("cost_share", "low", "high"))
        place = {"offset": -_COST_WIDTH / 2, "width": _COST_WIDTH}
        bars = _bars(
            positions[own], rows["cost_share"][own], f"cost of what it {verb}", translucent(colour, 0.55), "y2"
        )
        ends = draw.error_bars(high - share, share - low, color=NEUTRAL_COLOUR, thickness=1, width=0)
        traces.append(bars | place | {"error_y": ends})
    return traces


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


def _columns(
    positions: NDArray[np.float32],
    rows: pd.DataFrame,
    name: str,
    names: Sequence[str] | None,
    chosen: int | None,
    words: Words,
) -> Trace:
    """One transparent full-height bar per cluster, for hovers and clicks; shaded if chosen."""
    return draw.click_bars(
        rows["cluster"],
        chosen,
        x=positions,
        y=np.ones(len(rows), dtype=np.float32),
        yaxis="y3",
        customdata=rows[HOVERED].to_numpy(dtype=np.float32),
        text=_hover_lines(rows, names),
        hovertemplate=_hover(name, words),
    )


def _layout(rows: pd.DataFrame, words: Words) -> dict[str, object]:
    step = -(-len(rows) // MOST_TICKS)
    axis = {"tickformat": ".0%", "rangemode": "tozero", "zeroline": False, "nticks": 4, "fixedrange": True}
    with_costs = has_costs(rows)
    below = {"yaxis2": {**axis, "domain": [0, 0.36], "title": {"text": "cost"}}} if with_costs else {}
    return base_layout(
        height=HEIGHT,
        barmode="group",
        bargap=0.2,
        bargroupgap=0.0,
        hovermode="closest",
        clickmode="event+select",
        dragmode="zoom",
        uirevision="clusters",
        xaxis=draw.cluster_axis(
            rows["cluster"].to_list(), step, autotickangles=[0, 90], anchor="y2" if with_costs else "y"
        ),
        yaxis={
            **axis,
            "domain": [0.44 if with_costs else 0, 1],
            "title": {"text": f"share of {words.items}"},
            "linecolor": NEUTRAL_COLOUR,
        },
        **below,
        yaxis3={"domain": [0, 1], "range": [0, 1], "visible": False, "fixedrange": True, "overlaying": "y"},
    )
