"""A candidate has one color in every figure of its run, and human blue belongs to human texts alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from mauve_core.analyses.gap import ledger_rows
from mauve_core.analyses.human_ranking import Player, Ranking
from mauve_core.analyses.measure_terms import Measurements, Row, Value
from mauve_core.analyses.method_scores import MethodResult, MethodScore, MethodTable
from mauve_core.analyses.methods import Method
from mauve_core.analyses.probe_results import ProbeTable
from mauve_core.analyses.sweeps import Sweep, SweepPoint
from mauve_core.analyses.text_measures import MEASURES
from mauve_core.base.config import HUMAN
from mauve_core.figures import measures, probes
from mauve_core.figures.clusters import ranked_figure
from mauve_core.figures.findings import effects_figure
from mauve_core.figures.frontier import curve_points, error_curves, frontier_figure
from mauve_core.figures.gap import ledger_figure, what_if_figure
from mauve_core.figures.judgments import ranking_figure
from mauve_core.figures.leaderboard import interval_figure
from mauve_core.figures.methods import bump_figure
from mauve_core.figures.probes import distance_figure, dose_figure, dose_series, perturbed_colour
from mauve_core.figures.sweeps import sweep_figure
from mauve_core.figures.text_map import Colouring, Points, map_figure
from mauve_core.figures.theme import HUMAN_COLOUR, base_layout, candidate_colour
from mauve_core.findings.clusters import cluster_table, ordered, with_intervals
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.stats.scores import SCORES
from tests.colours import blue, colours, owner, traces_of, wrong
from tests.handmade import make_comparison, spread
from tests.probe_tables import flow_of, line_of

RUN = ["greedy", "nucleus:p=0.9", "nucleus:p=0.95"]
# Its color depends on the other two: alone or as one of two, it would have another.
SHOWN = RUN[2]
OWN = candidate_colour(RUN, SHOWN)
CLUSTERS = ["sea", "sky", "<b>", "hill"]
SPREADS = {score: spread(0.5, 0.1) for score in SCORES}
ESTIMATE = Estimate(0.5, 0.1, 0.4, 0.6, (0.4, 0.6))
FLOW = flow_of(4, tuple("abcd"), (0, 0, 1, 2), {"a": 1, "c": 3})


def clusters() -> pd.DataFrame:
    table = cluster_table([9, 1, 5, 2], [1, 9, 4, 3], 0.5)
    return ordered(with_intervals(table, table["cost_share"] / 2, table["cost_share"] * 2), "cost")


def comparison() -> Comparison:
    made = make_comparison()
    first, second = made.candidates
    originals = (first, second, second)
    found, labels = [], [{HUMAN: part.labels[HUMAN]} for part in made.joint]
    for name, candidate in zip(RUN, originals, strict=True):
        source = dataclasses.replace(candidate.source, name=name)
        parts = tuple(
            dataclasses.replace(part, labels={HUMAN: part.labels[HUMAN], name: part.labels[candidate.name]})
            for part in candidate.partitions
        )
        found.append(dataclasses.replace(candidate, source=source, partitions=parts))
        for own, part in zip(labels, made.joint, strict=True):
            own[name] = part.labels[candidate.name]
    joint = tuple(dataclasses.replace(part, labels=own) for part, own in zip(made.joint, labels, strict=True))
    return dataclasses.replace(made, candidates=tuple(found), joint=joint, projection=None)


def value(number: float) -> Value:
    return Value(number, 0.1, number - 0.1, number + 0.1)


def measured() -> Measurements:
    names = list(MEASURES)[:2]
    return Measurements(
        tuple(Row(each, name, value(0.4), value(0.6), value(0.2)) for each in names for name in RUN), {}
    )


def ledger(direction: str) -> go.Figure:
    return ledger_figure(ledger_rows(clusters(), direction), direction, CLUSTERS, colour=OWN)


def effects() -> go.Figure:
    row = {"title": "length", "first": 1.0, "second": 2.0, "n": 3, "m": 4, "delta": 0.1, "low": 0.0, "high": 0.2}
    return effects_figure(pd.DataFrame([{**row, "comparison": each} for each in ("sides", "rest")]), SHOWN, OWN)


def probe_table(source: str) -> ProbeTable:
    others = [name for name in (HUMAN, *RUN) if name != source]
    lines = [line_of("none", 0.02, kind="control"), line_of("typos@0.5", 0.2), line_of("typos", 0.4)]
    return ProbeTable(source, (*lines, *(line_of(name, 0.1, kind="source") for name in others)))


def doses() -> go.Figure:
    table = probe_table(HUMAN)
    return dose_figure(table, dose_series(table), "mauve")


def sensitivity(source: str) -> go.Figure:
    return probes.sensitivity_figure(
        probes.sensitivity_frame(FLOW), CLUSTERS, perturbed_colour(probe_table(source), RUN)
    )


def sweep() -> go.Figure:
    points = tuple(SweepPoint(place, name, name, 100, 10, SPREADS) for name in RUN for place in (2, 8))
    return sweep_figure(Sweep("k", points), "mauve", RUN)


def methods() -> go.Figure:
    score = MethodScore(0.9, 0.01, 0.01, 0.8, 1.0, 100)
    result = MethodResult(Method(), dict.fromkeys(RUN, score), None, 1.0, ())
    return bump_figure(MethodTable((result, result)), RUN, None)


def judged() -> go.Figure:
    names = [HUMAN, *RUN]
    players = tuple(Player(name, 1, True, 0.0, -1.0, 1.0, 0.5, 0, 1, 1, 0) for name in names)
    ranking = Ranking("fluent", players, ((0.0,) * 4,) * 4, 4, 1, 0, 0, "half", 10, 0.95, ())
    return ranking_figure({"fluent": ranking}, "fluent", RUN)


def mapped(colouring: Colouring, *hidden: int) -> go.Figure:
    rng = np.random.default_rng(3)
    points = Points(
        xy=rng.normal(size=(80, 2)).astype(np.float32),
        source=np.repeat(np.arange(4), 20).astype(np.int16),
        names=(HUMAN, *RUN),
        cluster=rng.integers(0, 4, 80).astype(np.int32),
        log2_ratio=np.array([-1.0, 0.0, 1.0, 2.0]),
        cost=np.array([0.3, -0.1, 0.0, -0.5]),
        cluster_names=tuple(CLUSTERS),
    )
    drawn = np.flatnonzero(~np.isin(points.source, hidden))
    sides = [side for side in (0, 3) if side not in hidden]
    return map_figure(points, drawn, colouring=colouring, candidate=SHOWN, regions=sides)


def curves() -> go.Figure:
    return frontier_figure(curve_points(error_curves(comparison(), "pairwise"), 5.0), 0.5)


# Figures of all candidates, each with its number of traces of human texts.
OF_THE_RUN: dict[str, tuple[Callable[[], go.Figure], int]] = {
    "frontier": (curves, 0),
    "leaderboard": (lambda: interval_figure(comparison(), "pairwise"), 3 * len(SCORES)),
    "measures": (lambda: measures.panels_figure(measured(), RUN), 4),
    "sweep": (sweep, 0),
    "methods": (methods, 0),
    "judged": (judged, 2),
    "probes of human texts": (lambda: distance_figure(probe_table(HUMAN), "mauve", RUN), 0),
    "map by source": (lambda: mapped("source"), 5),
}

# Figures of one candidate.
OF_ONE: dict[str, tuple[Callable[[], go.Figure], int]] = {
    "clusters, list": (lambda: ranked_figure(clusters(), SHOWN, CLUSTERS, colour=OWN), 1),
    "adds": (lambda: ledger("adds"), 0),
    "misses": (lambda: ledger("misses"), 1),
    "what-if": (lambda: what_if_figure(dict.fromkeys(SCORES, ESTIMATE), dict.fromkeys(SCORES, ESTIMATE), OWN), 0),
    "properties": (effects, 0),
    "map by log ratio": (lambda: mapped("log_ratio", 1, 2), 1),
    "map by cost": (lambda: mapped("cost", 1, 2), 1),
}

# Figures without human texts.
OF_NEITHER: dict[str, Callable[[], go.Figure]] = {
    "doses": doses,
    "sensitivity of perturbed human texts": lambda: sensitivity(HUMAN),
    "flows": lambda: probes.sankey_figure(probes.moves(FLOW), CLUSTERS, (0, 1)),
    "exchange": lambda: probes.matrix_figure(FLOW, range(4), CLUSTERS, (0, 1)),
    "map by cluster": lambda: mapped("cluster", 0),
}


@pytest.mark.parametrize("name", OF_THE_RUN)
def test_each_trace_of_a_candidate_has_its_colour(name: str) -> None:
    make, humans = OF_THE_RUN[name]
    traces = traces_of(make())
    assert not wrong(traces, RUN)
    drawn = {owner(trace, RUN) for trace in traces} | (set(RUN) if name.startswith("probes") else set())
    assert drawn >= set(RUN), "no candidate is left out"
    assert blue(traces) == humans


@pytest.mark.parametrize("name", OF_ONE)
def test_a_figure_of_one_candidate_has_its_colour_as_in_those_of_all(name: str) -> None:
    make, humans = OF_ONE[name]
    traces = traces_of(make())
    assert not wrong(traces, RUN, SHOWN)
    assert blue(traces) == humans
    if name != "misses":
        assert OWN in set.union(*map(colours, traces))


@pytest.mark.parametrize("name", OF_NEITHER)
def test_without_human_texts_nothing_is_blue(name: str) -> None:
    figure = OF_NEITHER[name]()
    traces = traces_of(figure)
    assert blue(traces) == 0
    assert HUMAN_COLOUR not in figure.to_json()
    assert HUMAN_COLOUR not in str(base_layout()), "nor are the buttons over it"
