"""What a page knows of an uploaded file: its fields, and what it holds under some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mauve_core.base.errors import InputError
from mauve_core.corpus.by_source import Sources
from mauve_core.corpus.fields import Fields
from mauve_core.corpus.kinds import TEXT
from mauve_core.corpus.text_files import TextFile


@dataclass(frozen=True)
class Picture:
    """The small picture of an item, in WebP, and words for who cannot see it."""

    data: bytes
    alt: str


@dataclass(frozen=True)
class Look:
    """What a page shows of a file under some fields, without the texts themselves.

    Attributes
    ----------
    texts, left_out : int
    scored : int
        Texts that one score takes: those of one generation.
    prompted : bool
        Whether every text has a prompt.
    notes : tuple of str
    doubt : str
        Why the texts may not be texts at all, also in the notes; empty if nothing suggests so.
    first : mapping of str to tuple of str
        Snippets of the first texts by column title; none of items with pictures.
    kind : str
        Of the items, one of ``mauve_core.corpus.kinds.KINDS``.
    pictures : tuple of Picture
        Of some items that are not texts.
    """

    texts: int
    left_out: int
    scored: int
    prompted: bool
    notes: tuple[str, ...]
    doubt: str
    first: Mapping[str, tuple[str, ...]]
    kind: str = TEXT
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Outline:
    """A file before anybody has chosen its fields.

    Attributes
    ----------
    fields : tuple of str
        Columns, and dotted paths to nested values.
    guess : Fields or None
        The fields that names and contents suggest; None without a guess.
    problem : str
        Why there is no guess.
    look : Look or InputError or None
        The file under the guess; None without one.
    sources : mapping of str to Sources
        Columns that may name the source of each row. Of the rows, only the numbers are right, not the places.
    by : str or None
        The one of them of which a value names human texts.
    """

    fields: tuple[str, ...]
    guess: Fields | None
    problem: str
    look: Look | InputError | None
    sources: Mapping[str, Sources]
    by: str | None = None


@dataclass(frozen=True)
class ReadFile:
    """A comparable file with the reader's choices; ``look`` holds the number of items and whether they have prompts."""

    name: str
    file: TextFile
    look: Look
