"""A table below the answer where candidates copy human texts or differ from them in format, and a run without that."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import job_button, normalize_choice
from mauve_app.components.job_button import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_core.analysis.format_steps import steps_for
from mauve_core.analysis.preflight import COLUMNS, Preflight, rule_sentence, short_headline, shown_rows
from mauve_core.figures.theme import short_name
from mauve_core.store import Run
from mauve_core.tasks.recompare import RecompareTask, suggested_name


def show(run: Run) -> None:
    """One line, which opens to a table; nothing where no format is flagged."""
    found = cache.preflight_of(run.id)
    if not found.shown:
        return
    words = run.comparison.words
    rows = [
        (words.said(kind), f"**{escaped(short_name(candidate))}**", *cells)
        for kind, candidate, *cells in shown_rows(found)
    ]
    with st.expander(short_headline(found), icon=":material/warning:"):
        st.table(
            pd.DataFrame(rows, columns=list(map(words.said, COLUMNS))),
            border="horizontal",
            hide_index=True,
        )
        st.caption(f"The scores below count these differences, too. {rule_sentence(found)}")
        if found.flagged and access.may_change():
            _normalize(run, found)


def _normalize(run: Run, found: Preflight) -> None:
    """The steps that the flagged kinds need, ticked, and a button that compares the run's texts without them."""
    encoder = run.comparison.config.encoder
    if encoder is None:
        st.caption(
            "This run has no encoder of its own. To compare normalized texts, name one: "
            f"`mauve-lens runs again {run.id} --normalize STEP,... --encoder MODEL`."
        )
        return
    key = f"normalize_{run.id}"
    st.session_state.setdefault(key, list(steps_for(found)))
    steps = normalize_choice.show(key)
    config = run.comparison.config
    job_button.show(
        JobSlot(f"{key}_start", RecompareTask.kind),
        "Normalize as a new run",
        lambda: RecompareTask(suggested_name(run.name, config, config, steps), run.id, config, normalize=steps),
        models=[(encoder.model, encoder.revision)],
        filled=bool(steps),
        icon=":material/format_clear:",
        primary=False,
        tip=said("Encodes the normalized texts and compares them with this run's settings. This run stays as it is."),
    )
