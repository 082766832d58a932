"""Which clusters perturbed texts or other items left, where they went, and those of one flow before and after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, focus
from mauve_app.components.markup import escaped
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import FlowTab, State, to_query
from mauve_app.views.probes import before_after, probe_table
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.cluster_table import CONFIDENCE, wilson_interval
from mauve_core.base.formatting import as_percent, percent_with_interval
from mauve_core.base.words import Words
from mauve_core.experiments.robustness import Flow, ProbeLine, ProbeTable
from mauve_core.figures import flows as flow_figures
from mauve_core.figures.probes import perturbed_colour
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

TABS: dict[FlowTab, str] = {"matrix": "From and to", "largest": "Largest flows", "sensitivity": "Sensitivity"}
_MATRIX = "probe_matrix"
_TABLE_HEIGHT = 330
CLUSTERS_PAGE = "views/clusters/clusters.py"


def show(run: Run, table: ProbeTable, state: State) -> None:
    """The flow of the URL's perturbation, else of the first one."""
    lines = [line for line in table.lines if line.flow is not None]
    if not lines:
        st.info("Only the control was compared here. Probe again with a perturbation.", icon=":material/info:")
        return
    line = _chosen_line(lines, state)
    flow = line.flow
    if flow is None or not len(flow.ids):
        st.info(table.words.said("No text of this perturbation was kept."), icon=":material/info:")
        return
    words = table.words
    _summary(line, flow, words)
    chosen, names = state.probes_flow, cluster_names(run, state)
    if not flow.moved:
        st.info(words.said("No text left its cluster."), icon=":material/info:")
    else:
        _flow_picker(flow, names, words)
        _charts(run, table, line, flow, chosen, names)
    st.caption(
        "Clusters of the joint partition under the first k-means seed, in which this experiment was run, whatever the "
        f"other pages show; held fixed. {len(flow.ids):,} "
        f"{escaped(words.source(short_name(table.source)))} {words.items}, the compared half of the first split."
    )
    if chosen is None:
        if flow.moved:
            st.caption(
                f":material/ads_click: Click a cell, or select a row of the table, to see the {words.items} that moved."
            )
    else:
        _items(run, table, line, flow, chosen, names, state)
    probe_table.notes(table)


def _chosen_line(lines: list[ProbeLine], state: State) -> ProbeLine:
    by_name = {line.name: line for line in lines}
    if state.probes_perturbation is not None and state.probes_perturbation not in by_name:
        st.info(f"{escaped(state.probes_perturbation)} was not probed here.", icon=":material/info:")
    name = bound.selectbox(
        "probes_perturbation",
        "Perturbation",
        {name: line.title for name, line in by_name.items()},
        lines[0].name,
        changes=lambda name: {"probes_perturbation": name, "probes_flow": None},
        width=420,
    )
    return by_name[name]


def cluster_names(run: Run, state: State) -> tuple[str, ...]:
    """Names of the clusters of the first joint partition, by number; untrusted."""
    return cache.cluster_names(run.id, "joint", focus.of(run, state).candidate, 0)


def _flow_picker(flow: Flow, names: Sequence[str], words: Words) -> None:
    """Choose a flow by its clusters: the keyboard alternative to clicking in the matrix."""
    frame = flow_figures.flows_frame(flow)
    texts = {(source, target): n for source, target, n in zip(frame["from"], frame["to"], frame["texts"], strict=True)}
    bound.selectbox(
        "probes_flow",
        "Flow",
        {
            (source, to): f"{labelled(names, source)} → {labelled(names, to)}: {words.count(n)}"
            for (source, to), n in texts.items()
        },
        None,
        placeholder="Choose a flow, or click a cell",
        width=640,
        help=words.said("Texts that moved from the first cluster to the second; largest flows first."),
    )


def _summary(line: ProbeLine, flow: Flow, words: Words) -> None:
    moved, n = len(flow.moved), len(flow.ids)
    low, high = map(float, wilson_interval(moved, n))
    columns = st.columns(3)
    columns[0].metric(words.said("Texts that left their cluster"), f"{moved:,} of {n:,}")
    columns[0].caption(f"{percent_with_interval(moved / n, low, high)}, Wilson's {CONFIDENCE:.0%} interval")
    columns[1].metric(words.said("Texts changed"), as_percent(line.changed), help="Over all splits")
    columns[2].metric(
        "Flows",
        f"{len(flow_figures.moves(flow)):,}",
        help=words.said("Pairs of clusters with at least one text that moved from the first to the second"),
    )


def _charts(
    run: Run,
    table: ProbeTable,
    line: ProbeLine,
    flow: Flow,
    chosen: tuple[int, int] | None,
    names: Sequence[str],
) -> None:
    name = f"{run.name}-{line.name}-flow"
    shown_as, tab = bound.open_tab("flow_tab", TABS, "probe_flow_tabs")
    with tab:
        if shown_as == "matrix":
            _matrix(flow, chosen, names, name, table.words)
        elif shown_as == "largest":
            _largest(flow, chosen, names, name, table.words)
        else:
            order = [candidate.name for candidate in run.comparison.candidates]
            _sensitivity(flow, names, perturbed_colour(table, order), name, table.words)


