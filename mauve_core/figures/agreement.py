"""Agreement between methods, or between encoders: a grid of rank correlations, and the pairs ordered differently."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.formatting import correlation
from mauve_core.experiments.methods import Disagreement, Method, MethodResult, MethodTable, disagreements, score_of
from mauve_core.figures.theme import SIGNED_SCALE, as_label, base_layout, ink, short_name
from mauve_core.scoring.result import Comparison

_PARTS = ("smoothing", "divergence", "summary", "scale", "expectation", "correction")
# Methods that the answer names; the others are counted.
_NAMED = 3

# Candidates from which on a correlation of rankings says more than which of two is first.
LEAST_CORRELATED = 3

_CELL_HEIGHT, _LOW_CELL_HEIGHT, _MANY = 34, 24, 12


def agreement_frame(table: MethodTable) -> pd.DataFrame:
    """Spearman correlations: one row per method, with ``method``, ``title`` and one column per method spec."""
    specs = [result.method.spec for result in table.results]
    frame = pd.DataFrame(table.agreement(), columns=specs)
    frame.insert(0, "method", specs)
    frame.insert(1, "title", [result.method.title for result in table.results])
    return frame


def disagreements_frame(table: MethodTable, comparison: Comparison | None) -> pd.DataFrame:
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
            for item in disagreements(table, comparison)
        ],
        columns=columns,
    )


def answer(table: MethodTable, comparison: Comparison | None) -> str:
    """Say in one sentence whether the ranking depends on the method; empty for one method or one candidate.

    The other methods are counted by how they order the candidates: as the table's first, with pairs reversed that both
    tell apart, with others reversed, or without intervals over texts, so that ties are unknown.
    """
    first, *others = table.results
    if not others or len(table.candidates) < 2:
        return ""
    reversed_by: dict[Method, list[Disagreement]] = {}
    for item in disagreements(table, comparison):
        reversed_by.setdefault(item.method, []).append(item)
    if not reversed_by:
        return f"The ranking does not depend on the method: all {len(table.results):,} give the same order."
    apart = {method: items[0] for method, items in reversed_by.items() if items[0].told_apart}
    unsure = [each.method for each in others if each.method in reversed_by and each.method not in apart]
    unknown = [each.method for each in others if each.method in unsure and _lacks_intervals(each, first, comparison)]
    title = first.method.title
    clauses = []
    if apart:
        named = [f"{m.title} ({short_name(i.closer)} before {short_name(i.farther)})" for m, i in apart.items()]
        clauses.append(f"{_count(apart, 'reverses', 'reverse')} pairs that both tell apart: {_listed(named)}")
    if same := [each for each in others if each.method not in reversed_by]:
        clauses.append(f"{_count(same, 'gives', 'give')} the same order")
    if within := [method for method in unsure if method not in unknown]:
        clauses.append(f"{_count(within, 'reverses', 'reverse')} only pairs that one of the two cannot tell apart")
    if unknown:
        named = [method.title for method in unknown]
        clauses.append(f"of {len(unknown):,} without intervals over texts this is not known: {_listed(named)}")
    lead = (
        "The ranking depends on the method" if apart else "The ranking does not depend on the method beyond the spread"
    )
    if len(unknown) == len(others):
        lead = "Whether the ranking depends on the method is not known"
    return f"{lead}. Of {len(others):,} method{'s' * (len(others) > 1)} beside {title}: {'; '.join(clauses)}."


def _lacks_intervals(result: MethodResult, first: MethodResult, comparison: Comparison | None) -> bool:
    """Whether one of the two methods has no intervals by which it could tell candidates apart."""
    return any(
        score_of(each.method, comparison) is None and any(score.low is None for score in each.scores.values())
        for each in (first, result)
    )


def _count(found: Sized, one: str, several: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


def agreement_figure(table: MethodTable) -> go.Figure:
    """Draw the correlations as a grid with numbers; a dash marks a method that ties all candidates."""
    return correlation_grid(table.agreement(), [result.method.title for result in table.results])


def correlation_grid(
    values: NDArray[np.float64], titles: Sequence[str], notes: Sequence[Sequence[str]] | None = None
) -> go.Figure:
    """Draw (m, m) rank correlations as a grid with numbers; a dash marks an undefined one.

    ``notes`` holds a line to show on hover for each cell, empty for none.
    """
    count = len(values)
    safe = [as_label(title) for title in titles]
    hovers = [
        [
            f"{one}<br>{other}<br>Spearman {correlation(value)}{_line(notes, row, column)}"
            for column, (other, value) in enumerate(zip(safe, across, strict=True))
        ]
        for row, (one, across) in enumerate(zip(safe, values, strict=True))
    ]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=SIGNED_SCALE,
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
                "ticktext": [f"{title}  {number}" for number, title in enumerate(safe, start=1)],
                "range": [count - 0.5, -0.5],
            },
        )
    )
    return figure


def _line(notes: Sequence[Sequence[str]] | None, row: int, column: int) -> str:
    return "" if notes is None or not notes[row][column] else f"<br>{as_label(notes[row][column])}"


def reason(table: MethodTable, method: Method) -> str:
    """Why a method may rank differently from the first: the papers' explanation, or the one setting that differs."""
    first = table.results[0].method
    if method.estimator != first.estimator:
        return method.reason
    parts = [part for part in _PARTS if getattr(method, part) != getattr(first, part)]
    differs = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Both use the same fit; they differ only in {differs}."
