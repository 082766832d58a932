"""Agreement between methods: a grid of Spearman correlations, and the pairs of candidates they order differently."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.formatting import correlation
from mauve_core.experiments.methods import Method, MethodTable
from mauve_core.figures.theme import NEUTRAL_COLOUR, base_layout

AGREEMENT_SCALE = ((0.0, "#8a5a1f"), (0.5, "#c9ccd1"), (1.0, "#5b45b0"))
"""From -1 (brown) to 1 (violet); the ends differ in lightness and hue, so color-blind readers can tell them apart."""

_PARTS = ("smoothing", "divergence", "summary", "scale")
_CELL_HEIGHT, _LOW_CELL_HEIGHT, _MANY = 34, 24, 12
_MIDDLE = 0.05 * (21**0.5 - 1)
"""At this luminance black and white have the same contrast, 4.6."""


def agreement_frame(table: MethodTable) -> pd.DataFrame:
    """Spearman correlations: one row per method, with ``method``, ``title`` and one column per method spec."""
    specs = [result.method.spec for result in table.results]
    frame = pd.DataFrame(table.agreement(), columns=specs)
    frame.insert(0, "method", specs)
    frame.insert(1, "title", [result.method.title for result in table.results])
    return frame


def disagreements_frame(table: MethodTable) -> pd.DataFrame:
    """Pairs that a method orders differently from the first: method, title, closer, farther, told_apart, reason."""
    columns = ["method", "title", "closer", "farther", "told_apart", "reason"]
    return pd.DataFrame(
        [
            (
                item.method.spec,
                item.method.title,
                item.closer,
                item.farther,
                item.told_apart,
                reason(table, item.method),
            )
            for item in table.disagreements()
        ],
        columns=columns,
    )


def agreement_figure(table: MethodTable) -> go.Figure:
    """Draw the correlations as a grid with numbers; a dash marks a method that ties all candidates."""
    values = table.agreement()
    count = len(values)
    titles = [html.escape(result.method.title) for result in table.results]
    hovers = [
        [f"{one}<br>{other}<br>Spearman {correlation(value)}" for other, value in zip(titles, row, strict=True)]
        for one, row in zip(titles, values, strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=AGREEMENT_SCALE,
            customdata=hovers,
            hovertemplate="%{customdata}<extra></extra>",
            xgap=2,
            ygap=2,
            showscale=False,
        )
    )
    rows, columns = np.indices(values.shape)
    figure.add_trace(
        go.Scatter(
            x=columns.ravel(),
            y=rows.ravel(),
            mode="text",
            text=[correlation(value) for value in values.ravel()],
            textfont={"color": [ink(value) for value in values.ravel()], "size": 13 if count <= _MANY else 9},
            hoverinfo="skip",
        )
    )
    axis: dict[str, Any] = {"tickvals": list(range(count)), "showgrid": False, "zeroline": False, "fixedrange": True}
    figure.update_layout(
        base_layout(
            height=(_CELL_HEIGHT if count <= _MANY else _LOW_CELL_HEIGHT) * count + 44,
            margin={"l": 8, "r": 8, "t": 28, "b": 8},
            xaxis={**axis, "ticktext": [str(number + 1) for number in range(count)], "side": "top", "tickangle": 0},
            yaxis={
                **axis,
                "ticktext": [f"{title}  {number}" for number, title in enumerate(titles, start=1)],
                "range": [count - 0.5, -0.5],
            },
        )
    )
    return figure


def ink(value: float) -> str:
    """Return black or white, whichever contrasts more with the color of that correlation; gray for nan."""
    if math.isnan(value):
        return NEUTRAL_COLOUR
    return "#000000" if luminance(value) > _MIDDLE else "#ffffff"


def luminance(value: float) -> float:
    """Relative luminance of a correlation's color, from 0 to 1 (WCAG 2.1)."""
    stops = [stop for stop, _ in AGREEMENT_SCALE]
    channels = [[int(colour[start : start + 2], 16) / 255 for _, colour in AGREEMENT_SCALE] for start in (1, 3, 5)]
    parts = np.array([np.interp((value + 1) / 2, stops, channel) for channel in channels])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def reason(table: MethodTable, method: Method) -> str:
    """Why a method may rank differently from the first: the papers' explanation, or the one setting that differs."""
    first = table.results[0].method
    if method.estimator != first.estimator:
        return method.estimator_kind.reason
    parts = [part for part in _PARTS if getattr(method, part) != getattr(first, part)]
    differs = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Both use the same fit; they differ only in {differs}."
