"""Scores of all candidates: a table of numbers and a dot-and-interval chart that marks ties.

Ranks and ties come from :func:`mauve_core.scoring.tables.standings`, as on the command line: a candidate shares a
group's rank if the test of their difference does not tell it apart from the group's first.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import SCORES, PartitionKind
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, interval, with_spread
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    MODE_BAR,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    Style,
    base_layout,
    candidate_style,
    short_name,
)
from mauve_core.scoring.result import Candidate, Comparison, Estimate
from mauve_core.scoring.tables import (
    HALVES_TITLE,
    HIGHER_IS_CLOSER,
    TITLES,
    Standing,
    interval_of,
    mean_and_spread,
    standings,
)

_ROW_HEIGHT = 34


def titled(score: str) -> str:
    """The score's name with its direction of improvement."""
    return f"{TITLES[score]} {'↑' if HIGHER_IS_CLOSER[score] else '↓'}"


def leaderboard_frame(comparison: Comparison, kind: PartitionKind, *, by: str = "mauve") -> pd.DataFrame:
    """The numbers of the leaderboard, best first by the score ``by``, for the table and the CSV.

    Returns
    -------
    DataFrame
        rank (0 for the human halves), tied, candidate, for each score its mean and _sd, _low, _high; n_human, n, k,
        encoder, partition, scale, seeds, confidence. For the pairwise partition, the last row compares two halves of
        the human texts if they could be split.
    """
    rows = []
    for standing in standings(comparison, by, kind):
        name = standing.candidate.name
        sizes = {"n_human": comparison.human.n, "n": standing.candidate.source.n}
        sizes["k"] = comparison.partition(kind, name).k
        standing_cells = {"rank": standing.rank, "tied": standing.tied, "candidate": name}
        rows.append(standing_cells | _numbers(standing.candidate, kind) | sizes)
    halves = shown_halves(comparison, kind)
    if halves is not None:
        sizes = {"n_human": halves.source.n, "n": halves.source.n, "k": halves.partitions[0].k}
        rows.append({"rank": 0, "tied": False, "candidate": HALVES_TITLE} | _numbers(halves, kind) | sizes)
    config = comparison.config
    return pd.DataFrame(rows).assign(
        encoder=config.encoder.model if config.encoder else "features given",
        partition=kind,
        scale=config.score.scale,
        seeds=config.score.seeds,
        confidence=config.score.confidence,
    )


def shown_halves(comparison: Comparison, kind: PartitionKind) -> Candidate | None:
    """The human halves, if the partition has them; a joint partition has too many clusters for halves."""
    return comparison.halves if kind == "pairwise" else None


def _numbers(candidate: Candidate, kind: PartitionKind) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for score in SCORES:
        estimate = candidate.estimate(score, kind)
        row |= {score: estimate.mean, f"{score}_sd": float("nan") if estimate.sd is None else estimate.sd}
        row |= {f"{score}_low": estimate.low, f"{score}_high": estimate.high}
    return row


def shown_table(frame: pd.DataFrame, plain: Callable[[str], str]) -> pd.DataFrame:
    """``leaderboard_frame`` as Markdown cells: ``1=`` for a shared rank; each score with its spread and interval.

    ``plain`` escapes a name from a file for Markdown.
    """
    shown = pd.DataFrame(
        {
            "Rank": [rank_label(rank, tied) for rank, tied in zip(frame["rank"], frame["tied"], strict=True)],
            "Candidate": [f"**{plain(short_name(name))}**" for name in frame["candidate"]],
        }
    )
    for score in SCORES:
        columns = (frame[score], frame[f"{score}_sd"], frame[f"{score}_low"], frame[f"{score}_high"])
        shown[titled(score)] = [score_label(*values) for values in zip(*columns, strict=True)]
    return shown.assign(
        n=[f"{n:,}" for n in frame["n"]],
        k=[f"{k:,}" for k in frame["k"]],
        Encoder=[plain(encoder) for encoder in frame["encoder"]],
    )


def rank_label(rank: int, tied: bool) -> str:
    """``2``, or ``2=`` for a shared rank; a dash for the human halves, which have no rank."""
    if rank == 0:
        return NONE
    return f"{rank}=" if tied else str(rank)


def score_label(mean: float, sd: float, low: float, high: float) -> str:
    """Mean and spread over seeds, above the bootstrap interval."""
    score = with_spread(mean, sd, SCORE_DECIMALS, value_in="**{}**")
    return f"{score}  \n{interval(low, high, SCORE_DECIMALS)}"


