"""How different candidates' answers to one prompt are, beside answers to different prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.diversity import DISTANCE_DECIMALS, Contrast, Diversity, RunDiversity, modes_with_interval
from mauve_core.base.formatting import interval, written
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import (
    MODE_BAR,
    NEUTRAL_COLOUR,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
)
from mauve_core.stats.diversity import Mean, ModeCount

ONE, DIFFERENT = "to one prompt", "to different prompts"

_CONTRASTS: tuple[tuple[str, Callable[[Diversity], Contrast | None], int], ...] = (
    ("Cosine distance", lambda own: own.distance, DISTANCE_DECIMALS),
    ("Vendi score", lambda own: own.vendi, 2),
    ("Clusters reached", lambda own: own.clusters, 2),
    ("Self-BLEU", lambda own: own.self_bleu, DISTANCE_DECIMALS),
)
_ROW, _MARGIN = 38, {"l": 8, "r": 24, "t": MODE_BAR + 50, "b": 40}


def diversity_frame(found: RunDiversity) -> pd.DataFrame:
    """All numbers: a row per candidate and measure, with the value and interval of either kind of answers.

    Returns
    -------
    DataFrame
        candidate, measure, answers, prompts, then ``one_prompt`` and ``different_prompts``, each also with _low and
        _high (NaN where not measured). Modes and different answers have infinite counts where no two coincide.
    """
    rows = []
    for name, own in found.candidates.items():
        about = {"candidate": name, "answers": own.answers, "prompts": own.prompts}
        counts = {"modes": own.modes, "different word for word": own.different}
        for title, count in counts.items():
            if count is not None:
                rows.append({**about, "measure": title, **_columns("one_prompt", _as_mean(count))})
        for title, of, _ in _CONTRASTS:
            each = of(own)
            if each is not None:
                both = _columns("one_prompt", each.within) | _columns("different_prompts", each.between)
                rows.append({**about, "measure": title.lower(), **both})
    columns = ["candidate", "measure", "answers", "prompts"]
    columns += [f"{kind}{end}" for kind in ("one_prompt", "different_prompts") for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=columns)


def diversity_figure(found: RunDiversity, candidates: Sequence[str]) -> go.Figure:
    """Draw a row per candidate: the number of different answers, and each measure of answers to one prompt and to
    different ones, with 95% intervals.

    Parameters
    ----------
    found : RunDiversity
    candidates : sequence of str
        All candidates of the run, in its order, which give each its color.
    """
    shown = [name for name in candidates if name in found.candidates]
    owns = [found.candidates[name] for name in shown]
    styles = candidate_styles(candidates)
    counted = "Modes" if any(own.modes is not None for own in owns) else "Different answers"
    panels = [each for each in _CONTRASTS if all(each[1](own) is not None for own in owns)]
    layout = draw.panel_row([_narrow(title) for title in (counted, *(title for title, _, _ in panels))], 0.035)
    layout = draw.with_axes(layout, "y", **draw.row_axis([as_label(short_name(name)) for name in shown]))
    layout = draw.with_axes(layout, "x", nticks=4, zeroline=False, rangemode="tozero")
    traces: list[Trace] = []
    for row, (name, own) in enumerate(zip(shown, owns, strict=True)):
        count = own.different if own.modes is None else own.modes
        traces += _counted(count, row, name, styles[name], counted.lower())
        layout["annotations"] += _unbounded(count, own.answers, row)
        for panel, (title, of, decimals) in enumerate(panels, start=2):
            each = of(own)
            if each is not None:
                drawn = _contrast(each, row, name, styles[name], title, decimals)
                traces += [draw.on_panel(trace, panel) for trace in drawn]
    traces += [_legend(ONE, filled=True), _legend(DIFFERENT, filled=False)]
    area = _ROW * (len(shown) + 0.4)
    rest = base_layout(
        height=round(area + _MARGIN["t"] + _MARGIN["b"]),
        margin=_MARGIN,
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top"},
    )
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


def _narrow(title: str) -> str:
    """On a line for each word, so that the titles stand apart on a phone."""
    return title.replace(" ", "<br>")


def _counted(count: ModeCount, row: int, name: str, style: Style, what: str) -> list[Trace]:
    if math.isinf(count.modes):
        return []
    high = count.modes if math.isinf(count.high) else count.high
    hover = f"{what}: {modes_with_interval(count)}"
    return [_dot(Mean(count.modes, count.low, high), row, name, style, hover, filled=True)]


def _unbounded(count: ModeCount, answers: int, row: int) -> list[dict[str, Any]]:
    """What a dot and its line cannot show: an infinite count, or an interval without an upper limit."""
    if not math.isinf(count.high):
        return []
    common = {"yref": "y", "y": row, "showarrow": False, "font": {"color": NEUTRAL_COLOUR}}
    if math.isinf(count.modes):
        return [{"text": f"all {answers} differ", "xref": "x domain", "x": 0.5, **common}]
    return [{"text": "or any more", "xref": "x", "x": count.modes, "xanchor": "left", "xshift": 10, **common}]


def _contrast(each: Contrast, row: int, name: str, style: Style, title: str, decimals: int) -> list[Trace]:
    traces = []
    if each.between is not None:
        traces.append(
            draw.scatter(
                x=[each.within.value, each.between.value],
                y=[row, row],
                mode="lines",
                line={"color": NEUTRAL_COLOUR, "width": 1},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    for mean, said in ((each.between, DIFFERENT), (each.within, ONE)):
        if mean is not None:
            numbers = f"{written(mean.value, decimals)} ({interval(mean.low, mean.high, decimals)})"
            hover = f"{title} of answers {said}: {numbers}"
            traces.append(_dot(mean, row, name, style, hover, filled=mean is each.within))
    return traces


def _dot(mean: Mean, row: int, name: str, style: Style, hover: str, *, filled: bool) -> Trace:
    symbol = style.symbol if filled else f"{style.symbol}-open"
    return draw.scatter(
        x=[mean.value],
        y=[row],
        error_x=draw.interval(mean.value, mean.low, mean.high, width=0, thickness=2, color=style.colour),
        mode="markers",
        cliponaxis=False,
        marker={"color": style.colour, "symbol": symbol, "size": 9},
        meta=as_label(name),
        hovertemplate=f"<b>{as_label(name)}</b><br>{hover}<extra></extra>",
        showlegend=False,
    )


def _legend(name: str, *, filled: bool) -> Trace:
    marker = {"color": NEUTRAL_COLOUR, "symbol": "circle" if filled else "circle-open", "size": 9}
    return draw.scatter(x=[None], y=[None], mode="markers", marker=marker, name=f"answers {name}", hoverinfo="skip")


def _as_mean(count: ModeCount) -> Mean:
    return Mean(count.modes, count.low, count.high)


def _columns(name: str, mean: Mean | None) -> dict[str, float]:
    if mean is None:
        return {}
    values = asdict(mean)
    return {name: values["value"], f"{name}_low": values["low"], f"{name}_high": values["high"]}
