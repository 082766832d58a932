"""Small pictures of items in rows, of which the browser fetches those in view; a press opens one."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from PIL import Image

from mauve_app.browser import component
from mauve_app.server import own_server
from mauve_app.server.thumbnails import folder_url
from mauve_core.corpus.media import SIDES
from mauve_core.store import Run

# Of a sheet, in pixels; more rows scroll.
HEIGHT = 420

# Pixels to which a picture of less is enlarged: one of 28 shows nothing beside those of the sheet.
LEAST = 160

_sheet = component("mauve_lens_contact_sheet", "contact_sheet", '<div class="sheet"></div>')


def show(
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
    if own_server.is_missing():
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
    _sheet(key=key, data=data, on_open_change=partial(_open, key, tuple(indices.tolist()), on_open))


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
