"""Effects of perturbations on scores: one panel per measure and one row per perturbation, and dose response.

Dots are means over splits and k-means seeds; bars span one standard deviation on each side. The gray band is the
control, two untouched halves of the texts: the noise floor (ICLR 2023, section 6.2, figure 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, with_spread
from mauve_core.experiments.methods import SUMMARIES
from mauve_core.experiments.robustness import PROBE_SCORES, ProbeLine, ProbeTable
from mauve_core.figures import draw, line_ends
from mauve_core.figures.draw import Trace
from mauve_core.figures.line_ends import End
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    MODE_BAR,
    NAME_LENGTH,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    as_label,
    base_layout,
    candidate_colour,
    candidate_style,
    short_name,
    translucent,
)
from mauve_core.scoring.result import SeedSpread
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import Perturbation

Setting = Literal["dose", "words", "rate", "times"]

# Settings that can grow along an axis, with axis titles; the value 0 is the control.
SETTINGS: dict[Setting, str] = {
    "dose": "share of the texts",
    "words": "share of the words, marks or matches",
    "rate": "share of the letters",
    "times": "times",
}

ABOUT_LEADERBOARD = (
    "MAUVE here compares halves, in half as many clusters, so no value is one of the leaderboard, which has all texts."
)

COLUMNS = 3
_ROW_HEIGHT, _PANEL_MARGIN = 22, 74
# Pixels of a single panel of doses, of one of several, and between two.
_DOSE_HEIGHT, _DOSE_ROW, _DOSES_BETWEEN = 260, 200, 60
_LOOKS = {"control": "circle-open", "perturbation": "circle", "source": "diamond-open"}
_BAND, _FLOOR = translucent(NEUTRAL_COLOUR, 0.28), {"color": NEUTRAL_COLOUR, "width": 1.5, "dash": "dash"}


@dataclass(frozen=True)
class DoseSeries:
    """One perturbation at increasing doses.

    Attributes
    ----------
    title : str
        The perturbation without the setting that grows.
    setting : str
        The setting that grows, a key of ``SETTINGS``.
    points : tuple of (float, ProbeLine)
        In ascending order, without the control.
    """

    title: str
    setting: Setting
    points: tuple[tuple[float, ProbeLine], ...]


def titled(measure: str) -> str:
    """The measure's name with the direction that means closer."""
    return f"{SUMMARIES[measure].title} {'↑' if measure == 'mauve' else '↓'}"


def by_distance(table: ProbeTable, measure: str, *, sources: bool = True) -> list[ProbeLine]:
    """All lines except the control, farthest from the reference half first."""
    sign = -1 if measure == "mauve" else 1
    lines = [line for line in table.lines if line.kind == "perturbation" or (sources and line.kind == "source")]
    return sorted(lines, key=lambda line: sign * line.scores[measure].mean, reverse=True)


def probes_frame(table: ProbeTable) -> pd.DataFrame:
    """All numbers of the table: one row per line, the control first.

    Returns
    -------
    DataFrame
        kind, name, title, source (whose texts were split), n, k, changed (share of the texts), moved (share of the
        first split's texts in another cluster, NaN without a flow), repeats (splits times seeds), for each measure
        its mean, _sd (NaN with one repeat), _over_control and _over_control_sd; detectable (NaN where nothing was
        tested); notes.
    """
    rows = []
    for line in table.lines:
        row: dict[str, Any] = {"kind": line.kind, "name": line.name, "title": line.title, "source": table.source}
        row |= {"n": line.n, "k": line.k, "changed": line.changed, "moved": moved_share(line)}
        row["repeats"] = len(line.scores[PROBE_SCORES[0]].values)
        for measure in PROBE_SCORES:
            own, over = line.scores[measure], table.over_control(line, measure)
            row |= {measure: own.mean, f"{measure}_sd": _sd(own)}
            row |= {f"{measure}_over_control": over.mean, f"{measure}_over_control_sd": _sd(over)}
        row["detectable"] = math.nan if line.detectable is None else line.detectable
        rows.append({**row, "notes": "; ".join(line.notes)})
    return pd.DataFrame(rows)


def moved_share(line: ProbeLine) -> float:
    """Share of texts that left their cluster; NaN without a flow."""
    return math.nan if line.flow is None or not line.flow.ids else len(line.flow.moved) / len(line.flow.ids)


def spread_label(found: SeedSpread) -> str:
    """``0.1234 ± 0.0056``; only the value if one repeat gives no spread."""
    return with_spread(found.mean, found.sd)


def source_colour(name: str, order: Sequence[str]) -> str:
    """Color of unchanged texts of that source; ``order`` holds the run's candidates."""
    return HUMAN_COLOUR if name == HUMAN else candidate_colour(order, name)


def perturbed_colour(table: ProbeTable, order: Sequence[str]) -> str:
    """Color of perturbed texts: the candidate's whose they are; neutral for human texts, as no person wrote them so."""
    return NEUTRAL_COLOUR if table.source == HUMAN else candidate_colour(order, table.source)


