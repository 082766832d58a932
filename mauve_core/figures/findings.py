"""Findings as a picture: how many texts of either side have something, and the interval of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mauve_core.analysis.findings.finding import Finding
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE
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
