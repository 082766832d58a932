"""What distinguishes a cluster, as tables and a figure: phrases with intervals, properties with effect sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analysis.phrases import Phrase
from mauve_core.analysis.why import PropertyEffect, WhyCard
from mauve_core.base.formatting import interval, significant, written
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.theme import NEUTRAL_COLOUR, as_label, base_layout
from mauve_core.texts.kinds import property_named

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
                text=[_hover(row, words) for row in part.itertuples()],
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


def _hover(row: Any, words: Words) -> str:
    return (
        f"<b>{row.title}</b><br>means {significant(row.first, 3)} and {significant(row.second, 3)} "
        f"({row.n:,} and {row.m:,} {words.items})<br>delta {written(row.delta, 2)}, {interval(row.low, row.high, 2)}"
    )
