"""Gap: which clusters make up the gap between the two sides, and what would close it."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st

from app.caching import cache
from app.components import cluster_detail, focus, page_chrome, score_controls
from app.components.focus import Focus
from app.components.sidebar import opened_run
from app.url import bound, session
from app.url.parameters import GapTab, State
from app.views.gap import gap_ledger, greedy_panel, what_if_panel
from mauve_core.analysis.cluster_table import cluster_table
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, significant
from mauve_core.numerics.resampling.stability import LABELS, Stability

TABS: dict[GapTab, str] = {
    "texts": "Texts of a cluster",
    "what-if": "What would close the gap",
    "few": "The few clusters that make up most of it",
}
_STABILITY_COLORS: dict[str, Literal["green", "yellow", "gray"]] = {
    "stable": "green", "unsure": "yellow", "noise": "gray"
}  # fmt: skip


def main() -> None:
    """Lay out the page."""
    page_chrome.title("Gap", "Which clusters make up the gap between human and model texts, and what would close it?")
    run, state = opened_run(), session.current()
    here = focus.of(run, state)
    with focus.rows():
        focus.controls(here)
        with focus.row():  # controls of errors and scores
            weight = focus.weight_slider(state)
            score_controls.smoothing("MAUVE* always uses Krichevsky–Trofimov.")
            scale = score_controls.scale(state, run.comparison.config.score.scale)
    counts = here.partition.counts(HUMAN), here.partition.counts(here.candidate)
    table = cluster_table(*counts, weight, state.smoothing)
    gap_ledger.show(here, table, weight, state)
    if state.cluster is not None and here.cluster is None:
        st.info(f"There is no cluster {state.cluster} here: clusters are numbered 0 to {here.partition.k - 1}.")
    _tabs(here, table, weight, scale)


@st.fragment
def _tabs(here: Focus, table: pd.DataFrame, weight: float, scale: float) -> None:
    """The part below the ledger: builds only the open tab; actions in it rerun nothing else."""
    state = session.current()
    if focus.of(here.run, state).cluster != here.cluster:
        st.rerun()  # a row was selected or the cluster closed, and the ledger shows it too
    name, tab = bound.open_tab("gap_tab", TABS, "gap_tabs")
    with tab:
        if name == "texts":
            _texts(here, table, weight, state)
        elif name == "what-if":
            what_if_panel.show(here, state, scale)
        else:
            greedy_panel.show(here, state, scale)


def _texts(here: Focus, table: pd.DataFrame, weight: float, state: State) -> None:
    if here.cluster is None:
        st.caption(":material/ads_click: Click a bar, select a row or choose a number to read the texts of a cluster.")
        return
    _heading(here, here.cluster)
    cluster_detail.show(here, here.cluster, table, weight, state.smoothing)


def _heading(here: Focus, cluster: int) -> None:
    judged = cache.cluster_stability(*here.key)
    label = str(judged.label[cluster])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"Cluster {cluster}", anchor=False)
        st.badge(label, color=_STABILITY_COLORS[label], help=_stability_in_words(judged, cluster))
        st.page_link("views/clusters/clusters.py", label="In Clusters", icon=":material/bar_chart:")
        st.page_link("views/map/map.py", label="On the map", icon=":material/scatter_plot:")
        bound.close_button("cluster", key="gap_close")


def _stability_in_words(judged: Stability, cluster: int) -> str:
    meaning = LABELS[str(judged.label[cluster])].capitalize()
    return (
        f"{meaning}. p = {significant(judged.p[cluster])} when texts switch sides, "
        f"{significant(judged.adjusted[cluster])} adjusted for all clusters; the same sign in "
        f"{as_percent(judged.agreement[cluster])} of the partitions with other seeds and k."
    )


main()
