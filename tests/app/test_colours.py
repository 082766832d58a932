"""A page, a figure by name and the report draw the chosen candidate in the color that it has among all of the run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.reporting.blocks import charts_of
from mauve_core.reporting.cluster_section import clusters_section
from mauve_core.store import Run, RunStore
from tests.colours import colours, traces_of, wrong

OpenPage = Callable[..., AppTest]
SHOWN = "collapsed"
"""The run's last candidate: alone, it would have the first color."""
PAGES: list[tuple[str, dict[str, str], dict[str, str], int]] = [
    ("gap", {}, {}, 2),
    ("gap", {"cluster": "1"}, {"gap_tabs": "What would close the gap"}, 3),
    ("gap", {}, {"gap_tabs": "The few clusters that make up most of it"}, 3),
    ("clusters", {}, {}, 1),
    ("clusters", {}, {"cluster_detail_tabs": "Why"}, 1),
    ("map", {}, {}, 1),
]
"""Page, parameters, open tabs, and the least number of figures of the candidate."""


@pytest.fixture
def mapped(stored_run: Run) -> Run:
    total = sum(source.n for source in stored_run.comparison.sources)
    flat = np.random.default_rng(1).normal(size=(total, 2)).astype(np.float32)
    comparison = dataclasses.replace(stored_run.comparison, projection=flat)
    return RunStore().save("mapped", comparison, stored_run.corpora)


def names_of(run: Run) -> list[str]:
    return [candidate.name for candidate in run.comparison.candidates]


@pytest.mark.parametrize(("page", "parameters", "tabs", "least"), PAGES)
def test_the_chosen_candidate_has_one_colour_on_its_pages(
    open_page: OpenPage,
    mapped: Run,
    page: str,
    parameters: Mapping[str, str],
    tabs: Mapping[str, str],
    least: int,
) -> None:
    app = open_page(f"views/{page}/{page}.py", tabs, run=mapped.id, candidate=SHOWN, **parameters)
    assert not app.exception
    drawn = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
    assert len(drawn) >= least
    for traces in drawn:
        assert not wrong(traces, names_of(mapped), SHOWN)
    own = candidate_colour(names_of(mapped), SHOWN)
    assert any(own in colours(traces) for traces in drawn)
    words = [each.value for each in app.markdown]
    assert any(f'background="{own}"' in each for each in words), "words name the colors of the figures"
    said = {colour for each in words for colour in each.split('background="')[1:]}
    assert {each.partition('"')[0] for each in said} <= {own, HUMAN_COLOUR}


def test_each_part_of_the_report_has_the_colour_of_its_candidate(stored_run: Run) -> None:
    names = names_of(stored_run)
    parts = clusters_section(stored_run, names, 0).blocks[1:]
    assert [part.title for part in parts] == names
    for part in parts:
        for chart in charts_of([part]):
            assert not wrong(traces_of(chart.figure), names, part.title)
        sides = {
            (side.name, side.colour)
            for block in part.blocks if block.kind == "cards" for card in block.cards for side in card.sides
        }  # fmt: skip
        assert sides <= {("human", HUMAN_COLOUR), (part.title, candidate_colour(names, part.title))}
