"""The papers' correlation tables as numbers and dots: recomputed values beside the published ones.

Gray bands show the range left by the rounding of the printed figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.formatting import SCORE_DECIMALS, UNBROKEN, interval, written
from mauve_core.experiments.published import DOMAINS, OUTCOMES, PUBLISHED_COLUMNS, REFERENCES, Agreement
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import NEUTRAL_COLOUR, as_label, base_layout, candidate_style, translucent

# Marks between the recomputed and the published number, so that the outcome does not rely on color.
MARKS = {"reproduced": "=", "rounding": "≈", "undecided": "?", "different": "≠"}

# Color of neither side, because a correlation belongs to no text.
OURS_COLOUR = candidate_style(4).colour

_COPIED = (
    *("paper", "domain", "reference", "measure", "n", "statistic"),
    *("ours", "published", "difference", "low", "high", "plain"),
)
_ROW_HEIGHT, _HEAD = 30, 76


def agreement_frame(rows: Sequence[Agreement]) -> pd.DataFrame:
    """One row per number, for the page's table and the CSV.

    Returns
    -------
    DataFrame
        paper, domain, reference, measure (keys), n, statistic, ours, published, difference, low, high (range left by
        rounding), plain, worst (NaN without printed deviations), worst_exact, outcome, joint.
    """
    return pd.DataFrame(
        [
            {
                **{name: getattr(row, name) for name in _COPIED},
                "worst": float("nan") if row.worst is None else row.worst.value,
                "worst_exact": row.worst is None or row.worst.exact,
                "outcome": row.outcome,
                "joint": row.joint,
            }
            for row in rows
        ]
    )


def shown_table(frame: pd.DataFrame) -> pd.DataFrame:
    """``agreement_frame`` of one paper as Markdown cells: one row per reference, one column per measure."""
    names = list(dict.fromkeys(frame["measure"]))
    records = []
    for (domain, reference), part in frame.groupby(["domain", "reference"], sort=False):
        cells = {row.measure: _cell(row) for row in part.itertuples()}
        record = {"Reference": f"**{REFERENCES[str(reference)].title}**  \n{DOMAINS[str(domain)].title}"}
        records.append(record | {PUBLISHED_COLUMNS[name].title: cells[name] for name in names})
    return pd.DataFrame(records)


def agreement_figure(frame: pd.DataFrame) -> go.Figure:
    """One panel per reference, one row per measure: dot = ours, tick = published, gray band = rounding range.

    Measures are sorted from best to worst by their mean correlation with human scores.
    """
    panels = list(dict.fromkeys(zip(frame["domain"], frame["reference"], strict=True)))
    measures = best_first(frame)
    layout = draw.panel_row([_panel_title(domain, reference) for domain, reference in panels], 0.02)
    traces: list[Trace] = []
    for column, (domain, reference) in enumerate(panels, start=1):
        part = frame[(frame["domain"] == domain) & (frame["reference"] == reference)].set_index("measure").loc[measures]
        traces += [draw.on_panel(trace, column) for trace in _dots(part, first=column == 1)]
    rows = draw.row_axis([PUBLISHED_COLUMNS[name].title for name in measures], 0.5)
    layout = draw.with_axes(layout, "y", **rows)
    layout = draw.with_axes(
        layout, "x", range=[-1.08, 1.08], tickvals=[-0.5, 0, 0.5, 1], zeroline=True, zerolinewidth=1
    )
    rest = base_layout(
        height=_HEAD + 34 + _ROW_HEIGHT * len(measures),
        margin={"l": 8, "r": 8, "t": _HEAD, "b": 8},
        legend={**base_layout()["legend"], "y": 1, "yref": "container", "yanchor": "top"},
    )
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


def best_first(frame: pd.DataFrame) -> list[str]:
    """Measures of one paper, best first by their mean correlation with human scores."""
    human = frame[[bool(REFERENCES[name].higher_is_closer) for name in frame["reference"]]]
    means = human.groupby("measure", sort=False)["ours"].mean().sort_values(ascending=False, kind="stable")
    return [str(name) for name in means.index]


def _cell(row: Any) -> str:
    worst = "" if row.worst_exact or row.statistic == "plain" else "~"
    both = (f"**{worst}{_correlation(row.ours)}**", MARKS[row.outcome], _correlation(row.published))
    return f"{UNBROKEN.join(both)}  \n{written(row.difference, SCORE_DECIMALS, signed=True)}"


def _correlation(value: float) -> str:
    return written(value, SCORE_DECIMALS)


def _panel_title(domain: str, reference: str) -> str:
    title = REFERENCES[reference].title if REFERENCES[reference].higher_is_closer else "Discriminator"
    return f"{title}<br>{DOMAINS[domain].title.split(',')[0].lower()}"


def _dots(part: pd.DataFrame, *, first: bool) -> list[Trace]:
    """Stem, range, ours and published of one panel; ``first`` adds them to the legend."""
    indices = np.arange(len(part))
    gaps = [None] * len(part)
    stems_x = [x for pair in zip([0.0] * len(part), part["ours"], gaps, strict=True) for x in pair]
    ranges_x = [x for pair in zip(part["low"], part["high"], gaps, strict=True) for x in pair]
    stems_y = [y for index in indices for y in (index, index, None)]
    hovers = [_hover(row) for row in part.reset_index().itertuples()]
    stem = draw.scatter(x=stems_x, y=stems_y, mode="lines", line={"color": OURS_COLOUR, "width": 1.5}, hoverinfo="skip")
    band = draw.scatter(
        x=ranges_x,
        y=stems_y,
        mode="lines",
        line={"color": translucent(NEUTRAL_COLOUR, 0.55), "width": 9},
        hoverinfo="skip",
        name="range left by rounding",
        legendgroup="range",
    )
    published = draw.scatter(
        x=part["published"],
        y=indices,
        mode="markers",
        marker={"symbol": "line-ns", "size": 17, "line": {"color": NEUTRAL_COLOUR, "width": 3}},
        hovertemplate=hovers,
        name="published",
        legendgroup="published",
    )
    ours = draw.scatter(
        x=part["ours"],
        y=indices,
        mode="markers",
        marker={"color": OURS_COLOUR, "size": 10, "line": {"color": "white", "width": 1}},
        hovertemplate=hovers,
        name="ours",
        legendgroup="ours",
    )
    return [{**stem, "showlegend": False}, *({**trace, "showlegend": first} for trace in (band, published, ours))]


def _hover(row: Any) -> str:
    title = as_label(PUBLISHED_COLUMNS[row.measure].title)
    return (
        f"<b>{title}</b>, {row.statistic}, n = {row.n}<br>ours {_correlation(row.ours)}, "
        f"published {_correlation(row.published)}"
        f"<br>{interval(row.low, row.high, SCORE_DECIMALS)} within rounding<br>{OUTCOMES[row.outcome]}<extra></extra>"
    )
