"""Effects of perturbations: on scores, with dose response, and on clusters, as flows of texts.

One panel per measure and one row per perturbation. Dots are means over splits and k-means seeds; bars span one standard
deviation on each side. The gray band is the control, two untouched halves of the texts: the noise floor (ICLR 2023,
section 6.2, figure 4). Clusters are the run's own and stay fixed: a text moves if, once perturbed, it is nearest to
another centroid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analyses.methods import SUMMARIES
from mauve_core.analyses.probe_results import PROBE_SCORES, Flow, ProbeLine, ProbeTable
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, with_spread
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.draw import End, Trace
from mauve_core.figures.theme import (
    ACTIVE_COLOUR,
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
from mauve_core.findings.clusters import CONFIDENCE, wilson_interval
from mauve_core.findings.why_cards import labelled
from mauve_core.scoring.result import SeedSpread
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import Perturbation

Setting = Literal["dose", "words", "rate", "times"]

# Settings that can grow along an axis, with axis titles; the value 0 is the control.
SETTINGS: dict[Setting, str] = {
    "dose": "share of the {items}",
    "words": "share of the words, marks or matches",
    "rate": "share of the letters",
    "times": "times",
}

ABOUT_LEADERBOARD = (
    "MAUVE here compares halves, in half as many clusters, so no value is one of the leaderboard, whose sides are "
    "whole."
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
    pixels, area = draw.panels_height(rows, len(names), usual, _DOSES_BETWEEN)
    named = len(names) <= draw.MOST_NAMES
    layout = draw.panels(rows=rows, cols=1, vertical_spacing=_DOSES_BETWEEN / area)
    span = draw.padded_range(_dose_values(table.control, series, measure))
    axis = {"linecolor": NEUTRAL_COLOUR, "zeroline": False}
    layout = draw.with_axes(
        draw.with_axes(layout, "x", **axis), "y", **axis, range=list(span), title={"text": titled(measure)}
    )
    shapes, traces = [], []
    for panel, setting in enumerate(settings, start=1):
        drawn = [(index, item) for index, item in enumerate(series) if item.setting == setting]
        reach = draw.padded_range([0.0, *(value for _, item in drawn for value, _ in item.points)])
        along = layout["xaxis" if panel == 1 else f"xaxis{panel}"]
        along |= {"title": {"text": table.words.fill(SETTINGS[setting])}, "range": list(reach)}
        along |= {} if setting == "times" else {"tickformat": ".0%"}
        shapes += _noise_floor(table.control.scores[measure], panel, across=True)
        traces += [draw.on_panel(_response(table.control, item, measure, index), panel) for index, item in drawn]
        ends = [_dose_end(item, measure, index) for index, item in drawn]
        if named:
            layout["annotations"] += draw.names_at_ends(ends, reach[1], span, pixels, panel=panel)
    return draw.figure(traces, {**layout, **draw.panels_layout(names, area), "shapes": shapes})


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


# Maximum number of clusters in the matrix; the rest are counted.
SHOWN_CLUSTERS = 14

# Maximum number of flows in the chart; the rest are counted and listed in the table.
SHOWN_FLOWS = 15

# Maximum number of clusters in the sensitivity bars.
SHOWN_BARS = 60

FLOW_SCALE = ((0.0, "#dcd5f7"), (1.0, "#43309a"))
# Share of the largest count above which white has more contrast than black.
_DARK_FROM = 0.59

# Characters in a line of a cluster's name beside its row.
LABEL_WIDTH = 26

_CELL = 30
# Height of the names above the columns, which stand upright.
_COLUMN_NAMES = 190
_BAND_HEIGHT, _BAR_HEIGHT = 27, 300


@dataclass(frozen=True)
class Move:
    """Texts that moved between two different clusters; ``texts`` is at least 1."""

    source: int
    target: int
    texts: int


def moves(flow: Flow) -> list[Move]:
    """All flows between clusters, largest first, then by cluster."""
    table = flow.transitions
    np.fill_diagonal(table, 0)
    found = [Move(int(i), int(j), int(table[i, j])) for i, j in np.argwhere(table)]
    return sorted(found, key=lambda move: (-move.texts, move.source, move.target))


def moved_along(flow: Flow, source: int, target: int) -> tuple[str, ...]:
    """Ids of the texts that moved from one cluster to the other, in order."""
    indices = np.flatnonzero((flow.before == source) & (flow.after == target))
    return tuple(flow.ids[index] for index in indices)


def flows_frame(flow: Flow, words: Words = TEXTS) -> pd.DataFrame:
    """One row per flow, largest first: from, to, texts, of (texts that were in ``from``), share.

    The column of texts is called after the items: ``images``.
    """
    sizes = np.bincount(flow.before, minlength=flow.k)
    rows = [(move.source, move.target, move.texts, int(sizes[move.source])) for move in moves(flow)]
    frame = pd.DataFrame(rows, columns=["from", "to", words.items, "of"])
    return frame.assign(share=frame[words.items] / frame["of"].clip(lower=1))


def texts_frame(flow: Flow) -> pd.DataFrame:
    """One row per text: id, before, after, moved."""
    return pd.DataFrame(
        {"id": flow.ids, "before": flow.before, "after": flow.after, "moved": flow.before != flow.after}
    )


def sensitivity_frame(flow: Flow) -> pd.DataFrame:
    """One row per cluster with texts, most sensitive first: cluster, left, of, share, low, high (Wilson's)."""
    sizes = np.bincount(flow.before, minlength=flow.k)
    left = np.bincount(flow.before[flow.before != flow.after], minlength=flow.k)
    rows = []
    for cluster in np.flatnonzero(sizes):
        low, high = wilson_interval(int(left[cluster]), int(sizes[cluster]))
        share = float(flow.sensitivity[cluster])
        rows.append((int(cluster), int(left[cluster]), int(sizes[cluster]), share, low, high))
    frame = pd.DataFrame(rows, columns=["cluster", "left", "of", "share", "low", "high"])
    return frame.sort_values(["share", "of", "cluster"], ascending=[False, False, True], ignore_index=True)


def exchanging(flow: Flow, most: int = SHOWN_CLUSTERS) -> NDArray[np.int64]:
    """Clusters that texts left or entered, those with most such texts first; at most ``most``."""
    table = flow.transitions
    np.fill_diagonal(table, 0)
    traffic = table.sum(axis=0) + table.sum(axis=1)
    order = np.argsort(-traffic, kind="stable")
    found: NDArray[np.int64] = order[traffic[order] > 0][:most]
    return found


def matrix_figure(
    flow: Flow,
    clusters: Sequence[int],
    names: Sequence[str],
    chosen: tuple[int, int] | None = None,
    *,
    words: Words = TEXTS,
) -> go.Figure:
    """Texts by old cluster (row) and new cluster (column); the diagonal, texts that stayed, is gray.

    ``names`` are those of the clusters of the partition, by number, and untrusted.

    The first two values of a clicked point's ``customdata`` are the old and the new cluster.
    """
    shown = list(map(int, clusters))
    counts = flow.transitions[np.ix_(shown, shown)]
    moved = np.where(np.eye(len(shown), dtype=bool), 0, counts)
    top = int(moved.max(initial=0))
    figure = go.Figure(
        go.Heatmap(
            z=np.where(moved > 0, moved, np.nan),
            zmin=0,
            zmax=max(top, 1),
            colorscale=FLOW_SCALE,
            showscale=False,
            xgap=1,
            ygap=1,
            hoverinfo="skip",
        )
    )
    figure.add_traces([_numbers(counts, top), _cells(flow, shown, moved, names, words)])
    if chosen is not None and {*chosen} <= {*shown}:
        x, y = shown.index(chosen[1]), shown.index(chosen[0])
        line = {"color": NEUTRAL_COLOUR, "width": 4}
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line)
    axis = {
        "tickvals": list(range(len(shown))),
        "tickfont": {"size": 11},
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    figure.update_layout(
        base_layout(
            height=_CELL * max(len(shown), 4) + _COLUMN_NAMES,
            margin={"l": 8, "r": 8, "t": 8, "b": 8},
            showlegend=False,
            clickmode="event+select",
            hovermode="closest",
            xaxis={
                **axis,
                "ticktext": [as_label(labelled(names, cluster)) for cluster in shown],
                "side": "top",
                "tickangle": -90,
                "title": {"text": "to cluster"},
                "range": [-0.5, len(shown) - 0.5],
            },
            yaxis={
                **axis,
                "ticktext": [draw.wrapped(labelled(names, cluster), LABEL_WIDTH) for cluster in shown],
                "tickangle": 0,
                "title": {"text": "from cluster"},
                "range": [len(shown) - 0.5, -0.5],
            },
        )
    )
    return figure


def sankey_figure(
    shown: Sequence[Move], names: Sequence[str], chosen: tuple[int, int] | None = None, *, words: Words = TEXTS
) -> go.Figure:
    """Bands from old clusters (left) to new clusters (right); width is proportional to the number of texts.

    ``names`` are those of the clusters of the partition, by number, and untrusted.
    """
    left = list(dict.fromkeys(move.source for move in shown))
    right = list(dict.fromkeys(move.target for move in shown))
    strong, faint = translucent(ACTIVE_COLOUR, 0.4), translucent(NEUTRAL_COLOUR, 0.3)
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": [as_label(labelled(names, cluster)) for cluster in (*left, *right)],
                "color": NEUTRAL_COLOUR,
                "pad": 8,
                "thickness": 12,
                "line": {"width": 0},
                "hovertemplate": f"%{{label}}: %{{value:,.0f}} {words.items}<extra></extra>",
            },
            link={
                "source": [left.index(move.source) for move in shown],
                "target": [len(left) + right.index(move.target) for move in shown],
                "value": [move.texts for move in shown],
                "color": [strong if (move.source, move.target) == chosen else faint for move in shown],
                "hovertemplate": f"%{{source.label}} → %{{target.label}}: %{{value:,.0f}} {words.items}<extra></extra>",
            },
            textfont={"size": 13, "shadow": "none"},
        )
    )
    figure.update_layout(
        base_layout(height=_BAND_HEIGHT * max(len(left), len(right), 6) + 40, margin={"l": 8, "r": 8, "t": 8, "b": 12})
    )
    return figure


