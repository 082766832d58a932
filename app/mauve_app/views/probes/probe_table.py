"""How scores react to perturbations: what MAUVE detects; folded, all measures, other sources, and doses."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from mauve_app.components import charts, folded, settings_tree
from mauve_app.components.markup import escaped
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import Baseline, State
from mauve_app.views.probes import probe_answers
from mauve_core.base.formatting import NONE, as_percent
from mauve_core.experiments.robustness import PROBE_SCORES, ProbeTable, positions_sentence
from mauve_core.figures import probes as figures
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

_CHART = "probes_chart"
BASELINES: dict[Baseline, str] = {"nothing": "Values", "control": "Difference from control"}
_USUAL = "jensen-shannon"
# Session key: names of the lines in the chart on the page that have a flow.
_LINES = "probes_lines"


def show(run: Run, table: ProbeTable, state: State) -> None:
    """Show the answer; everything else that was scored is folded, but open if the URL asks for some of it."""
    probe_answers.show(run, table, state)
    asked = state.probes_order is not None or not state.probes_other_sources or state.probes_baseline != "nothing"
    with folded.part("All divergences, other sources and doses", "probes_all", "analytics", asked=asked) as part:
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
            settings_tree.show({**settings, "rows": "all" if rows is None else f"{len(rows):,} chosen"})


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
            help=table.words.said(
                "Shows texts of the run's other sources in place of the perturbed half. Without them, the axes fit the "
                "perturbations alone."
            ),
            **bound.bind("probes_other_sources", state.probes_other_sources, key="url_other_sources"),
        )
        st.space("stretch")
        charts.csv_button(lambda: figures.probes_frame(table), key="probes_csv", file_name=name)
    return measure, bool(sources)


def _caption(table: ProbeTable) -> None:
    control, words = table.control, table.words
    repeats = len(control.scores[PROBE_SCORES[0]].values)
    spread = "one value, no spread" if repeats == 1 else f"mean ± standard deviation over {_repeats(table, repeats)}"
    about_one = words.said(" With one split, the spread says nothing about other texts.")
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
        f"↑ larger is closer, ↓ smaller is. {words.said(figures.ABOUT_LEADERBOARD)} Click a dot to see which "
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
            help=table.words.said("A perturbation at several shares of texts, words or letters. 0 is the control."),
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
