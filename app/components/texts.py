"""Texts of two sides next to each other: a paged list of ids and first words, and the chosen text in full.

Corpus text is untrusted and reaches the page through ``st.text`` and ``st.dataframe`` only.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.components.markup import escaped
from mauve_core.corpus import Corpus

PAGE_SIZE = 8
SNIPPET = 160
"""Characters of a text in a list."""

_FULL_TEXT_HEIGHT = 420


def side_by_side(
    human: tuple[Corpus, NDArray[np.int32]], model: tuple[str, Corpus, NDArray[np.int32]], *, key: str
) -> None:
    """The human texts on the left, the candidate's on the right; each a corpus and the places of the texts in it."""
    left, right = st.columns(2, gap="medium")
    pager = max(human[1].size, model[2].size) > PAGE_SIZE
    with left:
        show_texts(human[0], human[1], title="Human", colour="blue", pager=pager, key=f"{key}_human")
    with right:
        show_texts(model[1], model[2], title=model[0], colour="orange", pager=pager, key=f"{key}_model")


def show_texts(corpus: Corpus, places: NDArray[np.int32], *, title: str, colour: str, pager: bool, key: str) -> None:
    """One side's list with its reader; ``pager``: also where one page is enough, so that both sides stand level."""
    heading = f"**:{colour}[{escaped(title)}]** · {places.size:,} of {len(corpus):,} texts"
    if places.size == 0:
        st.markdown(heading)
        st.caption("None of its texts is here.")
        return
    _reader(corpus, places, heading, pager, key=f"{key}_{_digest(places)}")


@st.fragment
def _reader(corpus: Corpus, places: NDArray[np.int32], heading: str, pager: bool, *, key: str) -> None:
    """A page of the list and the chosen text; turning pages and choosing rerun nothing else."""
    pages = -(-places.size // PAGE_SIZE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(heading, width="stretch")
        page = st.pagination(pages, key=f"{key}_page", max_visible_pages=3, persist_state="page") if pager else 1
    shown = places[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    ticked = f"{key}_ticked_{page}"
    event = st.dataframe(
        listing(corpus, shown),
        hide_index=True,
        key=f"{key}_list_{page}",
        on_select="rerun",
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [st.session_state.get(ticked, 0)]}},
        column_config={
            "id": st.column_config.TextColumn(width=70),
            "text": st.column_config.TextColumn(width="large"),
        },
    )
    rows = event["selection"]["rows"] if isinstance(event, dict) else []
    row = rows[0] if rows and rows[0] < shown.size else 0
    st.session_state[ticked] = row  # the table is gone while another tab is open
    _full_text(corpus, int(shown[row]))


def listing(corpus: Corpus, places: NDArray[np.int32]) -> pd.DataFrame:
    """Ids and first words of the texts at ``places``."""
    return pd.DataFrame(
        {"id": [corpus.ids[i] for i in places], "text": [snippet(corpus.texts[i]) for i in places]},
        index=pd.RangeIndex(len(places)),
    )


def snippet(text: str) -> str:
    """The beginning of a text on one line, cut at ``SNIPPET`` characters with a sign that it was."""
    line = " ".join(text[: 4 * SNIPPET].split())
    return line if len(line) <= SNIPPET and len(text) <= 4 * SNIPPET else f"{line[:SNIPPET].rstrip()} …"


def _full_text(corpus: Corpus, place: int) -> None:
    with st.container(border=True, height=_FULL_TEXT_HEIGHT, gap="xsmall"):
        st.text(_heading(corpus, place))
        if corpus.prompts is not None and corpus.prompts[place]:
            st.caption("Prompt")
            st.text(corpus.prompts[place])
            st.caption("Text")
        st.text(corpus.texts[place])


def _heading(corpus: Corpus, place: int) -> str:
    """The id, and what the metadata says about the text."""
    values = corpus.metadata.iloc[place]
    known = [f"{name}: {value}" for name, value in values.items() if not pd.isna(value)]
    return "  ·  ".join([corpus.ids[place], *known])


def _digest(places: NDArray[np.int32]) -> str:
    """A key for a set of texts, so that a new set starts on its first page."""
    return hashlib.sha1(places.tobytes(), usedforsecurity=False).hexdigest()[:12]
