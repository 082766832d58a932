"""The share of each source's texts that a search found, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from mauve_core.analysis.text_search import SourceShare
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import percent_with_interval
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.theme import HUMAN_COLOUR, MODE_BAR, Style, as_label, base_layout, candidate_styles, short_name

_ROW, _MARGIN = 30, {"l": 8, "r": 16, "t": MODE_BAR, "b": 44}


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
            text=[_hover(each, words) for each in shares],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    most = max(each.high for each in shares)
    layout = base_layout(
        height=_MARGIN["t"] + _MARGIN["b"] + _ROW * len(shares),
        margin=_MARGIN,
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


def _hover(each: SourceShare, words: Words) -> str:
    share = percent_with_interval(each.share, each.low, each.high)
    return f"<b>{as_label(words.source(each.source))}</b><br>{each.found:,} of {each.n:,} {words.items}, {share}"
