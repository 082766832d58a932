"""Gap: which clusters make up the gap between the two sides, and what would close it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import (
    cluster_detail,
    focus,
    gap_answer,
    generations_note,
    no_gap,
    page_chrome,
    score_controls,
    text_search,
)
from mauve_app.components.focus import Focus
from mauve_app.components.saying import said
from mauve_app.components.sidebar import opened_run
from mauve_app.components.text_search import Found
from mauve_app.url import bound, session
from mauve_app.url.parameters import GapTab
from mauve_app.views.gap import gap_ledger, greedy_panel, what_if_panel
from mauve_core.analysis.cluster_table import has_costs, with_found

TABS: dict[GapTab, str] = {
    "texts": "Texts of a cluster",
    "what-if": "What would close the gap",
    "few": "The few clusters that make up most of it",
}
_LINKS = {
    "views/clusters/clusters.py": ("In Clusters", ":material/bar_chart:"),
    "views/map/map.py": ("On the map", ":material/scatter_plot:"),
}


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        "Gap", said("Which clusters make up the gap between human and model texts, and what closes it?")
    )
    run, state = opened_run(), session.current()
    here, search = focus.of(run, state), text_search.of(run, state)
    with head:
        text_search.folded(run, state)
    weight, scale = score_controls.shown_weight(state), score_controls.scale_of(state, run.comparison)
    table = cache.costed_table(*here.key, weight, state.smoothing)
    gap_answer.show(here, table)
    with focus.rows():
        focus.controls(here, state)
    focus.score_line(here, state)
    masks = text_search.found(run, search)
    text_search.line(here, search, masks)
    if masks is not None:
        table = with_found(table, here.partition, here.candidate, masks)
    gap_ledger.show(here, table, state)
    generations_note.show(here.run, here.candidate)
    if state.cluster is not None and here.cluster is None:
        st.info(f"There is no cluster {state.cluster} here: clusters are numbered 0 to {here.partition.k - 1}.")
    _tabs(here, table, weight, scale, masks)


@st.fragment
def _tabs(here: Focus, table: pd.DataFrame, weight: float, scale: float, masks: Found | None) -> None:
    """The part below the ledger: builds only the open tab; actions in it rerun nothing else."""
    state = session.current()
    if focus.of(here.run, state).cluster != here.cluster:
        st.rerun()  # a row was selected or the cluster closed, and the ledger shows it too
    name, tab = bound.open_tab("gap_tab", {tab: said(title) for tab, title in TABS.items()}, "gap_tabs")
    with tab:
        if name == "texts":
            _texts(here, table, weight, masks)
        elif name == "what-if":
            what_if_panel.show(here, state, scale, masks)
        elif not has_costs(table):
            no_gap.show(here)
        else:
            greedy_panel.show(here, state, scale)


def _texts(here: Focus, table: pd.DataFrame, weight: float, masks: Found | None) -> None:
    if here.cluster is None:
        said = here.run.comparison.words.said
        st.caption(
            said(":material/ads_click: Click a bar, select a row or choose a name to read the texts of a cluster.")
        )
        return
    cluster_detail.heading(here, here.cluster, _LINKS, close="gap_close")
    cluster_detail.show(here, here.cluster, table, weight, masks)


main()
