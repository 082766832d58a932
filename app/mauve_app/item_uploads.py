"""Uploads of items that are not texts, such as images: which kind a file holds, and what a page shows of it.

Reading decodes every item, which may take minutes, so a file is read once, in a process of its own, while the page
shows how far it is; what is kept is a few pictures, and the digests that say whether its features are stored.
"""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

import streamlit as st

from mauve_app import item_reading, uploads
from mauve_app.caching.bounded import kept
from mauve_app.item_reading import Items
from mauve_app.waiting import Waiting
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress
from mauve_core.corpus.kinds import Kind, kind_at, kind_of
from mauve_core.jobs.aside import aside


def kind_in(path: str, field: str | None = None) -> Kind:
    """The kind of the items of an uploaded file, or of one field of it."""
    return kind_of(_kind(path, field))


@st.cache_resource(max_entries=1024, show_spinner=False)
def _kind(path: str, field: str | None) -> str:
    # The first cells of such a table may be hundreds of megabytes.
    return aside(item_reading.kind_in, path, field) if _holds_bytes(path) else kind_at(path, field).name


@st.cache_resource(max_entries=256, show_spinner=False)
def columns_in(path: str) -> tuple[str, ...]:
    """The columns of an uploaded table that hold items of its kind."""
    return aside(item_reading.columns_in, path) if _holds_bytes(path) else kind_in(path).columns(Path(path))


def _holds_bytes(path: str) -> bool:
    return Path(path).suffix.lower() == ".parquet"


def items(path: str, field: str | None) -> Items:
    """Read an uploaded file, or wait until it is read; this restarts the time until it expires.

    Raises
    ------
    InputError
        It cannot be read, none of its items can be used, or it is no longer stored.
    """
    uploads.require_stored(path)
    key, kind = (path, field), kind_in(path, field)
    found = _KNOWN.get(key)
    if found is None:
        found = _WAITING.result(key, lambda progress: _read(kind.name, path, field, progress))
        _KNOWN[key] = found
    return uploads.or_raised(_items(path, field, found))


_WAITING: Waiting[Items | InputError] = Waiting()
# What was read and is still kept.
_KNOWN: WeakValueDictionary[tuple[str, str | None], Items | InputError] = WeakValueDictionary()


@kept(max_entries=256)
def _items(path: str, field: str | None, _found: Items | InputError) -> Items | InputError:  # noqa: ARG001 (the key)
    return _found


def _read(kind: str, path: str, field: str | None, progress: Progress) -> Items | InputError:
    try:
        return aside(item_reading.read, kind, path, field, progress=progress)
    except InputError as error:
        return uploads.without_frames(error)
