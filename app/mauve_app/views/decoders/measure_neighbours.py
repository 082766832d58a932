"""Precision, recall, density and coverage over the number of neighbors, folded, and the form that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_app.components import charts, job_button
from mauve_app.components.job_button import JobSlot
from mauve_app.components.messages import or_error
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_core.experiments.text_measures import measure_title
from mauve_core.experiments.text_measures.manifold import NEIGHBOURS
from mauve_core.experiments.text_measures.over_neighbours import (
    ATTACHMENT as NEIGHBOURS_ATTACHMENT,
)
from mauve_core.experiments.text_measures.over_neighbours import (
    USUAL,
    NeighbourTable,
    numbers_of_neighbours,
    stored_neighbours,
)
from mauve_core.experiments.text_measures.over_neighbours import (
    order_sentence as neighbour_order_sentence,
)
from mauve_core.figures import neighbours as neighbour_figures
from mauve_core.store import ATTACHED, Run
from mauve_core.tasks.neighbours import NeighboursTask

_TABLE_HEIGHT = 380


def show(run: Run, order: Sequence[str]) -> None:
    """The stored table, if any, and the form; nothing in a read-only app without a table."""
    path = run.path / ATTACHED / f"{NEIGHBOURS_ATTACHMENT}.json"
    table = or_error(_read, run.id, path.stat().st_mtime_ns if path.is_file() else None)
    if table is None and not access.may_change():
        return
    part = st.expander(
        "Precision and recall over the number of neighbors",
        icon=":material/show_chart:",
        key="neighbours_over_k",
        on_change="rerun",
    )
    if part.open:
        with part:
            _content(run, table, order)


def _content(run: Run, table: NeighbourTable | None, order: Sequence[str]) -> None:
    if table is None:
        st.markdown(
            f"Precision, recall, density and coverage look at the k = {NEIGHBOURS} nearest "
            f"{run.comparison.words.items}. Does another k order the candidates otherwise? Press *Compute over k*, or "
            f"run `mauve-lens measure {run.id} --neighbors {USUAL[0]}-{USUAL[-1]}`."
        )
    else:
        _result(run, table, order)
    if access.may_change():
        _form(run, table)


@kept_by_run(max_entries=8, show_spinner=False)
def _read(run_id: str, stamp: int | None) -> NeighbourTable | None:  # noqa: ARG001 (the stamp is part of the key)
    return stored_neighbours(cache.load_run(run_id))


def _result(run: Run, table: NeighbourTable, order: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="top"):
        sentences = filter(None, (neighbour_order_sentence(table, measure) for measure in table.measures))
        st.markdown("  \n".join(sentences), width="stretch")
        charts.csv_button(
            partial(neighbour_figures.neighbours_frame, table), key="neighbours_csv", file_name=f"{run.name}-neighbors"
        )
    chart, *tables = st.tabs(["Chart", *map(measure_title, table.measures)], key="neighbours_tabs")
    with chart:
        charts.show_chart(
            neighbour_figures.neighbours_figure(table, order, run.comparison.words),
            key="neighbours_chart",
            file_name=f"{run.name}-neighbors",
            alt=said(
                "Precision, recall, density and coverage of every candidate and of two halves of the human texts "
                "against the number of neighbors; the tables have the numbers."
            ),
        )
    for tab, measure in zip(tables, table.measures, strict=True):
        with tab:
            frame = neighbour_figures.shown_table(table, measure, order, run.comparison.words)
            st.dataframe(frame, hide_index=True, key=f"neighbours_{measure}", height=_TABLE_HEIGHT)
    st.caption(said(neighbour_figures.described(table)))
    for note in table.notes:
        st.text(note)


def _form(run: Run, table: NeighbourTable | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Numbers of neighbors k",
            key=f"neighbours_ks_{run.id}_{table is not None}",
            placeholder=f"{USUAL[0]}-{USUAL[-1]}",
            help="Numbers and ranges, such as 1,5,10-20.",
            width=220,
        )
        job_button.show(
            JobSlot("neighbours_start", NeighboursTask.kind, run.id),
            "Compute over k",
            lambda: NeighboursTask(run.id, numbers_of_neighbours(text) if text.strip() else None),
            primary=False,
        )
