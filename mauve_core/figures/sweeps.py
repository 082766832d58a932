"""A score against one setting: one line per candidate, or one panel per decoder family for decoder parameters.

Lines are means over seeds; bands and bars span one standard deviation on each side, clipped to the scores' range
(NeurIPS 2021, figures 4 to 8; JMLR 2023, figure 8). A dashed guide marks the run's own value. Against a parameter of an
estimator: one panel per estimator, above one another, with bands over texts and a guide at the estimator's default
(JMLR 2023, figure 9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.estimator_sweeps import DEFAULTS, EstimatorPoint, EstimatorSweep
from mauve_core.analyses.methods import ESTIMATORS, Method
from mauve_core.analyses.sweeps import Sweep, SweepPoint
from mauve_core.base.config import EstimatorAxis, Over
from mauve_core.base.formatting import SCORE_DECIMALS, with_spread, with_two_spreads
from mauve_core.figures import draw
from mauve_core.figures.draw import End
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import (
    NEUTRAL_COLOUR,
    Style,
    as_label,
    candidate_styles,
    line_layout,
    short_name,
    translucent,
)
from mauve_core.scoring.result import Comparison, SeedSpread, shared_scores
from mauve_core.stats.scores import REFERENCE_SCORE

# Display names of the settings.
TITLES: dict[Over, str] = {
    "length": "Text length",
    "n": "Sample size n",
    "k": "Clusters k",
    "scale": "Scaling constant c",
    "decoder": "Decoder parameter",
}

X_TITLES: dict[Over, str] = {
    "length": "maximum tokens per text",
    "n": "sample size n",
    "k": "clusters k",
    "scale": "scaling constant c",
    "decoder": "the decoder's parameter",
}

HEIGHT = 440


def about_leaderboard(sweep: Sweep) -> str:
    """Which values of a sweep are the leaderboard's scores, in a sentence."""
    if sweep.over == "decoder":
        return "With the run's own number of seeds, these are the leaderboard's scores."
    return "Only at the run's own value and number of seeds is it the leaderboard's score."


def sweep_frame(sweep: Sweep) -> pd.DataFrame:
    """All numbers of the sweep: one row per line and value.

    Returns
    -------
    DataFrame
        over, line, value, candidate (whose texts were scored), n, k, seeds, then each score with its mean and _sd
        (NaN with one seed).
    """
    return pd.DataFrame([_record(sweep, point) for point in sweep.points])


def own_values(sweep: Sweep, comparison: Comparison) -> tuple[float, ...]:
    """Ascending values of the setting that the run itself used; empty if no single one is known."""
    if sweep.over == "k":
        return tuple(sorted({float(candidate.partitions[0].k) for candidate in comparison.candidates}))
    if sweep.over == "scale":
        return (comparison.config.score.scale,)
    sizes = {source.n for source in comparison.sources}
    if sweep.over == "n":
        return (float(sizes.pop()),) if len(sizes) == 1 else ()
    return tuple(value for value in sweep.values if _is_own(sweep, value, comparison)) if sweep.over == "length" else ()


def sweep_figure(sweep: Sweep, score: str, order: Sequence[str], own: Sequence[float] = ()) -> go.Figure:
    """Draw the chart of one score.

    Parameters
    ----------
    score : str
        One of ``mauve_core.stats.scores.SCORES``.
    order : sequence of str
        The run's candidates; their order sets color, dash and marker.
    own : sequence of float
        Values marked with guides.
    """
    return _families(sweep, score, order) if sweep.over == "decoder" else _lines(sweep, score, order, own)


def _record(sweep: Sweep, point: SweepPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"over": sweep.over, "line": point.candidate, "value": point.value}
    row |= {"candidate": point.source, "n": point.n, "k": point.k, "seeds": len(point.scores[REFERENCE_SCORE].values)}
    for score in shared_scores([point.scores]):
        spread = point.scores[score]
        row |= {score: spread.mean, f"{score}_sd": math.nan if spread.sd is None else spread.sd}
    return row


def _is_own(sweep: Sweep, value: float, comparison: Comparison) -> bool:
    """Whether every point at the value equals the run's own score exactly."""
    points = [point for point in sweep.points if point.value == value]
    return all(
        point.scores[score].values == comparison.candidate(point.source).scores[score].values
        for point in points
        for score in shared_scores((point.scores, comparison.candidate(point.source).scores))
    )


