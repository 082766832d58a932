"""MAUVE against a parameter of an estimator: one panel per estimator, above one another, one line per candidate.

Bands span one standard deviation over texts on each side, clipped to [0, 1] (JMLR 2023, figure 9). A dashed guide marks
the estimator's default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import with_spread, with_two_spreads
from mauve_core.experiments.methods import ESTIMATORS, Method
from mauve_core.experiments.sweeps import EstimatorAxis, EstimatorPoint, EstimatorSweep
from mauve_core.experiments.sweeps.estimators import DEFAULTS
from mauve_core.figures import draw, line_ends
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.line_ends import End
from mauve_core.figures.theme import NEUTRAL_COLOUR, Style, as_label, candidate_styles, short_name, translucent

# Display names of the parameters.
TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "Neighbors",
    "components": "Components",
    "bandwidth": "Bandwidth",
}

X_TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "nearest neighbors",
    "components": "principal components",
    "bandwidth": "bandwidth, times the chosen one",
}

# Every point is a MAUVE.
SCORE = titled(SCORES[0])

ABOUT_BANDS = "Band: ± one standard deviation over texts, for which the estimator is fitted again."
ABOUT_SPREADS = "Value ± standard deviation over texts; over seeds / over texts for an estimator that draws."

# Pixels of a single panel, of one of several, and between two.
HEIGHT, _ROW_HEIGHT, _BETWEEN = 360, 240, 40


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
    estimators, styles = sweep.estimators, {name: candidate_styles(order)[name] for name in sweep.candidates}
    usual = HEIGHT if len(estimators) == 1 else _ROW_HEIGHT
    pixels, area = line_ends.panels_height(len(estimators), len(styles), usual, _BETWEEN)
    named = len(styles) <= line_ends.MOST
    figure = draw.subplots(
        rows=len(estimators),
        cols=1,
        shared_xaxes=True,
        subplot_titles=[f"{ESTIMATORS[name].title} (c = {ESTIMATORS[name].scale:g})" for name in estimators],
        vertical_spacing=_BETWEEN / area,
    )
    figure.update_layout(line_ends.panels_layout(list(styles), area))
    ticks = sorted({*sweep.values, DEFAULTS[sweep.over]})
    reach = line_ends.padded([math.log10(tick) for tick in ticks])
    span = line_ends.padded([end for point in sweep.points for end in _reach(point)])
    for row, estimator in enumerate(estimators, start=1):
        lines = {name: line for name in sweep.candidates if (line := sweep.line(estimator, name))}
        traces = [_band(line, styles[name].colour) for name, line in lines.items()]
        traces += [_curve(line, styles[name], legend=row == 1 and not named) for name, line in lines.items()]
        figure.add_traces(traces, rows=[row] * len(traces), cols=[1] * len(traces))
        dashed = {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"}
        figure.add_shape(draw.guide("x", DEFAULTS[sweep.over], dashed, row), layer="below")
        ends = [
            End(name, styles[name], math.log10(line[-1].value), line[-1].score.value) for name, line in lines.items()
        ]
        for note in line_ends.names_at_ends(ends, reach[1], span, pixels, panel=row) if named else ():
            figure.add_annotation(note)
    figure.update_xaxes(
        type="log",
        range=list(reach),
        zeroline=False,
        linecolor=NEUTRAL_COLOUR,
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
        minor={"ticks": "", "showgrid": False},
    )
    figure.update_xaxes(title_text=X_TITLES[sweep.over], row=len(estimators))
    figure.update_yaxes(range=list(span), title_text=SCORE, zeroline=False, linecolor=NEUTRAL_COLOUR)
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
    low, high = zip(*map(_reach, points), strict=True)
    values = [point.value for point in points]
    return draw.band(values, low, high, translucent(colour, 0.16), legendgroup=points[0].candidate)


def _reach(point: EstimatorPoint) -> tuple[float, float]:
    value, sd = point.score.value, point.score.sd_texts or 0.0
    return max(value - sd, 0.0), min(value + sd, 1.0)


def _curve(points: Sequence[EstimatorPoint], style: Style, *, legend: bool) -> go.Scatter:
    name = points[0].candidate
    return go.Scatter(
        x=[point.value for point in points],
        y=[point.score.value for point in points],
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 8, "line": {"color": "white", "width": 1}},
        name=as_label(short_name(name)),
        meta=as_label(name),
        customdata=[_hovered(point) for point in points],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
        legendgroup=name,
        showlegend=legend,
    )


def _hovered(point: EstimatorPoint) -> str:
    score, over = point.score, "texts" if point.score.sd_seeds is None else "seeds / over texts"
    known = f" over {over}" if score.sd_texts is not None or score.sd_seeds is not None else ", no spread"
    return f"at {point.value:g}: {SCORE} {score_in_words(point)}{known}<br>n = {score.n:,}"
