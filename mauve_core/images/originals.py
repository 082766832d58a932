"""The original of an image of a corpus: read from where it lies, and refused if it has changed since it was read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from PIL import Image

from mauve_core.base.errors import InputError
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.media import Alteration
from mauve_core.images.decoding import ImageRefusedError, decoded
from mauve_core.images.files import ImagePlace


@contextmanager
def original(place: ImagePlace, name: str, digest: str) -> Iterator[Image.Image]:
    """Hold the pixels of an image, and room for them and a copy or two, while a block runs.

    Parameters
    ----------
    place : ImagePlace
        Of its corpus: ``mauve_core.images.tables.place_of(corpus)``.
    name : str
        Its id.
    digest : str
        SHA-256 of its file, in hexadecimal.

    Raises
    ------
    InputError
        It has gone or changed since it was read.
    """
    with ExitStack() as held:
        try:
            data = held.enter_context(place.content(name))
        except ImageRefusedError as error:
            raise InputError(
                f"The image {name!r} is no longer where it was read", todo="Put it back, or read the images again"
            ) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise InputError(f"The image {name!r} has changed since it was read", todo="Read the images again")
        yield held.enter_context(decoded(data, name)).pixels


def digests_of(corpus: Corpus) -> tuple[str, ...]:
    """Return the digests of a corpus of images; InputError if it holds other items."""
    if corpus.media is None or corpus.kind != "image":
        raise InputError(f"The corpus {corpus.name!r} has no images", received=corpus.kind)
    return corpus.media.digests


def alteration_of(corpus: Corpus) -> Alteration | None:
    """Return what becomes of each image before it is encoded; None if it stays as it is."""
    return None if corpus.media is None else corpus.media.alteration