def _lines(sweep: Sweep, score: str, order: Sequence[str], own: Sequence[float]) -> go.Figure:
    figure = go.Figure(layout=line_layout(HEIGHT, titled(score)))
    lines = {name: sweep.line(name) for name in sweep.candidates}
    styles = {name: candidate_styles(order)[name] for name in lines}
    for name, points in lines.items():
        figure.add_trace(_band(points, score, styles[name].colour))
    for name, points in lines.items():
        figure.add_trace(_curve(points, score, name, styles[name]))
    ticks = sorted({*sweep.values, *own})
    figure.update_xaxes(
        type="log",
        title_text=X_TITLES[sweep.over],
        tickvals=ticks,
        ticktext=[f"{value:g}" for value in ticks],
        minor={"ticks": "", "showgrid": False},
    )
    for value in own:
        draw.mark_run(figure, value)
    ends = [
        End(name, styles[name], math.log10(points[-1].value), points[-1].scores[score].mean)
        for name, points in lines.items()
    ]
    reaches = [end for points in lines.values() for point in points for end in _reach(point.scores[score])]
    draw.name_lines(figure, ends, [math.log10(tick) for tick in ticks], reaches)
    return figure


def _families(sweep: Sweep, score: str, order: Sequence[str]) -> go.Figure:
    """One panel per family, because parameters of different decoders are not comparable; points are candidates."""
    lines = sweep.candidates
    figure = draw.subplots(rows=1, cols=len(lines), shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(line_layout(HEIGHT, titled(score)), showlegend=False)
    for column, name in enumerate(lines, start=1):
        points = sweep.line(name)
        path = _curve(points, score, name, Style(NEUTRAL_COLOUR, "solid", "circle"), mode="lines")
        path.update(hoverinfo="skip", hovertemplate=None)
        traces = [path]
        for point in points:
            style = candidate_styles(order)[point.source]
            traces.append(_candidate(point, score, name, style, _label_position(points, point, score)))
        figure.add_traces(traces, rows=[1] * len(traces), cols=[column] * len(traces))
        figure.update_xaxes(title_text=as_label(name), row=1, col=column)
    figure.update_xaxes(zeroline=False, linecolor=NEUTRAL_COLOUR)
    figure.update_yaxes(zeroline=False)
    figure.update_yaxes(title_text=titled(score), linecolor=NEUTRAL_COLOUR, col=1)
    return figure


def _candidate(point: SweepPoint, score: str, family: str, style: Style, text_position: str) -> go.Scatter:
    """One candidate with its spread, labeled with the value and, if it belongs to another decoder, its name."""
    spread = point.scores[score]
    low, high = _reach(spread)
    other = "" if family.split()[0] in point.source else f" ({as_label(short_name(point.source))})"
    trace = _curve([point], score, point.source, style, mode="markers+text")
    return trace.update(
        error_y=draw.interval(spread.mean, low, high, width=4, thickness=1.5),
        text=[f"{point.value:g}{other}"],
        textposition=text_position,
    )


def _label_position(points: Sequence[SweepPoint], point: SweepPoint, score: str) -> str:
    """Label position: beside the line, toward the panel's middle."""
    right = 2 * point.value > points[0].value + points[-1].value
    rises = points[-1].scores[score].mean > points[0].scores[score].mean
    return f"{'top' if rises == right else 'bottom'} {'left' if right else 'right'}"


def _band(points: Sequence[SweepPoint], score: str, colour: str) -> draw.Trace:
    """Band from mean - sd to mean + sd, clipped to the scores' range; zero height if no spread is known."""
    reaches = [_reach(point.scores[score]) for point in points]
    low, high = ([reach[side] for reach in reaches] for side in (0, 1))
    values = [point.value for point in points]
    return draw.band(values, low, high, translucent(colour, 0.16), legendgroup=points[0].candidate)


def _reach(spread: SeedSpread) -> tuple[float, float]:
    """One sd on each side of the mean, clipped to [0, 1], the range of all scores."""
    sd = spread.sd or 0.0
    return max(spread.mean - sd, 0.0), min(spread.mean + sd, 1.0)


def _curve(
    points: Sequence[SweepPoint], score: str, name: str, style: Style, *, mode: str = "lines+markers"
) -> go.Scatter:
    return go.Scatter(
        x=[point.value for point in points],
        y=[point.scores[score].mean for point in points],
        mode=mode,
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 9, "line": {"color": "white", "width": 1}},
        name=as_label(short_name(name)),
        meta=as_label(name),
        customdata=[_in_words(point, score) for point in points],
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
        legendgroup=points[0].candidate,
    )


