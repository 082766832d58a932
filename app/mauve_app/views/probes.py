"""Probes: how scores react to deliberately changed texts or images, which of them move, and one text to try.

What MAUVE detects stands first, in words, one row per perturbation; folded are all measures, other sources, and doses.
The flow shows which clusters perturbed items left, where they went, and those of one flow before and after.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, comparison_settings, focus, jobs, page_chrome, sidebar
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.selection import clicked_value
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import Baseline, FlowTab, ProbesSection, State, to_query
from mauve_app.views import probes_form, probes_items
from mauve_core.analyses.positions import positions_sentence
from mauve_core.analyses.probe_results import (
    PROBE_SCORES,
    Detection,
    Flow,
    ProbeLine,
    ProbeTable,
    about_test,
    detections,
    stored_probes,
    summary,
)
from mauve_core.base.formatting import NONE, as_percent, percent_with_interval, significant, with_spreads
from mauve_core.base.words import Words
from mauve_core.figures import probes as figures
from mauve_core.figures import probes as flow_figures
from mauve_core.figures.probes import ABOUT_LEADERBOARD, perturbed_colour
from mauve_core.figures.theme import short_name
from mauve_core.findings.clusters import CONFIDENCE, wilson_interval
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run
from mauve_core.texts.kinds import kind_of

SECTIONS: dict[ProbesSection, str] = {
    "scores": "What the score notices",
    "flow": "Which {items} move",
    "text": "Try a text",
}


ABOUT_TEXTS = (
    "Half of the texts are **changed on purpose** (articles dropped, words shuffled, letters mistyped) and compared "
    "with the other half. A score that sees meaning should hardly notice missing articles but should notice shuffled "
    "words. The same halves, untouched, are the noise floor, and the texts that change clusters show what the features "
    "see."
)
ABOUT_IMAGES = (
    "Half of the images are **changed on purpose** (stored as JPEG, blurred, flipped) and compared with the other "
    "half. A score that sees what images show should hardly notice a flip but should notice a strong blur. The same "
    "halves, untouched, are the noise floor, and the images that change clusters show what the features see."
)


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head("Probes", "Which deliberate changes does the score notice, and which does it miss?")
    run, state = sidebar.opened_run(), session.current()
    if not kind_of(run.comparison.human.kind).probes:
        st.info(f"Nothing perturbs {run.comparison.words.items}, so there is nothing to probe.", icon=":material/info:")
        page_chrome.end()
    with head:
        section = bound.segmented_control(
            "probes_section", "Part", _sections(run), key="url_probes_section", label_visibility="collapsed"
        )
    if section == "text":
        probes_items.show_lab(run)
        return
    table = or_error(stored_probes, run)
    wrong = probes_form.obstacle(run)
    if table is None:
        page_chrome.nothing_yet(
            "Nothing has been probed yet.",
            ABOUT_TEXTS if run.comparison.has_words else ABOUT_IMAGES,
            escaped(wrong)
            or f"Press *Probe* below, or run `mauve-lens probe {run.id}`. The changed {run.comparison.words.items} are "
            "encoded again, so this needs the run's encoder.",
        )
    elif section == "flow":
        _moved(run, table, state)
    else:
        _noticed(run, table, state)
    _form(run, state, table, wrong)


def _sections(run: Run) -> dict[ProbesSection, str]:
    """The parts of the page; only texts can be typed, and so tried."""
    words = run.comparison.words
    shown = {name: words.fill(title) for name, title in SECTIONS.items()}
    return shown if run.comparison.has_words else {name: shown[name] for name in shown if name != "text"}


def _form(run: Run, state: State, table: ProbeTable | None, wrong: str) -> None:
    if not access.may_change():
        return
    if table is not None and wrong:
        st.info(escaped(wrong), icon=":material/info:")
    elif not wrong:
        again = None if table is None else f"Probe again with other perturbations or {words().items}"
        with jobs.box(probes_form.slot(run), again):
            probes_form.show(run, state, table)


_CHART = "probes_chart"
BASELINES: dict[Baseline, str] = {"nothing": "Values", "control": "Difference from control"}
_USUAL = "jensen-shannon"
# Session key: names of the lines in the chart on the page that have a flow.
_LINES = "probes_lines"


def _noticed(run: Run, table: ProbeTable, state: State) -> None:
    """Show the answer; everything else that was scored is folded, but open if the URL asks for some of it."""
    _answers(run, table, state)
    asked = state.probes_order is not None or not state.probes_other_sources or state.probes_baseline != "nothing"
    with page_chrome.expander(
        "All divergences, other sources and doses", "probes_all", "analytics", asked=asked
    ) as part:
        if part.open:
            _measures(run, table, state)
    notes(table)


def _measures(run: Run, table: ProbeTable, state: State) -> None:
    name = f"{run.name}-probes"
    measure, sources = _controls(table, name, state)
    order = [candidate.name for candidate in run.comparison.candidates]
    st.session_state[_LINES] = [None if line.flow is None else line.name for line in table.lines]
    charts.show_chart(
        figures.distance_figure(table, measure, order, sources=sources),
        key=_CHART,
        file_name=name,
        on_select=_choose,
        selection_mode="points",
        alt="Distance of every perturbed half from the untouched one, by six measures; the table has the numbers.",
    )
    _caption(table)
    _positions(table)
    _scores(table, measure)
    _doses(table, measure, name)


def notes(table: ProbeTable) -> None:
    """Notes on where the numbers come from."""
    part = st.expander("How these were computed", icon=":material/tune:", key="probes_settings", on_change="rerun")
    if part.open:
        with part:
            for note in table.notes:
                st.text(note)
            for line in table.lines:
                for note in line.notes:
                    st.text(f"{line.title}: {note}")
            settings = {name: value for name, value in table.settings.items() if name != "rows"}
            rows = table.settings.get("rows")
            comparison_settings.show_tree({**settings, "rows": "all" if rows is None else f"{len(rows):,} chosen"})


def shown_scores(table: ProbeTable, measure: str, *, over: bool) -> pd.DataFrame:
    """The table as text: the control, then the farthest by ``measure``; ``over`` subtracts the control."""
    rows = []
    for line in [table.control, *figures.by_distance(table, measure)]:
        row = {"half": figures.row_label(line)}
        for name in PROBE_SCORES:
            found = table.over_control(line, name) if over else line.scores[name]
            row[name] = NONE if over and line.kind == "control" else figures.spread_label(found)
        row["changed"] = as_percent(line.changed if line.kind == "perturbation" else math.nan)
        row["moved"] = as_percent(figures.moved_share(line))
        rows.append(row)
    return pd.DataFrame(rows)


def _controls(table: ProbeTable, name: str, state: State) -> tuple[str, bool]:
    """The measure that sorts, and whether the other sources are shown."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        measure = bound.selectbox(
            "probes_order",
            "Sort by",
            {name: figures.titled(name) for name in PROBE_SCORES},
            _USUAL,
            key="url_probes_order",
            width=220,
            help="Sorts the rows, farthest first. ICLR 2023 compares perturbations by all five divergences.",
        )
        has_sources = any(line.kind == "source" for line in table.lines)
        sources = has_sources and st.toggle(
            "Other sources as a baseline",
            help=f"Shows {table.words.items} of the run's other sources in place of the perturbed half. Without them, "
            "the axes fit the perturbations alone.",
            **bound.bind("probes_other_sources", state.probes_other_sources, key="url_other_sources"),
        )
        st.space("stretch")
        charts.csv_button(lambda: figures.probes_frame(table), key="probes_csv", file_name=name)
    return measure, bool(sources)


