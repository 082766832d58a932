"""The few clusters that make up most of the gap, one after the other, with the score after each."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, score_controls
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.url import bound
from mauve_app.url.parameters import GreedyAction, State
from mauve_app.views.gap.gap_ledger import COUNTS_HELP, counts_label
from mauve_core.analysis.cluster_names import labelled
from mauve_core.base.config import HUMAN, SCORES
from mauve_core.base.formatting import SCORE_DECIMALS, as_percent, with_spread, written
from mauve_core.figures.gap import steps_figure
from mauve_core.figures.leaderboard import titled
from mauve_core.numerics.divergences.smoothing import ADDED_COUNT
from mauve_core.scoring.tables import TITLES

ACTIONS: dict[GreedyAction, str] = {"match": "Match the human share in each", "drop": "Drop the model's texts in each"}


def show(here: Focus, state: State, scale: float) -> None:
    """Show controls, the line and the table."""
    with st.container(horizontal=True, gap="medium"):
        bound.segmented_control(
            "score",
            "Score",
            {score: titled(score) for score in SCORES},
            help=said(
                "Each step takes the cluster that moves this score the most. ↑ larger is closer to the human texts."
            ),
        )
        bound.segmented_control(
            "greedy_action",
            "Action",
            {action: said(title) for action, title in ACTIONS.items()},
            key="url_greedy_action",
            help=said("Match: the model's texts there count as much as the human texts do. Drop: they do not count."),
        )
    if state.smoothing not in ADDED_COUNT:
        known = " or ".join(title for name, title in score_controls.SMOOTHING_TITLES.items() if name in ADDED_COUNT)
        st.info(f"This list needs one of these smoothings: {known}. Choose one above.")
        return
    rows = cache.greedy_list(*here.key, state.greedy_action, state.score, scale, state.smoothing)
    if len(rows) == 1:
        st.info("No cluster brings the score closer to that of equal sides under this action.")
        return
    st.markdown(_in_words(here, rows, state.score))
    with st.container(key="greedy_steps"):  # stacked if the list would be too narrow for words (page_chrome.css)
        left, right = st.columns([2, 3], gap="small")
    name = f"{here.run.name}-{here.candidate}-clusters-of-the-gap"
    with left:
        charts.show_chart(
            steps_figure(rows, state.score, here.names, here.colour, words=here.run.comparison.words),
            key="greedy_chart",
            file_name=name,
            alt=f"{TITLES[state.score]} after each cluster; the table beside it has the same numbers.",
        )
    with right:
        _table(here, rows, state)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_about(here, rows, state, scale), width="stretch")
        st.button(
            "Try these as a what-if",
            icon=":material/science:",
            type="tertiary",
            key="greedy_try",
            help="Shows every score with its interval, under What would close the gap",
            **bound.on_click(
                what_if_selection="clusters",
                what_if_clusters=rows["cluster"].iloc[1:].tolist(),
                what_if_action=state.greedy_action,
                what_if_side="model",
            ),
        )
        charts.csv_button(lambda: rows, key="greedy_csv", file_name=name)


def shown_steps(here: Focus, rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """The list: cluster, the score here and over seeds, share of the gap closed, texts of both sides."""
    steps = rows.iloc[1:]
    human, model = here.partition.counts(HUMAN), here.partition.counts(here.candidate)
    clusters = steps["cluster"].astype(int)
    return pd.DataFrame(
        {
            "cluster": [labelled(here.names, cluster) for cluster in clusters],
            TITLES[score]: steps[score],
            "over seeds": [_with_spread(row) for _, row in steps.iterrows()],
            "closed": 100 * steps["closed"],
            "texts": [counts_label(human[cluster], model[cluster]) for cluster in clusters],
        }
    ).reset_index(drop=True)


def _in_words(here: Focus, rows: pd.DataFrame, score: str) -> str:
    first, last, spread = rows.iloc[0], rows.iloc[-1], rows[rows["mean"].notna()].iloc[-1]
    before, after = (written(row[score], SCORE_DECIMALS) for row in (first, last))
    sentence = (
        f"**{len(rows) - 1} of {here.partition.k} clusters close {as_percent(last['closed'])} of the gap in this "
        f"partition:** {TITLES[score]} goes from {before} to {after}"
    )
    if pd.isna(spread["sd"]) or spread["step"] == first["step"]:
        return f"{sentence}."
    after_step = "" if spread["step"] == last["step"] else f" after step {int(spread['step'])}"
    change = f"from {_with_spread(first)} to {_with_spread(spread)}{after_step}"
    return f"{sentence}; over seeds, with the same {here.run.comparison.words.items}, {change}."


def _with_spread(row: pd.Series) -> str:
    return with_spread(row["mean"], row["sd"], SCORE_DECIMALS)


def _table(here: Focus, rows: pd.DataFrame, state: State) -> None:
    shown = shown_steps(here, rows, state.score)
    bound.table(
        "cluster",
        shown,
        rows["cluster"].iloc[1:].astype(int).tolist(),
        key="greedy_table",
        column_config={
            TITLES[state.score]: st.column_config.NumberColumn("here", format="%.3f"),
            "closed": st.column_config.NumberColumn("closed", format="%.0f%%"),
            "texts": st.column_config.TextColumn(said("texts"), help=said(COUNTS_HELP)),
        },
    )


def _about(here: Focus, rows: pd.DataFrame, state: State, scale: float) -> str:
    seeds = here.run.comparison.config.score.seeds
    about = (
        "Each step takes the cluster that brings the score closest to that of equal sides (the dashed line), "
        "given all before it; another set of the same size may close more. The list is made in one partition, so the "
        "gain here is the best case"
    )
    if seeds > 1:
        about += (
            f"; over seeds: the same {here.run.comparison.words.items}, in the clusters of all {seeds} seeds, mean ± sd"
        )
    about += f". c = {scale:g}, {score_controls.smoothing_in_words(state)}."
    filled = [escaped(labelled(here.names, int(row["cluster"]))) for _, row in rows.iterrows() if row["filled"]]
    if filled:
        name = escaped(here.candidate)
        about += (
            f" {name} has no {here.run.comparison.words.item} in {'; '.join(filled)}: the score is what it would be "
            f"with some there; no weighting of its {here.run.comparison.words.items} can do that, so no value over "
            "seeds is given."
        )
    return about
