"""Figures of a comparison by name, and what a notebook shows of it."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.figures.by_name import FIGURES, notebook_html
from mauve_core.figures.by_name import figure as figure_of
from mauve_core.figures.frontier import curve_points, error_curves, frontier_svg
from mauve_core.figures.text_map import map_points, points_frame
from mauve_core.figures.theme import candidate_style
from mauve_core.findings.clusters import cluster_table, cost_intervals
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.tables import standings
from mauve_core.stats.divergences import divergence_frontier, probabilities
from tests.handmade import K, N, make_comparison

NASTY = '<img src=x onerror="alert(1)">'


def custom(trace: Any) -> np.ndarray:
    return np.array(trace.customdata)


def with_a_test() -> Comparison:
    """The comparison made by hand, with a test of its two candidates' difference."""
    comparison = make_comparison()
    first, second = (candidate.name for candidate in comparison.candidates)
    found = Difference("mauve", first, second, -0.4, -0.5, -0.3, 0.001, 0.001, 0.001, True, 5)
    return dataclasses.replace(comparison, differences=(found,))


def far_apart(*, of_candidates: tuple[int, ...] = (2, 8, 30)) -> Comparison:
    """The comparison made by hand with forty texts a side, those of its candidates in other clusters."""
    comparison, n = with_a_test(), 40
    human = np.repeat(np.int32([0, 1, 2]), [20, 15, 5])
    model = np.repeat(np.int32([0, 1, 2]), of_candidates)
    names = [candidate.name for candidate in comparison.candidates]
    joint = tuple(
        dataclasses.replace(part, labels={HUMAN: human, **dict.fromkeys(names, model)}) for part in comparison.joint
    )
    candidates = tuple(
        dataclasses.replace(each, source=dataclasses.replace(each.source, n=n)) for each in comparison.candidates
    )
    places = np.zeros((n * 3, 2), dtype=np.float32)
    human_source = dataclasses.replace(comparison.human, n=n)
    return dataclasses.replace(comparison, human=human_source, joint=joint, candidates=candidates, projection=places)


@pytest.mark.parametrize("name", FIGURES)
def test_every_name_gives_a_figure_of_plotly_itself(name: str) -> None:
    figure = figure_of(far_apart(), name, partition="joint", seed=0)
    assert type(figure) is go.Figure
    assert len(figure.data) > 0


def test_the_ledger_is_drawn_with_the_intervals_of_the_costs() -> None:
    comparison = far_apart()
    joint: Any = {"partition": "joint", "seed": 0}
    found = cost_intervals(comparison, "joint", "b", 0)
    table = cluster_table(*(comparison.joint[0].counts(name) for name in (HUMAN, "b")), 0.5)
    for name, clusters in (("adds", [2]), ("misses", [0, 1])):
        bars = figure_of(comparison, name, candidate="b", **joint).data[0]
        np.testing.assert_allclose(bars.x, table["cost_share"][clusters], atol=1e-6)
        np.testing.assert_allclose(bars.x + bars.error_x.array, found.high[clusters], atol=1e-6)
    assert len(figure_of(comparison, "clusters", candidate="b", **joint).data) == 5


def test_a_gap_no_larger_than_chance_has_no_ledger_and_no_costs() -> None:
    joint: Any = {"partition": "joint", "seed": 0}
    alike = far_apart(of_candidates=(20, 15, 5))
    for name in ("adds", "misses"):
        with pytest.raises(InputError, match=r"Nothing to explain.*in \d+ of 499 draws"):
            figure_of(alike, name, **joint)
        with pytest.raises(InputError, match="No test of the gap: 7 independent units"):
            figure_of(make_comparison(), name)
    assert len(figure_of(alike, "clusters", **joint).data) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"candidate": "nobody"}, {"partition": "both"}, {"seed": 9}, {"weight": 1.0}, {"weight": float("nan")}],
)
def test_what_is_not_there_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        figure_of(make_comparison(), "clusters", **wrong)


@pytest.mark.parametrize("asked", [{}, {"partition": "joint", "seed": 1}, {"seed": 0}, {"seed": 1}])
def test_clusters_are_those_of_the_partition_candidate_and_seed_asked_for(asked: Any) -> None:
    comparison = make_comparison()
    figure = figure_of(comparison, "clusters", candidate="b", **asked)
    partition = comparison.partition(asked.get("partition", "pairwise"), "b", asked.get("seed"))
    rows = {int(row[0]): (int(row[1]), int(row[3])) for row in custom(figure.data[-1])}
    human, model = partition.counts(HUMAN), partition.counts("b")
    assert rows == {cluster: (human[cluster], model[cluster]) for cluster in range(K)}


def test_the_candidate_that_ranks_last_is_shown_unless_another_is_named() -> None:
    comparison = make_comparison()
    last = standings(comparison)[-1].candidate.name
    assert figure_of(comparison, "clusters").to_json() == figure_of(comparison, "clusters", candidate=last).to_json()


