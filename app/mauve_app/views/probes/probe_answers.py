"""What MAUVE detects, in words: one row per perturbation, and the items of the chosen one before and after."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.url import bound
from mauve_app.url.parameters import State
from mauve_app.views.probes import before_after
from mauve_core.base.formatting import NONE, significant, with_spreads
from mauve_core.experiments.robustness import Detection, ProbeTable, about_test, detections, summary
from mauve_core.figures.probes import ABOUT_LEADERBOARD
from mauve_core.store import Run


def show(run: Run, table: ProbeTable, state: State) -> None:
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
    st.caption(f"{about_test(table)} {table.words.said(ABOUT_LEADERBOARD)}".strip())
    _items(run, table, found, state)


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


def _items(run: Run, table: ProbeTable, found: tuple[Detection, ...], state: State) -> None:
    titles = {each.name: each.title for each in found}
    if state.probes_perturbation is not None and state.probes_perturbation not in titles:
        st.info(f"{escaped(state.probes_perturbation)} was not probed here.", icon=":material/info:")
    name = bound.selectbox(
        "probes_perturbation",
        table.words.said("Texts before and after"),
        titles,
        found[0].name,
        changes=lambda name: {"probes_perturbation": name, "probes_flow": None},
        width=420,
    )
    st.text(next(each.sentence for each in found if each.name == name))
    flow = table.line(name, "perturbation").flow
    if flow is not None:
        before_after.show(run, table.source, name, flow.ids, key="probe_changed")
