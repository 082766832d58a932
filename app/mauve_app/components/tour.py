"""The guided tour: views of one run that tell a story, each with what to look at and what it means.

On a page it is the offer to first-time visitors, the panel of a step, and the restart button. The same steps, without
the last one on own files, are the slides of a presentation: ``page_chrome.css`` hides what is not the slide and
enlarges the rest.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from mauve_app import cache
from mauve_app.components import page_chrome
from mauve_app.components.markup import escaped
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import State, to_query
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import MauveLensError
from mauve_core.figures.theme import short_name
from mauve_core.scoring.result import Comparison
from mauve_core.texts.kinds import kind_of

_SEEN = "tour_seen"
_COOKIE = "mauve_lens_tour"


def show(page: str, run: str) -> None:
    """The panel of the step that the URL names.

    Parameters
    ----------
    page : str
        Path of the page in the URL, as ``st.navigation`` gives it.
    run : str
        Id of the run that the page shows, as :func:`mauve_app.components.page_chrome.in_browser` takes it.
    """
    state = session.current()
    run_id = cache.opened_run_id(state.run)
    steps = _steps(run_id, presenting=state.presenting) if state.tour is not None else []
    if state.tour is None or not steps:
        page_chrome.in_browser(seen=st.session_state.get(_SEEN, False), run=run)
        return
    number = min(max(state.tour, 1), len(steps))
    on_its_page = _path(steps[number - 1]) == page
    if state.presenting:
        _slide(steps, number)
    else:
        _panel(steps, number, on_its_page=on_its_page)
    if number == 1 and run_id is not None and not run_id.startswith(cache.DEMO) and not state.presenting:
        _demo_instead()
    pointed = steps[number - 1].points_at if on_its_page else ""
    page_chrome.in_browser(pointed, f"{run_id} {number} {page}", seen=True, run=run)


def offer() -> None:
    """The tour for visitors who have not seen it, in a row of the first page."""
    state = session.current()
    run_id = cache.opened_run_id(state.run)
    if run_id is None or state.tour is not None or _seen():
        return
    if st.button("Take the two-minute tour", type="primary", icon=":material/tour:", key="tour_take"):
        steps = _steps(run_id)
        if steps:
            _go(steps[0])
    st.button("Not now", type="tertiary", key="tour_dismiss", on_click=_remember)


def starter() -> None:
    """Sidebar button that starts the tour."""
    state = session.current()
    run_id = cache.opened_run_id(state.run)
    if run_id is None or state.tour is not None:
        return
    if st.button("Guided tour", icon=":material/tour:", type="tertiary", key="tour_start", help=_ABOUT):
        steps = _steps(run_id)
        if steps:
            _go(steps[0])


def present(run_id: str) -> None:
    """Button that shows the tour as slides."""
    if st.button("Present", icon=":material/slideshow:", key="present", help=_SLIDES, width="stretch"):
        steps = _steps(run_id, presenting=True)
        if steps:
            _go(steps[0], presenting=True)


_ABOUT = "Five stops in two minutes through the open run, from its scores to what is behind them."
_SLIDES = "The stops of the tour as slides, for a projector: → and ← change the slide, Esc ends."


def _steps(run_id: str | None, *, presenting: bool = False) -> list[Step]:
    """The steps; empty if no run is open or it cannot be read, which the page itself reports."""
    if run_id is None:
        return []
    try:
        comparison = cache.load_run(run_id).comparison
    except MauveLensError:
        return []
    return steps(run_id, comparison, upload=access.may_change() and not presenting)


def _seen() -> bool:
    return bool(st.session_state.get(_SEEN)) or _COOKIE in st.context.cookies.to_dict()


def _panel(steps: list[Step], number: int, *, on_its_page: bool) -> None:
    step, ending = steps[number - 1], bound.on_click(tour=None)
    with st.container(border=True, gap="xsmall", key="tour"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/tour: **{number} of {len(steps)} · {escaped(step.title)}**", width="stretch")
            if not on_its_page and st.button("Show it", icon=":material/visibility:", key="tour_here"):
                _go(step)
            if number > 1 and st.button("Back", icon=":material/arrow_back:", key="tour_back", shortcut="b"):
                _go(steps[number - 2])
            if number < len(steps) and st.button(
                "Next", type="primary", icon=":material/arrow_forward:", key="tour_next", shortcut="n"
            ):
                _go(steps[number])
            st.button("End", icon=":material/close:", type="tertiary", key="tour_end", shortcut="e", **ending)
        st.markdown(step.text)


def _slide(steps: list[Step], number: int) -> None:
    """The step's words as the head of a slide; its buttons are seen when the pointer or the focus is on them."""
    step, last = steps[number - 1], len(steps)
    with st.container(gap="xsmall", key="slide"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{escaped(step.title)}**", width="stretch")
            for label, to, shortcut in (("Previous", number - 1, "left"), ("Next", number + 1, "right")):
                if 1 <= to <= last and st.button(label, key=f"slide_{shortcut}", type="tertiary", shortcut=shortcut):
                    _go(steps[to - 1], presenting=True)
            ending = bound.on_click(tour=None, presenting=False)
            st.button("End", key="slide_end", type="tertiary", shortcut="escape", **ending)
            st.caption(f"{number} of {last}", width="content")
        st.markdown(step.text)


def _demo_instead() -> None:
    demo = cache.demo_run_id()
    if demo is not None:
        st.page_link(
            "views/compare.py",
            label="This is your own run. Take the tour of the demo instead.",
            icon=":material/tour:",
            query_params={"run": demo, "tour": "1"},
        )


def _go(step: Step, *, presenting: bool = False) -> None:
    _remember()
    st.switch_page(step.page, query_params=to_query(dataclasses.replace(step.state, presenting=presenting)))


def _remember() -> None:
    st.session_state[_SEEN] = True


def _path(step: Step) -> str:
    name = Path(step.page).stem
    return "" if name == "compare" else name


@dataclass(frozen=True)
class Step:
    """One view of the tour.

    Attributes
    ----------
    title : str
    text : str
        Markdown: what to look at, and what it means.
    page : str
        File of the page.
    state : State
        What the page shows.
    points_at : str
        Key of the element that the step is about; empty for the whole page.
    """

    title: str
    text: str
    page: str
    state: State
    points_at: str = ""


def steps(run_id: str, comparison: Comparison, *, upload: bool) -> list[Step]:
    """The tour of a run: best and worst candidate, and the cluster the worst overfills most; each ``state`` has its
    step.

    Parameters
    ----------
    upload : bool
        Whether the tour ends where readers hand in their own texts.
    """
    best, worst = _best_and_worst(comparison)
    cluster = _overfilled(comparison, worst)
    plain, inside = State(run=run_id), State(run=run_id, candidate=worst, cluster=cluster)
    words = comparison.words
    items, human = words.items, words.reference_items
    stops = [
        Step(
            f"Who is closest to the {human}?",
            "The sentence above the charts answers it for the run's encoder, and says how sure that is. In the list, a "
            f"MAUVE near 1 means that model and {human} can hardly be told apart: {_bold(best)} leads and "
            f"{_bold(worst)} comes last; candidates with the same rank are tied.",
            "views/compare.py",
            plain,
            "ranked_list",
        ),
        Step(
            "Two ways to be wrong",
            f"A model can add what the {human} lack (horizontal) or miss what they have (vertical), and a curve near "
            f"the upper right corner means little of either. Move along the curve of {_bold(worst)} to see which "
            "clusters make its error there.",
            "views/compare.py",
            plain,
            "frontier_chart",
        ),
        Step(
            f"The {items} behind the score",
            f"{human.capitalize()} (blue) and those of {_bold(worst)}, which keeps its color on all pages, were "
            "grouped into clusters by how the encoder represents them; the clusters at the top cost the most. Open is "
            f"the one whose share of its {items} most exceeds the {words.reference} share: look at one {words.item}, "
            "then walk the list with the arrow keys.",
            "views/clusters.py",
            inside,
            "clusters_panes",
        ),
        Step(
            "What does the score notice?",
            f"Here {items} are changed on purpose and scored "
            "again. A change that MAUVE does not detect is a difference that no rank on the first page knows of.",
            "views/probes.py",
            plain,
        ),
    ]
    if not kind_of(comparison.human.kind).probes:
        stops.pop()
    if upload:
        stops.append(
            Step(
                f"Your own {items}",
                f"That was the tour; the other pages look closer at the same numbers. Drop a file of {human} and one "
                f"of a model's {items} here, and press *Start*.",
                "views/new_run.py",
                State(),
            )
        )
    return [_numbered(step, number, run_id) for number, step in enumerate(stops, start=1)]


def _numbered(step: Step, number: int, run_id: str) -> Step:
    return dataclasses.replace(step, state=dataclasses.replace(step.state, run=run_id, tour=number))


def _best_and_worst(comparison: Comparison) -> tuple[str, str]:
    by_score = sorted(comparison.candidates, key=lambda candidate: candidate.scores["mauve"].mean)
    return by_score[-1].name, by_score[0].name


def _overfilled(comparison: Comparison, candidate: str) -> int:
    """The cluster that pages show by default in which the candidate's share most exceeds the human share."""
    partition = comparison.partition("pairwise", candidate)
    human, model = partition.counts(HUMAN), partition.counts(candidate)
    return int(np.argmax(model / model.sum() - human / human.sum()))


def _bold(name: str) -> str:
    return f"**{escaped(short_name(name))}**"
