"""Judge: people rate pairs of continuations blind; their answers rank the sources and test the scores."""

from __future__ import annotations

import dataclasses

import streamlit as st

from app.components import page_chrome
from app.components.markup import escaped
from app.components.sidebar import opened_run
from app.server import access
from app.url import session
from app.url.state import State, Tab
from app.views.judge import judge_results, judging
from mauve_core.base.errors import InputError

TABS: dict[Tab, str] = {"rate": "Rate", "results": "Results"}

_TAB = "judge_tab"


def main() -> None:
    """Lay out the page."""
    run, state = opened_run(), session.current()
    if not access.may_change():
        state = dataclasses.replace(state, tab="results")  # ratings can be read; nobody rates
    rating = state.tab == "rate" and state.rater is not None
    if not rating:
        page_chrome.title("Judge", "Which texts do people prefer, and do the scores agree with them?")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if rating:  # the desk must fit a small screen: the title in one line with the rest
            st.title("Judge", anchor=False, width="content")
        if access.may_change():
            _tab_picker(state)
        if state.tab == "rate" and state.rater is not None:
            _rater(state.rater)
    try:
        judging.plan_of(run.id, state.rater or "anybody")
    except InputError as error:
        _no_pairs(error)
        st.stop()
    if state.tab == "rate":
        judging.show(run, state.rater)
    else:
        judge_results.show(run, state)


def _tab_picker(state: State) -> None:
    session.follow_url(_TAB, state.tab)
    st.segmented_control(
        "Part of the page",
        list(TABS),
        default=state.tab,
        key=_TAB,
        required=True,
        format_func=TABS.__getitem__,
        on_change=_write_tab,
        label_visibility="collapsed",
    )


def _write_tab() -> None:
    session.update(tab=st.session_state[_TAB])


def _rater(name: str) -> None:
    st.space("stretch")
    st.markdown(f"Rating as **{escaped(name)}**", width="content")
    st.button(
        "Change",
        key="judge_change",
        icon=":material/person:",
        type="tertiary",
        on_click=judging.change_rater,
        help="Rate under another name. What was stored stays.",
    )


def _no_pairs(error: InputError) -> None:
    """What is missing, for a run whose sources have no prompt in common."""
    st.info(
        "Raters compare two continuations of **one prompt**, and no two sources of this run have a text for the same "
        "prompt.",
        icon=":material/compare_arrows:",
    )
    page_chrome.nothing_yet(
        "Here people would rate pairs of texts.",
        "They see two continuations of one prompt, blind, and say which one is better. Their answers rank the sources "
        "and tell whether the scores can be trusted.",
        "Start a run whose files name the prompt of each text: in **New run**, choose the field of the prompt, or give "
        "the texts of one prompt the same id in every file.",
    )
    st.caption(escaped(str(error)))


main()
