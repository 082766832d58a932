"""Clusters: where the two sides differ, which clusters lower the score, and the texts in them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.components import charts, cluster_detail, focus, page_chrome, score_controls
from app.components.focus import Focus
from app.components.sidebar import opened_run
from app.selection import clicked_value
from app.url import bound, session
from app.url.parameters import ChartOrTable
from app.views.clusters import attributes_panel
from mauve_core.analysis.cluster_table import ORDERS, cluster_table, ordered
from mauve_core.base.config import HUMAN
from mauve_core.figures.clusters import cluster_figure

TABS: dict[ChartOrTable, str] = {"chart": "Chart", "table": "Table"}
_CHART = "clusters_chart"
_TABLE_HEIGHT = 330


def main() -> None:
    """Lay out the page."""
    page_chrome.title("Clusters", "Where do human and model texts differ, and what do those texts say?")
    run, state = opened_run(), session.current()
    here = focus.of(run, state)
    with focus.rows():
        focus.controls(here)
        with focus.row():
            bound.selectbox(
                "clusters_order",
                "Sort by",
                ORDERS,
                None,
                width=160,
                help="Difference: human share minus model share, in percentage points. Errors: the cluster's share of "
                "them, negative where that side writes less than the mixture.",
            )
            weight = focus.weight_slider(state)
            score_controls.smoothing("Here it affects only the errors.")
    counts = here.partition.counts(HUMAN), here.partition.counts(here.candidate)
    table = cluster_table(*counts, weight, state.smoothing)
    rows = ordered(table, state.clusters_order)
    _histogram(here, rows, state.clusters_order, score_controls.smoothing_in_words(state))
    if state.cluster is not None and here.cluster is None:
        st.info(f"There is no cluster {state.cluster} here: clusters are numbered 0 to {here.partition.k - 1}.")
    if here.cluster is None:
        st.caption(":material/ads_click: Click a bar, select a row or choose a number to read the texts of a cluster.")
        attributes_panel.show(here)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"Cluster {here.cluster}", anchor=False)
        st.page_link("views/map/map.py", label="On the map", icon=":material/scatter_plot:")
        bound.close_button("cluster", key="cluster_close")
    cluster_detail.show(here, here.cluster, table, weight, state.smoothing)
    attributes_panel.show(here)


def _histogram(here: Focus, rows: pd.DataFrame, order: str, smoothing: str) -> None:
    n, m = int(rows["human"].sum()), int(rows["model"].sum())
    shown_as, tab = bound.open_tab("clusters_as", TABS, "clusters_tabs")
    with tab:
        if shown_as == "chart":
            charts.show_chart(
                cluster_figure(rows, here.candidate, chosen=here.cluster),
                key=_CHART,
                file_name=f"{here.run.name}-{here.candidate}-clusters",
                on_select=_choose_bar,
                selection_mode="points",
                alt=f"Share of human and model texts in each of {len(rows)} clusters; the table has the same numbers.",
            )
        else:
            _mirror(here, rows)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"{len(rows)} clusters of the {here.partition.kind} partition, {n:,} human and {m:,} model texts, "
            f"sorted by {ORDERS[order].lower()}; errors with {smoothing}.",
            width="stretch",
        )
        charts.csv_button(lambda: rows, key="clusters_csv", file_name=f"{here.run.name}-{here.candidate}-clusters")


def _mirror(here: Focus, rows: pd.DataFrame) -> None:
    percent = {name: st.column_config.NumberColumn(title, format="percent") for name, title in _PERCENT.items()}
    bound.table(
        "cluster",
        rows.drop(columns=["type_1_nats", "type_2_nats"]),
        rows["cluster"].tolist(),
        key="clusters_table",
        height=_TABLE_HEIGHT,
        column_config={
            "model": st.column_config.NumberColumn(here.candidate),
            "log2_ratio": st.column_config.NumberColumn("log2 p/q", format="%.2f"),
            **percent,
        },
    )


_PERCENT = {
    "p": "p",
    "q": "q",
    "difference": "p − q",
    "type_1": "of type I error",
    "type_2": "of type II error",
}


def _choose_bar() -> None:
    cluster = clicked_value(st.session_state[_CHART]["selection"], 0)
    if cluster is not None:
        session.update(cluster=cluster)


main()
