"""Read images of a folder, archive or table: which are usable, what each looks like, what was left out or converted.

Originals stay where they are. Images are decoded by several threads, one at a time each, and thumbnails go to a file,
so memory does not grow with their number but for a digest and properties of each.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.corpus.entries import EXAMPLES, Exclusion, exclusions_by_reason, repeats_among
from mauve_core.corpus.media import SIDES, Thumbnails
from mauve_core.images.decoding import ImageRefusedError, decoded
from mauve_core.images.describing import description
from mauve_core.images.files import ImagePlace, images_at
from mauve_core.images.properties import mean_color, properties_of
from mauve_core.images.thumbnails import thumbnail

STAGE = "Reading images"
# Images decoded at once, of the larger ones as many as there is room for.
THREADS = 4


@dataclass(frozen=True, eq=False)
class ReadImage:
    """A usable image.

    Attributes
    ----------
    name : str
        Its path in the folder or archive, or its id in the table.
    digest : str
        SHA-256 of its file, in hexadecimal.
    levels : tuple of str
        The folders that it is in, from the outermost.
    properties : dict of str to float
        As in ``mauve_core.images.properties``.
    words : str
        As in ``mauve_core.images.describing``.
    changes : tuple of str
        What was converted when it was decoded.
    """

    name: str
    digest: str
    levels: tuple[str, ...]
    properties: dict[str, float]
    words: str
    changes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReadImages:
    """All usable images of a folder, archive or table.

    Attributes
    ----------
    place : ImagePlace
        Where their bytes are.
    images : tuple of ReadImage
        At least one, in the order of the place's names.
    thumbnails : Thumbnails
        Of all images.
    exclusions : tuple of Exclusion
        Images that cannot be used, by reason.
    notes : tuple of str
        What a reader must know: conversions, duplicates, other files.
    """

    place: ImagePlace
    images: tuple[ReadImage, ...]
    thumbnails: Thumbnails
    exclusions: tuple[Exclusion, ...]
    notes: tuple[str, ...]


def read_images(path: str | Path, progress: Progress = silent) -> ReadImages:
    """Read the images below a folder or in a zip archive.

    Parameters
    ----------
    path : str or Path
    progress : callable
        As for :func:`read_place`.

    Raises
    ------
    InputError
        As :func:`mauve_core.images.files.images_at` and :func:`read_place`.
    """
    return read_place(images_at(Path(path)), progress)


def read_place(place: ImagePlace, progress: Progress = silent) -> ReadImages:
    """Read the images of a folder, an archive or a table.

    Parameters
    ----------
    place : ImagePlace
    progress : callable
        Called as ``progress("Reading images", images done, images)``.

    Raises
    ------
    InputError
        None of the images can be used, with the reason of the first; or a table is damaged.
    """
    done = counted(progress, STAGE, len(place.names))
    images, refused, thumbnails = list[ReadImage](), list[ImageRefusedError](), Thumbnails()
    drawn = set[str]()
    for found in _in_threads(place):
        if isinstance(found, ImageRefusedError):
            refused.append(found)
        else:
            image, pictures = found
            images.append(image)
            if image.digest not in drawn:
                drawn.add(image.digest)
                thumbnails.add(image.digest, pictures)
        done()
    if not images:
        wrong = f"No image of {place.path} can be used"
        raise InputError(wrong, received=f"{len(refused):,} images", todo=str(refused[0]))
    exclusions = _exclusions(refused)
    return ReadImages(place, tuple(images), thumbnails, exclusions, _notes(place, images, exclusions))


# An image and its thumbnails, or why there is none.
_Read = tuple[ReadImage, tuple[bytes, ...]] | ImageRefusedError


def _read(place: ImagePlace, name: str) -> _Read:
    try:
        with place.content(name) as data, decoded(data, place.label(name)) as picture:
            levels, properties = place.levels(name), properties_of(picture.pixels)
            properties |= dict(zip(("width", "height"), map(float, picture.size), strict=True))
            words = description(properties, levels, mean_color(picture.pixels))
            image = ReadImage(name, hashlib.sha256(data).hexdigest(), levels, properties, words, picture.changes)
            return image, tuple(thumbnail(picture.pixels, side) for side in SIDES)
    except ImageRefusedError as refusal:
        return refusal


def _in_threads(place: ImagePlace) -> Iterator[_Read]:
    """The images in the order of their names; no more are read ahead than there are threads."""
    names = iter(place.names)
    with ThreadPoolExecutor(THREADS) as pool:
        pending = deque(pool.submit(_read, place, name) for name in islice(names, THREADS))
        while pending:
            yield pending.popleft().result()
            pending.extend(pool.submit(_read, place, name) for name in islice(names, 1))


def _exclusions(refused: Sequence[ImageRefusedError]) -> tuple[Exclusion, ...]:
    return exclusions_by_reason((each.kind, f"{each.name} {each.reason}") for each in refused)


def _notes(place: ImagePlace, images: Sequence[ReadImage], exclusions: Sequence[Exclusion]) -> tuple[str, ...]:
    changes = Counter(change for image in images for change in image.changes)
    notes = [f"{exclusion}." for exclusion in exclusions]
    notes += [f"{count:,} of {len(images):,} images {change}." for change, count in changes.items()]
    notes += repeats_among([image.name for image in images], [image.digest for image in images], "images")
    if place.others:
        kinds = ", ".join(
            f"{count:,} {suffix or 'without suffix'}" for suffix, count in place.others.most_common(EXAMPLES)
        )
        notes.append(f"Files of other kinds are not read: {kinds}.")
    return tuple(notes)
