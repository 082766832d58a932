"""The gap between the two sides: a ledger of an error over clusters, a what-if, and a greedy list of clusters.

Orange is the type I error (the model writes what humans don't), blue the type II error (humans write what the model
misses). A bar left of zero offsets part of the error. A transparent bar over each row takes clicks, so that readers
can select short bars; the selected cluster's row is shaded.
"""

from __future__ import annotations

import html
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analysis.gap_table import TOGETHER
from mauve_core.base.config import SCORES
from mauve_core.base.formatting import NATS_DECIMALS, SCORE_DECIMALS, as_percent, with_spread, written
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.leaderboard import hover_label, titled
from mauve_core.figures.theme import HUMAN_COLOUR, MODE_BAR, MODEL_COLOUR, NEUTRAL_COLOUR, PANELS_MARGIN, base_layout
from mauve_core.numerics.divergences.greedy import BEST
from mauve_core.scoring.result import Estimate

ERROR_COLOURS = {"type_1": MODEL_COLOUR, "type_2": HUMAN_COLOUR}

LABEL_LENGTH = 27
"""Characters of a cluster's number and words beside its bar; the list shows more."""

NOW, THEN = "now", "then"
_ROW_HEIGHT, _HEAD, _FOOT = 25, MODE_BAR, 52
"""The top margin holds the buttons, which would otherwise take clicks on the first row."""

_WHAT_IF_HEIGHT, _STEPS_HEIGHT = MODE_BAR + 170, 380


def ledger_figure(
    rows: pd.DataFrame,
    error: str,
    words: Mapping[int, str],
    *,
    reach: tuple[float, float] | None = None,
    chosen: int | None = None,
) -> go.Figure:
    """Draw one error as signed bars, one per cluster, with the intervals of the shares.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.analysis.gap_table.ledger_rows``, in display order. Rows that sum several clusters get no
        bar, because they would dwarf the others.
    error : {"type_1", "type_2"}
    words : mapping of int to str
        Words to show beside a cluster's number; untrusted, from files.
    reach : (low, high), optional
        Axis limits in nats, to make two errors comparable.
    chosen : int or None
        Cluster whose row is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its cluster.
    """
    rows = _single(rows)
    positions = np.arange(len(rows), dtype=np.float32)
    nats = rows["nats"].to_numpy(dtype=np.float64)
    below, above = (lengths.astype(np.float32) for lengths in _interval_lengths(rows))
    bars = draw.bar(
        x=nats.astype(np.float32),
        y=positions,
        orientation="h",
        marker={"color": ERROR_COLOURS[error], "line": {"width": 0}},
        error_x=draw.error_bars(above, below, color=NEUTRAL_COLOUR, thickness=1.5, width=0),
        showlegend=False,
        hoverinfo="skip",
        **draw.UNFADED,
    )
    numbers = np.column_stack([rows["cluster"], rows["human"], rows["model"]]).astype(np.float32)
    clicked = draw.click_bars(
        rows["cluster"],
        chosen,
        x=np.ones(len(rows), dtype=np.float32),
        y=positions,
        orientation="h",
        xaxis="x2",
        customdata=numbers,
        text=[
            _ledger_hover(int(cluster), part, share, words)
            for cluster, part, share in rows[["cluster", "nats", "share"]].to_numpy(dtype=np.float64).tolist()
        ],
        hovertemplate="%{text}<br>%{customdata[1]:.0f} human, %{customdata[2]:.0f} model texts<extra></extra>",
    )
    return draw.figure([bars, clicked], _ledger_layout(rows, words, reach))


def common_reach(*ledgers: pd.DataFrame) -> tuple[float, float]:
    """Axis limits that hold every bar of these ledgers with its interval."""
    low, high = 0.0, 0.0
    for rows in map(_single, ledgers):
        below, above = _interval_lengths(rows)
        low = min(low, float((rows["nats"] - below).min()))
        high = max(high, float((rows["nats"] + above).max()))
    room = 0.04 * (high - low) or 1e-6
    return (low - room if low < 0 else 0.0), high + room


def what_if_figure(before: Mapping[str, Estimate], after: Mapping[str, Estimate]) -> go.Figure:
    """One panel per score: hollow = as is, filled = what-if, lines = bootstrap intervals, with a connecting line."""
    layout = draw.panel_row([titled(score) for score in SCORES], 0.04)
    traces = []
    for column, score in enumerate(SCORES, start=1):
        now, then = before[score], after[score]
        joined = draw.scatter(
            x=[now.mean, then.mean],
            y=[1, 0],
            mode="lines",
            line={"color": NEUTRAL_COLOUR, "width": 2, "dash": "dot"},
            hoverinfo="skip",
        )
        dots = _dot(now, 1, NOW, "circle-open"), _dot(then, 0, THEN, "circle")
        traces += [draw.on_panel(trace, column) for trace in (joined, *dots)]
    quiet = {"zeroline": False, "fixedrange": True}
    ticks = {"tickvals": [1, 0], "ticktext": [NOW, THEN], "range": [-0.5, 1.5]}
    layout = draw.with_axes(layout, "y", **ticks, showgrid=False, **quiet)
    layout = draw.with_axes(layout, "x", nticks=5, tickangle=0, **quiet)
    rest = base_layout(height=_WHAT_IF_HEIGHT, margin=PANELS_MARGIN, showlegend=False)
    return draw.figure(traces, draw.with_titles(layout | rest))


