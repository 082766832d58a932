"""The gap between the two sides: a ledger of its clusters, a what-if, and a greedy list of clusters.

In the ledger, what the model adds (it writes what humans don't) has the candidate's color, what it misses (humans write
it) human blue. Bars are shares of the frontier integral. A transparent bar over each row takes clicks, so that readers
can select short bars; the selected cluster's row is shaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.gap import TOGETHER
from mauve_core.base.formatting import SCORE_DECIMALS, percent_with_interval, with_spread
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.leaderboard import hover_label, titled
from mauve_core.figures.theme import HUMAN_COLOUR, MODE_BAR, NEUTRAL_COLOUR, PANELS_MARGIN, as_label, base_layout
from mauve_core.findings.clusters import ADDS
from mauve_core.findings.why_cards import labelled
from mauve_core.scoring.result import Estimate
from mauve_core.stats.scores import SCORES

# Characters in a line of a cluster's name beside its bar.
LABEL_WIDTH = 34

NOW, THEN = "now", "then"
# The top margin holds the buttons, which would otherwise take clicks on the first row.
_ROW_HEIGHT, _HEAD, _FOOT = 32, MODE_BAR, 52

_WHAT_IF_HEIGHT, _STEPS_HEIGHT = MODE_BAR + 170, 380


def ledger_figure(
    rows: pd.DataFrame,
    direction: str,
    names: Sequence[str] | None = None,
    *,
    colour: str,
    reach: tuple[float, float] | None = None,
    chosen: int | None = None,
    words: Words = TEXTS,
) -> go.Figure:
    """Draw the shares of one direction as bars, one per cluster, with their intervals.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.analyses.gap.ledger_rows``, in display order. A row that sums several clusters gets no
        bar, because it would dwarf the others.
    direction : {"adds", "misses"}
    names : sequence of str, optional
        Name of each cluster of the partition, by number; untrusted. Without them, bars have numbers.
    colour : str
        The candidate's, from ``theme.candidate_colour``.
    reach : (low, high), optional
        Axis limits, to make both directions comparable.
    chosen : int or None
        Cluster whose row is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its cluster.
    """
    rows = _single(rows)
    positions = np.arange(len(rows), dtype=np.float32)
    shares = rows["share"].to_numpy(dtype=np.float64)
    below, above = (np.maximum(each, 0.0) for each in (shares - rows["low"], rows["high"] - shares))
    bars = draw.bar(
        x=shares.astype(np.float32),
        y=positions,
        orientation="h",
        marker={"color": colour if direction == ADDS else HUMAN_COLOUR, "line": {"width": 0}},
        error_x=draw.error_bars(
            above.to_numpy(np.float32), below.to_numpy(np.float32), color=NEUTRAL_COLOUR, thickness=1.5, width=0
        ),
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
            f"<b>{_title(int(cluster), names)}</b><br>{percent_with_interval(*part)} of the frontier integral"
            for cluster, *part in rows[["cluster", "share", "low", "high"]].to_numpy(dtype=np.float64).tolist()
        ],
        hovertemplate="%{text}<br>"
        + f"%{{customdata[1]:,.0f}} {words.reference}, %{{customdata[2]:,.0f}} model {words.items}<extra></extra>",
    )
    return draw.figure([bars, clicked], _ledger_layout(rows, names, reach))


def common_reach(*ledgers: pd.DataFrame) -> tuple[float, float]:
    """Axis limits that hold every bar of these ledgers with its interval."""
    high = max((float(rows["high"].max()) for rows in map(_single, ledgers) if len(rows)), default=0.0)
    return 0.0, min(1.04 * high, 1.0) or 1.0


def what_if_figure(before: Mapping[str, Estimate], after: Mapping[str, Estimate], colour: str) -> go.Figure:
    """One panel per score: hollow = as is, filled = what-if, lines = bootstrap intervals, with a connecting line.

    ``colour`` is the candidate's.
    """
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
        dots = _dot(now, 1, NOW, "circle-open", colour), _dot(then, 0, THEN, "circle", colour)
        traces += [draw.on_panel(trace, column) for trace in (joined, *dots)]
    quiet = {"zeroline": False, "fixedrange": True}
    ticks = {"tickvals": [1, 0], "ticktext": [NOW, THEN], "range": [-0.5, 1.5]}
    layout = draw.with_axes(layout, "y", **ticks, showgrid=False, **quiet)
    layout = draw.with_axes(layout, "x", nticks=5, tickangle=0, **quiet)
    rest = base_layout(height=_WHAT_IF_HEIGHT, margin=PANELS_MARGIN, showlegend=False)
    return draw.figure(traces, draw.with_titles(layout | rest))


def steps_figure(
    rows: pd.DataFrame, score: str, names: Sequence[str], colour: str, *, words: Words = TEXTS
) -> go.Figure:
    """A score after each cluster of the greedy list: in the shown partition, and mean and sd over all seeds.

    Parameters
    ----------
    rows : DataFrame
        From ``mauve_core.analyses.gap.step_rows``.
    score : str
        The score that the greedy list optimizes.
    names : sequence of str
        Name of each cluster of the partition, by number, for the hovers; untrusted.
    colour : str
        The candidate's.
    """
    step = rows["step"].to_numpy()
    known = rows[rows["mean"].notna()]
    over_seeds = draw.scatter(
        x=known["step"].to_numpy(),
        y=known["mean"].to_numpy(),
        error_y={"type": "data", "array": known["sd"].fillna(0.0).to_numpy(), "thickness": 2, "width": 0},
        mode="lines+markers",
        name=f"mean ± sd over seeds, same {words.items}",
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
        line={"color": colour, "width": 3},
        marker={"size": 9},
        customdata=np.column_stack([rows["closed"]]),
        text=[_step_title(int(cluster), names) for cluster in rows["cluster"]],
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
    best = draw.guide("y", SCORES[score].best, {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"})
    return draw.figure([over_seeds, in_partition], base_layout(height=_STEPS_HEIGHT, xaxis=x, yaxis=y, shapes=[best]))


def _single(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["cluster"] != TOGETHER]


def _ledger_layout(
    rows: pd.DataFrame, names: Sequence[str] | None, reach: tuple[float, float] | None
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
            "title": {"text": "share of the frontier integral"},
            "range": None if reach is None else list(reach),
            "tickformat": ".0%",
            "nticks": 6,
            "zeroline": True,
            "zerolinecolor": NEUTRAL_COLOUR,
            "zerolinewidth": 1,
            "fixedrange": True,
        },
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True},
        yaxis=draw.row_axis(
            [_label(int(cluster), names) for cluster in rows["cluster"]],
            0.5,
            fixedrange=True,
            tickfont={"size": 12},
            automargin=True,
        ),
    )


def _title(cluster: int, names: Sequence[str] | None) -> str:
    """The cluster's name and number, escaped."""
    return as_label(f"Cluster {cluster}" if names is None else labelled(names, cluster))


def _label(cluster: int, names: Sequence[str] | None) -> str:
    """The same beside a bar, on two lines if it is long."""
    return str(cluster) if names is None else draw.wrapped(labelled(names, cluster), LABEL_WIDTH)


def _step_title(cluster: int, names: Sequence[str]) -> str:
    return "As it is" if cluster == TOGETHER else f"+ {_title(cluster, names)}"


def _dot(estimate: Estimate, row: int, name: str, symbol: str, colour: str) -> Trace:
    return draw.scatter(
        x=[estimate.mean],
        y=[row],
        error_x=draw.interval(estimate.mean, estimate.low, estimate.high, width=0, thickness=2),
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2, "color": colour}},
        hovertemplate=f"<b>{name}</b><br>{hover_label(estimate)}<extra></extra>",
    )