def distance_figure(table: ProbeTable, measure: str, order: Sequence[str], *, sources: bool = True) -> go.Figure:
    """One panel per measure; rows sorted by ``measure``, farthest on top and the control at the bottom.

    ``order`` holds the run's candidates, which sets their colors.
    The first value of a clicked point's ``customdata`` is its index in the table's lines.
    """
    lines = [*by_distance(table, measure, sources=sources), table.control]
    rows = -(-len(PROBE_SCORES) // COLUMNS)
    height = MODE_BAR + rows * (_ROW_HEIGHT * max(len(lines), 2) + _PANEL_MARGIN)
    layout = draw.panels(
        rows=rows,
        cols=COLUMNS,
        shared_yaxes=True,
        subplot_titles=[titled(name) for name in PROBE_SCORES],
        horizontal_spacing=0.03,
        vertical_spacing=min(0.9 * _PANEL_MARGIN / height, 1 / rows),
    )
    traces: list[Trace] = []
    shapes: list[dict[str, Any]] = []
    for panel, name in enumerate(PROBE_SCORES, start=1):
        traces += [draw.on_panel(_dots(table, lines, name, kind, order), panel) for kind in _LOOKS]
        shapes += _noise_floor(table.control.scores[name], panel)
    layout = draw.with_axes(layout, "x", showgrid=True, zeroline=False, nticks=5, linecolor=NEUTRAL_COLOUR)
    labels = [as_label(row_label(line)) for line in lines]
    layout = draw.with_axes(layout, "y", **draw.row_axis(labels, showgrid=True, fixedrange=True, automargin=True))
    gestures = {"hovermode": "closest", "clickmode": "event+select", "dragmode": "zoom"}
    rest = base_layout(height=height, showlegend=False, margin=PANELS_MARGIN, shapes=shapes, **gestures)
    return draw.figure(traces, draw.with_titles(layout) | rest)


def row_label(line: ProbeLine) -> str:
    """A line's title if it fits on an axis; otherwise its spec, cut if necessary."""
    if line.kind == "control":
        return "None (control)"
    return short_name(line.title if len(line.title) <= NAME_LENGTH else line.name)


def dose_series(table: ProbeTable) -> list[DoseSeries]:
    """Perturbations that differ in the value of one setting only, in table order."""
    groups: dict[tuple[Setting, str], dict[float, ProbeLine]] = {}
    for line in table.lines:
        if line.kind != "perturbation":
            continue
        item = parse_perturbation(line.name)
        for setting in SETTINGS:
            if setting == "dose" or setting in item.values:
                groups.setdefault((setting, _title_without(item, setting)), {})[_value(item, setting)] = line
    return [
        DoseSeries(title, setting, tuple(sorted(found.items(), key=lambda point: point[0])))
        for (setting, title), found in groups.items()
        if len(found) > 1
    ]


def doses_frame(series: Sequence[DoseSeries], control: ProbeLine, measure: str) -> pd.DataFrame:
    """Numbers of :func:`dose_figure`: perturbation, setting, value (0 for the control), measure, mean, sd."""
    rows = []
    for item in series:
        for value, line in ((0.0, control), *item.points):
            found = line.scores[measure]
            sd = math.nan if found.sd is None else found.sd
            rows.append((item.title, item.setting, value, measure, found.mean, sd))
    return pd.DataFrame(rows, columns=["perturbation", "setting", "value", "measure", "mean", "sd"])


def dose_figure(table: ProbeTable, series: Sequence[DoseSeries], measure: str) -> go.Figure:
    """One measure against the growing setting, one panel per setting; every line starts at the control (0)."""
    settings = [setting for setting in SETTINGS if any(item.setting == setting for item in series)]
    rows, names = max(len(settings), 1), [item.title for item in series]
    usual = _DOSE_HEIGHT if rows == 1 else _DOSE_ROW
    pixels, area = line_ends.panels_height(rows, len(names), usual, _DOSES_BETWEEN)
    named = len(names) <= line_ends.MOST
    layout = draw.panels(rows=rows, cols=1, vertical_spacing=_DOSES_BETWEEN / area)
    span = line_ends.padded(_dose_values(table.control, series, measure))
    axis = {"linecolor": NEUTRAL_COLOUR, "zeroline": False}
    layout = draw.with_axes(
        draw.with_axes(layout, "x", **axis), "y", **axis, range=list(span), title={"text": titled(measure)}
    )
    shapes, traces = [], []
    for panel, setting in enumerate(settings, start=1):
        drawn = [(index, item) for index, item in enumerate(series) if item.setting == setting]
        reach = line_ends.padded([0.0, *(value for _, item in drawn for value, _ in item.points)])
        along = layout["xaxis" if panel == 1 else f"xaxis{panel}"]
        along |= {"title": {"text": table.words.said(SETTINGS[setting])}, "range": list(reach)}
        along |= {} if setting == "times" else {"tickformat": ".0%"}
        shapes += _noise_floor(table.control.scores[measure], panel, across=True)
        traces += [draw.on_panel(_response(table.control, item, measure, index), panel) for index, item in drawn]
        ends = [_dose_end(item, measure, index) for index, item in drawn]
        if named:
            layout["annotations"] += line_ends.names_at_ends(ends, reach[1], span, pixels, panel=panel)
    return draw.figure(traces, {**layout, **line_ends.panels_layout(names, area), "shapes": shapes})


def _dose_values(control: ProbeLine, series: Sequence[DoseSeries], measure: str) -> list[float]:
    """Everything on the vertical axis: means with one standard deviation on each side."""
    found = [control.scores[measure], *(line.scores[measure] for item in series for _, line in item.points)]
    return [each.mean + side * (each.sd or 0.0) for each in found for side in (-1, 1)]


def _dose_end(item: DoseSeries, measure: str, index: int) -> End:
    value, line = item.points[-1]
    return End(item.title, candidate_style(index), value, line.scores[measure].mean)


def _noise_floor(control: SeedSpread, panel: int, *, across: bool = False) -> list[dict[str, Any]]:
    """The control's mean as a dashed line, with one standard deviation on each side as a background band."""
    axis, sd = "y" if across else "x", control.sd or 0.0
    line = {**draw.guide(axis, control.mean, _FLOOR, panel), "layer": "below"}
    ends = {f"{axis}0": control.mean - sd, f"{axis}1": control.mean + sd}
    return [{**line, **ends, "type": "rect", "fillcolor": _BAND, "line": {"width": 0}}, line]


def _dots(table: ProbeTable, lines: Sequence[ProbeLine], measure: str, kind: str, order: Sequence[str]) -> Trace:
    """Lines of one kind in one panel: other sources in the colors of their texts, perturbations in one color."""
    found = [(row, line) for row, line in enumerate(lines) if line.kind == kind]
    bars = perturbed_colour(table, order) if kind == "perturbation" else NEUTRAL_COLOUR
    colour = [source_colour(line.name, order) for _, line in found] if kind == "source" else bars
    return draw.scatter(
        x=[line.scores[measure].mean for _, line in found],
        y=[row for row, _ in found],
        mode="markers",
        meta=kind,
        marker={"color": colour, "symbol": _LOOKS[kind], "size": 9},
        error_x=_sd_bars([line for _, line in found], measure, bars, width=3),
        customdata=[[table.lines.index(line)] for _, line in found],
        hovertext=[_hover(table, line, measure) for _, line in found],
        hovertemplate="%{hovertext}<extra></extra>",
        **draw.UNFADED,
    )


def _sd_bars(lines: Sequence[ProbeLine], measure: str, colour: str, width: int) -> dict[str, Any]:
    """Error bars of one standard deviation; ``width`` is that of their ends in pixels."""
    sds = [line.scores[measure].sd or 0.0 for line in lines]
    return {"type": "data", "array": sds, "color": colour, "thickness": 1.5, "width": width}


def _hover(table: ProbeTable, line: ProbeLine, measure: str) -> str:
    items = table.words.items
    changed = f"<br>{as_percent(line.changed)} of the {items} changed" if line.kind == "perturbation" else ""
    over = f"<br>difference from control: {spread_label(table.over_control(line, measure))}"
    own = spread_label(line.scores[measure])
    name = row_label(line) if line.kind == "control" else line.title
    return f"<b>{as_label(name)}</b><br>{titled(measure)} {own}{'' if line.kind == 'control' else over}{changed}"


def _response(control: ProbeLine, series: DoseSeries, measure: str, index: int) -> Trace:
    points = ((0.0, control), *series.points)
    style = candidate_style(index)
    return draw.scatter(
        x=[value for value, _ in points],
        y=[line.scores[measure].mean for _, line in points],
        error_y=_sd_bars([line for _, line in points], measure, style.colour, width=4),
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 9},
        name=as_label(short_name(series.title)),
        meta=as_label(series.title),
        customdata=[f"{titled(measure)} {spread_label(line.scores[measure])}" for _, line in points],
        hovertemplate="<b>%{meta}</b><br>at %{x}: %{customdata}<extra></extra>",
    )


def _value(item: Perturbation, setting: Setting) -> float:
    return item.dose if setting == "dose" else float(item.values[setting])


def _title_without(item: Perturbation, setting: Setting) -> str:
    """Title without the growing setting; two perturbations share it only if everything else is equal."""
    if setting == "dose":
        return Perturbation(item.kind, item.values, 1.0).title
    parts = [item.kind.title]
    parts += [f"{name} {value!r}" for name, value in item.values.items() if isinstance(value, str)]
    parts += [
        f"{name} = {value:g}" for name, value in item.values.items() if name != setting and not isinstance(value, str)
    ]
    return ", ".join([*parts, f"{100 * item.dose:g}% of {item.kind.items}"] if item.dose != 1 else parts)


def _sd(found: SeedSpread) -> float:
    return math.nan if found.sd is None else found.sd
