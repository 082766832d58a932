"""Items of two sides next to each other, and the chosen one in full.

Texts are a paged list of ids and first words. Items with pictures are a sheet: small pictures in rows, of which the
browser fetches those in view; a press opens one. Corpus text is untrusted: it reaches the page only through ``st.text``
and ``st.dataframe``.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Collection
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray
from PIL import Image

from mauve_app.browser import component
from mauve_app.components.markup import escaped, swatch
from mauve_app.server import origins
from mauve_app.server.run_files import folder_url
from mauve_app.url import bound, session
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import significant
from mauve_core.figures.theme import HUMAN_COLOUR
from mauve_core.runs import Run
from mauve_core.texts import Corpus
from mauve_core.texts.media import SIDES

# Of a sheet, in pixels; more rows scroll.
HEIGHT = 420

# Pixels to which a picture of less is enlarged: one of 28 shows nothing beside those of the sheet.
LEAST = 160

_contact_sheet = component("mauve_lens_contact_sheet", "contact_sheet", '<div class="sheet"></div>')


def show_sheet(
    run: Run,
    source: str,
    indices: NDArray[np.int32],
    *,
    key: str,
    opened: int | None,
    on_open: Callable[[int], object],
    height: int = HEIGHT,
    label: str,
) -> None:
    """The pictures of a source's items.

    Parameters
    ----------
    indices : (m,) int array
        The items, in the order of the sheet.
    opened : int or None
        The item whose picture is marked.
    on_open : callable
        Called with the index of an item that was pressed, before the next run of the script.
    label : str
        What the sheet shows, for screen readers.
    """
    if origins.is_plain_streamlit():
        st.caption("Images are shown only by `mauve-lens app`.")
        return
    corpus = run.corpora[source]
    if corpus.media is None:
        return
    data = {
        "folder": folder_url(run, source, SIDES[0]),
        "digests": [corpus.media.digests[i] for i in indices.tolist()],
        "names": [corpus.ids[i] for i in indices.tolist()],
        "opened": int(np.argmax(indices == opened)) if opened in indices else -1,
        "height": height,
        "label": label,
    }
    _contact_sheet(key=key, data=data, on_open_change=partial(_open, key, tuple(indices.tolist()), on_open))


def _open(key: str, indices: tuple[int, ...], on_open: Callable[[int], object]) -> None:
    pressed = st.session_state.get(key, {}).get("open")
    if isinstance(pressed, int) and 0 <= pressed < len(indices):  # untrusted, like all that a browser sends
        on_open(indices[pressed])


def picture(run: Run, source: str, index: int) -> None:
    """One item's larger picture."""
    corpus = run.corpora[source]
    if corpus.media is not None:
        show_picture(corpus.media.picture(index, SIDES[-1]), f"{corpus.ids[index]}: {corpus.texts[index]}")


def show_picture(data: bytes, alt: str) -> None:
    """A picture as it is, or a small one enlarged, with words for who cannot see it."""
    with Image.open(io.BytesIO(data)) as opened:
        width: int | Literal["content"] = LEAST if max(opened.size) < LEAST else "content"
    st.image(data, width=width, output_format="PNG", alt=alt)  # by default a JPEG, which adds faults of its own


PAGE_SIZE = 8
# Maximum number of characters of a text in a list.
SNIPPET = 160

_FULL_TEXT_HEIGHT = 420
# Of a text above or below the other side's.
_STACKED_HEIGHT = 260


def side_by_side(
    run: Run,
    human: NDArray[np.int32],
    model: tuple[str, NDArray[np.int32]],
    *,
    colour: str,
    key: str,
    stacked: bool = False,
    hidden: Collection[str] = (),
) -> None:
    """Human texts on the left, the candidate's on the right, given by their indices.

    ``colour`` is the candidate's. ``stacked`` puts the candidate's below the human ones, in a narrow pane. Of the
    sources in ``hidden`` no text was looked for: the page says so instead of counting none.
    """
    left, right = (st.container(), st.container()) if stacked else st.columns(2, gap="medium")
    pager = max(human.size, model[1].size) > PAGE_SIZE
    height = _STACKED_HEIGHT if stacked else _FULL_TEXT_HEIGHT
    reference = run.comparison.words.reference.capitalize()
    for place, (source, indices), field, title, shown in (
        (left, (HUMAN, human), "human_text", reference, HUMAN_COLOUR),
        (right, model, "model_text", model[0], colour),
    ):
        with place:
            if source in hidden:
                st.markdown(f"{swatch(shown)} **{escaped(title)}** · hidden on the map")
                continue
            own = f"{key}_{field.removesuffix('_text')}"
            show_texts(run, source, indices, field, title=title, colour=shown, pager=pager, key=own, height=height)


