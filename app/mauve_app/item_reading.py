"""What reads files of items that are not texts: it runs in a process of its own, so that no image of a stranger's fills
the memory of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mauve_app.looks import Look, Picture
from mauve_core.base.progress import Progress
from mauve_core.corpus import Corpus
from mauve_core.corpus.kinds import kind_at, kind_of, parse_perturbation
from mauve_core.corpus.media import SIDES, Media, Thumbnails
from mauve_core.images.perturbing import perturbed_picture

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