def _largest(flow: Flow, chosen: tuple[int, int] | None, names: Sequence[str], name: str, words: Words) -> None:
    flows = flow_figures.moves(flow)
    shown = flows[: flow_figures.SHOWN_FLOWS]
    charts.show_chart(
        flow_figures.sankey_figure(shown, names, chosen, words=words),
        key="probe_sankey",
        file_name=name,
        alt=f"The {len(shown)} largest flows between clusters; the table has all of them.",
    )
    texts = sum(move.texts for move in shown)
    with st.container(horizontal=True, vertical_alignment="center"):
        moved = f"{texts:,} of {len(flow.moved):,} {words.items} that moved"
        st.caption(f"{len(shown):,} of {len(flows):,} flows, with {moved}.", width="stretch")
        _flows_csv(flow, name, words)


def _matrix(flow: Flow, chosen: tuple[int, int] | None, names: Sequence[str], name: str, words: Words) -> None:
    left, right = st.columns([5, 3], gap="medium")
    clusters = flow_figures.exchanging(flow)
    with left:
        charts.show_chart(
            flow_figures.matrix_figure(flow, clusters.tolist(), names, chosen, words=words),
            key=_MATRIX,
            file_name=name,
            on_select=_choose_cell,
            selection_mode="points",
            alt=f"{words.items.capitalize()} that moved from each of {clusters.size} clusters to each other one; the "
            "table has all flows.",
        )
        st.caption(words.said(_left_out(flow, clusters)))
    with right:
        frame = flow_figures.flows_frame(flow)
        bound.table(
            "probes_flow",
            frame.assign(
                share=100 * frame["share"],
                **{end: [labelled(names, cluster) for cluster in frame[end]] for end in ("from", "to")},
            ),
            list(zip(frame["from"].tolist(), frame["to"].tolist(), strict=True)),
            key="probe_flows",
            height=_TABLE_HEIGHT,
            column_config={
                "texts": st.column_config.NumberColumn(words.items),
                "of": st.column_config.NumberColumn(help=words.said("Texts that were in the cluster before")),
                "share": st.column_config.NumberColumn(format="%.0f%%"),
            },
        )
        with st.container(horizontal=True):
            _flows_csv(flow, name, words)
            charts.csv_button(
                lambda: flow_figures.texts_frame(flow),
                key="probe_texts_csv",
                file_name=f"{name}-{words.items}",
                label=words.said("Texts as CSV"),
            )


def _flows_csv(flow: Flow, name: str, words: Words) -> None:
    charts.csv_button(
        lambda: flow_figures.flows_frame(flow, words), key="probe_flows_csv", file_name=name, label="Flows as CSV"
    )


def _left_out(flow: Flow, clusters: np.ndarray) -> str:
    """How much of the movement the matrix shows."""
    total = flow_figures.exchanging(flow, flow.k).size
    both = np.isin(flow.before, clusters) & np.isin(flow.after, clusters)
    within = int((both & (flow.before != flow.after)).sum())
    which = "clusters that texts left or entered, those with the most such texts first"
    if clusters.size == total:
        return f"{total:,} {which}. Gray: texts that stayed."
    return (
        f"{clusters.size:,} of {total:,} {which}; {within:,} of {len(flow.moved):,} texts that moved did so "
        "between these. Gray: texts that stayed. The table has all flows."
    )


def _sensitivity(flow: Flow, names: Sequence[str], colour: str, name: str, words: Words) -> None:
    rows = flow_figures.sensitivity_frame(flow)
    shown = rows.head(flow_figures.SHOWN_BARS)
    charts.show_chart(
        flow_figures.sensitivity_figure(shown, names, colour, words=words),
        key="probe_sensitivity",
        file_name=f"{name}-sensitivity",
        alt=words.said("Share of each cluster's texts that left it; the CSV has the numbers."),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Share of a cluster's {words.items} that left it, with Wilson's {CONFIDENCE:.0%} interval; "
            f"{len(shown):,} of {len(rows):,} clusters that had {words.items}.",
            width="stretch",
        )
        charts.csv_button(lambda: rows, key="probe_sensitivity_csv", file_name=f"{name}-sensitivity")


def _items(
    run: Run,
    table: ProbeTable,
    line: ProbeLine,
    flow: Flow,
    chosen: tuple[int, int],
    names: Sequence[str],
    state: State,
) -> None:
    source, target = chosen
    ids = flow_figures.moved_along(flow, source, target)
    if not ids:
        st.info(f"No {table.words.item} moved from cluster {source} to {target} here.", icon=":material/info:")
        return
    titles = [escaped(labelled(names, cluster)) for cluster in chosen]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"From {titles[0]} to {titles[1]}: {table.words.count(len(ids))}", anchor=False)
        for cluster, title in zip(chosen, titles, strict=True):
            linked = dataclasses.replace(state, partition="joint", seed=0, cluster=cluster)
            st.page_link(
                CLUSTERS_PAGE,
                label=title,
                icon=":material/bar_chart:",
                query_params=to_query(linked),
            )
        bound.close_button("probes_flow", key="probe_flow_close")
    before_after.show(run, table.source, line.name, ids, key="probe_moved")


def _choose_cell() -> None:
    selection = bound.selection_of(_MATRIX)
    source, target = clicked_value(selection, 0), clicked_value(selection, 1)
    if source is not None and target is not None:
        session.update(probes_flow=(source, target))