def _caption(table: ProbeTable) -> None:
    control, words = table.control, table.words
    repeats = len(control.scores[PROBE_SCORES[0]].values)
    spread = "one value, no spread" if repeats == 1 else f"mean ± standard deviation over {_repeats(table, repeats)}"
    about_one = f" With one split, the spread says nothing about other {words.items}."
    alone = about_one if table.settings.get("splits") == 1 else ""
    others = (
        " Open diamonds: other sources, in their own colors, in place of the perturbed half."
        if any(x.kind == "source" for x in table.lines)
        else ""
    )
    source = escaped(words.source(short_name(table.source)))
    st.caption(
        f"Filled dots: half of the {source} {words.items}, perturbed, against the untouched other half; {spread}; "
        f"n = {control.n:,}, k = {control.k:,}. Gray band: both halves untouched, the noise floor.{alone}{others} "
        f"↑ larger is closer, ↓ smaller is. {figures.ABOUT_LEADERBOARD} Click a dot to see which "
        f"{words.items} moved."
    )


def _positions(table: ProbeTable) -> None:
    sentence = positions_sentence(table)
    if sentence:
        st.info(sentence, icon=":material/segment:")


def _repeats(table: ProbeTable, repeats: int) -> str:
    splits = table.settings.get("splits")
    if isinstance(splits, int) and splits > 0 and repeats % splits == 0:
        return f"{splits} split{'s' * (splits > 1)} × {repeats // splits} k-means seed{'s' * (repeats > splits)}"
    return f"{repeats} repeats"


