"""The guided tour: stops that exist in the run, links that open them, the offer, and its end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app import tour
from mauve_app.url.parameters import parse, to_query
from mauve_core.base.config import HUMAN
from mauve_core.serving import sharing
from mauve_core.store import Run

OpenPage = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]
STOPS = 5
"""With the last one, on the reader's own texts."""


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button if button.key}


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


def test_every_sentence_pair_is_two_sentences(stored_run: Run) -> None:
    for step in tour.steps(stored_run.id, stored_run.comparison, upload=True):
        assert 2 <= step.text.count(". ") + 1 <= 3, step.title


@pytest.mark.usefixtures("run_home")
def test_a_first_visitor_is_offered_it_once(open_page: OpenPage) -> None:
    app = open_page()
    assert {"tour_take", "tour_dismiss"} <= keys(app)
    app.button(key="tour_dismiss").click().run()
    assert not {"tour_take", "tour_dismiss"} & keys(app)
    assert "tour_start" in keys(app)  # in the sidebar


@pytest.mark.usefixtures("run_home")
def test_other_pages_do_not_offer_it(open_page: OpenPage) -> None:
    assert "tour_take" not in keys(open_page("views/gap/gap.py"))


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
def test_whoever_wanders_off_finds_the_way_back(open_page: OpenPage) -> None:
    app = open_page("views/published/published.py", tour="4")
    app.button(key="tour_here").click().run()
    assert [title.value for title in app.title] == ["Probes"]
    assert "tour_here" not in keys(app)


def test_the_last_stop_is_the_upload_for_those_who_may(stored_run: Run) -> None:
    own = tour.steps(stored_run.id, stored_run.comparison, upload=True)
    assert own[-1].page == "views/new_run/new_run.py"
    assert tour.steps(stored_run.id, stored_run.comparison, upload=False) == own[:-1]


@pytest.mark.usefixtures("run_home")
def test_a_read_only_app_has_no_stop_for_uploads(
    open_page: OpenPage, stored_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, stored_run.id)
    app = open_page(tour="99")
    assert f"{STOPS - 1} of {STOPS - 1}" in said(app)


@pytest.mark.usefixtures("run_home")
def test_slides_are_the_stops_with_a_larger_figure_and_no_panel(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(tour="2", present="on")
    assert {"slide_left", "slide_right", "slide_end"} <= keys(app)
    assert not {"tour_next", "present"} & keys(app)
    assert f"2 of {STOPS - 1}" in "\n".join(each.value for each in app.caption)
    assert f"**{tour.steps(stored_run.id, stored_run.comparison, upload=True)[1].title}**" in said(app)
    assert height(app) == pytest.approx(1.3 * height(open_page(tour="2")))
    app.button(key="slide_right").click().run()
    assert [title.value for title in app.title] == ["Clusters"]
    assert app.query_params["present"] == "on"
    app.button(key="slide_end").click().run()
    assert "present" not in app.query_params
    assert "present" in keys(app)  # in Share


def height(app: AppTest) -> float:
    """Of the divergence curves, in pixels."""
    return float(json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["height"])


@pytest.mark.usefixtures("run_home")
def test_a_link_to_slides_without_a_stop_is_the_page(open_page: OpenPage) -> None:
    app = open_page(present="on")
    assert "present" in keys(app)
    assert height(app) == height(open_page())


@pytest.mark.usefixtures("run_home")
def test_the_last_slide_ends_and_the_first_has_none_before_it(open_page: OpenPage) -> None:
    assert "slide_left" not in keys(open_page(tour="1", present="on"))
    assert "slide_right" not in keys(open_page(tour="99", present="on"))


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize("place", ["0", "99"])
def test_a_step_that_is_not_there_is_the_nearest_one(open_page: OpenPage, place: str) -> None:
    app = open_page(tour=place)
    assert f"{1 if place == '0' else STOPS} of {STOPS}" in said(app)


def test_without_a_run_there_is_no_tour(open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    app = open_page(tour="3")
    assert not app.exception
    assert not {"tour_next", "tour_take", "tour_start"} & keys(app)
