"""Two runs side by side: their different settings, and a joint leaderboard if that is honest."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.url import bound
from mauve_app.url.parameters import State
from mauve_core.analysis.comparability import Difference, differences, one_leaderboard
from mauve_core.base.formatting import UNBROKEN
from mauve_core.figures import leaderboard
from mauve_core.scoring.reference import HUMAN_VS_HUMAN
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import texts_interval
from mauve_core.scoring.ties import letters_sentence
from mauve_core.store import Run, RunSummary

TITLES = ("A", "B")


def show(state: State, summaries: Sequence[RunSummary]) -> None:
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
            left.comparison.words.said("Nothing: both runs were made with the same settings from the same human texts.")
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
        f"{words.said(HUMAN_VS_HUMAN).capitalize()}: that of A.{_twice(left.comparison, right.comparison)}"
    )


def _twice(left: Comparison, right: Comparison) -> str:
    digests = {candidate.source.digest for candidate in right.candidates}
    names = [candidate.name for candidate in left.candidates if candidate.source.digest in digests]
    return f" The same {left.words.items} in both runs: {escaped(', '.join(names))}." if names else ""
