"""Texts of two sides next to each other: a paged list of ids and first words, and the chosen text in full.

Corpus text is untrusted and reaches the page through ``st.text`` and ``st.dataframe`` only.
"""

from __future__ import annotations

import hashlib
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.components.markup import escaped
from app.url import bound, session
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
        show_texts(human[0], human[1], "human_text", title="Human", colour="blue", pager=pager, key=f"{key}_human")
    with right:
        show_texts(model[1], model[2], "model_text", title=model[0], colour="orange", pager=pager, key=f"{key}_model")


def show_texts(
    corpus: Corpus, places: NDArray[np.int32], field: str, *, title: str, colour: str, pager: bool, key: str
) -> None:
    """One side's list with its reader.

    Parameters
    ----------
    field : str
        Field of :class:`app.url.parameters.State` with the place in the corpus of the text that is open.
    pager : bool
        Also where one page is enough, so that both sides stand level.
    """
    heading = f"**:{colour}[{escaped(title)}]** · {places.size:,} of {len(corpus):,} texts"
    if places.size == 0:
        st.markdown(heading)
        st.caption("None of its texts is here.")
        return
    _reader(corpus, places, field, heading, pager, key=f"{key}_{_digest(places)}")


@st.fragment
def _reader(corpus: Corpus, places: NDArray[np.int32], field: str, heading: str, pager: bool, *, key: str) -> None:
    """A page of the list and the chosen text; turning pages and choosing rerun nothing else."""
    opened = _listed_at(places, getattr(session.current(), field))
    page = opened // PAGE_SIZE + 1
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(heading, width="stretch")
        if pager:
            _pager(places, field, page, key=f"{key}_page")
    first = (page - 1) * PAGE_SIZE
    shown = places[first : first + PAGE_SIZE]
    table = _table_key(f"{key}_list_{page}", opened - first)
    st.dataframe(
        listing(corpus, shown),
        hide_index=True,
        key=table,
        on_select=partial(_choose, places, first, field, table),
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [opened - first]}},
        column_config={
            "id": st.column_config.TextColumn(width=70),
            "text": st.column_config.TextColumn(width="large"),
        },
    )
    _full_text(corpus, int(places[opened]))


def _listed_at(places: NDArray[np.int32], wanted: int | None) -> int:
    """Where the list has the text of that place in the corpus; 0 where it has it not, or none is wanted."""
    return 0 if wanted is None else int(np.argmax(places == wanted))


def _pager(places: NDArray[np.int32], field: str, page: int, *, key: str) -> None:
    """A turn of the page opens its first text, as the list shows it."""

    def turned(page: int) -> dict[str, int | None]:
        return _opening(places, (page - 1) * PAGE_SIZE, field)

    pages = -(-places.size // PAGE_SIZE)
    st.pagination(pages, max_visible_pages=3, **bound.bind(field, page, key=key, changes=turned, as_="default"))


def _choose(places: NDArray[np.int32], first: int, field: str, key: str) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    if rows and first + rows[0] < places.size:
        session.update(**_opening(places, first + rows[0], field))


def _opening(places: NDArray[np.int32], row: int, field: str) -> dict[str, int | None]:
    """The change of the state that opens the text of a row; the first is open by itself."""
    return {field: int(places[row]) if row else None}


def _table_key(name: str, row: int) -> str:
    """A table keeps what was ticked in it; where the URL now says something else, another one takes its place."""
    turns = f"{name}_turns"
    turn = st.session_state.get(turns, 0)
    kept = st.session_state.get(f"{name}_{turn}")
    if kept is not None and kept["selection"]["rows"] not in ([], [row]):
        turn += 1
        st.session_state[turns] = turn
    return f"{name}_{turn}"


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