def sensitivity_figure(
    rows: pd.DataFrame, names: Sequence[str], colour: str = NEUTRAL_COLOUR, *, words: Words = TEXTS
) -> go.Figure:
    """One bar per row of ``sensitivity_frame``: the share of texts that left the cluster, with Wilson's interval.

    ``names`` are those of the clusters of the partition, by number, for the hovers; untrusted. ``colour`` is that of
    the candidate whose texts were perturbed.
    """
    share, low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("share", "low", "high"))
    above, below = np.maximum(high - share, 0), np.maximum(share - low, 0)
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(rows)),
            y=share,
            marker={"color": translucent(colour, 0.45), "line": {"width": 0}},
            error_y=draw.error_bars(above, below, color=NEUTRAL_COLOUR, thickness=1.5, width=3),
            customdata=np.column_stack([rows[["cluster", "left", "of"]].to_numpy(dtype=np.float64), low, high]),
            text=[as_label(labelled(names, cluster)) for cluster in rows["cluster"].tolist()],
            textposition="none",
            hovertemplate=(
                f"<b>%{{text}}</b><br>%{{customdata[1]:,.0f}} of %{{customdata[2]:,.0f}} {words.items} left it"
                f"<br>%{{y:.0%}}, {CONFIDENCE:.0%} interval %{{customdata[3]:.0%}} to %{{customdata[4]:.0%}}"
                "<extra></extra>"
            ),
        )
    )
    figure.update_layout(
        base_layout(
            height=_BAR_HEIGHT,
            bargap=0.25,
            showlegend=False,
            xaxis=draw.cluster_axis(rows["cluster"].to_list(), tickangle=0),
            yaxis={
                "tickformat": ".0%",
                "range": [0, 1.02],
                "title": {"text": f"share of its {words.items} that left"},
                "zeroline": False,
            },
        )
    )
    return figure


