"""What a page knows of an uploaded file: its fields, what it holds under some of them, and some of its pictures.

Files of items that are not texts are read in a process of its own (:mod:`mauve_core.jobs.aside`), so that no image of a
stranger's fills the memory of the server. That process imports this module, which therefore imports no Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mauve_core.base.config import TEXT
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress
from mauve_core.images.perturbing import perturbed_picture
from mauve_core.texts import Corpus
from mauve_core.texts.building import Sources
from mauve_core.texts.fields import Fields
from mauve_core.texts.kinds import kind_at, kind_of, parse_perturbation
from mauve_core.texts.media import SIDES, Media, Thumbnails
from mauve_core.texts.text_files import TextFile


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
        Of the items, one of ``mauve_core.base.config.KINDS``.
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


def read(kind: str, path: str, field: str | None, progress: Progress) -> Items:
    """Read a file of items of a kind; InputError if it cannot be read or none of them can be used."""
    fields = {} if field is None else {"text_field": field}
    corpus = kind_of(kind).read(path, name=None, fields=fields, progress=progress)
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
    return Items(look, bare(corpus))


def bare(corpus: Corpus) -> Corpus:
    """The corpus without its pictures and metadata."""
    media = None if corpus.media is None else Media(corpus.media.digests, Thumbnails())
    return replace(corpus, metadata=corpus.metadata[[]], media=media)


def kind_in(path: str, field: str | None, progress: Progress) -> str:  # noqa: ARG001 (nothing to report)
    """The name of the kind of the items of a file, or of one field of it."""
    return kind_at(path, field).name


def columns_in(path: str, progress: Progress) -> tuple[str, ...]:  # noqa: ARG001 (nothing to report)
    """The columns of a table that hold items of its kind."""
    return kind_at(path).columns(Path(path))


def perturbed(corpus: Corpus, spec: str, seed: int, progress: Progress) -> tuple[bytes, ...]:
    """Pictures in WebP of all images of a corpus after a perturbation; errors as :func:`perturbed_picture`."""
    found = []
    for index in range(len(corpus)):
        progress("Perturbing images", index, len(corpus))
        found.append(perturbed_picture(corpus, index, parse_perturbation(spec), seed, SIDES[-1]))
    return tuple(found)


def _pictures(corpus: Corpus, media: Media) -> tuple[Picture, ...]:
    shown = range(0, len(corpus), max(1, -(-len(corpus) // PICTURES)))
    return tuple(Picture(media.picture(i, SIDES[0]), f"{corpus.ids[i]}: {corpus.texts[i]}") for i in shown)
