"""What clusters capture as their number grows: accuracy, agreement with categories, and R^2 of numbers.

Lines are means; bands span one standard deviation on each side. The deviation is over seeds and splits for guessed
values and over seeds for scores computed from all texts (ICLR 2023, figures 3 and 13). A dashed line is the baseline:
the accuracy of always guessing the most frequent value. A line with open markers is of clusters that were learned on
another corpus; V-measure has none. A guide marks the run's own number of clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.attributes_over_k import OWN, AttributeTable, Line
from mauve_core.analyses.cluster_attributes import CATEGORICAL, NUMERIC, Attribute
from mauve_core.base.formatting import SCORE_DECIMALS, with_spread
from mauve_core.base.words import Words
from mauve_core.figures import draw
from mauve_core.figures.theme import (
    NEUTRAL_COLOUR,
    Style,
    as_label,
    candidate_style,
    line_layout,
    short_name,
    translucent,
)
from mauve_core.scoring.result import SeedSpread
from mauve_core.texts.kinds import property_named

# Display names of the scores.
TITLES = {
    "accuracy": "accuracy",
    "baseline": "most frequent value",
    "ami": "AMI",
    "v_measure": "V-measure",
    "purity": "purity",
    "r2": "R²",
}

# Title and description of each figure.
PARTS = {
    "accuracy": ("Guessed from the cluster", "accuracy (dashed: always the most frequent value)"),
    "agreement": ("Agreement", "AMI of clusters and values (dotted: V-measure)"),
    "explained": ("Explained", "R² of numbers (dotted: clusters do not help)"),
}

# Number of columns that a figure shows by default.
MOST_LINES = 5

HEIGHT = 340


@dataclass(frozen=True)
class _Curve:
    """How to draw one score of a column; ``low`` and ``high`` are the score's range, ``other`` is another corpus."""

    score: str
    dash: str
    low: float
    high: float
    title: str = ""
    markers: bool = True
    other: bool = False


_ACCURACY = (_Curve("accuracy", "solid", 0, 1), _Curve("baseline", "dash", 0, 1, "most frequent value", markers=False))
_AGREEMENT = (_Curve("ami", "solid", -1, 1, "AMI"), _Curve("v_measure", "dot", 0, 1, "V-measure"))
_EXPLAINED = (_Curve("r2", "solid", -math.inf, 1),)


def line_title(line: Line) -> str:
    """A column's name, or the title of a text property."""
    column, kind = line
    return property_named(column).title if kind == "surface" else column


def attributes_frame(table: AttributeTable) -> pd.DataFrame:
    """All numbers of the table: one row per column and k.

    Returns
    -------
    DataFrame
        column, kind, k, n, missing, then each score with its mean and _sd (NaN if missing); with clusters of another
        corpus also ``clusters``, whose texts they were learned on.
    """
    if not table.other_rows:
        return pd.DataFrame([_record(row) for row in table.rows])
    sides = ((OWN, table.rows), (table.clusters_from, table.other_rows))
    return pd.DataFrame([{**_record(row), "clusters": whose} for whose, rows in sides for row in rows])


def shown_table(table: AttributeTable) -> pd.DataFrame:
    """The table as text: one row per column and k, every score with its standard deviation."""
    rows = []
    for whose, own in ((OWN, table.rows), (table.clusters_from, table.other_rows)):
        for row in own:
            line = {"column": line_title((row.column, row.kind)), "k": row.k, "n": row.n}
            for name in (*CATEGORICAL, *NUMERIC):
                score = row.scores.get(name)
                line[TITLES[name]] = "" if score is None else _cell(score)
            rows.append(line | ({"clusters of": whose} if table.other_rows else {}))
    return pd.DataFrame(rows)


def described(table: AttributeTable, words: Words, plain: Callable[[str], str] = str) -> str:
    """Describe the texts and clusters behind the numbers and the spreads; ``plain`` escapes names from files."""
    settings = table.settings
    texts = settings.get("texts", {})
    whose = ", ".join(f"{n:,} of {plain(words.source(name))}" for name, n in list(texts.items())[:2])
    if len(texts) > 2:
        whose = f"{sum(texts.values()):,} of all {len(texts)} sides"
    pair = settings.get("candidate")
    partition = "joint partition" if pair is None else f"pairwise partition with {plain(str(pair))}"
    return (
        f"{words.items.capitalize()}: {whose}; {partition}. Accuracy and R²: on held-out {words.items}, mean ± sd over "
        f"{settings.get('seeds')} seeds and {settings.get('splits')} splits; most frequent value: over splits; AMI, "
        f"V-measure and purity: on all {words.items}, over seeds. V-measure and purity grow with k by themselves; AMI "
        "is 0 where clusters carry no information. Vertical line: the run's own k = "
        f"{settings.get('own_k')}.{_on_others(table, words, plain)}"
    )


def _on_others(table: AttributeTable, words: Words, plain: Callable[[str], str]) -> str:
    if not table.other_rows:
        return ""
    n = table.settings.get("clusters_from", {}).get("n", 0)
    learned = f"clusters learned on {words.count(n)} of {plain(table.clusters_from)} alone"
    return f" Open markers: {learned}, the same {words.items} guessed."