def _scores(table: ProbeTable, measure: str) -> None:
    items = table.words.items
    baseline = bound.segmented_control(
        "probes_baseline",
        "Numbers",
        BASELINES,
        key="url_baseline",
        label_visibility="collapsed",
        help="Difference from control: taken split by split and seed by seed, so that what both share cancels out.",
    )
    st.dataframe(
        shown_scores(table, measure, over=baseline == "control"),
        hide_index=True,
        key="probes_table",
        column_config={
            "half": st.column_config.TextColumn("compared half", pinned=True),
            "changed": st.column_config.TextColumn(help=f"Share of its {items} that differ from the originals"),
            "moved": st.column_config.TextColumn(help=f"Share of its {items} now in another cluster of the run"),
            **{name: st.column_config.TextColumn(figures.titled(name)) for name in PROBE_SCORES},
        },
    )


def _doses(table: ProbeTable, measure: str, name: str) -> None:
    series = figures.dose_series(table)
    if not series:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Response to the dose",
            anchor=False,
            help=f"A perturbation at several shares of {table.words.items}, words or letters. 0 is the control.",
        )
        st.space("stretch")
        charts.csv_button(
            lambda: figures.doses_frame(series, table.control, measure),
            key="probes_doses_csv",
            file_name=f"{name}-doses",
        )
    charts.show_chart(
        figures.dose_figure(table, series, measure),
        key="probes_doses",
        file_name=f"{name}-doses",
        alt=f"{figures.titled(measure)} against the dose; the table has the numbers.",
    )


def _choose() -> None:
    """A click on a perturbation's dot opens its flow."""
    line = clicked_value(bound.selection_of(_CHART), 0)
    if line is None:
        return
    name = st.session_state[_LINES][line]
    if name is not None:
        session.update(probes_perturbation=name, probes_section="flow")


def _answers(run: Run, table: ProbeTable, state: State) -> None:
    """The answer, the table of perturbations, and the items of the URL's perturbation, else of the first row."""
    found = detections(table)
    if not found:
        st.info("Only the control was compared here. Probe again with a perturbation.", icon=":material/info:")
        return
    st.markdown(f"**{escaped(summary(table))}**")
    bound.table(
        "probes_perturbation",
        answers_frame(found),
        [each.name for each in found],
        key="probes_answers",
        column_config={
            "p": st.column_config.TextColumn(help="Of the test, corrected for the number of perturbations"),
            "MAUVE": st.column_config.TextColumn(help="Of the perturbed half against the untouched reference half"),
            "untouched control": st.column_config.TextColumn(help="MAUVE of two untouched halves"),
        },
    )
    st.caption(f"{about_test(table)} {ABOUT_LEADERBOARD}".strip())
    _items_of_answer(run, table, found, state)


def answers_frame(found: tuple[Detection, ...]) -> pd.DataFrame:
    """One row per perturbation: outcome, MAUVE and the control's with spreads, corrected p-value, detectable drop."""
    scores, controls = (
        with_spreads([each.mean for each in side], [each.sd for each in side])
        for side in ([each.score for each in found], [each.control for each in found])
    )
    return pd.DataFrame(
        {
            "perturbation": [each.title for each in found],
            "outcome": [each.outcome for each in found],
            "MAUVE": scores,
            "untouched control": controls,
            "p": [NONE if each.p_adjusted is None else significant(each.p_adjusted) for each in found],
            "detectable drop": [NONE if each.detectable is None else significant(each.detectable) for each in found],
        }
    )


def _items_of_answer(run: Run, table: ProbeTable, found: tuple[Detection, ...], state: State) -> None:
    titles = {each.name: each.title for each in found}
    if state.probes_perturbation is not None and state.probes_perturbation not in titles:
        st.info(f"{escaped(state.probes_perturbation)} was not probed here.", icon=":material/info:")
    name = bound.selectbox(
        "probes_perturbation",
        f"{table.words.items.capitalize()} before and after",
        titles,
        found[0].name,
        changes=lambda name: {"probes_perturbation": name, "probes_flow": None},
        width=420,
    )
    st.text(next(each.sentence for each in found if each.name == name))
    flow = table.line(name, "perturbation").flow
    if flow is not None:
        probes_items.show(run, table.source, name, flow.ids, key="probe_changed")


