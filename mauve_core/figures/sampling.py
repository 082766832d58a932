"""Measured error of a score against the number of texts or clusters, on logarithmic axes.

JMLR 2023, section 7.8, figure 21 (against n) and theorem 14 (against k). Lines are means of |estimate - truth| over
draws; bands span one standard deviation of single draws on each side. A dashed guide marks the run's own n or k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.formatting import decimals_of, significant, with_spread, written
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.theme import NEUTRAL_COLOUR, Style, base_layout, translucent
from mauve_core.stats.sampling_error import ClusterAdvice, SamplingError, TextAdvice

HEIGHT = 380
ERROR, LOSS, TOTAL = "resampling", "partition, at most", "sum"
_Sizes = NDArray[np.int64]
# Share of the mean at which a band ends if it would reach 0 or below, which a logarithmic axis lacks.
_FLOOR = 0.25


def texts_frame(advice: TextAdvice) -> pd.DataFrame:
    """Errors against n: n, m, k, mean, spread, standard_error, bias, sd, truth, promised, replicates."""
    return _frame(advice.curve).assign(promised=advice.promised, replicates=advice.curve.replicates)


def clusters_frame(advice: ClusterAdvice) -> pd.DataFrame:
    """Errors against k, with ``loss`` and ``total`` in place of ``promised``."""
    frame = _frame(advice.curve).assign(loss=advice.loss, total=advice.total)
    return frame.assign(replicates=advice.curve.replicates)


def texts_figure(advice: TextAdvice, style: Style, words: Words = TEXTS) -> go.Figure:
    """Error against n, the target, and the number of texts that meets it."""
    curve = advice.curve
    figure = go.Figure(layout=_layout(f"{words.reference_items} n", curve.n, _reach(curve)))
    figure.add_trace(_band(curve.n, curve, style.colour))
    figure.add_trace(_line(curve.n, curve.mean, ERROR, style, _texts_hovers(curve)))
    if advice.error > 0:
        figure.add_hline(y=advice.target, line={"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dot"})
    if advice.needed_n is not None and advice.needed_n > advice.n:
        figure.add_trace(_needed(advice, style.colour))
    draw.mark_run(figure, advice.n)
    figure.update_layout(showlegend=False)
    return figure


def clusters_figure(advice: ClusterAdvice, own: int, style: Style) -> go.Figure:
    """Error, loss and their sum against k; a ring marks the minimum of the sum."""
    curve = advice.curve
    figure = go.Figure(layout=_layout("clusters k", curve.k, [*_reach(curve), *advice.loss, *advice.total]))
    grey = Style(NEUTRAL_COLOUR, "dash", "diamond")
    hovers = [f"k = {k:,}: at most {significant(loss, 3)}" for k, loss in zip(curve.k, advice.loss, strict=True)]
    sums = [f"k = {k:,}: sum {significant(total, 3)}" for k, total in zip(curve.k, advice.total, strict=True)]
    figure.add_trace(_band(curve.k, curve, style.colour))
    figure.add_trace(_line(curve.k, curve.mean, ERROR, style, _clusters_hovers(curve)))
    figure.add_trace(_line(curve.k, advice.loss, LOSS, grey, hovers))
    figure.add_trace(_line(curve.k, advice.total, TOTAL, Style(NEUTRAL_COLOUR, "solid", "circle"), sums))
    best = int(advice.total.argmin())
    ring = {"color": style.colour, "symbol": "circle-open", "size": 19, "line": {"width": 3}}
    point = {"x": [advice.k], "y": [advice.total[best]], "meta": "best"}
    figure.add_trace(go.Scatter(**point, mode="markers", marker=ring, hoverinfo="skip", showlegend=False))
    draw.mark_run(figure, own)
    return figure


def _frame(curve: SamplingError) -> pd.DataFrame:
    columns = ("n", "m", "k", "mean", "spread", "standard_error", "bias", "sd", "truth")
    return pd.DataFrame({name: getattr(curve, name) for name in columns})


def _reach(curve: SamplingError) -> list[float]:
    low = np.maximum(curve.mean - curve.spread, _FLOOR * curve.mean)
    return [*low.tolist(), *(curve.mean + curve.spread).tolist()]


def _band(sizes: _Sizes, curve: SamplingError, colour: str) -> draw.Trace:
    ends = _reach(curve)
    return draw.band(sizes.tolist(), ends[: len(sizes)], ends[len(sizes) :], translucent(colour, 0.16))


def _line(sizes: _Sizes, values: NDArray[np.float64], name: str, style: Style, hovers: Sequence[str]) -> go.Scatter:
    return go.Scatter(
        x=sizes,
        y=values,
        mode="lines+markers",
        name=name,
        meta=name,
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8, "line": {"color": "white", "width": 1}},
        customdata=hovers,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _needed(advice: TextAdvice, colour: str) -> go.Scatter:
    return go.Scatter(
        x=[advice.needed_n],
        y=[advice.target],
        mode="markers+text",
        marker={"color": colour, "symbol": "star", "size": 14, "line": {"color": "white", "width": 1}},
        text=[f"n ≈ {advice.needed_n:,}"],
        textposition="top right",
        hovertemplate=f"error {significant(advice.target, 3)} with about n = {advice.needed_n:,}<extra></extra>",
        meta="needed",
        showlegend=False,
    )


def _texts_hovers(curve: SamplingError) -> list[str]:
    return [
        f"n = {n:,}, m = {m:,}: {_in_words(curve, index)}"
        for index, (n, m) in enumerate(zip(curve.n, curve.m, strict=True))
    ]


def _clusters_hovers(curve: SamplingError) -> list[str]:
    return [f"k = {k:,}: {_in_words(curve, index)}" for index, k in enumerate(curve.k)]


def _in_words(curve: SamplingError, index: int) -> str:
    mean, error = curve.mean[index], curve.standard_error[index]
    decimals = decimals_of(mean, error)
    return (
        f"error {with_spread(mean, error)}<br>single draws ± {written(curve.spread[index], decimals)}<br>"
        f"bias {written(curve.bias[index], decimals, signed=True)}, sd {written(curve.sd[index], decimals)}"
    )


def _layout(x_title: str, sizes: _Sizes, ends: Sequence[float]) -> dict[str, Any]:
    quiet = {"zeroline": False, "linecolor": NEUTRAL_COLOUR, "type": "log", "minor": {"ticks": "", "showgrid": False}}
    return base_layout(
        height=HEIGHT,
        margin={"l": 8, "r": 16, "t": 32, "b": 8},
        xaxis={**quiet, "title": {"text": x_title}, **_ticks(sizes.tolist())},
        yaxis={**quiet, "title": {"text": "error of the frontier integral"}, **_ticks(_round_numbers(ends))},
        hovermode="closest",
    )


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    return {"tickvals": values, "ticktext": [f"{value:,.10g}" for value in values]}


def _round_numbers(ends: Sequence[float]) -> list[float]:
    """1, 2 and 5 times the powers of ten between positive ends; only the powers if the range is wide."""
    positive = [end for end in ends if end > 0]
    first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    digits = (1, 2, 5) if last - first <= 3 else (1,)
    return [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
