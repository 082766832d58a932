"""Runs: find, describe, repeat, compare, export, import and delete stored runs.

Two runs stand side by side with their different settings, and a joint leaderboard if that is honest. Deleted runs are
in the bin, from which they can be restored; it also says what the disk holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, jobs, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.messages import change, or_error
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MAX_QUERY, RunsSection, State
from mauve_app.views import runs_cards
from mauve_app.views.runs_cards import DELETED, facts
from mauve_core.analyses.comparability import Difference, differences, one_leaderboard
from mauve_core.base.formatting import UNBROKEN, file_size
from mauve_core.encoders.features import FeatureStore
from mauve_core.figures import leaderboard
from mauve_core.runs import DeletedRun, Run, RunStore, RunSummary
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import letters_sentence, texts_interval

NEW_RUN_PAGE = "views/new_run.py"
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
        runs_cards.show_damaged(run_id, wrong)
    with head:
        section = bound.segmented_control(
            "runs_section", "Part", SECTIONS, key="url_runs_section", label_visibility="collapsed"
        )
        runs_cards.import_button()
    _undo_delete()
    runs_cards.outcome()
    if section == "pair":
        _pair(state, summaries)
    elif section == "bin":
        _bin(summaries)
    else:
        _all_runs(state, summaries)


def _all_runs(state: State, summaries: list[RunSummary]) -> None:
    place = st.container()
    _cards(state, summaries)
    with place:  # those that no card shows
        jobs.show_panel(("again", "prepare"), failed=True)


def _cards(state: State, summaries: list[RunSummary]) -> None:
    if not summaries and runs_cards.edited() is None:
        _nothing_yet()
        return
    tags = sorted({tag for summary in summaries for tag in summary.tags}, key=str.casefold)
    _filters(state, tags)
    matching = summaries
    if state.runs_query or state.runs_tags:
        matching = list(RunStore().list(state.runs_query or "", state.runs_tags))
    runs_cards.show(matching, tags, summaries)
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


TITLES = ("A", "B")


def _pair(state: State, summaries: Sequence[RunSummary]) -> None:
    """Two pickers, the differences, and the leaderboard or the reason why there is none."""
    titles = {summary.id: f"{summary.name} ({summary.id})" for summary in summaries}
    if len(titles) < len(TITLES):
        st.markdown(
            "With two runs, you see here **which settings differ** and, if every setting that decides a score is "
            "equal, one leaderboard of all their candidates. Duplicate a run with another number of clusters, or "
            "compare other models' texts with the same human texts."
        )
        return
    runs: list[Run] = []
    for column, field, title in zip(st.columns(2, gap="medium"), ("first_run", "second_run"), TITLES, strict=True):
        with column:
            bound.selectbox(field, f"Run {title}", titles, None, placeholder="Choose a run")
            wanted = getattr(state, field)
            run = None if wanted is None else or_error(cache.load_run, wanted)
        runs += [] if run is None else [run]
    if len(runs) < len(TITLES):
        st.caption("Choose two runs to see which settings differ and which of those count.")
    elif runs[0].id == runs[1].id:
        st.caption("Both are the same run. Choose two different ones.")
    else:
        _difference(runs[0], runs[1])


def _difference(left: Run, right: Run) -> None:
    found = differences(left.comparison, right.comparison)
    counted = [item for item in found if item.counts]
    if counted:
        names = ", ".join(item.setting for item in counted)
        st.warning(
            "**Do not rank these together.** The scores of these runs measure different things, because the runs "
            f"differ in: {escaped(names)}.  \nDuplicate one run with the other's settings to rank their candidates "
            "together.",
            icon=":material/do_not_disturb_on:",
        )
    st.header("What differs", anchor=False)
    if found:
        st.table(_shown(found), border="horizontal", hide_index=True)
    else:
        st.markdown(
            "Nothing: both runs were made with the same settings from the same "
            f"{left.comparison.words.reference_items}."
        )
    if not counted:
        _leaderboard(left, right, one_leaderboard(left.comparison, right.comparison, TITLES))


def _shown(found: Sequence[Difference]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Setting": [f"**{escaped(item.setting)}**" if item.counts else escaped(item.setting) for item in found],
            "A": [escaped(item.left) for item in found],
            "B": [escaped(item.right) for item in found],
            "Decides the score": [f"**yes**, {item.reason}" if item.counts else f"no, {item.reason}" for item in found],
        }
    )


def _leaderboard(left: Run, right: Run, board: Comparison) -> None:
    frame, words = leaderboard.leaderboard_frame(board, "pairwise"), board.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "One leaderboard",
            anchor=False,
            help="Every setting that decides a score is equal, so candidates of both runs are ranked together. Those "
            "whose intervals overlap with the best of their group share its rank: a difference is tested only within "
            "one run.",
        )
        st.space("stretch")
        seeds = {title: run.comparison.config.score.seeds for title, run in zip(TITLES, (left, right), strict=True)}
        own = frame["candidate"].str[-1].map(seeds).fillna(left.comparison.config.score.seeds).astype(int)
        charts.csv_button(
            lambda: frame.assign(seeds=own), key="pair_csv", file_name=f"{left.name}-and-{right.name}-leaderboard"
        )
    shown = leaderboard.shown_table(frame, escaped)
    shown["Candidate"] = shown["Candidate"].str.replace(" · ", f"{UNBROKEN}·{UNBROKEN}", regex=False)
    st.table(shown, border="horizontal", hide_index=True)
    charts.show_chart(
        leaderboard.interval_figure(board, "pairwise"),
        key="pair_chart",
        file_name=f"{left.name}-and-{right.name}-scores",
        alt="Scores of all candidates of both runs with spread and interval; the table above has the numbers.",
    )
    st.caption(
        f"A: {escaped(left.name)}. B: {escaped(right.name)}. Pairwise partition: each candidate with the "
        f"{left.comparison.human.n:,} {words.reference_items}. Mean ± sd over k-means seeds; below it the "
        f"{texts_interval(board.config.score.confidence, words.items)}. {letters_sentence(board)} "
        f"{words.halves.capitalize()}: that of A.{_twice(left.comparison, right.comparison)}"
    )


def _twice(left: Comparison, right: Comparison) -> str:
    digests = {candidate.source.digest for candidate in right.candidates}
    names = [candidate.name for candidate in left.candidates if candidate.source.digest in digests]
    return f" The same {left.words.items} in both runs: {escaped(', '.join(names))}." if names else ""


def _undo_delete() -> None:
    """Undo for the run deleted last, while it is in the trash; shown above any section of the page."""
    token = st.session_state.get(DELETED)
    if token is None:
        return
    entry = next((item for item in _deleted() if item.token == token), None)
    if entry is None:
        st.session_state[DELETED] = None
        return
    with st.container(horizontal=True, vertical_alignment="center", key="runs_undo"):
        st.info(f"**{escaped(entry.summary.name)}** is in the bin.", icon=":material/delete:", width="stretch")
        st.button("Undo", key="runs_undo_button", icon=":material/undo:", on_click=change, args=(_restore, token))
        st.button("Dismiss", key="runs_undo_dismiss", type="tertiary", on_click=_forget)


def _bin(summaries: list[RunSummary]) -> None:
    """The trash, then disk use."""
    deleted = _deleted()
    st.header("Bin", anchor=False)
    if deleted:
        for item in deleted:
            _entry(item)
        total = file_size(sum(item.summary.bytes for item in deleted))
        with st.popover("Empty the bin", icon=":material/delete_forever:"):
            st.markdown(f"Runs to remove for good: **{len(deleted)}**, {total}.")
            st.button("Remove for good", key="bin_empty", type="primary", on_click=_empty)
    else:
        st.markdown("The bin is empty. Deleted runs stay here and can be restored until you remove them for good.")
    _disk(summaries, deleted)


def _entry(item: DeletedRun) -> None:
    with st.container(border=True, key=f"bin_{item.token}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escaped(item.summary.name)}**", width="content")
            st.caption(f"deleted {item.deleted[:10]} {item.deleted[11:16]} UTC", width="content")
            st.space("stretch")
            st.button(
                "Restore",
                key=f"restore_{item.token}",
                type="tertiary",
                icon=":material/restore_from_trash:",
                on_click=change,
                args=(_restore, item.token),
            )
        st.caption(facts(item.summary))
        if item.damage:
            st.caption(f":material/warning: {escaped(item.damage)}. The entry can still be restored or removed.")


def _disk(summaries: list[RunSummary], deleted: list[DeletedRun]) -> None:
    st.header("Disk use", anchor=False)
    use = or_error(RunStore().disk_use)
    if use is None:
        return
    names = {summary.id: summary.name for summary in summaries}
    rows = [(names.get(run_id, run_id), size) for run_id, size in use.runs.items()]
    rows.sort(key=lambda row: row[1], reverse=True)
    features = FeatureStore().disk_use()
    rows += [("Bin", use.bin)] if deleted else []
    rows += [("Cached features", features), ("Total", use.total + features)]
    table = pd.DataFrame({"What": [escaped(name) for name, _ in rows], "Size": [file_size(size) for _, size in rows]})
    st.table(table, border="horizontal", hide_index=True, width="content")
    st.caption(
        "Features are kept so that the same texts are never encoded twice. Runs have their own copies, so the folder "
        "`features` may be deleted by hand; new comparisons of those texts then encode them again."
    )


def _deleted() -> list[DeletedRun]:
    return list(or_error(RunStore().deleted) or ())


def _empty() -> None:
    change(RunStore().purge)


def _restore(token: str) -> None:
    access.require_change()
    RunStore().restore(token)
    if st.session_state.get(DELETED) == token:
        _forget()


def _forget() -> None:
    st.session_state[runs_cards.DELETED] = None


if __name__ == "__main__":
    main()