TABS: dict[FlowTab, str] = {"matrix": "From and to", "largest": "Largest flows", "sensitivity": "Sensitivity"}
_MATRIX = "probe_matrix"
_TABLE_HEIGHT = 330
CLUSTERS_PAGE = "views/clusters.py"


def _moved(run: Run, table: ProbeTable, state: State) -> None:
    """The flow of the URL's perturbation, else of the first one."""
    lines = [line for line in table.lines if line.flow is not None]
    if not lines:
        st.info("Only the control was compared here. Probe again with a perturbation.", icon=":material/info:")
        return
    line = _chosen_line(lines, state)
    flow = line.flow
    if flow is None or not len(flow.ids):
        st.info(f"No {table.words.item} of this perturbation was kept.", icon=":material/info:")
        return
    words = table.words
    _summary(line, flow, words)
    chosen, names = state.probes_flow, cluster_names(run, state)
    if not flow.moved:
        st.info(f"No {words.item} left its cluster.", icon=":material/info:")
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
        _items_of_flow(run, table, line, flow, chosen, names, state)
    notes(table)


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
        help=f"{words.items.capitalize()} that moved from the first cluster to the second; largest flows first.",
    )


def _summary(line: ProbeLine, flow: Flow, words: Words) -> None:
    moved, n = len(flow.moved), len(flow.ids)
    low, high = map(float, wilson_interval(moved, n))
    columns = st.columns(3)
    columns[0].metric(f"{words.items.capitalize()} that left their cluster", f"{moved:,} of {n:,}")
    columns[0].caption(f"{percent_with_interval(moved / n, low, high)}, Wilson's {CONFIDENCE:.0%} interval")
    columns[1].metric(f"{words.items.capitalize()} changed", as_percent(line.changed), help="Over all splits")
    columns[2].metric(
        "Flows",
        f"{len(flow_figures.moves(flow)):,}",
        help=f"Pairs of clusters with at least one {words.item} that moved from the first to the second",
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
        st.caption(_left_out(flow, clusters, words.items))
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
                "of": st.column_config.NumberColumn(help=f"{words.items.capitalize()} that were in the cluster before"),
                "share": st.column_config.NumberColumn(format="%.0f%%"),
            },
        )
        with st.container(horizontal=True):
            _flows_csv(flow, name, words)
            charts.csv_button(
                lambda: flow_figures.texts_frame(flow),
                key="probe_texts_csv",
                file_name=f"{name}-{words.items}",
                label=f"{words.items.capitalize()} as CSV",
            )


def _flows_csv(flow: Flow, name: str, words: Words) -> None:
    charts.csv_button(
        lambda: flow_figures.flows_frame(flow, words), key="probe_flows_csv", file_name=name, label="Flows as CSV"
    )


def _left_out(flow: Flow, clusters: np.ndarray, items: str) -> str:
    """How much of the movement the matrix shows."""
    total = flow_figures.exchanging(flow, flow.k).size
    both = np.isin(flow.before, clusters) & np.isin(flow.after, clusters)
    within = int((both & (flow.before != flow.after)).sum())
    which = f"clusters that {items} left or entered, those with the most such {items} first"
    if clusters.size == total:
        return f"{total:,} {which}. Gray: {items} that stayed."
    return (
        f"{clusters.size:,} of {total:,} {which}; {within:,} of {len(flow.moved):,} {items} that moved did so "
        f"between these. Gray: {items} that stayed. The table has all flows."
    )


def _sensitivity(flow: Flow, names: Sequence[str], colour: str, name: str, words: Words) -> None:
    rows = flow_figures.sensitivity_frame(flow)
    shown = rows.head(flow_figures.SHOWN_BARS)
    charts.show_chart(
        flow_figures.sensitivity_figure(shown, names, colour, words=words),
        key="probe_sensitivity",
        file_name=f"{name}-sensitivity",
        alt=f"Share of each cluster's {words.items} that left it; the CSV has the numbers.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Share of a cluster's {words.items} that left it, with Wilson's {CONFIDENCE:.0%} interval; "
            f"{len(shown):,} of {len(rows):,} clusters that had {words.items}.",
            width="stretch",
        )
        charts.csv_button(lambda: rows, key="probe_sensitivity_csv", file_name=f"{name}-sensitivity")


def _items_of_flow(
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
    probes_items.show(run, table.source, line.name, ids, key="probe_moved")


def _choose_cell() -> None:
    selection = bound.selection_of(_MATRIX)
    source, target = clicked_value(selection, 0), clicked_value(selection, 1)
    if source is not None and target is not None:
        session.update(probes_flow=(source, target))


if __name__ == "__main__":
    main()
