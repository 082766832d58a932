"""A run without a map: the map is being made, or can be made on a press."""

from __future__ import annotations

import streamlit as st

from mauve_app.components import job_button, job_panel, page_chrome
from mauve_app.components.job_button import JobSlot
from mauve_app.components.saying import said
from mauve_core.store import Run
from mauve_core.tasks.draw_map import MapTask
from mauve_core.tasks.registry import MAKING_RUNS

_WHAT = (
    "A map shows every text as a dot, similar ones close together; lasso an area to read its texts. The "
    "clusters, which the scores come from, are all there without it."
)


def show(run: Run) -> None:
    """Say where the map is; the page is drawn anew when it is there (``mauve_app.components.news``)."""
    title = st.container()
    coming = job_panel.show(MAKING_RUNS, run.id, unfinished=True)
    if not coming:
        slot = JobSlot("map_start", MapTask.kind, run.id)
        coming = job_button.show(slot, "Make the map", lambda: MapTask(run.id), icon=":material/map:")
    with title:
        if coming:
            page_chrome.nothing_yet(
                "The map is still being made.",
                said(_WHAT),
                "It appears here by itself; the scores are ready on **Compare**.",
            )
        else:
            page_chrome.nothing_yet(
                "This run has no map yet.",
                said(_WHAT),
                "It can be made from its features; the scores stay as they are.",
            )
    st.page_link("views/clusters/clusters.py", label="Go to the clusters", icon=":material/bar_chart:")