def hover_label(estimate: Estimate) -> str:
    """Mean, spread, interval and number of seeds, as hover lines."""
    over = "" if estimate.sd is None else f" over {len(estimate.values)} seeds"
    return f"{mean_and_spread(estimate)}{over}<br>interval {interval_of(estimate)}"


def interval_figure(comparison: Comparison, kind: PartitionKind, *, by: str = "mauve") -> go.Figure:
    """One panel per score: dot = mean, thick line = spread over seeds, thin line = bootstrap interval.

    Candidates are sorted from best to worst by the score ``by``; a gray bracket in its panel joins candidates of
    equal rank. Color and marker follow the run's order of candidates. The human halves (the ceiling) are on top in
    the color of P; a dotted line extends their mean downward.
    """
    placed, halves = standings(comparison, by, kind), shown_halves(comparison, kind)
    names = [short_name(standing.candidate.name) for standing in placed]
    order = [candidate.name for candidate in comparison.candidates]
    layout = draw.panel_row([titled(score) for score in SCORES], 0.03)
    traces: list[Trace] = []
    for column, score in enumerate(SCORES, start=1):
        estimates = [standing.candidate.estimate(score, kind) for standing in placed]
        panel: list[Trace] = []
        for row, (standing, estimate) in enumerate(zip(placed, estimates, strict=True)):
            name = standing.candidate.name
            panel += _interval(estimate, row, name, candidate_style(order.index(name)))
        panel += [] if halves is None else _ceiling(halves.estimate(score, kind), len(placed))
        panel += _ties(placed, estimates, tie_in_words(comparison)) if score == by else []
        traces += [draw.on_panel(trace, column) for trace in panel]
    layout = draw.with_axes(
        layout,
        "y",
        tickvals=list(range(len(placed))) + [-1] * (halves is not None),
        ticktext=[html.escape(name) for name in names] + [HALVES_TITLE] * (halves is not None),
        range=[len(placed) - 0.4, -0.6 - (halves is not None)],
        showgrid=False,
        zeroline=False,
    )
    layout = draw.with_axes(layout, "x", nticks=5, zeroline=False)
    height = MODE_BAR + 70 + _ROW_HEIGHT * (len(placed) + (halves is not None))
    rest = base_layout(height=height, margin=PANELS_MARGIN, showlegend=False)
    return draw.figure(traces, draw.with_titles(layout | rest))


def _ceiling(estimate: Estimate, rows: int) -> list[Trace]:
    """The row of the human halves, and a line from their mean down to the last candidate."""
    line = _stroke([estimate.mean] * 2, [-1, rows - 0.5], HUMAN_COLOUR, 1.5)
    line["line"]["dash"] = "dot"
    return [line, *_interval(estimate, -1, HALVES_TITLE, Style(HUMAN_COLOUR, "solid", "circle"))]


def _interval(estimate: Estimate, row: int, name: str, style: Style) -> list[Trace]:
    sd = estimate.sd or 0.0
    thick = _stroke([estimate.mean - sd, estimate.mean + sd], [row, row], style.colour, 5)
    dot = draw.scatter(
        x=[estimate.mean],
        y=[row],
        error_x=draw.interval(estimate.mean, estimate.low, estimate.high, width=0, thickness=2),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 11, "line": {"color": "white", "width": 1}},
        hovertemplate=f"<b>{html.escape(name)}</b><br>{hover_label(estimate)}<extra></extra>",
    )
    return [thick, dot]


def tie_in_words(comparison: Comparison) -> str:
    """What a shared rank means: by a test, or, in a run whose differences were not tested, by intervals."""
    return "not told apart" if comparison.differences is not None else "the intervals overlap"


def _ties(placed: Sequence[Standing], estimates: Sequence[Estimate], reason: str) -> list[Trace]:
    """A bracket at the panel's right edge for each shared rank."""
    high = max(estimate.high for estimate in estimates)
    width = max(high - min(estimate.low for estimate in estimates), 1e-9)
    brackets = []
    for rank in sorted({standing.rank for standing in placed if standing.tied}):
        indices = [index for index, standing in enumerate(placed) if standing.rank == rank]
        x = high + width * 0.06
        bracket = _stroke([x, x], [indices[0] - 0.25, indices[-1] + 0.25], NEUTRAL_COLOUR, 4)
        bracket |= {"hoverinfo": None, "hovertemplate": f"tied: {reason}<extra></extra>"}
        brackets.append(bracket)
    return brackets


def _stroke(x: list[float], y: list[float], colour: str, width: float) -> Trace:
    return draw.scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip")
