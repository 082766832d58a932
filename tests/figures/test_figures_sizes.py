"""Every figure that makes room for what it shows: drawn with nothing, with one and two, and with very many of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from mauve_core.analysis.attributes import CATEGORICAL, Attribute
from mauve_core.analysis.cluster_table import cluster_table, with_intervals
from mauve_core.analysis.gap_table import ledger_rows
from mauve_core.base.config import HUMAN, SCORES
from mauve_core.experiments.attributes_over_k import AttributeTable
from mauve_core.experiments.methods import Method, MethodResult, MethodScore, MethodTable
from mauve_core.experiments.published import agreements, settings
from mauve_core.experiments.robustness import ProbeTable
from mauve_core.experiments.sweeps import Sweep, SweepPoint
from mauve_core.experiments.text_measures import MEASURES, Measurements, Row, Value
from mauve_core.figures import agreement, attributes, flows, judgments, methods, published, published_settings
from mauve_core.figures.clusters import cluster_figure, ranked_figure
from mauve_core.figures.differences import differences_figure
from mauve_core.figures.frontier import curve_points, error_curves, frontier_figure
from mauve_core.figures.gap import ledger_figure
from mauve_core.figures.leaderboard import interval_figure
from mauve_core.figures.measures import panels_figure, plane_figure, plane_frame
from mauve_core.figures.probes import DoseSeries, distance_figure, dose_figure
from mauve_core.figures.sweeps import sweep_figure
from mauve_core.figures.why import effects_figure
from mauve_core.judgments import Player, Ranking
from mauve_core.scoring.result import Comparison, Difference
from tests.handmade import make_comparison, spread
from tests.probe_tables import flow_of, line_of

MANY = 60
VALUE = Value(0.5, 0.1, 0.3, 0.7)
SPREADS = {score: spread(0.5, 0.1) for score in SCORES}


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
    found = tuple(Difference("mauve", *pair, 0.0, -0.1, 0.1, 0.0, 1.0, 1.0, True, 5) for pair in pairs)
    return dataclasses.replace(crowd(count), differences=found)


def ranking(players: int) -> Ranking:
    found = tuple(Player(name, 1, True, 0.0, -1.0, 1.0, 0.5, 0, 1, 1, 0) for name in names(players))
    return Ranking("fluent", found, ((0.0,) * players,) * players, players, 1, 0, 0, "half", 10, 0.95, ())


def doses(settings_of_dose: int) -> go.Figure:
    lines = [line_of(f"typos@{place}", 0.1) for place in range(settings_of_dose)]
    points = tuple(enumerate(lines, start=1))
    return dose_figure(probes(1), [DoseSeries("typos", "rate", points)] if points else [], "mauve")


def probes(lines: int) -> ProbeTable:
    found = (line_of(f"typos@0.{place + 1:03}", 0.1) for place in range(lines))
    return ProbeTable(HUMAN, (line_of("none", 0.02, kind="control"), *found))


def clusters(count: int) -> pd.DataFrame:
    table = cluster_table(np.arange(1, count + 1), np.arange(count, 0, -1), 0.5)
    return with_intervals(table, table["cost_share"].to_numpy() / 2, table["cost_share"].to_numpy() * 2)


def ledger(count: int) -> go.Figure:
    return ledger_figure(
        ledger_rows(clusters(2 * count), "adds", most=count), "adds", names(2 * count), colour="#118f5a"
    )


def sweep(over: str, lines: int) -> go.Figure:
    found = tuple(SweepPoint(value, name, name, 100, 10, SPREADS) for name in names(lines) for value in (0.5, 0.9))
    return sweep_figure(Sweep(over, found), "mauve", names(lines))  # type: ignore[arg-type]


def compared(count: int, candidates: int = 2) -> MethodTable:
    score = MethodScore(0.9, 0.01, 0.01, 0.8, 1.0, 100)
    result = MethodResult(Method(), dict.fromkeys(names(candidates), score), None, 1.0, ())
    return MethodTable((result,) * count)


def effects(count: int) -> go.Figure:
    row = {"comparison": "sides", "first": 1.0, "second": 2.0, "n": 3, "m": 4, "delta": 0.1, "low": 0.0, "high": 0.2}
    frame = pd.DataFrame([{**row, "title": f"property {place}"} for place in range(count)], columns=[*row, "title"])
    return effects_figure(frame, "candidate", "#118f5a")


def captured(columns: int) -> AttributeTable:
    scores = {name: spread(0.5, 0.1) for name in CATEGORICAL}
    return AttributeTable(tuple(Attribute(name, "category", 4, 100, 0, scores) for name in names(columns)), {})


def exchanged(count: int) -> list[flows.Move]:
    return [flows.Move(place, place + 1, 3) for place in range(count)]


def sensitivity(count: int) -> go.Figure:
    ids = tuple(map(str, range(count)))
    return flows.sensitivity_figure(
        flows.sensitivity_frame(flow_of(max(count, 1), ids, range(count), {})), names(count)
    )


def matrix(count: int) -> go.Figure:
    ids = tuple(map(str, range(count)))
    return flows.matrix_figure(flow_of(max(count, 1), ids, range(count), {}), range(count), names(count))


def correlated(references: int) -> go.Figure:
    """One reference after another; ``agreement_figure`` knows them by name."""
    frame = published.agreement_frame(agreements())
    frame = frame[frame["paper"] == "jmlr-2023"]
    panels = frame[["domain", "reference"]].drop_duplicates().head(references)
    return published.agreement_figure(frame.merge(panels))


def printed(rows: int) -> go.Figure:
    frame = settings("jmlr-2023", "webtext", "self_bleu", "human_like")
    many = pd.concat([frame] * MANY, ignore_index=True).head(rows)
    return published_settings.settings_figure(many, "self_bleu", "human_like")


def curves(count: int) -> go.Figure:
    found = error_curves(crowd(count), "pairwise")
    return frontier_figure(curve_points(found, 5.0), 0.5)


FIGURES: dict[str, tuple[Callable[[int], go.Figure], int]] = {
    "measures": (lambda count: panels_figure(measured(count, 2), names(2)), 0),
    "candidates of one measure": (lambda count: panels_figure(measured(1, count), names(count)), 0),
    "candidates of two measures": (lambda count: panels_figure(measured(2, count), names(count)), 0),
    "candidates of all measures": (lambda count: panels_figure(measured(len(MEASURES), count), names(count)), 0),
    "two measures in a plane": (
        lambda count: plane_figure(plane_frame(measured(2, count), *[*MEASURES][:2], names(count)), *[*MEASURES][:2],
                                   names(count)), 1,
    ),
    "leaderboard": (lambda count: interval_figure(crowd(count), "pairwise"), 1),
    "differences": (lambda count: differences_figure(with_tests(count)), 2),
    "frontier": (curves, 1),
    "clusters": (lambda count: cluster_figure(clusters(count), "b", colour="#118f5a"), 1),
    "ranked clusters": (lambda count: ranked_figure(clusters(count), "b", names(count), colour="#118f5a"), 1),
    "ledger": (ledger, 1),
    "probes": (lambda count: distance_figure(probes(count), "mauve", []), 0),
    "doses": (doses, 0),
    "sweep": (lambda count: sweep("k", count), 0),
    "families of decoders": (lambda count: sweep("decoder", count), 0),
    "players": (lambda count: judgments.ranking_figure({"fluent": ranking(count)}, "fluent", names(count)), 0),
    "questions": (
        lambda count: judgments.ranking_figure({name: ranking(2) for name in names(count)}, names(1)[0], names(2)), 1,
    ),
    "methods": (lambda count: methods.bump_figure(compared(count), names(2), None), 1),
    "candidates under methods": (lambda count: methods.bump_figure(compared(2, count), names(count), None), 0),
    "methods' agreement": (lambda count: agreement.agreement_figure(compared(count)), 1),
    "effects": (effects, 0),
    "attributes": (lambda count: attributes.accuracy_figure(captured(count), captured(count).lines and
                                                            list(captured(count).lines)), 0),
    "bands": (lambda count: flows.sankey_figure(exchanged(count), names(count + 1)), 0),
    "sensitivity": (sensitivity, 0),
    "matrix": (matrix, 0),
    "published correlations": (correlated, 1),
    "published settings": (printed, 1),
}  # fmt: skip
"""Each with the least number of its rows, columns or curves that its callers can ask for."""

SLOW = {("questions", MANY)}
CASES = [
    pytest.param(name, count, marks=[pytest.mark.slow] if (name, count) in SLOW else [])
    for name, (_, least) in FIGURES.items()
    for count in (0, 1, 2, MANY)
    if count >= least
]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_a_figure_of_any_size_is_drawn(name: str, count: int) -> None:
    layout = FIGURES[name][0](count).to_dict()["layout"]
    assert layout["height"] > 0
    for letter in "xy":  # panels side by side or above one another have room of their own, in order
        axes = [axis for key, axis in layout.items() if key.startswith(f"{letter}axis")]
        for low, high in (axis["domain"] for axis in axes if "domain" in axis):
            assert 0 <= low < high <= 1 + 1e-9
