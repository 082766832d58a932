"""An uploader with a card per file; files stay until they are removed, whatever page is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from mauve_app import uploads
from mauve_app.components import item_card, upload_card
from mauve_app.components.markup import escaped
from mauve_app.looks import ReadFile
from mauve_app.uploads import Upload
from mauve_core.base.errors import MauveLensError, StorageError
from mauve_core.corpus import limits
from mauve_core.corpus.kinds import TEXT, Kind, kind_of
from mauve_core.jobs.leftovers import remove_leftovers

# Session key: upload count per uploader. A new widget key empties the uploader, because the cards list the files.
_INTAKE = "intakes"


def show(side: str, title: str, *, several: bool = False) -> list[ReadFile | None]:
    """Uploader and cards of files of texts; parameters and result as those of :func:`uploader` and :func:`cards`."""
    uploader(side, title, [TEXT], several=several)
    return cards(side, human=not several)


def uploader(side: str, title: str, kinds: Sequence[str], *, several: bool = False) -> None:
    """Where files are dropped, and what they may be.

    Parameters
    ----------
    side : str
        Name under which the session keeps the files.
    title : str
        What to upload, in words.
    kinds : sequence of str
        Of the items that the files may hold.
    several : bool
        Take any number of files; otherwise a new file replaces the old one.
    """
    key = f"upload_{side}_{st.session_state.get(_INTAKE, Counter())[side]}"
    st.file_uploader(
        title,
        type=[*uploads.suffixes(kinds), *uploads.PACKED],
        accept_multiple_files=several,
        key=key,
        on_change=_take_in,
        args=(side, key, several),
        label_visibility="collapsed",
    )
    st.caption(
        f"{_endings(kinds)}. At most {limits.in_words()} Files are kept on the server for {limits.upload_days()} days "
        "after their last use."
    )


def cards(side: str, *, human: bool, split: bool = False, any_kind: bool = False) -> list[ReadFile | None]:
    """A card for each file.

    Parameters
    ----------
    side : str
    human, split, any_kind : bool
        As for :func:`mauve_app.components.upload_card.show`.

    Returns
    -------
    list of ReadFile or None
        None for a file that cannot be used; its card says why. Of a file with several sources, the human one is first.
    """
    read: list[ReadFile | None] = []
    for upload in _stored_uploads(side):
        files, removed = upload_card.show(upload, human=human, split=split, any_kind=any_kind)
        if removed:
            st.session_state[f"kept_{side}"] = [other for other in _stored_uploads(side) if other.uid != upload.uid]
            st.rerun()
        read += files
    return read


def kind_of_first(sides: Sequence[str]) -> Kind:
    """The kind of the first file on these sides; texts while there is none that can be told."""
    for upload in (upload for side in sides for upload in _stored_uploads(side)):
        with suppress(MauveLensError):  # its card says what is wrong
            return item_card.kind_chosen(upload)
    return kind_of(TEXT)


def _endings(kinds: Sequence[str]) -> str:
    """The file types that are taken: ``.csv, .txt``, or ``Texts: .csv, .txt; images: .zip``."""
    packed = _dotted(uploads.PACKED)
    if len(kinds) == 1:
        return f"{_dotted(uploads.suffixes(kinds))}, {packed}"
    parts = (f"{kind_of(kind).words.items}: {_dotted(uploads.suffixes([kind]))}" for kind in kinds)
    return f"{'; '.join([*parts, f'packed: {packed}'])}".capitalize()


def _dotted(suffixes: Sequence[str]) -> str:
    return ", ".join(f".{suffix}" for suffix in suffixes)


def _take_in(side: str, key: str, several: bool) -> None:
    value = st.session_state[key]
    files = value if isinstance(value, list) else [value] if value is not None else []
    stored = _stored_uploads(side) if several or not files else []
    try:
        stored = [*stored, *(uploads.keep(file.name, file.getvalue()) for file in files)]
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:", duration="long")
        return
    for file in files:
        uploads.release(file)
    with suppress(StorageError):  # the uploads are stored; the server reports disk errors when it starts
        remove_leftovers()
    st.session_state[f"kept_{side}"] = stored
    counts = st.session_state.setdefault(_INTAKE, Counter())
    counts[side] += 1


def _stored_uploads(side: str) -> list[Upload]:
    stored: list[Upload] = st.session_state.get(f"kept_{side}", [])
    return stored