def steps_figure(rows: pd.DataFrame, score: str, words: Mapping[int, str]) -> go.Figure:
    """A score after each cluster of the greedy list: in the shown partition, and mean and sd over all seeds.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.analysis.gap_table.step_rows``.
    score : str
        The score that the greedy list optimizes.
    words : mapping of int to str
        Words for a cluster's hover; untrusted, from files.
    """
    step = rows["step"].to_numpy()
    known = rows[rows["mean"].notna()]
    over_seeds = draw.scatter(
        x=known["step"].to_numpy(),
        y=known["mean"].to_numpy(),
        error_y={"type": "data", "array": known["sd"].fillna(0.0).to_numpy(), "thickness": 2, "width": 0},
        mode="lines+markers",
        name="mean ± sd over seeds, same texts",
        line={"color": NEUTRAL_COLOUR, "width": 2, "dash": "dot"},
        marker={"symbol": "square", "size": 7},
        text=[with_spread(mean, sd, SCORE_DECIMALS) for mean, sd in zip(known["mean"], known["sd"], strict=True)],
        hovertemplate="%{text} over seeds<extra></extra>",
    )
    in_partition = draw.scatter(
        x=step,
        y=rows[score].to_numpy(),
        mode="lines+markers",
        name="in this partition",
        line={"color": MODEL_COLOUR, "width": 3},
        marker={"size": 9},
        customdata=np.column_stack([rows["closed"]]),
        text=[_step_title(int(cluster), words) for cluster in rows["cluster"]],
        hovertemplate=f"<b>%{{text}}</b><br>%{{y:.{SCORE_DECIMALS}f}} in this partition"
        "<br>%{customdata[0]:.0%} of the gap closed<extra></extra>",
    )
    x = {
        "tickvals": step.tolist(),
        "ticktext": [NOW, *(f"+ {int(cluster)}" for cluster in rows["cluster"].iloc[1:])],
        "range": [-0.3, max(1, len(rows) - 1) + 0.3],
        "title": {"text": "cluster by cluster"},
        "showgrid": False,
        "zeroline": False,
    }
    y = {"title": {"text": titled(score)}, "zeroline": False}
    best = draw.guide("y", BEST[score], {"color": HUMAN_COLOUR, "width": 1.5, "dash": "dot"})
    return draw.figure([over_seeds, in_partition], base_layout(height=_STEPS_HEIGHT, xaxis=x, yaxis=y, shapes=[best]))


def _single(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["cluster"] != TOGETHER]


def _interval_lengths(rows: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance in nats from each bar's end to its interval's lower and upper limits."""
    nats, share = rows["nats"].to_numpy(dtype=np.float64), rows["share"].to_numpy(dtype=np.float64)
    largest = np.abs(share).argmax() if share.size else 0
    total = nats[largest] / share[largest] if share.any() else 0.0
    low, high = rows["low"].to_numpy(dtype=np.float64), rows["high"].to_numpy(dtype=np.float64)
    return np.maximum((share - low) * total, 0.0), np.maximum((high - share) * total, 0.0)


def _ledger_layout(
    rows: pd.DataFrame, words: Mapping[int, str], reach: tuple[float, float] | None
) -> dict[str, object]:
    return base_layout(
        height=_HEAD + _ROW_HEIGHT * len(rows) + _FOOT,
        margin={"l": 8, "r": 8, "t": _HEAD, "b": 8},
        barmode="overlay",
        bargap=0.25,
        hovermode="closest",
        clickmode="event+select",
        dragmode="zoom",
        xaxis={
            "title": {"text": "nats"},
            "range": None if reach is None else list(reach),
            "nticks": 6,
            "zeroline": True,
            "zerolinecolor": NEUTRAL_COLOUR,
            "zerolinewidth": 1,
            "fixedrange": True,
        },
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True},
        yaxis=draw.row_axis(
            [_row_title(int(cluster), words) for cluster in rows["cluster"]],
            0.5,
            fixedrange=True,
            tickfont={"size": 12},
        ),
    )


def _row_title(cluster: int, words: Mapping[int, str]) -> str:
    """Number and first words, cut before escaping."""
    title = f"{cluster} · {words[cluster]}" if cluster in words else str(cluster)
    cut = title if len(title) <= LABEL_LENGTH else f"{title[: LABEL_LENGTH - 1].rstrip(' ,')}…"
    return html.escape(cut)


def _hover_title(cluster: int, words: Mapping[int, str]) -> str:
    return html.escape(f"Cluster {cluster}: {words[cluster]}" if cluster in words else f"Cluster {cluster}")


def _ledger_hover(cluster: int, nats: float, share: float, words: Mapping[int, str]) -> str:
    part = f"{written(nats, NATS_DECIMALS)} nats, {as_percent(share, 1)} of the error"
    return f"<b>{_hover_title(cluster, words)}</b><br>{part}"


def _step_title(cluster: int, words: Mapping[int, str]) -> str:
    if cluster == TOGETHER:
        return "As it is"
    top_words = words.get(cluster, "")
    return html.escape(f"+ cluster {cluster}{f': {top_words}' if top_words else ''}")


def _dot(estimate: Estimate, row: int, name: str, symbol: str) -> Trace:
    return draw.scatter(
        x=[estimate.mean],
        y=[row],
        error_x=draw.interval(estimate.mean, estimate.low, estimate.high, width=0, thickness=2),
        mode="markers",
        marker={"color": MODEL_COLOUR, "symbol": symbol, "size": 12, "line": {"width": 2, "color": MODEL_COLOUR}},
        hovertemplate=f"<b>{name}</b><br>{hover_label(estimate)}<extra></extra>",
    )
