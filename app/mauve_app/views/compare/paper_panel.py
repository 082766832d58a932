"""Leaderboard and methods of a run as text for a paper."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts
from mauve_app.url.parameters import State
from mauve_core.base.config import PartitionKind
from mauve_core.reporting.methods_text import methods_text
from mauve_core.reporting.written import latex_table, markdown_table
from mauve_core.store import Run

_TEXTS = {
    "methods": ("Methods paragraph", "methods.txt", "text/plain", methods_text),
    "latex": ("LaTeX", "leaderboard.tex", "text/x-tex", latex_table),
    "markdown": ("Markdown", "leaderboard.md", "text/markdown", markdown_table),
}
_TEXT_HEIGHT = 320


def show(run: Run, state: State, partition: PartitionKind) -> None:
    """The texts, folded at the foot of the page; Share has the report."""
    part = st.expander(
        "Leaderboard and methods for a paper", icon=":material/article:", key="paper_texts", on_change="rerun"
    )
    if part.open:
        with part:
            _texts(run, state, partition)


@st.fragment
def _texts(run: Run, state: State, partition: PartitionKind) -> None:
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    kind = st.segmented_control(
        "Format",
        list(_TEXTS),
        default="methods",
        required=True,
        key="report_text_kind",
        format_func=lambda name: _TEXTS[name][0],
        label_visibility="collapsed",
        persist_state="session",
    )
    title, file_name, mime, make = _TEXTS[str(kind)]
    text = make(rescored, partition, state.smoothing)
    st.code(text, language="latex" if kind == "latex" else None, wrap_lines=True, height=_TEXT_HEIGHT)
    st.download_button(
        f"Save {title}",
        text.encode("utf-8", errors="replace"),
        file_name=f"{charts.safe_file_name(run.name)}-{file_name}",
        mime=mime,
        key="report_text",
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
    )
    st.caption("With the partition, scaling constant and smoothing set above.")
