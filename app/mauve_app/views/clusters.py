"""Clusters: where the two sides differ, which clusters lower the score, and the texts in them."""

from __future__ import annotations

import dataclasses

import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, cluster_detail, focus, page_chrome, scores, text_search
from mauve_app.components.focus import Focus
from mauve_app.components.page_chrome import words
from mauve_app.components.sidebar import opened_run
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import ChartOrTable
from mauve_app.views import clusters_attributes, clusters_over_shards
from mauve_core.base.formatting import UNBROKEN, as_percent, percent_with_interval, written
from mauve_core.base.words import Words
from mauve_core.figures.clusters import ranked_figure
from mauve_core.findings.clusters import CONFIDENCE, ORDERS, has_costs, has_found, ordered, with_found

TABS: dict[ChartOrTable, str] = {"chart": "List", "table": "Table"}
# Clusters in the list, besides the chosen one; the table has all.
MOST_ROWS = 100

_CHART = "clusters_chart"
_HEIGHT = 760
_COSTS, _TERMS = ("cost", "cost_share", "direction"), ("type_1_nats", "type_2_nats")


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head("Clusters", f"Where do {words().reference} and model {words().items} differ, and how?")
    run, state = opened_run(), session.current()
    here, search = focus.of(run, state), text_search.of(run, state)
    with head:
        text_search.search_button(run, state)
    clusters_over_shards.show(here)
    weight = scores.shown_weight(state)
    table = cache.costed_table(*here.key, weight, state.smoothing)
    focus.show_answer(here, table)
    if not has_costs(table):
        table = table.drop(columns=[*_COSTS, *_TERMS])
    masks = text_search.found(run, search)
    if masks is not None:
        table = with_found(table, here.partition, here.candidate, masks)
    order = state.clusters_order if state.clusters_order in table.columns else "difference"
    rows = ordered(table, order)
    usual = int(ordered(table, "cost" if has_costs(table) else "difference")["cluster"].iloc[0])
    with focus.rows():
        focus.controls(here, state, usual)
    focus.score_line(here, state)
    text_search.line(here, search, masks)
    if state.cluster is not None and here.cluster is None:
        st.info(f"There is no cluster {state.cluster} here: clusters are numbered 0 to {here.partition.k - 1}.")
    cluster = usual if here.cluster is None else here.cluster
    here = dataclasses.replace(here, cluster=cluster)
    with st.container(key="clusters_panes"):  # stacked in a narrow window (page_chrome.css)
        left, right = st.columns([2, 3], gap="medium")
    with left:
        _clusters(here, rows, order, scores.smoothing_in_words(state))
        scores.note_generations(run, here.candidate)
    with right:
        cluster_detail.heading(here, cluster, {"views/map.py": ("On the map", ":material/scatter_plot:")})
        cluster_detail.show(here, cluster, table, weight, masks)
    clusters_attributes.show(here)


