"""Figures of a comparison by name, and what a notebook shows of it."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.figures.by_name import FIGURES
from mauve_core.figures.by_name import figure as figure_of
from mauve_core.figures.frontier import error_curves
from mauve_core.figures.notebook import notebook_html
from mauve_core.numerics.divergences.frontier import divergence_frontier
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.scoring.result import Comparison, Difference
from tests.handmade import K, make_comparison

NASTY = '<img src=x onerror="alert(1)">'


def custom(trace: Any) -> np.ndarray:
    return np.array(trace.customdata)


def with_a_test() -> Comparison:
    """The comparison made by hand, with a test of its two candidates' difference."""
    comparison = make_comparison()
    first, second = (candidate.name for candidate in comparison.candidates)
    found = Difference("mauve", first, second, -0.4, -0.5, -0.3, -0.4, 0.001, 0.001, True, 5)
    return dataclasses.replace(comparison, differences=(found,))


def far_apart() -> Comparison:
    """The comparison made by hand with forty texts a side, those of its candidates in other clusters."""
    comparison, n = with_a_test(), 40
    human = np.repeat(np.int32([0, 1, 2]), [20, 15, 5])
    model = np.repeat(np.int32([0, 1, 2]), [2, 8, 30])
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


def test_a_gap_no_larger_than_chance_has_no_ledger_and_no_costs() -> None:
    for name in ("adds", "misses"):
        with pytest.raises(InputError, match=r"Nothing to explain.*in \d+ of 499 draws"):
            figure_of(make_comparison(), name)
    assert len(figure_of(make_comparison(), "clusters").data) == 3


@pytest.mark.parametrize("wrong", [{"candidate": "nobody"}, {"weight": 1.0}])
def test_what_is_not_there_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        figure_of(make_comparison(), "clusters", **wrong)


@pytest.mark.parametrize("asked", [{"partition": "joint", "seed": 1}, {"seed": 1}])
def test_clusters_are_those_of_the_partition_candidate_and_seed_asked_for(asked: Any) -> None:
    comparison = make_comparison()
    figure = figure_of(comparison, "clusters", candidate="b", **asked)
    partition = comparison.partition(asked.get("partition", "pairwise"), "b", asked.get("seed"))
    rows = {int(row[0]): (int(row[1]), int(row[3])) for row in custom(figure.data[-1])}
    human, model = partition.counts(HUMAN), partition.counts("b")
    assert rows == {cluster: (human[cluster], model[cluster]) for cluster in range(K)}


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
