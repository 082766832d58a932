"""The candidates in order, each with its score, and with its main reason as a link to the texts behind it."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.caching import cache
from mauve_app.components.markup import escaped
from mauve_app.url.parameters import State, changed, to_query
from mauve_core.figures import leaderboard
from mauve_core.figures.theme import short_name
from mauve_core.scoring.reference import human_vs_human_label
from mauve_core.scoring.spread import Estimate
from mauve_core.scoring.tables import (
    interval_of,
    mean_and_spread,
    pairing_sentence,
    rank_label,
    standings,
    texts_interval,
)
from mauve_core.store import Run

KEY = "ranked_list"
# Widths in pixels.
_RANK, _NAME, _SCORE = 32, 200, 270


def show(run: Run, state: State) -> None:
    """A row for each candidate, the best first, and one for human vs. human; what their intervals are."""
    rescored = cache.rescored(run.id, state.partition, state.scale, state.smoothing)
    st.header("Leaderboard", anchor=False)
    with st.container(key=KEY, gap=None):
        for index, place in enumerate(standings(rescored, kind=state.partition)):
            name = place.candidate.name
            with _row(
                f"place_{index}",
                rank_label(place.rank, place.tied),
                short_name(name),
                place.candidate.estimate("mauve", state.partition),
            ):
                _reason(run, state, name)
        halves = leaderboard.shown_halves(rescored, state.partition)
        if halves is not None:
            label = human_vs_human_label(rescored)
            with _row("place_human", rank_label(0, False), label, halves.scores["mauve"]):
                about = run.comparison.words.said("about what a candidate that writes like people would score")
                st.caption(about, width="content")
    reach = f"In parentheses: {texts_interval(rescored.config.score.confidence, rescored.words.items)}."
    st.caption(" ".join(filter(None, [reach, pairing_sentence(rescored)])))


def _row(key: str, rank: str, name: str, estimate: Estimate) -> DeltaGenerator:
    row = st.container(key=key, horizontal=True, vertical_alignment="center", gap="small")
    with row:
        st.markdown(rank, width=_RANK)
        st.markdown(f"**{escaped(name)}**", width=_NAME)
        st.markdown(f"**{mean_and_spread(estimate)}** ({interval_of(estimate)})", width=_SCORE)
    return row


def _reason(run: Run, state: State, name: str) -> None:
    """What is found in the candidate's costliest cluster, which opens its texts; else its clusters."""
    found = cache.main_reason(run.id, name)
    cluster = None if found is None else found.cluster
    if found is not None:
        label = run.comparison.words.said(found.sentence if found.where == "all" else found.finding)
        names = cache.cluster_names(run.id, "pairwise", name, run.comparison.median_seed(name))
        detail = found.detail[:1].upper() + found.detail[1:]
        about = f"{detail}. Opens “{names[found.cluster]}”: {found.cost}."
    elif cache.gap_test(run.id, "pairwise", name).explains:
        label, about = "no clear main difference", "Opens its clusters."
    else:
        label, about = run.comparison.words.said("could be a gap between human texts"), "Opens its clusters."
    view = changed(state, candidate=name, partition=None, seed=None, cluster=cluster)
    st.page_link(
        "views/clusters/clusters.py",
        label=escaped(label),
        help=escaped(about),
        icon=":material/arrow_forward:",
        query_params=to_query(view),
    )