def test_the_map_has_every_text_with_its_cluster() -> None:
    comparison = make_comparison()
    drawn = figure_of(comparison, "map", partition="joint", seed=0).data
    points = [trace for trace in drawn if trace.type == "scattergl"]
    stacked = np.concatenate([comparison.joint[0].labels[name] for name in N])
    found = np.concatenate([custom(trace) for trace in points]).astype(int)
    assert sorted(found[:, 0]) == list(range(sum(N.values())))
    assert (stacked[found[:, 0]] == found[:, 1]).all()


def test_curves_are_those_of_the_histograms_under_each_seed() -> None:
    comparison = make_comparison()
    for kind in ("pairwise", "joint"):
        for curve in error_curves(comparison, kind):
            for seed in range(2):
                part = comparison.partition(kind, curve.candidate, seed)
                p, q = (probabilities(part.counts(side)) for side in (HUMAN, curve.candidate))
                alone = divergence_frontier(p, q, curve.weights)
                np.testing.assert_allclose(curve.type_1[seed], alone.type_1, rtol=1e-12, atol=1e-15)
                np.testing.assert_allclose(curve.type_2[seed], alone.type_2, rtol=1e-12, atol=1e-15)


def renamed(name: str) -> Any:
    comparison = make_comparison()
    first = comparison.candidates[0]
    parts = tuple(
        dataclasses.replace(part, labels={HUMAN: part.labels[HUMAN], name: part.labels[first.name]})
        for part in first.partitions
    )
    source = dataclasses.replace(first.source, name=name)
    candidate = dataclasses.replace(first, source=source, partitions=parts)
    return dataclasses.replace(comparison, candidates=(candidate, comparison.candidates[1]), warnings=(NASTY,))


def test_a_notebook_runs_nothing_fetches_nothing_and_shows_names_as_text() -> None:
    shown = notebook_html(renamed(NASTY))
    found: list[tuple[str, str]] = []

    class Walk(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend((tag, name) for name, _ in [("", None), *attrs])

    Walk().feed(shown)
    assert {tag for tag, _ in found}.isdisjoint({"img", "script", "iframe", "link", "style"})
    assert not [name for _, name in found if name.startswith("on") or name in {"href", "src", "xlink:href"}]
    assert shown.count("&lt;img src=x onerror=") >= 3  # table, warning, legend
    assert set(re.findall(r"https?://[^\"'<\s]+", shown)) <= {"http://www.w3.org/2000/svg"}


def test_a_notebook_shows_the_curves_where_they_are() -> None:
    comparison = make_comparison()
    points = curve_points(error_curves(comparison, "pairwise"), 5.0)
    names = [candidate.name for candidate in comparison.candidates]
    drawing = ET.fromstring(frontier_svg(points, names, names[1:]))
    paths = drawing.findall("{http://www.w3.org/2000/svg}path")
    bands = [path.get("fill") for path in paths if path.get("fill-opacity") == "0.18"]
    assert bands == [candidate_style(1).colour]
    curves = [
        path.get("d", "") for path in paths if path.get("stroke-width") == "2" and path.get("d", "").count("L") > 9
    ]
    assert len(curves) == len(comparison.candidates)
    for curve, (_, part) in zip(curves, points.groupby("candidate", sort=False), strict=True):
        corners = np.array([[float(number) for number in pair.split()] for pair in curve[1:].split("L")])
        # The square's corners (1, 0) and (0, 1) begin and end every curve, and so give the drawing's scale.
        (right, bottom), (left, top) = corners[0], corners[-1]
        x = (corners[1:-1, 0] - left) / (right - left)
        y = (bottom - corners[1:-1, 1]) / (bottom - top)
        np.testing.assert_allclose(x, part["x"], atol=1e-3)  # drawn to a tenth of one of 360 units
        np.testing.assert_allclose(y, part["y"], atol=1e-3)


def test_the_table_of_the_map_has_every_text_with_its_place_and_cluster() -> None:
    comparison = make_comparison()
    pairwise = comparison.partition("pairwise", "b", 0)
    points = map_points(comparison, pairwise, "b")
    ids = [f"{name}/{i}" for name, n in N.items() for i in range(n)]
    frame = points_frame(points, ids)
    assert frame["id"].tolist() == ids
    assert frame["source"].tolist() == [name for name, n in N.items() for _ in range(n)]
    np.testing.assert_array_equal(frame[["x", "y"]].to_numpy(), comparison.projection)
    table = cluster_table(pairwise.counts(HUMAN), pairwise.counts("b"), 0.5)
    for name in (HUMAN, "b"):
        rows = frame[frame["source"] == name]
        assert rows["cluster"].tolist() == pairwise.labels[name].tolist()
        signed = np.where(table["direction"] == "misses", -table["cost_share"], table["cost_share"])
        np.testing.assert_array_equal(rows["cost"], signed[pairwise.labels[name]])
        assert (rows["cost"] < 0).any()
    left_out = frame[frame["source"] == "grün & <b>"]
    assert (left_out["cluster"] == -1).all()
    assert left_out[["log2_ratio", "cost"]].isna().all(axis=None)
