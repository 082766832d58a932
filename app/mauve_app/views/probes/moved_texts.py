"""Texts before and after a perturbation, side by side, with the differences marked.

Corpus text reaches the page escaped, letter by letter: through ``st.text`` or ``mauve_core.analysis.text_diff``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from mauve_app.views.probes import paging
from mauve_core.analysis.text_diff import MOST_WORDS, marked

_TRY = "Edit this text, and see its neighbors and where other perturbations move it"


@dataclass(frozen=True)
class Changed:
    """A text that was perturbed."""

    id: str
    before: str
    after: str


def show(texts: Sequence[Changed], *, key: str, on_try: Callable[[str], None]) -> None:
    """All texts in the given order, in pages; ``on_try`` takes the id of a text to try."""
    _pages(texts, on_try, key=paging.key_of(key, [text.id for text in texts]))


@st.fragment
def _pages(texts: Sequence[Changed], on_try: Callable[[str], None], *, key: str) -> None:
    page, shown = paging.shown(texts, key=key)
    for row, text in enumerate(shown):
        with st.container(border=True, gap="xsmall", key=f"{key}_card_{page}_{row}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(text.id, width="stretch")
                tried = st.button(
                    "Try", icon=":material/edit_note:", type="tertiary", key=f"{key}_try_{page}_{row}", help=_TRY
                )
            if tried:
                on_try(text.id)
                st.rerun()  # the whole page, which now shows another part
            side_by_side(text.before, text.after)


def side_by_side(before: str, after: str) -> None:
    """Deletions struck through on the left, insertions underlined on the right."""
    found = marked(before, after)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("Before")
        st.html(found.before)
    with right:
        st.caption("After")
        st.html(found.after)
    if not found.compared:
        st.caption(f"More than {MOST_WORDS:,} words: differences are not marked.")
