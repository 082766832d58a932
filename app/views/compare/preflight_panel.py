"""A table below the answer where candidates differ from the human texts in format, and a run without that."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.caching import cache
from app.components import job_panel, normalize_choice
from app.components.markup import escaped
from app.server import access
from mauve_core.analysis.format_steps import steps_for
from mauve_core.analysis.preflight import COLUMNS, Preflight, rule_sentence, short_headline, shown_rows
from mauve_core.encoders import check_model
from mauve_core.figures.theme import short_name
from mauve_core.store import Run
from mauve_core.tasks.recompare import RecompareTask, suggested_name

_STARTED = "normalizing"
"""Session key: ids of runs of which a normalized one was started here."""


def show(run: Run) -> None:
    """One line, which opens to a table; nothing where no format is flagged."""
    found = cache.preflight_of(run.id)
    if not found.flagged:
        return
    rows = [(kind, f"**{escaped(short_name(candidate))}**", *cells) for kind, candidate, *cells in shown_rows(found)]
    with st.expander(short_headline(found), icon=":material/warning:"):
        st.table(pd.DataFrame(rows, columns=list(COLUMNS)), border="horizontal", hide_index=True)
        st.caption(f"The scores below count these differences, too. {rule_sentence(found)}")
        if access.may_change():
            _normalize(run, found)
    if run.id in st.session_state.get(_STARTED, ()):
        job_panel.show(("again",))


def _normalize(run: Run, found: Preflight) -> None:
    """The steps that the flagged kinds need, ticked, and a button that compares the run's texts without them."""
    encoder = run.comparison.config.encoder
    if encoder is None:
        st.caption(
            "This run's features were given. To compare normalized texts, name an encoder: "
            f"`mauve-lens runs again {run.id} --normalize STEP,... --encoder MODEL`."
        )
        return
    key = f"normalize_{run.id}"
    st.session_state.setdefault(key, list(steps_for(found)))
    steps = normalize_choice.show(key)
    if st.button(
        "Normalize as a new run",
        key=f"{key}_start",
        icon=":material/format_clear:",
        disabled=not steps,
        help="Encodes the normalized texts and compares them with this run's settings. This run stays as it is.",
    ):
        st.session_state[_STARTED] = {*st.session_state.get(_STARTED, ()), run.id}
        _start(run, steps)


def _start(run: Run, steps: tuple[str, ...]) -> None:
    config = run.comparison.config

    def describe() -> RecompareTask:
        if config.encoder is not None:
            with st.spinner("Looking for the encoder"):
                check_model(config.encoder.model, config.encoder.revision)
        return RecompareTask(suggested_name(run.name, config, config, steps), run.id, config, normalize=steps)

    job_panel.start(describe)