def _clusters(here: Focus, rows: pd.DataFrame, order: str, smoothing: str) -> None:
    """The ranked list, or the table with the same clusters."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound.selectbox(
            "clusters_order",
            "Sort by",
            {name: words().fill(title) for name, title in ORDERS.items() if name in rows.columns},
            order,
            help=f"Cost: the cluster's part of the frontier integral. Difference: {words().reference} share minus "
            "model share, in percentage points. Errors: the cluster's term at the mixture weight, in nats.",
        )
        _neighbors(rows["cluster"].tolist(), here.cluster)
    shown_as, tab = bound.open_tab("clusters_as", TABS, "clusters_tabs")
    listed = rows[(rows.index < MOST_ROWS) | (rows["cluster"] == here.cluster)].reset_index(drop=True)
    with tab:
        if shown_as == "chart":
            with st.container(height=_HEIGHT, key="clusters_list"):
                charts.show_chart(
                    ranked_figure(
                        listed,
                        here.candidate,
                        here.names,
                        colour=here.colour,
                        chosen=here.cluster,
                        words=here.run.comparison.words,
                    ),
                    key=_CHART,
                    file_name=f"{here.run.name}-{here.candidate}-clusters",
                    on_select=_choose_bar,
                    selection_mode="points",
                    alt=f"Share of {words().reference} and model {words().items} in each of {len(listed)} clusters; "
                    "the table has the same numbers.",
                )
        else:
            _mirror(here, rows)
    _caption(here, rows, len(listed) if shown_as == "chart" else len(rows), order, smoothing)


def _neighbors(listed: list[int], chosen: int | None) -> None:
    """Buttons to the clusters before and after the chosen one, which the arrow keys press outside of a table."""
    place = listed.index(chosen) if chosen in listed else 0
    walks = session.current().clusters_as == "chart"
    for title, to, key in (("Up", place - 1, "up"), ("Down", place + 1, "down")):
        inside = 0 <= to < len(listed)
        st.button(
            title,
            key=f"clusters_{key}",
            help="To the cluster before in the list" if key == "up" else "To the next cluster of the list",
            type="tertiary",
            shortcut=key if walks else None,
            disabled=not inside,
            **bound.on_click(cluster=listed[to] if inside else chosen),
        )


def _caption(here: Focus, rows: pd.DataFrame, listed: int, order: str, smoothing: str) -> None:
    n, m = int(rows["human"].sum()), int(rows["model"].sum())
    shown = f"{listed:,} of " if listed < len(rows) else ""
    words = here.run.comparison.words
    st.caption(
        f"{shown}{len(rows):,} clusters of the {here.partition.kind} partition{_about_empty(rows, words)}, {n:,} "
        f"{words.reference} and {m:,} model {words.items}, sorted by "
        f"{words.fill(ORDERS[order]).lower()}.{_about_costs(smoothing, words) if has_costs(rows) else ''}"
        f"{words.fill(_ABOUT_FOUND) if has_found(rows) else ''}"
    )
    charts.csv_button(
        lambda: rows.assign(name=[here.names[cluster] for cluster in rows["cluster"]]),
        key="clusters_csv",
        file_name=f"{here.run.name}-{here.candidate}-clusters",
    )


_ABOUT_FOUND = " Full color: the {items} found."


def _about_empty(rows: pd.DataFrame, words: Words) -> str:
    """How many clusters lack a side; counts of empty bins as in JMLR 2023, table 8."""
    human, model = (int((rows[side] == 0).sum()) for side in ("human", "model"))
    if not human and not model:
        return ""
    return f" ({human:,} without {words.reference_items}, {model:,} without model {words.items})"


def _about_costs(smoothing: str, words: Words) -> str:
    return (
        f" Cost: share of the frontier integral, {smoothing}, with {CONFIDENCE:.0%} bootstrap intervals over "
        f"{words.group}s that hold for all clusters at once, clusters held fixed."
    )


def _mirror(here: Focus, rows: pd.DataFrame) -> None:
    bound.table(
        "cluster",
        shown_table(here, rows),
        rows["cluster"].tolist(),
        key="clusters_table",
        height=_HEIGHT,
        column_config={"human": st.column_config.NumberColumn(here.run.comparison.words.reference)},
    )


def shown_table(here: Focus, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as text, with even decimals; a cost's interval stands with it."""
    columns = {
        "name": [here.names[cluster] for cluster in rows["cluster"]],
        "cluster": rows["cluster"],
        "human": rows["human"],
        here.candidate: rows["model"],
    }
    if has_found(rows):
        columns["found"] = [f"{h:,} : {m:,}" for h, m in zip(rows["found_human"], rows["found_model"], strict=True)]
    if has_costs(rows):
        costs = zip(rows["cost_share"], rows["low"], rows["high"], strict=True)
        parts = [percent_with_interval(*each) for each in costs]
        columns |= {
            "cost": [part.partition(UNBROKEN)[0] for part in parts],
            "interval": [part.partition(UNBROKEN)[2].strip("()") for part in parts],
            "direction": rows["direction"],
        }
    percents = {"p": "p", "q": "q", "difference": "p − q"}
    columns |= {title: [as_percent(each, 1) for each in rows[name]] for name, title in percents.items()}
    return pd.DataFrame(columns | {"log2 p/q": [written(each, 2) for each in rows["log2_ratio"]]})


def _choose_bar() -> None:
    cluster = clicked_value(bound.selection_of(_CHART), 0)
    if cluster is not None:
        session.update(cluster=cluster)


if __name__ == "__main__":
    main()
