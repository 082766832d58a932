"""Scores of all candidates: a table of numbers and a dot-and-interval chart that marks ties.

Ranks and ties come from :func:`mauve_core.scoring.tables.standings`, as on the command line: a candidate shares a
group's rank if the test of their difference does not tell it apart from the group's first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import PartitionKind
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, interval, with_named_spreads
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    MODE_BAR,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    SIDE_BY_SIDE,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
)
from mauve_core.scoring.result import Candidate, Comparison, Estimate
from mauve_core.scoring.tables import (
    Standing,
    human_vs_human_label,
    interval_of,
    like_for_like_title,
    mean_and_spread,
    rank_label,
    standings,
)
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES

# Height of a candidate's row in pixels, and the least beside another figure.
_ROW_HEIGHT, _LOW_ROW = 34, 20

# Margins beside the divergence curves.
_BESIDE = {"l": 8, "r": 8, "t": 10, "b": 58}


def titled(score: str) -> str:
    """The score's name with its direction of improvement."""
    return f"{SCORES[score].title} {'↑' if SCORES[score].higher_is_closer else '↓'}"


def leaderboard_frame(comparison: Comparison, kind: PartitionKind, *, by: str = "mauve") -> pd.DataFrame:
    """The numbers of the leaderboard, best first by the score ``by``, for the table and the CSV.

    Returns
    -------
    DataFrame
        rank (0 for human vs. human), tied, letters (two candidates share one exactly if they are not told apart; empty
        for human vs. human and a single candidate), candidate, for each score its mean and _sd, _low, _high; n_human,
        n, k, encoder, partition, scale, seeds, confidence. For the pairwise partition, the last row is human vs.
        human, and if scores like for like were made at these settings, there are ``like_for_like`` (MAUVE at the size
        of the last row), its _sd, _low and _high. If a candidate has several generations, there are also generations
        and, for each score, _generations_sd; n is then the number of texts of one generation.
    """
    rows = []
    repeated = any(source.generations > 1 for source in comparison.sources)
    for standing in standings(comparison, by, kind):
        name = standing.candidate.name
        source = standing.candidate.source
        sizes = {"n_human": comparison.human.n, "n": source.n_scored, "k": comparison.partition(kind, name).k}
        sizes |= {"generations": source.generations} if repeated else {}
        place = {"rank": standing.rank, "tied": standing.tied, "letters": standing.letters, "candidate": name}
        rows.append(place | _numbers(comparison, standing.candidate, kind) | sizes)
    halves = shown_halves(comparison, kind)
    if halves is not None:
        sizes = {"n_human": halves.source.n, "n": halves.source.n, "k": halves.partitions[0].k}
        sizes |= {"generations": 1} if repeated else {}
        place = {"rank": 0, "tied": False, "letters": "", "candidate": comparison.words.halves}
        rows.append(place | _numbers(comparison, halves, kind) | sizes)
        if comparison.like_for_like:
            rows = [row | _like_for_like(comparison, str(row["candidate"]), halves) for row in rows]
    config = comparison.config
    return pd.DataFrame(rows).assign(
        encoder=config.made_by,
        partition=kind,
        scale=config.score.scale,
        seeds=config.score.seeds,
        confidence=config.score.confidence,
    )


def shown_halves(comparison: Comparison, kind: PartitionKind) -> Candidate | None:
    """Human vs. human, if the partition has it; a joint partition has too many clusters."""
    return comparison.halves if kind == "pairwise" else None


def _like_for_like(comparison: Comparison, name: str, halves: Candidate) -> dict[str, float]:
    found = comparison.at_size_of_halves(name)
    scores = halves.scores if name == comparison.words.halves else {} if found is None else found.scores
    if REFERENCE_SCORE not in scores:
        return dict.fromkeys((f"like_for_like{end}" for end in ("", "_sd", "_low", "_high")), float("nan"))
    return _named("like_for_like", scores[REFERENCE_SCORE])


def _numbers(comparison: Comparison, candidate: Candidate, kind: PartitionKind) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for score in comparison.score_names:
        estimate = candidate.estimate(score, kind)
        row |= _named(score, estimate)
        if estimate.generations is not None:
            row |= {f"{score}_generations_sd": estimate.generations_sd}
    return row