def _numbers(counts: NDArray[np.int64], top: int) -> go.Scatter:
    """Counts in the cells; gray for texts that stayed, none where nothing moved."""
    rows, columns = np.nonzero(counts)
    values = counts[rows, columns]
    stayed = rows == columns
    dark = values > _DARK_FROM * top
    return go.Scatter(
        x=columns,
        y=rows,
        mode="text",
        text=[f"{count:,}" for count in values],
        textfont={
            "color": [
                NEUTRAL_COLOUR if s else "#ffffff" if d else "#1c1c1c" for s, d in zip(stayed, dark, strict=True)
            ],
            "size": 12,
        },
        hoverinfo="skip",
    )


def _cells(
    flow: Flow, shown: Sequence[int], moved: NDArray[np.int64], names: Sequence[str], words: Words
) -> go.Scatter:
    """A transparent square over each flow for hovers and clicks, which a heat map cannot handle."""
    rows, columns = np.nonzero(moved)
    ends = np.array(shown, dtype=np.int64)
    sizes = np.bincount(flow.before, minlength=flow.k)
    data = np.column_stack([ends[rows], ends[columns], moved[rows, columns], sizes[ends[rows]]])
    return go.Scatter(
        x=columns,
        y=rows,
        mode="markers",
        marker={"symbol": "square", "size": _CELL - 2, "color": "rgba(0,0,0,0)"},
        customdata=data,
        text=[
            f"<b>From {as_label(labelled(names, source))}<br>to {as_label(labelled(names, target))}</b>"
            for source, target in data[:, :2].tolist()
        ],
        hovertemplate="%{text}<br>%{customdata[2]:,.0f} of the first one's "
        f"%{{customdata[3]:,.0f}} {words.items}<extra></extra>",
        **draw.UNFADED,
    )
