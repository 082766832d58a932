"""A list of texts, a page at a time, and the open one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import reader, text_search
from mauve_app.server.thumbnails import picture_url
from mauve_app.url import bound, session
from mauve_core.analysis.text_search import TextSearch, excerpt
from mauve_core.base.config import HUMAN
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

PAGE_SIZE = 8
# Letters before and after what was found, in the list.
BEFORE, AFTER = 24, 120


@st.fragment
def show(run: Run, search: TextSearch, places: np.ndarray) -> None:
    """The texts at those places of the run, and the open one; turning a page or choosing a text reruns nothing else."""
    state = session.current()
    wanted = np.flatnonzero(places == state.read_text) if state.read_text is not None else places[:0]
    opened = int(places[wanted[0]]) if wanted.size else int(places[0])
    page, pages = int(wanted[0]) // PAGE_SIZE + 1 if wanted.size else 1, -(-places.size // PAGE_SIZE)
    listed = places[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    bound.table(
        "read_text",
        listing(run, search, listed),
        listed.tolist(),
        key=f"texts_list_{page}_{places.size}",
        usual=opened,
        column_config={
            "picture": st.column_config.ImageColumn(width=70),
            "source": st.column_config.TextColumn(width=130),
            "id": st.column_config.TextColumn(width=90),
            "text": st.column_config.TextColumn("text" if run.comparison.has_words else "words", width="large"),
        },
    )
    if pages > 1:  # turning opens the page's first text
        turned = bound.bind(
            "read_text",
            page,
            key="texts_turn",
            keyword="default",
            changes=lambda turn: {"read_text": int(places[(turn - 1) * PAGE_SIZE])},
        )
        st.pagination(pages, max_visible_pages=5, **turned)
    reader.show(run, search, opened)


def listing(run: Run, search: TextSearch, places: np.ndarray) -> pd.DataFrame:
    """Source, id and, of the texts at ``places``, what stands around the first place found, else the beginning."""
    stack, rows = cache.stack(run.id), []
    for place in places.tolist():
        name = stack.names[stack.source[place]]
        corpus, row = run.corpora[name], int(stack.position[place])
        text = corpus.texts[row]
        rows.append(
            (
                run.comparison.words.source(short_name(name)),
                corpus.ids[row],
                excerpt(text, text_search.found_spans(text, search), BEFORE, AFTER),
            )
        )
    table = pd.DataFrame(rows, columns=["source", "id", "text"])
    if run.corpora[HUMAN].media is not None:
        owners = [(stack.names[stack.source[place]], int(stack.position[place])) for place in places.tolist()]
        table.insert(0, "picture", [picture_url(run, name, row) for name, row in owners])
    return table
