"""The guided tour: stops that exist in the run, links that open them, the offer, and its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import tour
from mauve_app.url.parameters import parse, to_query
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN
from mauve_core.runs import Run

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]
# With the last one, on the reader's own texts.
STOPS = 5


def said(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.markdown)


def test_stops_are_pages_and_their_links_come_back(stored_run: Run) -> None:
    found = tour.steps(stored_run.id, stored_run.comparison, upload=True)
    assert len(found) == STOPS
    assert [step.state.tour for step in found] == list(range(1, STOPS + 1))
    for step in found:
        assert (ROOT / "app" / "mauve_app" / step.page).is_file()
        assert parse(to_query(step.state)) == step.state
        assert step.state.run == stored_run.id


def test_the_story_follows_the_run(stored_run: Run) -> None:
    # ``collapsed`` knows two of eight topics and ``close`` all of them: synthetic.py.
    found = tour.steps(stored_run.id, stored_run.comparison, upload=True)
    assert "**close** leads" in found[0].text
    assert "**collapsed** comes last" in found[0].text
    inside = [step for step in found if step.state.cluster is not None]
    assert {step.state.candidate for step in inside} == {"collapsed"}
    (cluster,) = {step.state.cluster for step in inside}
    part = stored_run.comparison.partition("pairwise", "collapsed")
    more = part.counts("collapsed") - part.counts(HUMAN)  # as many texts on both sides
    assert more[cluster] == np.max(more)


@pytest.mark.usefixtures("run_home")
def test_next_back_and_end(open_page: OpenPage) -> None:
    app = open_page(tour="2")
    assert f"2 of {STOPS}" in said(app)
    app.button(key="tour_next").click().run()
    assert f"3 of {STOPS}" in said(app)
    assert [title.value for title in app.title] == ["Clusters"]
    assert app.query_params["candidate"] == "collapsed"
    app.button(key="tour_back").click().run()
    assert [title.value for title in app.title] == ["Compare"]
    app.button(key="tour_end").click().run()
    assert f"of {STOPS} ·" not in said(app)
    assert "tour" not in app.query_params


@pytest.mark.usefixtures("run_home")
def test_a_read_only_app_has_no_stop_for_uploads(
    open_page: OpenPage, stored_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, stored_run.id)
    app = open_page(tour="99")
    assert f"{STOPS - 1} of {STOPS - 1}" in said(app)


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize("place", ["0", "99"])
def test_a_step_that_is_not_there_is_the_nearest_one(open_page: OpenPage, place: str) -> None:
    app = open_page(tour=place)
    assert f"{1 if place == '0' else STOPS} of {STOPS}" in said(app)
