"""Judge: people rate pairs of continuations blind; their answers rank the sources and test the scores."""

from __future__ import annotations

import dataclasses

import streamlit as st

from mauve_app.components import page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.sidebar import opened_run
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import JudgeSection
from mauve_app.views import judge_rating, judge_results
from mauve_core.base.errors import InputError

SECTIONS: dict[JudgeSection, str] = {"rate": "Rate", "results": "Results"}


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head("Judge", "Which texts do people prefer, and do the scores agree with them?")
    run, state = opened_run(), session.current()
    page_chrome.require_words(run)
    if not access.may_change():
        state = dataclasses.replace(state, judge_section="results")  # read-only: ratings can be read, not added
    with head:
        if access.may_change():
            bound.segmented_control(
                "judge_section", "Part of the page", SECTIONS, key="url_judge_section", label_visibility="collapsed"
            )
        if state.judge_section == "rate" and state.judge_rater is not None:
            _rater(state.judge_rater)
    try:
        judge_rating.plan_of(run.id, state.judge_rater or "anybody")
    except InputError as error:
        _no_pairs(error)
        page_chrome.end()
    if state.judge_section == "rate":
        judge_rating.show(run, state.judge_rater)
    else:
        judge_results.show(run, state)


def _rater(name: str) -> None:
    st.markdown(f"Rating as **{escaped(name)}**", width="content")
    st.button(
        "Change",
        key="judge_change",
        icon=":material/person:",
        type="tertiary",
        help="Rate under another name. Stored ratings are kept.",
        **bound.on_click(judge_rater=None),
    )


def _no_pairs(error: InputError) -> None:
    st.info(
        "Raters compare two continuations of **one prompt**, but no two sources of this run have a text for the same "
        "prompt.",
        icon=":material/compare_arrows:",
    )
    page_chrome.nothing_yet(
        "On this page, people rate pairs of texts.",
        "They see two continuations of one prompt, blind, and say which one is better. Their answers rank the sources "
        "and show whether the scores can be trusted.",
        "Start a run whose files contain the prompt of each text: in **New run**, choose the prompt field, or give "
        "texts of the same prompt the same id in every file.",
    )
    st.caption(escaped(str(error)))


if __name__ == "__main__":
    main()
