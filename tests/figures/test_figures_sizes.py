"""Every figure that makes room for what it shows: drawn with nothing, with one and two, and with very many of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from mauve_core.analyses.gap import ledger_rows
from mauve_core.analyses.measure_terms import Measurements, Row, Value
from mauve_core.analyses.text_measures import MEASURES
from mauve_core.base.config import HUMAN
from mauve_core.figures.differences import differences_figure
from mauve_core.figures.gap import ledger_figure
from mauve_core.figures.measures import panels_figure
from mauve_core.findings.clusters import cluster_table, with_intervals
from mauve_core.scoring.result import Comparison, Difference
from tests.handmade import make_comparison

pytestmark = pytest.mark.integration

MANY = 60
VALUE = Value(0.5, 0.1, 0.3, 0.7)


def names(count: int) -> list[str]:
    return [f"candidate {place}" for place in range(count)]


def measured(measures: int, candidates: int) -> Measurements:
    """The first measures there are; beyond those, ones of a later version."""
    known = [*MEASURES, *(f"later {place}" for place in range(measures))][:measures]
    return Measurements(tuple(Row(name, each, VALUE, VALUE, VALUE) for name in known for each in names(candidates)), {})


def crowd(count: int) -> Comparison:
    comparison = make_comparison()
    first = comparison.candidates[0]
    labels = dict.fromkeys(names(count), comparison.joint[0].labels[first.name])
    joint = [dataclasses.replace(part, labels={**part.labels, **labels}) for part in comparison.joint]
    pairwise = [
        tuple(dataclasses.replace(part, labels={HUMAN: part.labels[HUMAN], name: part.labels[first.name]})
              for part in first.partitions) for name in names(count)
    ]  # fmt: skip
    candidates = tuple(
        dataclasses.replace(first, source=dataclasses.replace(first.source, name=name), partitions=parts)
        for name, parts in zip(names(count), pairwise, strict=True)
    )
    return dataclasses.replace(comparison, candidates=candidates, joint=tuple(joint))


def with_tests(count: int) -> Comparison:
    pairs = combinations(names(count), 2)
    found = tuple(Difference("mauve", *pair, 0.0, -0.1, 0.1, 1.0, 1.0, 1.0, True, 5) for pair in pairs)
    return dataclasses.replace(crowd(count), differences=found)


def clusters(count: int) -> pd.DataFrame:
    table = cluster_table(np.arange(1, count + 1), np.arange(count, 0, -1), 0.5)
    return with_intervals(table, table["cost_share"].to_numpy() / 2, table["cost_share"].to_numpy() * 2)


def ledger(count: int) -> go.Figure:
    return ledger_figure(
        ledger_rows(clusters(2 * count), "adds", most=count), "adds", names(2 * count), colour="#118f5a"
    )


# Each with the least number of its rows, columns or curves that its callers can ask for.
FIGURES: dict[str, tuple[Callable[[int], go.Figure], int]] = {
    "measures": (lambda count: panels_figure(measured(count, 2), names(2)), 0),
    "differences": (lambda count: differences_figure(with_tests(count)), 2),
    "ledger": (ledger, 1),
}

CASES = [(name, count) for name, (_, least) in FIGURES.items() for count in (0, 1, 2, MANY) if count >= least]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_a_figure_of_any_size_is_drawn(name: str, count: int) -> None:
    layout = FIGURES[name][0](count).to_dict()["layout"]
    assert layout["height"] > 0
    for letter in "xy":  # panels side by side or above one another have room of their own, in order
        axes = [axis for key, axis in layout.items() if key.startswith(f"{letter}axis")]
        for low, high in (axis["domain"] for axis in axes if "domain" in axis):
            assert 0 <= low < high <= 1 + 1e-9