def lines_of(part: str, table: AttributeTable) -> list[Line]:
    """Columns that a part of ``PARTS`` can draw: categories or numbers."""
    wanted = part != "explained"
    return [line for line in table.lines if (line[1] == "category") == wanted]


def part_figure(part: str, table: AttributeTable, lines: Sequence[Line]) -> go.Figure:
    """The figure of a part of ``PARTS``."""
    makers = {"accuracy": accuracy_figure, "agreement": agreement_figure, "explained": explained_figure}
    return makers[part](table, lines)


def accuracy_figure(table: AttributeTable, lines: Sequence[Line]) -> go.Figure:
    """Accuracy of guessing a category from the cluster, with its baseline."""
    return _figure(table, lines, _ACCURACY, "accuracy").update_yaxes(rangemode="tozero")


def agreement_figure(table: AttributeTable, lines: Sequence[Line]) -> go.Figure:
    """Adjusted mutual information and V-measure of clusters and categories."""
    return _figure(table, lines, _AGREEMENT, "agreement with the column")


def explained_figure(table: AttributeTable, lines: Sequence[Line]) -> go.Figure:
    """R² of guessing a number by its cluster's mean; a line at 0 marks where clusters do not help."""
    figure = _figure(table, lines, _EXPLAINED, "R²")
    zero = {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dot"}
    figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=0, y1=0, line=zero, layer="below")
    return figure


def _cell(score: SeedSpread) -> str:
    return with_spread(score.mean, score.sd, SCORE_DECIMALS)


def _record(row: Attribute) -> dict[str, Any]:
    values: dict[str, Any] = {"column": row.column, "kind": row.kind, "k": row.k, "n": row.n, "missing": row.missing}
    for name in (*CATEGORICAL, *NUMERIC):
        score = row.scores.get(name)
        values[name] = math.nan if score is None else score.mean
        values[f"{name}_sd"] = math.nan if score is None or score.sd is None else score.sd
    return values


def _figure(table: AttributeTable, lines: Sequence[Line], curves: Sequence[_Curve], title: str) -> go.Figure:
    figure = go.Figure(layout=line_layout(HEIGHT, title))
    styles = {line: candidate_style(index) for index, line in enumerate(table.lines)}
    shown = [(line, table.lines[line], curve) for line in lines for curve in curves]
    foreign = replace(curves[0], dash="dashdot", title=f"clusters of {short_name(table.clusters_from)}", other=True)
    shown += [(line, table.other_lines[line], foreign) for line in lines if line in table.other_lines]
    for line, rows, curve in shown:
        figure.add_trace(_band(rows, curve, styles[line].colour, line))
    for line, rows, curve in shown:
        figure.add_trace(_line(rows, curve, styles[line], line))
    own = table.settings.get("own_k")
    ticks = sorted({row.k for _, rows, _ in shown for row in rows})
    figure.update_xaxes(
        type="log",
        title_text="clusters k",
        tickvals=ticks,
        ticktext=[f"<b>{k:,}</b>" if k == own else f"{k:,}" for k in ticks],
        minor={"ticks": "", "showgrid": False},
    )
    if own in ticks:
        guide = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "solid"}
        figure.add_shape(type="line", x0=own, x1=own, y0=0, y1=1, yref="paper", line=guide, layer="below")
    return figure


def _line(rows: Sequence[Attribute], curve: _Curve, style: Style, line: Line) -> go.Scatter:
    name = short_name(line_title(line))
    about = f"{name}: {curve.title}" if curve.title else name
    symbol = f"{style.symbol}-open" if curve.other else style.symbol
    edge = {"color": style.colour if curve.other else "white", "width": 1.5 if curve.other else 1}
    return go.Scatter(
        x=[row.k for row in rows],
        y=[row.scores[curve.score].mean for row in rows],
        mode="lines+markers" if curve.markers else "lines",
        line={"color": style.colour, "dash": curve.dash, "width": 2},
        marker={"color": style.colour, "symbol": symbol, "size": 8, "line": edge},
        name=as_label(about),
        meta=as_label(about if curve.other else line_title(line)),
        customdata=[_in_words(row, curve.score) for row in rows],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
        legendgroup=_group(line, curve),
    )


def _band(rows: Sequence[Attribute], curve: _Curve, colour: str, line: Line) -> draw.Trace:
    """Band from mean - sd to mean + sd, clipped to the score's range; zero height if no spread is known."""
    reaches = [_reach(row.scores[curve.score], curve) for row in rows]
    low, high = ([reach[side] for reach in reaches] for side in (0, 1))
    ks = [row.k for row in rows]
    return draw.band(ks, low, high, translucent(colour, 0.16), legendgroup=_group(line, curve))


def _reach(found: SeedSpread, curve: _Curve) -> tuple[float, float]:
    sd = found.sd or 0.0
    return max(found.mean - sd, curve.low), min(found.mean + sd, curve.high)


def _group(line: Line, curve: _Curve) -> str:
    return f"{line[1]} {line[0]} {curve.score}{' other' if curve.other else ''}"


def _in_words(row: Attribute, score: str) -> str:
    found = row.scores[score]
    over = ", one value, no spread" if found.sd is None else f" over {len(found.values)} values"
    return f"k = {row.k:,}: {TITLES[score]} {with_spread(found.mean, found.sd, SCORE_DECIMALS)}{over}<br>n = {row.n:,}"
