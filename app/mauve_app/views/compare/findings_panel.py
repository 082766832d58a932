"""What the run shows beyond its leaderboard: one sentence each, which opens the page that shows it."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components.markup import escaped
from mauve_app.url.parameters import State, changed, to_query
from mauve_core.experiments.findings import Finding
from mauve_core.store import Run

KEY = "findings"


def show(run: Run, state: State) -> None:
    """The findings as links; nothing without any."""
    found = cache.findings(run.id)
    if not found:
        return
    st.header("Beyond the score", anchor=False)
    with st.container(key=KEY, gap=None):
        for each in found:
            page, view = _view_of(each, state)
            st.page_link(
                page, label=escaped(each.sentence), icon=":material/arrow_forward:", query_params=to_query(view)
            )


def _view_of(found: Finding, state: State) -> tuple[str, State]:
    """The page that shows it, and what it shows there."""
    if found.page == "decoders":
        view = changed(state, decoders_section="measures", ranking_measure=found.item)
        return "views/decoders/decoders.py", view
    if found.page == "probes":
        return "views/probes/probes.py", changed(state, probes_section="scores", probes_perturbation=found.item)
    return "views/methods/methods.py", changed(state, methods_section="encoders")
