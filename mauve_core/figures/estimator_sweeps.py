"""MAUVE against a parameter of an estimator: one panel per estimator, one line per candidate.

Bands span one standard deviation over texts on each side, clipped to [0, 1] (JMLR 2023, figure 9). A dashed guide marks
the estimator's default.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import with_spread, with_two_spreads
from mauve_core.experiments.methods import ESTIMATORS, Method
from mauve_core.experiments.sweeps import EstimatorAxis, EstimatorPoint, EstimatorSweep
from mauve_core.experiments.sweeps.estimators import DEFAULTS
from mauve_core.figures import draw
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import NEUTRAL_COLOUR, Style, candidate_styles, line_layout, short_name, translucent

TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "Neighbors",
    "components": "Components",
    "bandwidth": "Bandwidth",
}
"""Display names of the parameters."""

X_TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "nearest neighbors",
    "components": "principal components",
    "bandwidth": "bandwidth, times the chosen one",
}

SCORE = titled(SCORES[0])
"""Every point is a MAUVE."""

ABOUT_BANDS = "Band: ± one standard deviation over texts, for which the estimator is fitted again."
ABOUT_SPREADS = "Value ± standard deviation over texts; over seeds / over texts for an estimator that draws."

HEIGHT = 440


def about_default(sweep: EstimatorSweep) -> str:
    """Which values are those of ``mauve-lens methods``, in a sentence."""
    default = DEFAULTS[sweep.over]
    return (
        f"At the default, {default:g}, scores under as many seeds are those of the methods' comparison; the "
        "leaderboard's are by k-means."
    )


def score_in_words(point: EstimatorPoint) -> str:
    """Value with its standard deviations over seeds and texts; over texts alone if the estimator draws nothing."""
    score = point.score
    if score.sd_seeds is None:
        return with_spread(score.value, score.sd_texts)
    return with_two_spreads(score.value, score.sd_seeds, score.sd_texts)


def estimator_sweep_frame(sweep: EstimatorSweep) -> pd.DataFrame:
    """All numbers of the sweep: one row per estimator, candidate and value.

    Returns
    -------
    DataFrame
        over, method, scale (c), expectation, value, candidate, n, mauve, sd_seeds, sd_texts, low, high (95 % interval
        over texts; NaN if unknown), notes.
    """
    return pd.DataFrame([_record(sweep, point) for point in sweep.points])


def estimator_sweep_figure(sweep: EstimatorSweep, order: Sequence[str]) -> go.Figure:
    """Draw the chart; ``order`` holds the run's candidates and sets color, dash and marker."""
    names = sweep.estimators
    figure = draw.subplots(rows=1, cols=len(names), shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(line_layout(HEIGHT, SCORE))
    ticks = sorted({*sweep.values, DEFAULTS[sweep.over]})
    for column, estimator in enumerate(names, start=1):
        lines = [(name, line) for name in sweep.candidates if (line := sweep.line(estimator, name))]
        styles = {name: candidate_styles(order)[name] for name, _ in lines}
        traces = [_band(line, styles[name].colour) for name, line in lines]
        traces += [_curve(line, styles[name], legend=column == 1) for name, line in lines]
        figure.add_traces(traces, rows=[1] * len(traces), cols=[column] * len(traces))
        kind = ESTIMATORS[estimator]
        figure.update_xaxes(
            type="log",
            title_text=f"{kind.title} (c = {kind.scale:g})<br>{X_TITLES[sweep.over]}",
            tickvals=ticks,
            ticktext=[f"{tick:g}" for tick in ticks],
            minor={"ticks": "", "showgrid": False},
            row=1,
            col=column,
        )
        dashed = {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"}
        figure.add_shape(draw.guide("x", DEFAULTS[sweep.over], dashed, column), layer="below")
    figure.update_xaxes(zeroline=False, linecolor=NEUTRAL_COLOUR)
    figure.update_yaxes(zeroline=False, linecolor=NEUTRAL_COLOUR)
    figure.update_yaxes(title_text=SCORE, col=1)
    return figure


def _record(sweep: EstimatorSweep, point: EstimatorPoint) -> dict[str, object]:
    score, method = point.score, Method(point.method)
    spreads = {name: getattr(score, name) for name in ("sd_seeds", "sd_texts", "low", "high")}
    return {
        "over": sweep.over,
        "method": point.method,
        "scale": method.estimator_kind.scale,
        "expectation": method.expectation,
        "value": point.value,
        "candidate": point.candidate,
        "n": score.n,
        "mauve": score.value,
        **{name: math.nan if spread is None else spread for name, spread in spreads.items()},
        "notes": "; ".join(point.notes),
    }


def _band(points: Sequence[EstimatorPoint], colour: str) -> draw.Trace:
    """From value - sd to value + sd over texts, clipped to [0, 1]; zero height where no spread is known."""
    reaches = [(point.score.value, point.score.sd_texts or 0.0) for point in points]
    low = [max(value - sd, 0.0) for value, sd in reaches]
    high = [min(value + sd, 1.0) for value, sd in reaches]
    values = [point.value for point in points]
    return draw.band(values, low, high, translucent(colour, 0.16), legendgroup=points[0].candidate)


def _curve(points: Sequence[EstimatorPoint], style: Style, *, legend: bool) -> go.Scatter:
    name = points[0].candidate
    return go.Scatter(
        x=[point.value for point in points],
        y=[point.score.value for point in points],
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8, "line": {"color": "white", "width": 1}},
        name=html.escape(short_name(name)),
        meta=html.escape(name),
        customdata=[_hovered(point) for point in points],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
        legendgroup=name,
        showlegend=legend,
    )


def _hovered(point: EstimatorPoint) -> str:
    score, over = point.score, "texts" if point.score.sd_seeds is None else "seeds / over texts"
    known = f" over {over}" if score.sd_texts is not None or score.sd_seeds is not None else ", no spread"
    return f"at {point.value:g}: {SCORE} {score_in_words(point)}{known}<br>n = {score.n:,}"
