"""A line where a candidate's generations count together, so that a number differs from the leaderboard's."""

from __future__ import annotations

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_core.scoring.tables import pooled_sentence
from mauve_core.store import Run


def show(run: Run, *candidates: str) -> None:
    """Say so for the candidates with several generations; nothing for others."""
    found = (pooled_sentence(run.comparison.candidate(name).source) for name in candidates)
    for sentence in filter(None, found):
        st.caption(escaped(sentence))
