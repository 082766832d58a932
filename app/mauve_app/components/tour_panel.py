"""The guided tour on a page: the offer to first-time visitors, the panel of a step, and the restart button.

The same steps, without the last one on own files, are the slides of a presentation: ``page_chrome.css`` hides what is
not the slide and enlarges the rest.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import streamlit as st

from mauve_app import tour
from mauve_app.caching import cache
from mauve_app.components import page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_app.tour import Step
from mauve_app.url import bound, session
from mauve_app.url.parameters import to_query
from mauve_core.base.errors import MauveLensError

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
    if st.button("Guided tour", icon=":material/tour:", type="tertiary", key="tour_start", help=said(_ABOUT)):
        steps = _steps(run_id)
        if steps:
            _go(steps[0])


def present(run_id: str) -> None:
    """Button that shows the tour as slides."""
    if st.button("Present", icon=":material/slideshow:", key="present", help=_SLIDES, width="stretch"):
        steps = _steps(run_id, presenting=True)
        if steps:
            _go(steps[0], presenting=True)


_ABOUT = "Five stops in two minutes through the open run, from its scores to the texts behind them."
_SLIDES = "The stops of the tour as slides, for a projector: → and ← change the slide, Esc ends."


def _steps(run_id: str | None, *, presenting: bool = False) -> list[Step]:
    """The steps; empty if no run is open or it cannot be read, which the page itself reports."""
    if run_id is None:
        return []
    try:
        comparison = cache.load_run(run_id).comparison
    except MauveLensError:
        return []
    return tour.steps(run_id, comparison, upload=access.may_change() and not presenting)


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
            "views/compare/compare.py",
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
