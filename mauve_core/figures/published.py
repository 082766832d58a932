"""The papers' correlation tables as numbers and as dots: ours beside the published number.

A grey band is what the rounding of the printed figures leaves open.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from mauve_core.figures.leaderboard import UNBROKEN
from mauve_core.figures.theme import NEUTRAL_COLOUR, base_layout, candidate_style, translucent
from mauve_core.published import DOMAINS, MEASURES, OUTCOMES, REFERENCES, Agreement

MARKS = {"reproduced": "=", "rounding": "≈", "undecided": "?", "different": "≠"}
"""Between ours and the published number, so that the outcome does not hang on colour."""

OURS_COLOUR = candidate_style(4).colour
"""Neither side's: a correlation belongs to no text."""

_ROW_HEIGHT, _HEAD = 30, 76


def agreement_frame(rows: Sequence[Agreement]) -> pd.DataFrame:
    """A row a number: what the page's table shows and the CSV holds.

    Returns
    -------
    DataFrame
        paper, domain, reference, measure (keys), n, statistic, ours, published, difference, low, high (range that
        rounding leaves), plain, worst (NaN where no deviations are printed), worst_exact, outcome, joint.
    """
    return pd.DataFrame(
        [
            {
                "paper": row.paper,
                "domain": row.domain,
                "reference": row.reference,
                "measure": row.measure,
                "n": row.n,
                "statistic": row.statistic,
                "ours": row.ours,
                "published": row.published,
                "difference": row.difference,
                "low": row.low,
                "high": row.high,
                "plain": row.plain,
                "worst": float("nan") if row.worst is None else row.worst.value,
                "worst_exact": row.worst is None or row.worst.exact,
                "outcome": row.outcome,
                "joint": row.joint,
            }
            for row in rows
        ]
    )


def shown_table(frame: pd.DataFrame) -> pd.DataFrame:
    """``agreement_frame`` of one paper as Markdown cells: a row a reference, a column a measure."""
    names = list(dict.fromkeys(frame["measure"]))
    records = []
    for (domain, reference), part in frame.groupby(["domain", "reference"], sort=False):
        cells = {row.measure: _cell(row) for row in part.itertuples()}
        record = {"Held against": f"**{REFERENCES[str(reference)].title}**  \n{DOMAINS[str(domain)].title}"}
        records.append(record | {MEASURES[name].title: cells[name] for name in names})
    return pd.DataFrame(records)


def agreement_figure(frame: pd.DataFrame) -> go.Figure:
    """A panel a reference, a row a measure: dot = ours, tick = published, grey band = range that rounding leaves.

    Measures stand from the best to the worst by their mean with the human scores.
    """
    panels = list(dict.fromkeys(zip(frame["domain"], frame["reference"], strict=True)))
    measures = best_first(frame)
    figure = make_subplots(
        rows=1,
        cols=len(panels),
        shared_yaxes=True,
        subplot_titles=[_panel_title(domain, reference) for domain, reference in panels],
        horizontal_spacing=0.02,
    )
    for column, (domain, reference) in enumerate(panels, start=1):
        part = frame[(frame["domain"] == domain) & (frame["reference"] == reference)].set_index("measure").loc[measures]
        figure.add_traces(_dots(part, first=column == 1), rows=[1] * 4, cols=[column] * 4)
    figure.update_yaxes(
        tickvals=list(range(len(measures))),
        ticktext=[MEASURES[name].title for name in measures],
        range=[len(measures) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    figure.update_xaxes(range=[-1.08, 1.08], tickvals=[-0.5, 0, 0.5, 1], zeroline=True, zerolinewidth=1)
    figure.update_annotations(font_size=13)
    figure.update_layout(
        base_layout(
            height=_HEAD + 34 + _ROW_HEIGHT * len(measures),
            margin={"l": 8, "r": 8, "t": _HEAD, "b": 8},
            legend={**base_layout()["legend"], "y": 1, "yref": "container", "yanchor": "top"},
        )
    )
    return figure


def best_first(frame: pd.DataFrame) -> list[str]:
    """The measures of one paper, by the mean of their correlations with human scores."""
    human = frame[[bool(REFERENCES[name].higher_is_closer) for name in frame["reference"]]]
    means = human.groupby("measure", sort=False)["ours"].mean().sort_values(ascending=False, kind="stable")
    return [str(name) for name in means.index]


def _cell(row: Any) -> str:
    worst = "" if row.worst_exact or row.statistic == "plain" else "~"
    return f"**{worst}{row.ours:.3f}** {MARKS[row.outcome]} {row.published:.3f}  \n{row.difference:+z.3f}".replace(
        " ", UNBROKEN, 2
    )


def _panel_title(domain: str, reference: str) -> str:
    title = REFERENCES[reference].title if REFERENCES[reference].higher_is_closer else "Discriminator"
    return f"{title}<br>{DOMAINS[domain].title.split(',')[0].lower()}"


def _dots(part: pd.DataFrame, *, first: bool) -> list[go.Scatter]:
    """Stem, range, ours and published of one panel; ``first`` puts them into the legend."""
    places = np.arange(len(part))
    gaps = [None] * len(part)
    stems_x = [x for pair in zip([0.0] * len(part), part["ours"], gaps, strict=True) for x in pair]
    ranges_x = [x for pair in zip(part["low"], part["high"], gaps, strict=True) for x in pair]
    stems_y = [y for place in places for y in (place, place, None)]
    hovers = [_hover(row) for row in part.reset_index().itertuples()]
    stem = go.Scatter(x=stems_x, y=stems_y, mode="lines", line={"color": OURS_COLOUR, "width": 1.5}, hoverinfo="skip")
    band = go.Scatter(
        x=ranges_x,
        y=stems_y,
        mode="lines",
        line={"color": translucent(NEUTRAL_COLOUR, 0.55), "width": 9},
        hoverinfo="skip",
        name="what rounding leaves open",
        legendgroup="range",
    )
    published = go.Scatter(
        x=part["published"],
        y=places,
        mode="markers",
        marker={"symbol": "line-ns", "size": 17, "line": {"color": NEUTRAL_COLOUR, "width": 3}},
        hovertemplate=hovers,
        name="published",
        legendgroup="published",
    )
    ours = go.Scatter(
        x=part["ours"],
        y=places,
        mode="markers",
        marker={"color": OURS_COLOUR, "size": 10, "line": {"color": "white", "width": 1}},
        hovertemplate=hovers,
        name="ours",
        legendgroup="ours",
    )
    stem.update(showlegend=False)
    for trace in (band, published, ours):
        trace.update(showlegend=first)
    return [stem, band, published, ours]


def _hover(row: Any) -> str:
    title = html.escape(MEASURES[row.measure].title)
    return (
        f"<b>{title}</b>, {row.statistic}, n = {row.n}<br>ours {row.ours:.3f}, published {row.published:.3f}"
        f"<br>{row.low:.3f} to {row.high:.3f} within rounding<br>{OUTCOMES[row.outcome]}<extra></extra>"
    )
