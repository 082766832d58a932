"""The settings behind one published correlation, in a plane of the measure and its reference.

On both axes, right and up mean closer to human text, so the points rise if the measure agrees with its reference. The
plane can also show ranks, which are all that a rank correlation sees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.stats import rankdata

from mauve_core.base.formatting import with_spread
from mauve_core.experiments.published import PUBLISHED_COLUMNS, REFERENCES
from mauve_core.figures import draw
from mauve_core.figures.draw import Trace
from mauve_core.figures.theme import NEUTRAL_COLOUR, as_label, base_layout, candidate_style

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
    """Data of the plane, from :func:`mauve_core.experiments.published.settings`.

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
        hovertemplate=[_hover(row) for row in part.itertuples()],
        name=name,
        cliponaxis=False,
    )
    if ranks:
        return trace
    bars = {"error_x": _bars(part["value_sd"], style.colour), "error_y": _bars(part["reference_sd"], style.colour)}
    return {**trace, **bars}


def _bars(sd: pd.Series, colour: str) -> dict[str, Any]:
    return {"type": "data", "array": sd.fillna(0), "visible": bool(sd.notna().any()), "color": colour, "thickness": 1.5}


def _hover(row: Any) -> str:
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
