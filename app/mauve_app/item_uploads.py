"""Uploads of items that are not texts, such as images: which kind a file holds, and what a page shows of it.

Reading decodes every item, which may take minutes, so a file is read once, while the page shows how far it is; what is
kept is a few pictures, and the digests that say whether its features are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

import streamlit as st

from mauve_app import uploads
from mauve_app.caching.bounded import kept
from mauve_app.looks import Look, Picture
from mauve_app.waiting import Waiting
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress
from mauve_core.corpus import Corpus
from mauve_core.corpus.kinds import Kind, kind_at, kind_of
from mauve_core.corpus.media import SIDES, Media, Thumbnails

# Pictures on a card, spread over the file.
PICTURES = 5


@dataclass(frozen=True, eq=False)
class Items:
    """A file that was read.

    Attributes
    ----------
    look : Look
    corpus : Corpus
        Its items without their pictures and metadata.
    """

    look: Look
    corpus: Corpus


def kind_in(path: str, field: str | None = None) -> Kind:
    """The kind of the items of an uploaded file, or of one field of it."""
    return kind_of(_kind(path, field))


@st.cache_resource(max_entries=1024, show_spinner=False)
def _kind(path: str, field: str | None) -> str:
    return kind_at(path, field).name


@st.cache_resource(max_entries=256, show_spinner=False)
def columns_in(path: str) -> tuple[str, ...]:
    """The columns of an uploaded table that hold items of its kind."""
    return kind_in(path).columns(Path(path))


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
        found = _WAITING.result(key, lambda progress: _read(kind, path, field, progress))
        _KNOWN[key] = found
    return uploads.or_raised(_items(path, field, found))


_WAITING: Waiting[Items | InputError] = Waiting()
# What was read and is still kept.
_KNOWN: WeakValueDictionary[tuple[str, str | None], Items | InputError] = WeakValueDictionary()


@kept(max_entries=256)
def _items(path: str, field: str | None, _found: Items | InputError) -> Items | InputError:  # noqa: ARG001 (the key)
    return _found


def _read(kind: Kind, path: str, field: str | None, progress: Progress) -> Items | InputError:
    try:
        corpus = kind.read(path, name=None, fields={} if field is None else {"text_field": field}, progress=progress)
    except InputError as error:
        return uploads.without_frames(error)
    if corpus.media is None:
        raise TypeError(f"{corpus.kind} has no pictures")
    look = Look(
        texts=len(corpus),
        left_out=sum(exclusion.count for exclusion in corpus.exclusions),
        scored=len(corpus),
        prompted=False,
        notes=tuple(corpus.notes),
        doubt="",
        first={},
        kind=corpus.kind,
        pictures=_pictures(corpus, corpus.media),
    )
    bare = replace(corpus, metadata=corpus.metadata[[]], media=Media(corpus.media.digests, Thumbnails()))
    return Items(look, bare)


def _pictures(corpus: Corpus, media: Media) -> tuple[Picture, ...]:
    shown = range(0, len(corpus), max(1, -(-len(corpus) // PICTURES)))
    return tuple(Picture(media.picture(i, SIDES[0]), f"{corpus.ids[i]}: {corpus.texts[i]}") for i in shown)