def show_texts(
    run: Run,
    source: str,
    indices: NDArray[np.int32],
    field: str,
    *,
    title: str,
    colour: str,
    pager: bool,
    key: str,
    height: int = _FULL_TEXT_HEIGHT,
) -> None:
    """One side's list or sheet with its reader.

    Parameters
    ----------
    field : str
        Field of :class:`mauve_app.url.parameters.State` that holds the index of the open text.
    pager : bool
        Show a pager even for a single page, so that both sides align.
    height : int
        Of the open text, in pixels.
    """
    corpus, words = run.corpora[source], run.comparison.words
    heading = f"{swatch(colour)} **{escaped(title)}** · {indices.size:,} of {words.count(len(corpus))}"
    if indices.size == 0:
        st.markdown(heading)
        st.caption(f"No {words.items} here.")
        return
    if corpus.media is not None:
        _sheet(run, source, indices, field, heading, key=f"{key}_{_digest(indices)}")
        return
    _reader(corpus, indices, field, heading, pager, height, key=f"{key}_{_digest(indices)}")


@st.fragment
def _reader(
    corpus: Corpus, indices: NDArray[np.int32], field: str, heading: str, pager: bool, height: int, *, key: str
) -> None:
    """A page of the list and the chosen text; paging and choosing rerun nothing else."""
    opened = _listed_at(indices, getattr(session.current(), field))
    page, pages = opened // PAGE_SIZE + 1, -(-indices.size // PAGE_SIZE)
    first = (page - 1) * PAGE_SIZE
    listed = indices[first : first + PAGE_SIZE]

    def opening(item: int) -> dict[str, int | None]:
        return {field: int(indices[item]) if item else None}  # the first opens by default

    st.markdown(heading)
    bound.table(
        field,
        listing(corpus, listed),
        listed.tolist(),
        key=f"{key}_list_{page}",
        usual=int(indices[opened]),
        column_config={
            "id": st.column_config.TextColumn(width=70),
            "text": st.column_config.TextColumn(width="large"),
        },
    )
    if pager:  # below the table, whose buttons float above it; paging opens the page's first text
        turned = bound.bind(
            field, page, key=f"{key}_page", changes=lambda turn: opening((turn - 1) * PAGE_SIZE), keyword="default"
        )
        st.pagination(pages, max_visible_pages=3, **turned)
    _full_text(corpus, int(indices[opened]), height)


@st.fragment
def _sheet(run: Run, source: str, indices: NDArray[np.int32], field: str, heading: str, *, key: str) -> None:
    """All pictures of one side, and the chosen one, larger; choosing reruns nothing else."""
    wanted = getattr(session.current(), field)
    opened = int(indices[_listed_at(indices, wanted)])
    st.markdown(heading)
    show_sheet(
        run,
        source,
        indices,
        key=f"{key}_sheet",
        opened=opened,
        on_open=lambda index: session.update(**{field: index}),
        label=f"{indices.size:,} {run.comparison.words.items} of {run.comparison.words.source(source)}",
    )
    picture(run, source, opened)
    st.text(about_text(run.corpora[source], opened))


def _listed_at(indices: NDArray[np.int32], wanted: int | None) -> int:
    """Position of the text with that index in the list; 0 if it is absent or None."""
    return 0 if wanted is None else int(np.argmax(indices == wanted))


def listing(corpus: Corpus, indices: NDArray[np.int32]) -> pd.DataFrame:
    """Ids and first words of the texts at ``indices``."""
    return pd.DataFrame(
        {"id": [corpus.ids[i] for i in indices], "text": [snippet(corpus.texts[i]) for i in indices]},
        index=pd.RangeIndex(len(indices)),
    )


def snippet(text: str) -> str:
    """The beginning of a text on one line, with a mark if cut at ``SNIPPET`` characters."""
    line = " ".join(text[: 4 * SNIPPET].split())
    return line if len(line) <= SNIPPET and len(text) <= 4 * SNIPPET else f"{line[:SNIPPET].rstrip()} …"


def _full_text(corpus: Corpus, index: int, height: int) -> None:
    with st.container(border=True, height=height, gap="xsmall"):
        st.text(about_text(corpus, index))
        if corpus.prompts is not None and corpus.prompts[index]:
            st.caption("Prompt")
            st.text(corpus.prompts[index])
            st.caption("Text")
        st.text(corpus.texts[index])


def about_text(corpus: Corpus, index: int) -> str:
    """A text's id and metadata on one line."""
    values = corpus.metadata.iloc[index]
    known = [f"{name}: {_short(value)}" for name, value in values.items() if not pd.isna(value)]
    return "  ·  ".join([corpus.ids[index], *known])


def _short(value: object) -> object:
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else significant(value, 3)


def _digest(indices: NDArray[np.int32]) -> str:
    """A key for a set of texts, so that a new set starts on its first page."""
    return hashlib.sha1(indices.tobytes(), usedforsecurity=False).hexdigest()[:12]
