"""A page draws the chosen candidate in the color that it has among all of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.runs import Run
from tests.colours import colours, wrong

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
# The run's last candidate: alone, it would have the first color.
SHOWN = "collapsed"
# Page, parameters, open tabs, and the least number of figures of the candidate.
PAGES: list[tuple[str, dict[str, str], dict[str, str], int]] = [
    ("gap", {"cluster": "1"}, {"gap_tabs": "What would close the gap"}, 3),
    ("clusters", {}, {"cluster_detail_tabs": "Why"}, 1),
    ("map", {}, {}, 1),
]


def names_of(run: Run) -> list[str]:
    return [candidate.name for candidate in run.comparison.candidates]


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize(("page", "parameters", "tabs", "least"), PAGES)
def test_the_chosen_candidate_has_one_colour_on_its_pages(
    open_page: OpenPage,
    stored_run: Run,
    page: str,
    parameters: Mapping[str, str],
    tabs: Mapping[str, str],
    least: int,
) -> None:
    app = open_page(f"views/{page}.py", tabs, run=stored_run.id, candidate=SHOWN, **parameters)
    assert not app.exception
    drawn = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
    assert len(drawn) >= least
    for traces in drawn:
        assert not wrong(traces, names_of(stored_run), SHOWN)
    own = candidate_colour(names_of(stored_run), SHOWN)
    assert any(own in colours(traces) for traces in drawn)
    words = [each.value for each in app.markdown]
    assert any(f'background="{own}"' in each for each in words), "words name the colors of the figures"
    said = {colour for each in words for colour in each.split('background="')[1:]}
    assert {each.partition('"')[0] for each in said} <= {own, HUMAN_COLOUR}