def _named(name: str, estimate: Estimate) -> dict[str, float]:
    spread = {name: estimate.mean, f"{name}_sd": float("nan") if estimate.sd is None else estimate.sd}
    return spread | {f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def score_of_row(row: Mapping[Any, Any], score: str, value_in: str = "{}") -> str:
    """A score of a row of :func:`leaderboard_frame` with its spread over seeds and, if any, over generations."""
    spreads = (row[f"{score}_sd"], row.get(f"{score}_generations_sd"), int(row.get("generations", 1)))
    return with_named_spreads(row[score], *spreads, SCORE_DECIMALS, value_in=value_in)


def texts_of_row(row: Mapping[Any, Any]) -> str:
    """The number of texts of a row of :func:`leaderboard_frame`: ``512``, or ``512 × 5`` with generations."""
    generations = int(row.get("generations", 1))
    return f"{row['n']:,}" + (f" × {generations:,}" if generations > 1 else "")


def shown_table(frame: pd.DataFrame, plain: Callable[[str], str]) -> pd.DataFrame:
    """``leaderboard_frame`` as Markdown cells: ``1=`` for a shared rank, letters if there are some, and each score with
    its spread and interval.

    ``plain`` escapes a name from a file for Markdown.
    """
    shown = pd.DataFrame(
        {
            "Rank": [rank_label(rank, tied) for rank, tied in zip(frame["rank"], frame["tied"], strict=True)],
            **({"Letters": frame["letters"]} if frame["letters"].any() else {}),
            "Candidate": [f"**{plain(short_name(name))}**" for name in frame["candidate"]],
        }
    )
    rows = frame.to_dict("records")
    for score in filter(frame.__contains__, SCORES):
        shown[titled(score)] = [score_label(row, score) for row in rows]
    return shown.assign(
        n=[texts_of_row(row) for row in rows],
        k=[f"{k:,}" for k in frame["k"]],
        Encoder=[plain(encoder) for encoder in frame["encoder"]],
    )


def like_for_like_rows(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Column titles, and cells of every candidate and human vs. human: MAUVE with all texts, and like for like.

    Below each is its interval, on a line of its own. No rows if no candidate was scored like for like.
    """
    halves = comparison.halves
    if halves is None or not comparison.like_for_like:
        return (), []
    title = SCORES[REFERENCE_SCORE].title
    rows: list[tuple[str, ...]] = []
    for standing in standings(comparison):
        candidate = standing.candidate
        found = comparison.at_size_of_halves(candidate.name)
        alike = NONE if found is None else _lines(found.scores[REFERENCE_SCORE])
        rows.append((candidate.name, f"{candidate.source.n:,}", _lines(candidate.scores[REFERENCE_SCORE]), alike))
    rows.append((comparison.words.halves, f"{halves.source.n:,}", NONE, _lines(halves.scores[REFERENCE_SCORE])))
    return ("Candidate", "n", f"{title}, all {comparison.words.items}", like_for_like_title(halves.source.n)), rows


def _lines(estimate: Estimate) -> str:
    return f"{mean_and_spread(estimate)}\n{interval_of(estimate)}"


def score_label(row: Mapping[Any, Any], score: str) -> str:
    """Mean and spread over seeds, and over generations if any, above the bootstrap interval."""
    shown = score_of_row(row, score, "**{}**")
    return f"{shown}  \n{interval(row[f'{score}_low'], row[f'{score}_high'], SCORE_DECIMALS)}"


def hover_label(estimate: Estimate) -> str:
    """Mean, spread, interval and number of seeds, as hover lines."""
    over = "" if estimate.sd is None or estimate.generations else f" over {len(estimate.values)} seeds"
    return f"{mean_and_spread(estimate)}{over}<br>interval {interval_of(estimate)}"


def interval_figure(comparison: Comparison, kind: PartitionKind, *, by: str = "mauve") -> go.Figure:
    """One panel per score: dot = mean, thick line = spread over seeds, thin line = bootstrap interval.

    Candidates are sorted from best to worst by the score ``by``; a gray bracket in its panel joins candidates of
    equal rank. Color and marker follow the run's order of candidates. Human vs. human is on top in
    the color of P, with its n where that is another than the candidates'; a dotted line extends its mean downward.
    """
    traces, layout = _panels_of(comparison, kind, comparison.score_names, by)
    height = MODE_BAR + 70 + _ROW_HEIGHT * _rows(comparison, kind)
    rest = base_layout(height=height, margin=PANELS_MARGIN, showlegend=False)
    return draw.figure(traces, draw.with_titles(layout | rest))


def score_figure(comparison: Comparison, kind: PartitionKind, *, by: str = "mauve") -> go.Figure:
    """The panel of the score ``by`` of :func:`interval_figure`, to stand beside the divergence curves."""
    traces, layout = _panels_of(comparison, kind, (by,), by)
    height = max(SIDE_BY_SIDE, _BESIDE["t"] + _BESIDE["b"] + _LOW_ROW * _rows(comparison, kind))
    rest = base_layout(height=height, margin=_BESIDE, showlegend=False, annotations=[])
    title = {"text": titled(by), "standoff": 4, "font": {"size": 12}}
    return draw.figure(traces, draw.with_axes(layout | rest, "x", title=title))


def _rows(comparison: Comparison, kind: PartitionKind) -> int:
    return len(comparison.candidates) + (shown_halves(comparison, kind) is not None)


def _panels_of(
    comparison: Comparison, kind: PartitionKind, scores: Sequence[str], by: str
) -> tuple[list[Trace], draw.Layout]:
    placed, halves = standings(comparison, by, kind), shown_halves(comparison, kind)
    names = [short_name(standing.candidate.name) for standing in placed]
    styles = candidate_styles([candidate.name for candidate in comparison.candidates])
    label = human_vs_human_label(comparison)
    layout = draw.panel_row([titled(score) for score in scores], 0.03)
    traces: list[Trace] = []
    for column, score in enumerate(scores, start=1):
        estimates = [standing.candidate.estimate(score, kind) for standing in placed]
        panel: list[Trace] = []
        for row, (standing, estimate) in enumerate(zip(placed, estimates, strict=True)):
            panel += _interval(estimate, row, standing.candidate.name, styles[standing.candidate.name])
        panel += [] if halves is None else _human_vs_human(halves.estimate(score, kind), len(placed), label)
        panel += _ties(placed, estimates, tie_in_words(comparison)) if score == by else []
        traces += [draw.on_panel(trace, column) for trace in panel]
    layout = draw.with_axes(
        layout,
        "y",
        tickvals=list(range(len(placed))) + [-1] * (halves is not None),
        ticktext=[as_label(name) for name in names] + [label] * (halves is not None),
        range=[len(placed) - 0.4, -0.6 - (halves is not None)],
        showgrid=False,
        zeroline=False,
    )
    return traces, draw.with_axes(layout, "x", nticks=5, zeroline=False)


def _human_vs_human(estimate: Estimate, rows: int, label: str) -> list[Trace]:
    """The row of human vs. human, and a line from their mean down to the last candidate."""
    line = _stroke([estimate.mean] * 2, [-1, rows - 0.5], HUMAN_COLOUR, 1.5)
    line["line"]["dash"] = "dot"
    return [line, *_interval(estimate, -1, label, Style(HUMAN_COLOUR, "solid", "circle"))]


def _interval(estimate: Estimate, row: int, name: str, style: Style) -> list[Trace]:
    sd = estimate.sd or 0.0
    thick = _stroke([estimate.mean - sd, estimate.mean + sd], [row, row], style.colour, 5)
    dot = draw.scatter(
        x=[estimate.mean],
        y=[row],
        error_x=draw.interval(estimate.mean, estimate.low, estimate.high, width=0, thickness=2),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 11, "line": {"color": "white", "width": 1}},
        hovertemplate=f"<b>{as_label(name)}</b><br>{hover_label(estimate)}<extra></extra>",
    )
    return [thick, dot]


def tie_in_words(comparison: Comparison) -> str:
    """What a shared rank means: by a test, or, on a leaderboard over two runs, by intervals."""
    return "not told apart" if comparison.is_tested else "the intervals overlap"


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