def _in_words(point: SweepPoint, score: str) -> str:
    spread = point.scores[score]
    over = ", one seed, no spread" if spread.sd is None else f" over {len(spread.values)} seeds"
    value = f"{with_spread(spread.mean, spread.sd, SCORE_DECIMALS)}{over}"
    return f"at {point.value:g}: {titled(score)} {value}<br>n = {point.n:,}, k = {point.k:,}"


# Display names of the parameters.
ESTIMATOR_TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "Neighbors",
    "components": "Components",
    "bandwidth": "Bandwidth",
}

PARAMETER_TITLES: dict[EstimatorAxis, str] = {
    "neighbors": "nearest neighbors",
    "components": "principal components",
    "bandwidth": "bandwidth, times the chosen one",
}

# Every point is a MAUVE.
ESTIMATED_SCORE = titled(REFERENCE_SCORE)

ABOUT_BANDS = "Band: ± one standard deviation over {items}, for which the estimator is fitted again."
ABOUT_SPREADS = "Value ± standard deviation over {items}; over seeds / over {items} for an estimator that draws."

# Pixels of a single panel, of one of several, and between two.
ESTIMATOR_HEIGHT, _ROW_HEIGHT, _BETWEEN = 360, 240, 40


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
    return pd.DataFrame([_estimator_record(sweep, point) for point in sweep.points])


def estimator_sweep_figure(sweep: EstimatorSweep, order: Sequence[str]) -> go.Figure:
    """Draw the chart; ``order`` holds the run's candidates and sets color, dash and marker."""
    estimators, styles = sweep.estimators, {name: candidate_styles(order)[name] for name in sweep.candidates}
    usual = ESTIMATOR_HEIGHT if len(estimators) == 1 else _ROW_HEIGHT
    pixels, area = draw.panels_height(len(estimators), len(styles), usual, _BETWEEN)
    named = len(styles) <= draw.MOST_NAMES
    figure = draw.subplots(
        rows=len(estimators),
        cols=1,
        shared_xaxes=True,
        subplot_titles=[f"{ESTIMATORS[name].title} (c = {ESTIMATORS[name].scale:g})" for name in estimators],
        vertical_spacing=_BETWEEN / area,
    )
    figure.update_layout(draw.panels_layout(list(styles), area))
    ticks = sorted({*sweep.values, DEFAULTS[sweep.over]})
    reach = draw.padded_range([math.log10(tick) for tick in ticks])
    span = draw.padded_range([end for point in sweep.points for end in _text_reach(point)])
    for row, estimator in enumerate(estimators, start=1):
        lines = {name: line for name in sweep.candidates if (line := sweep.line(estimator, name))}
        traces = [_text_band(line, styles[name].colour) for name, line in lines.items()]
        traces += [_estimator_curve(line, styles[name], legend=row == 1 and not named) for name, line in lines.items()]
        figure.add_traces(traces, rows=[row] * len(traces), cols=[1] * len(traces))
        dashed = {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"}
        figure.add_shape(draw.guide("x", DEFAULTS[sweep.over], dashed, row), layer="below")
        ends = [
            End(name, styles[name], math.log10(line[-1].value), line[-1].score.value) for name, line in lines.items()
        ]
        for note in draw.names_at_ends(ends, reach[1], span, pixels, panel=row) if named else ():
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
    figure.update_xaxes(title_text=PARAMETER_TITLES[sweep.over], row=len(estimators))
    figure.update_yaxes(range=list(span), title_text=ESTIMATED_SCORE, zeroline=False, linecolor=NEUTRAL_COLOUR)
    return figure


def _estimator_record(sweep: EstimatorSweep, point: EstimatorPoint) -> dict[str, object]:
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


def _text_band(points: Sequence[EstimatorPoint], colour: str) -> draw.Trace:
    """From value - sd to value + sd over texts, clipped to [0, 1]; zero height where no spread is known."""
    low, high = zip(*map(_text_reach, points), strict=True)
    values = [point.value for point in points]
    return draw.band(values, low, high, translucent(colour, 0.16), legendgroup=points[0].candidate)


def _text_reach(point: EstimatorPoint) -> tuple[float, float]:
    value, sd = point.score.value, point.score.sd_texts or 0.0
    return max(value - sd, 0.0), min(value + sd, 1.0)


def _estimator_curve(points: Sequence[EstimatorPoint], style: Style, *, legend: bool) -> go.Scatter:
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
    return f"at {point.value:g}: {ESTIMATED_SCORE} {score_in_words(point)}{known}<br>n = {score.n:,}"
