"""Text measures over the length of the texts, folded, and the form that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_app.components import charts, job_button, model_picker
from mauve_app.components.job_button import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_core.experiments.text_measures.over_lengths import (
    ATTACHMENT as LENGTHS_ATTACHMENT,
)
from mauve_core.experiments.text_measures.over_lengths import (
    OVER_LENGTH,
    LengthTable,
    length_measure_title,
    lengths_in,
    stored_lengths,
)
from mauve_core.experiments.text_measures.over_lengths import (
    order_sentence as length_order_sentence,
)
from mauve_core.figures import lengths as length_figures
from mauve_core.store import ATTACHED, Run
from mauve_core.tasks.lengths import LengthsTask

_PAPERS = ("frechet", "perplexity", "sparsemax")
_EXAMPLE = "32,64,128"


def show(run: Run, order: Sequence[str]) -> None:
    """The stored table, if any, and the form; nothing in a read-only app without a table."""
    path = run.path / ATTACHED / f"{LENGTHS_ATTACHMENT}.json"
    table = or_error(_read, run.id, path.stat().st_mtime_ns if path.is_file() else None)
    if table is None and not access.may_change():
        return
    part = st.expander(
        "Measures over the length of the texts",
        icon=":material/show_chart:",
        key="measures_over_length",
        on_change="rerun",
    )
    if part.open:
        with part:
            _content(run, table, order)


def _content(run: Run, table: LengthTable | None, order: Sequence[str]) -> None:
    if table is None:
        st.markdown(
            "Does a measure get worse as texts get longer? All texts are cut to their first tokens and measured at "
            "each length. Press *Compute over length*, or run "
            f"`mauve-lens measure {run.id} --lengths {_EXAMPLE} --scorer MODEL`."
        )
    else:
        _result(run, table, order)
    if access.may_change():
        _form(run, table)


@kept_by_run(max_entries=8, show_spinner=False)
def _read(run_id: str, stamp: int | None) -> LengthTable | None:  # noqa: ARG001 (the stamp is part of the key)
    return stored_lengths(cache.load_run(run_id))


def _result(run: Run, table: LengthTable, order: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="top"):
        sentences = filter(None, (escaped(length_order_sentence(table, measure)) for measure in table.measures))
        st.markdown("  \n".join(sentences), width="stretch")
        charts.csv_button(
            partial(length_figures.lengths_frame, table), key="lengths_csv", file_name=f"{run.name}-lengths"
        )
    chart, *tables = st.tabs(
        ["Chart", *(escaped(length_measure_title(measure)) for measure in table.measures)], key="lengths_tabs"
    )
    with chart:
        charts.show_chart(
            length_figures.lengths_figure(table, order, run.comparison.words),
            key="lengths_chart",
            file_name=f"{run.name}-lengths",
            alt=run.comparison.words.said(
                "Each measure of every candidate and of the human texts against the length to which all texts are cut; "
                "the tables have the numbers."
            ),
        )
    for tab, measure in zip(tables, table.measures, strict=True):
        with tab:
            st.dataframe(length_figures.shown_table(table, measure, order), hide_index=True, key=f"lengths_{measure}")
            if table.has_gaps(measure):
                st.caption("Gap |T(Q) − T(P)|")
                gaps = length_figures.shown_table(table, measure, order, gaps=True)
                st.dataframe(gaps, hide_index=True, key=f"lengths_gaps_{measure}")
    st.caption(run.comparison.words.said(length_figures.described(table)))
    for note in table.notes:
        st.text(note)


def _form(run: Run, table: LengthTable | None) -> None:
    encoded = run.comparison.config.encoder is not None
    possible = [name for name, item in OVER_LENGTH.items() if encoded or "features" not in item.needs]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Lengths in tokens",
            key=f"lengths_values_{run.id}_{table is not None}",
            placeholder=_EXAMPLE,
            help="Whole numbers. Without any: the longest text's, its half, its quarter and so on.",
            width=220,
        )
        names = st.multiselect(
            "Measures",
            possible,
            [name for name in _PAPERS if name in possible],
            key=f"lengths_measures_{run.id}",
            format_func=length_measure_title,
        )
    scored = any("model" in OVER_LENGTH[name].needs for name in names)
    model = None
    if scored:
        model = model_picker.show(
            "Scoring model for cut texts",
            key="lengths_model",
            causal=True,
            help_text="Reads every text once. For measures of a decoder, choose the model that wrote the texts.",
        )

    def task() -> LengthsTask:
        lengths = lengths_in(text) if text.strip() else None
        return LengthsTask(run.id, lengths, tuple(name for name in OVER_LENGTH if name in names), model)

    job_button.show(
        JobSlot("lengths_start", LengthsTask.kind, run.id),
        "Compute over length",
        task,
        models=[] if model is None else [(model, None)],
        filled=bool(names),
        primary=False,
    )
