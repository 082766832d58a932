"""What one side has more often than the other: findings, phrases and properties of a cluster, and texts found.

Findings and searches are shares of texts with intervals; properties are effect sizes with intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.selection import SourceShare
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, interval, percent_with_interval, significant, written
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    MODE_BAR,
    NEUTRAL_COLOUR,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
)
from mauve_core.findings.distinctive_words import Phrase
from mauve_core.findings.finding import Finding
from mauve_core.findings.why_cards import PropertyEffect, WhyCard
from mauve_core.texts.kinds import property_named

# Of a row's label.
MOST_LETTERS = 44

_ROW, _MARGIN = 30, {"l": 8, "r": 118, "t": MODE_BAR, "b": 44}


def findings_figure(findings: Sequence[Finding], candidates: Sequence[str], *, chosen: int | None = None) -> go.Figure:
    """Draw a row per finding.

    Parameters
    ----------
    findings : sequence of Finding
        Of one candidate; the first is on top.
    candidates : sequence of str
        All candidates of the run, which give each its color.
    chosen : int or None
        The row that is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its row.
    """
    styles = {HUMAN: Style(HUMAN_COLOUR, "solid", "circle"), **candidate_styles(candidates)}
    rows, words = np.arange(len(findings)), findings[0].words
    human = np.array([each.share_human for each in findings])
    model = np.array([each.share_model for each in findings])
    ends = human + np.array([[each.low, each.high] for each in findings]).T
    between = {"color": NEUTRAL_COLOUR, "width": 1}
    traces = [
        draw.scatter(
            x=np.stack([human, model, np.full(rows.size, np.nan)], axis=1).ravel(),
            y=np.repeat(rows, 3),
            mode="lines",
            line=between,
            hoverinfo="skip",
            showlegend=False,
        )
    ]
    for name, values in ((findings[0].reference, human), (findings[0].candidate, model)):
        style = styles[name]
        bars = draw.error_bars(ends[1] - model, model - ends[0], width=0, thickness=4) if values is model else None
        traces.append(
            draw.scatter(
                x=values,
                y=rows,
                error_x=bars,
                mode="markers",
                cliponaxis=False,
                marker={"color": style.colour, "symbol": style.symbol, "size": 9},
                name=as_label(words.reference_items if name == HUMAN else short_name(name)),
                hoverinfo="skip",
            )
        )
    traces.append(
        draw.click_bars(
            rows,
            chosen,
            x=np.ones(rows.size),
            y=rows,
            orientation="h",
            xaxis="x2",
            customdata=rows[:, None],
            text=[as_label(f"{each.statement} ({'; '.join(each.remarks)})") for each in findings],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    layout = base_layout(
        height=_MARGIN["t"] + _MARGIN["b"] + _ROW * (len(findings) + 1),
        margin=_MARGIN,
        hovermode="closest",
        clickmode="event+select",
        dragmode=False,
        legend={"orientation": "h", "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top"},
        uirevision="findings",
        xaxis={"title": {"text": f"share of tested {words.items}"}, "tickformat": ".0%", "range": [-0.02, 1.02]},
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True},
        annotations=_shares(findings),
        yaxis=draw.row_axis([as_label(_short(each.does)) for each in findings], fixedrange=True),
    )
    return draw.figure(traces, layout)


def _shares(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """How much of the gap goes with each finding; nothing if none has a share."""
    equal = [each.held_equal for each in findings]
    if not any(equal):
        return []
    heading = _beside(-0.59, "of the gap", yanchor="bottom")
    return [heading, *(_beside(row, each.percent if each else NONE) for row, each in enumerate(equal))]


def _beside(row: float, text: str, yref: str = "y", yanchor: str = "middle") -> dict[str, Any]:
    place = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 6, "y": row, "yref": yref, "yanchor": yanchor}
    return {**place, "text": text, "showarrow": False, "font": {"size": 9}}


def _short(does: str) -> str:
    return does if len(does) <= MOST_LETTERS else f"{does[: MOST_LETTERS - 1].rstrip()}…"


_ROW_HEIGHT = 34
# Comparison, with its marker and offset from the property's row.
_ROWS = (("sides", "circle", -0.16), ("rest", "diamond", 0.16))


def phrases_frame(phrases: Sequence[Phrase]) -> pd.DataFrame:
    """One row per phrase.

    Returns
    -------
    DataFrame
        phrase, log_odds, low, high (natural logarithms), texts (of this set with the phrase), other_texts.
    """
    columns = ("log_odds", "low", "high", "texts", "other_texts")
    return pd.DataFrame(
        {"phrase": [phrase.text for phrase in phrases]}
        | {column: [getattr(phrase, column) for phrase in phrases] for column in columns}
    )


def effects_frame(card: WhyCard) -> pd.DataFrame:
    """One row per property and possible comparison.

    Returns
    -------
    DataFrame
        comparison ("sides": human against model texts of the cluster; "rest": the cluster against all other texts),
        property, title, first and second (means), n, m, delta (Cliff's), low, high, auc, separates.
    """
    rows = []
    for comparison in ("sides", "rest"):
        found: Sequence[PropertyEffect] = getattr(card, comparison)
        for each in found:
            if each.effect is None:
                continue
            effect, (low, high) = each.effect, each.effect.delta_interval
            rows.append(
                {
                    "comparison": comparison,
                    "property": each.name,
                    "title": property_named(each.name).title,
                    "first": effect.first,
                    "second": effect.second,
                    "n": effect.n,
                    "m": effect.m,
                    "delta": effect.delta,
                    "low": low,
                    "high": high,
                    "auc": effect.auc,
                    "separates": each.separates,
                }
            )
    return pd.DataFrame(rows)


def effects_figure(rows: pd.DataFrame, candidate: str, colour: str, *, words: Words = TEXTS) -> go.Figure:
    """Cliff's delta of every property with its interval: one row per property, one marker per comparison.

    ``rows`` comes from :func:`effects_frame` and is not empty; ``candidate`` names the model side, of that color.
    """
    titles = list(dict.fromkeys(rows["title"]))
    names = {
        "sides": f"{words.reference} against {as_label(candidate)}, here",
        "rest": "this cluster against all others",
    }
    traces = []
    colours = {"sides": colour, "rest": NEUTRAL_COLOUR}
    for comparison, symbol, shift in _ROWS:
        part = rows[rows["comparison"] == comparison]
        above, below = part["high"] - part["delta"], part["delta"] - part["low"]
        traces.append(
            draw.scatter(
                x=part["delta"].to_list(),
                y=[titles.index(title) + shift for title in part["title"]],
                error_x=draw.error_bars(above.to_list(), below.to_list(), width=0, thickness=2),
                mode="markers",
                name=names[comparison],
                marker={"color": colours[comparison], "symbol": symbol, "size": 10},
                text=[_effect_hover(row, words) for row in part.itertuples()],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    return draw.figure(
        traces,
        base_layout(
            showlegend=True,
            height=80 + _ROW_HEIGHT * len(titles),
            margin={"l": 8, "r": 8, "t": 36, "b": 8},
            xaxis={
                "range": [-1.05, 1.05],
                "zeroline": False,
                "title": {"text": "← smaller · Cliff's delta · larger →"},
            },
            yaxis=draw.row_axis(titles, 0.5),
            shapes=[draw.guide("x", 0, {"color": NEUTRAL_COLOUR, "width": 1})],
        ),
    )


def _effect_hover(row: Any, words: Words) -> str:
    return (
        f"<b>{row.title}</b><br>means {significant(row.first, 3)} and {significant(row.second, 3)} "
        f"({row.n:,} and {row.m:,} {words.items})<br>delta {written(row.delta, 2)}, {interval(row.low, row.high, 2)}"
    )


_SEARCH_ROW, _SEARCH_MARGIN = 30, {"l": 8, "r": 16, "t": MODE_BAR, "b": 44}


def shares_figure(
    shares: Sequence[SourceShare], candidates: Sequence[str], *, chosen: str | None = None, words: Words = TEXTS
) -> go.Figure:
    """Draw a row per source.

    Parameters
    ----------
    shares : sequence of SourceShare
        The first row is on top.
    candidates : sequence of str
        All candidates of the run, which give each its color.
    chosen : str or None
        The source whose row is shaded.

    Returns
    -------
    Figure
        The first value of a clicked point's ``customdata`` is its row.
    """
    styles = {HUMAN: Style(HUMAN_COLOUR, "solid", "circle"), **candidate_styles(candidates)}
    traces = []
    for row, each in enumerate(shares):
        style = styles[each.source]
        traces.append(
            draw.scatter(
                x=[each.share],
                y=[row],
                error_x=draw.interval(each.share, each.low, each.high, width=0, thickness=2),
                mode="markers",
                marker={"color": style.colour, "symbol": style.symbol, "size": 11},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    rows = np.arange(len(shares))
    traces.append(
        draw.click_bars(
            rows,
            next((row for row, each in enumerate(shares) if each.source == chosen), None),
            x=np.ones(len(shares)),
            y=rows,
            orientation="h",
            xaxis="x2",
            customdata=rows[:, None],
            text=[_share_hover(each, words) for each in shares],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    most = max(each.high for each in shares)
    layout = base_layout(
        height=_SEARCH_MARGIN["t"] + _SEARCH_MARGIN["b"] + _SEARCH_ROW * len(shares),
        margin=_SEARCH_MARGIN,
        hovermode="closest",
        clickmode="event+select",
        dragmode=False,
        showlegend=False,
        uirevision="shares",
        xaxis={"title": {"text": f"share of {words.items} found"}, "tickformat": ".0%", "range": [0, most * 1.05 or 1]},
        xaxis2={"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True},
        yaxis=draw.row_axis([as_label(words.source(short_name(each.source))) for each in shares], fixedrange=True),
    )
    return draw.figure(traces, layout)


def _share_hover(each: SourceShare, words: Words) -> str:
    share = percent_with_interval(each.share, each.low, each.high)
    return f"<b>{as_label(words.source(each.source))}</b><br>{each.found:,} of {each.n:,} {words.items}, {share}"
