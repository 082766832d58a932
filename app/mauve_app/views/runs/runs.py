"""Runs: find, describe, repeat, compare, export, import and delete stored runs."""

from __future__ import annotations

import streamlit as st

from mauve_app.components import job_panel, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MAX_QUERY, RunsSection, State
from mauve_app.views.runs import run_cards, run_files, run_pair, trash
from mauve_core.base.formatting import file_size
from mauve_core.store import RunStore, RunSummary

NEW_RUN_PAGE = "views/new_run/new_run.py"
SECTIONS: dict[RunsSection, str] = {"runs": "All runs", "pair": "Compare two", "bin": "Bin and disk"}


def main() -> None:
    """Lay out the page."""
    if not access.may_change():
        st.info(access.READ_ONLY_TEXT, icon=":material/visibility:")
        page_chrome.end()
    head = page_chrome.head("Runs", "What has been compared, with which settings, and how do two runs differ?")
    state = session.current()
    summaries, damaged = or_error(lambda: (list(RunStore().list()), RunStore().damaged())) or ([], {})
    failure = RunStore().index_failure()
    if failure is not None:
        text = f"{failure} Until it can be used, runs are read from their folders."
        st.warning(escaped(text), icon=":material/warning:")
    for run_id, wrong in damaged.items():
        run_cards.show_damaged(run_id, wrong)
    with head:
        section = bound.segmented_control(
            "runs_section", "Part", SECTIONS, key="url_runs_section", label_visibility="collapsed"
        )
        run_files.import_button()
    trash.undo()
    run_files.outcome()
    if section == "pair":
        run_pair.show(state, summaries)
    elif section == "bin":
        trash.show(summaries)
    else:
        _all_runs(state, summaries)


def _all_runs(state: State, summaries: list[RunSummary]) -> None:
    place = st.container()
    _cards(state, summaries)
    with place:  # those that no card shows
        job_panel.show(("again", "prepare"), failed=True)


def _cards(state: State, summaries: list[RunSummary]) -> None:
    if not summaries and run_cards.edited() is None:
        _nothing_yet()
        return
    tags = sorted({tag for summary in summaries for tag in summary.tags}, key=str.casefold)
    _filters(state, tags)
    matching = summaries
    if state.runs_query or state.runs_tags:
        matching = list(RunStore().list(state.runs_query or "", state.runs_tags))
    run_cards.show(matching, tags, summaries)
    if not matching and summaries:
        st.markdown("No run has all of these words and tags.")
    total = file_size(sum(summary.bytes for summary in summaries))
    runs = f"{len(matching)} of {len(summaries)} runs" if len(matching) < len(summaries) else f"{len(summaries)} runs"
    st.caption(f"{runs if len(summaries) > 1 else '1 run'}. Total size: {total}.")


def _filters(state: State, tags: list[str]) -> None:
    search, tagged = st.columns(2)
    search.text_input(
        "Search",
        max_chars=MAX_QUERY,
        placeholder="Words in a name, note, candidate, encoder …",
        **bound.bind("runs_query", state.runs_query or ""),
    )
    with tagged:
        bound.multiselect(
            "runs_tags",
            "Tags",
            sorted({*tags, *state.runs_tags}, key=str.casefold),
            state.runs_tags,
            placeholder="Any tag" if tags else "No run has a tag yet",
        )


def _nothing_yet() -> None:
    st.markdown(
        "Every comparison you make is kept here as a **run**: its texts, scores, clusters and settings. You can find "
        "it by name, note or tag, repeat it with other settings, see how two runs differ, and take it to another "
        "machine as one file."
    )
    st.page_link(NEW_RUN_PAGE, label="Start a run with your own files", icon=":material/upload_file:")
    st.caption(
        "Or install the demo study with `mauve-lens demo --no-open` and reload this page, or import a run that was "
        "exported on another machine."
    )


main()
