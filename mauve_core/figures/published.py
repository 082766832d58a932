"""The papers' correlation tables, recomputed next to published, and the settings behind one correlation.

Gray bands show the range left by the rounding of the printed figures. The settings lie in a plane of the measure and
its reference: on both axes, right and up mean closer to human text, so the points rise if the measure agrees with its
reference. The plane can also show ranks, which are all that a rank correlation sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.stats import rankdata

from mauve_core.analyses.published import DOMAINS, OUTCOMES, PUBLISHED_COLUMNS, REFERENCES, Agreement
from mauve_core.base.formatting import SCORE_DECIMALS, UNBROKEN, interval, with_spread, written
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import NEUTRAL_COLOUR, as_label, base_layout, candidate_style, translucent

# Marks between the recomputed and the published number, so that the outcome does not rely on color.
MARKS = {"reproduced": "=", "rounding": "≈", "undecided": "?", "different": "≠"}

# Color of neither side, because a correlation belongs to no text.
OURS_COLOUR = candidate_style(4).colour

_COPIED = (
    *("paper", "domain", "reference", "measure", "n", "statistic"),
    *("ours", "published", "difference", "low", "high", "plain"),
)
_ROW_HEIGHT, _HEAD = 30, 76


def agreement_frame(rows: Sequence[Agreement]) -> pd.DataFrame:
    """One row per number, for the page's table and the CSV.

    Returns
    -------
    DataFrame
        paper, domain, reference, measure (keys), n, statistic, ours, published, difference, low, high (range left by
        rounding), plain, worst (NaN without printed deviations), worst_exact, outcome, joint.
    """
    return pd.DataFrame(
        [
            {
                **{name: getattr(row, name) for name in _COPIED},
                "worst": float("nan") if row.worst is None else row.worst.value,
                "worst_exact": row.worst is None or row.worst.exact,
                "outcome": row.outcome,
                "joint": row.joint,
            }
            for row in rows
        ]
    )


def shown_table(frame: pd.DataFrame) -> pd.DataFrame:
    """``agreement_frame`` of one paper as Markdown cells: one row per reference, one column per measure."""
    names = list(dict.fromkeys(frame["measure"]))
    records = []
    for (domain, reference), part in frame.groupby(["domain", "reference"], sort=False):
        cells = {row.measure: _cell(row) for row in part.itertuples()}
        record = {"Reference": f"**{REFERENCES[str(reference)].title}**  \n{DOMAINS[str(domain)].title}"}
        records.append(record | {PUBLISHED_COLUMNS[name].title: cells[name] for name in names})
    return pd.DataFrame(records)


def agreement_figure(frame: pd.DataFrame) -> go.Figure:
    """One panel per reference, one row per measure: dot = ours, tick = published, gray band = rounding range.

    Measures are sorted from best to worst by their mean correlation with human scores.
    """
    panels = list(dict.fromkeys(zip(frame["domain"], frame["reference"], strict=True)))
    measures = best_first(frame)
    layout = draw.panel_row([_panel_title(domain, reference) for domain, reference in panels], 0.02)
    traces: list[Trace] = []
    for column, (domain, reference) in enumerate(panels, start=1):
        part = frame[(frame["domain"] == domain) & (frame["reference"] == reference)].set_index("measure").loc[measures]
        traces += [draw.on_panel(trace, column) for trace in _dots(part, first=column == 1)]
    rows = draw.row_axis([PUBLISHED_COLUMNS[name].title for name in measures], 0.5)
    layout = draw.with_axes(layout, "y", **rows)
    layout = draw.with_axes(
        layout, "x", range=[-1.08, 1.08], tickvals=[-0.5, 0, 0.5, 1], zeroline=True, zerolinewidth=1
    )
    rest = base_layout(
        height=_HEAD + 34 + _ROW_HEIGHT * len(measures),
        margin={"l": 8, "r": 8, "t": _HEAD, "b": 8},
        legend={**base_layout()["legend"], "y": 1, "yref": "container", "yanchor": "top"},
    )
    return draw.figure(traces, draw.with_titles(layout, size=13) | rest)


def best_first(frame: pd.DataFrame) -> list[str]:
    """Measures of one paper, best first by their mean correlation with human scores."""
    human = frame[[bool(REFERENCES[name].higher_is_closer) for name in frame["reference"]]]
    means = human.groupby("measure", sort=False)["ours"].mean().sort_values(ascending=False, kind="stable")
    return [str(name) for name in means.index]


def _cell(row: Any) -> str:
    worst = "" if row.worst_exact or row.statistic == "plain" else "~"
    both = (f"**{worst}{_correlation(row.ours)}**", MARKS[row.outcome], _correlation(row.published))
    return f"{UNBROKEN.join(both)}  \n{written(row.difference, SCORE_DECIMALS, signed=True)}"


def _correlation(value: float) -> str:
    return written(value, SCORE_DECIMALS)


def _panel_title(domain: str, reference: str) -> str:
    title = REFERENCES[reference].title if REFERENCES[reference].higher_is_closer else "Discriminator"
    return f"{title}<br>{DOMAINS[domain].title.split(',')[0].lower()}"


def _dots(part: pd.DataFrame, *, first: bool) -> list[Trace]:
    """Stem, range, ours and published of one panel; ``first`` adds them to the legend."""
    indices = np.arange(len(part))
    gaps = [None] * len(part)
    stems_x = [x for pair in zip([0.0] * len(part), part["ours"], gaps, strict=True) for x in pair]
    ranges_x = [x for pair in zip(part["low"], part["high"], gaps, strict=True) for x in pair]
    stems_y = [y for index in indices for y in (index, index, None)]
    hovers = [_hover(row) for row in part.reset_index().itertuples()]
    stem = draw.scatter(x=stems_x, y=stems_y, mode="lines", line={"color": OURS_COLOUR, "width": 1.5}, hoverinfo="skip")
    band = draw.scatter(
        x=ranges_x,
        y=stems_y,
        mode="lines",
        line={"color": translucent(NEUTRAL_COLOUR, 0.55), "width": 9},
        hoverinfo="skip",
        name="range left by rounding",
        legendgroup="range",
    )
    published = draw.scatter(
        x=part["published"],
        y=indices,
        mode="markers",
        marker={"symbol": "line-ns", "size": 17, "line": {"color": NEUTRAL_COLOUR, "width": 3}},
        hovertemplate=hovers,
        name="published",
        legendgroup="published",
    )
    ours = draw.scatter(
        x=part["ours"],
        y=indices,
        mode="markers",
        marker={"color": OURS_COLOUR, "size": 10, "line": {"color": "white", "width": 1}},
        hovertemplate=hovers,
        name="ours",
        legendgroup="ours",
    )
    return [{**stem, "showlegend": False}, *({**trace, "showlegend": first} for trace in (band, published, ours))]


def _hover(row: Any) -> str:
    title = as_label(PUBLISHED_COLUMNS[row.measure].title)
    return (
        f"<b>{title}</b>, {row.statistic}, n = {row.n}<br>ours {_correlation(row.ours)}, "
        f"published {_correlation(row.published)}"
        f"<br>{interval(row.low, row.high, SCORE_DECIMALS)} within rounding<br>{OUTCOMES[row.outcome]}<extra></extra>"
    )


# Decoder families; the index sets color and marker.
FAMILIES = ("sampling", "nucleus", "top-k", "greedy")

# Gaps with a larger ratio, none of them near 0, get a logarithmic axis.
LOG_RATIO = 100.0

# An error bar longer than this share of the axis leaves no room for a label beside its point.
BAR_SHOWN = 0.006

# Offset of a label's center from its point, in shares of width and height; labels are about 0.12 by 0.04.
_SIDES = {
    "top center": (0.0, 0.05),
    "bottom center": (0.0, -0.05),
    "middle right": (0.09, 0.0),
    "middle left": (-0.09, 0.0),
}


def plane_frame(settings: pd.DataFrame, reference: str, *, ranks: bool = False) -> pd.DataFrame:
    """Data of the plane, from :func:`mauve_core.analyses.published.settings`.

    Returns
    -------
    DataFrame
        setting, family, value, value_sd, reference, reference_sd, and x, y: the gap |T(Q) - T(P)| (or MAUVE) and the
        reference. With ``ranks``, x and y are ranks; 1 is closest to human text, and equal figures share their mean
        rank.
    """
    frame = settings[["setting", "value", "value_sd", "reference", "reference_sd"]].copy()
    closeness = settings["closeness"].to_numpy(dtype=np.float64)
    good = settings["reference"].to_numpy(dtype=np.float64) * (1 if REFERENCES[reference].higher_is_closer else -1)
    frame.insert(1, "family", [family(setting) for setting in settings["setting"]])
    if ranks:
        return frame.assign(x=rankdata(-closeness), y=rankdata(-good))
    # Adding 0 turns a gap of -0 into 0.
    x = -closeness + 0.0 if settings["human"].notna().all() else closeness
    return frame.assign(x=x, y=settings["reference"])


def settings_figure(settings: pd.DataFrame, measure: str, reference: str, *, ranks: bool = False) -> go.Figure:
    """Draw one measure against one reference; bars are standard deviations, if printed."""
    frame = plane_frame(settings, reference, ranks=ranks)
    x_turned = ranks or PUBLISHED_COLUMNS[measure].is_gap
    y_turned = ranks or not REFERENCES[reference].higher_is_closer
    logarithmic = not ranks and PUBLISHED_COLUMNS[measure].is_gap and _spans_much(frame)
    across = np.log(frame["x"]) if logarithmic else frame["x"]
    barred = np.zeros(len(frame), dtype=np.bool_) if ranks else _barred(frame)
    indices = label_positions(-across if x_turned else across, -frame["y"] if y_turned else frame["y"], barred)
    layout = _layout(*_titles(measure, reference, ranks))
    layout["xaxis"] |= {"autorange": "reversed" if x_turned else True}
    layout["yaxis"] |= {"autorange": "reversed" if y_turned else True}
    if logarithmic:
        layout["xaxis"] |= {"type": "log", "dtick": 1}
    parts = {str(name): part for name, part in frame.assign(label_position=indices).groupby("family")}
    traces = [_family(parts[name], name, ranks) for name in FAMILIES if name in parts]
    return draw.figure(traces, layout)


def family(setting: str) -> str:
    """The decoder family of a setting: ``"xl nucleus 0.95"`` gives ``"nucleus"``."""
    words = setting.replace("top-", "top-k ").split()
    return next(known for known in FAMILIES if known in words)


def label_positions(x: pd.Series, y: pd.Series, barred: NDArray[np.bool_]) -> list[str]:
    """The side of each point with the most room for its label, as a Plotly position; x grows right, y up."""
    across, up = _unit_span(x), _unit_span(y)
    taken: list[tuple[float, float]] = list(zip(across, up, strict=True))
    chosen = []
    for index, point in enumerate(taken[: len(across)]):
        others = taken[:index] + taken[index + 1 :]
        room = {}
        for side in list(_SIDES)[: 2 if barred[index] else None]:
            middle = point[0] + _SIDES[side][0], point[1] + _SIDES[side][1]
            inside = abs(middle[0] - 0.5) <= 0.44
            room[side] = min((_apart(middle, other) for other in others), default=0.0) + 0.5 * inside
        best = max(room, key=room.__getitem__)
        chosen.append(best)
        taken.append((point[0] + _SIDES[best][0], point[1] + _SIDES[best][1]))
    return chosen


def _spans_much(frame: pd.DataFrame) -> bool:
    least = (frame["x"] - frame["value_sd"].fillna(0)).min()
    return bool(least > 0 and frame["x"].max() / frame["x"].min() > LOG_RATIO)


def _barred(frame: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray(frame["value_sd"].fillna(0) > BAR_SHOWN * np.ptp(frame["x"]))


def _apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Distance between two labels, scaled because they are three times as wide as high."""
    return max(abs(one[0] - other[0]) / 3, abs(one[1] - other[1]))


