"""What a card says of any uploaded file, and the whole card of items that are not texts: a few of them as pictures."""

from __future__ import annotations

import streamlit as st

from mauve_app import item_uploads
from mauve_app.components.markup import escaped
from mauve_app.looks import Look, ReadFile
from mauve_app.uploads import Upload
from mauve_core.corpus.kinds import TEXT, Kind, kind_of
from mauve_core.corpus.text_files import TextFile
from mauve_core.scoring.partitioning import MIN_TEXTS

# Option of a table that holds other items, too.
AS_TEXTS = "(read texts)"

# Pixels.
PICTURE_WIDTH = 72


def kind_chosen(upload: Upload) -> Kind:
    """The kind that a file is read as, by its content and the choice on its card."""
    kind, columns = item_uploads.kind_in(upload.path), item_uploads.columns_in(upload.path)
    return kind_of(TEXT) if columns and st.session_state.get(_key(upload)) == len(columns) else kind


def show(upload: Upload, name: str) -> list[ReadFile | None] | None:
    """The card of a file of other items than texts; None if texts are to be read from it."""
    kind = kind_chosen(upload)
    columns = item_uploads.columns_in(upload.path)
    if not columns:
        return None if kind.has_words else [read(upload, name, None)]
    options = [*columns, AS_TEXTS]
    chosen = st.selectbox(
        item_uploads.kind_in(upload.path).words.said("Texts"),
        range(len(options)),
        index=0 if len(columns) == 1 else None,
        format_func=options.__getitem__,
        key=_key(upload),
        placeholder="Choose a field",
        persist_state="session",
    )
    if chosen is None:
        st.error(f"Several fields hold {kind.words.items}. Choose one above.", icon=":material/error:")
        return [None]
    return None if chosen == len(columns) else [read(upload, name, columns[chosen])]


def read(upload: Upload, name: str, field: str | None) -> ReadFile | None:
    """Read the items, of that field in a table, and show some; None, with a message, if they are too few."""
    look = item_uploads.items(upload.path, field).look
    if not are_enough(look):
        return None
    summary(upload, look)
    with st.container(horizontal=True, gap="xsmall"):
        for picture in look.pictures:
            st.image(picture.data, width=PICTURE_WIDTH, output_format="PNG", alt=picture.alt)
    return ReadFile(name, TextFile(upload.path, text_field=field), look)


def are_enough(look: Look, whose: str = "") -> bool:
    """Whether there are enough items to compare; a message says so if not."""
    if look.texts >= MIN_TEXTS:
        return True
    st.error(
        f"{whose}{look.texts} {kind_of(look.kind).words.items} are too few to cluster. Allowed: at least {MIN_TEXTS}; "
        "1,000 or more for small gaps.",
        icon=":material/error:",
    )
    return False


def summary(upload: Upload, look: Look) -> None:
    """How many items there are, how many were left out, and what a reader must know."""
    items = kind_of(look.kind).words.items
    st.markdown(f"**{look.texts:,}** {items}" + (f", **{look.left_out:,}** left out" if look.left_out else ""))
    if look.doubt:
        st.warning(escaped(look.doubt), icon=":material/warning:")
    for note in look.notes:
        if note != look.doubt:
            st.caption(escaped(upload.without_folder(note)))


def _key(upload: Upload) -> str:
    return f"items_{upload.uid}"