def _unit_span(values: pd.Series) -> NDArray[np.float64]:
    array = values.to_numpy(dtype=np.float64)
    return np.asarray((array - array.min()) / max(float(np.ptp(array)), 1e-12))


def _family(part: pd.DataFrame, name: str, ranks: bool) -> Trace:
    style = candidate_style(FAMILIES.index(name))
    trace = draw.scatter(
        x=part["x"],
        y=part["y"],
        mode="markers+text",
        text=[as_label(setting) for setting in part["setting"]],
        textposition=list(part["label_position"]),
        marker={"color": style.colour, "symbol": style.symbol, "size": 11, "line": {"color": "white", "width": 1}},
        hovertemplate=[_setting_hover(row) for row in part.itertuples()],
        name=name,
        cliponaxis=False,
    )
    if ranks:
        return trace
    bars = {"error_x": _bars(part["value_sd"], style.colour), "error_y": _bars(part["reference_sd"], style.colour)}
    return {**trace, **bars}


def _bars(sd: pd.Series, colour: str) -> dict[str, Any]:
    return {"type": "data", "array": sd.fillna(0), "visible": bool(sd.notna().any()), "color": colour, "thickness": 1.5}


def _setting_hover(row: Any) -> str:
    return (
        f"<b>{as_label(row.setting)}</b><br>T(Q) {with_spread(row.value, row.value_sd)}"
        f"<br>reference {with_spread(row.reference, row.reference_sd)}<extra></extra>"
    )


def _titles(measure: str, reference: str, ranks: bool) -> tuple[str, str]:
    known, found = PUBLISHED_COLUMNS[measure], REFERENCES[reference]
    if ranks:
        first = "1: closest"
        return f"Rank by {'gap of ' if known.is_gap else ''}{known.title} ({first})", f"Rank by {found.title} ({first})"
    x_title = f"Gap of {known.title} ({known.unit}), smaller to the right" if known.is_gap else ""
    y_title = f"{found.title} ({found.unit}){'' if found.higher_is_closer else ', smaller upward'}"
    return x_title or f"{known.title} ({known.unit})", y_title


def _layout(x_title: str, y_title: str) -> dict[str, Any]:
    quiet = {"zeroline": False, "linecolor": NEUTRAL_COLOUR}
    return base_layout(
        height=440,
        xaxis={**quiet, "title": {"text": x_title}},
        yaxis={**quiet, "title": {"text": y_title}},
        hovermode="closest",
    )
