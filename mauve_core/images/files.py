"""Where images lie: the files below a folder, or in a zip archive, each with its name and a way to its bytes.

Tables are in :mod:`mauve_core.images.tables`. Links to folders are not followed, links to files outside the folder are
refused, hidden files are skipped, and an archive is never unpacked to disk. A file or member longer than an image may
be is not read. The original of an image of a corpus is refused if it has changed since it was read.
"""

from __future__ import annotations

import hashlib
import os
import weakref
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

from PIL import Image

from mauve_core.base.archives import DAMAGES, open_zip
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import open_regular
from mauve_core.images.decoding import FILES, IMAGE_SUFFIXES, ImageRefusedError, decoded, require_bytes
from mauve_core.texts import limits, streams
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.media import Alteration
from mauve_core.texts.streams import COPY_IT, leads_outside, spelled_out

# Of images that are not read; such a file is counted as left out, with the reason, and not as another file.
UNREAD_SUFFIXES = (".heic", ".heif", ".avif", ".bmp", ".svg", ".jxl", ".jp2", ".ico", ".psd")

GONE = "Put it there, or store the images in a zip archive or in the cells of a Parquet file"

_KINDS_NAMED = 5


class ImagePlace(Protocol):
    """A folder, an archive or a table of images."""

    @property
    def path(self) -> Path: ...

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of the images inside, with slashes, sorted; ids of a table, in the order of its rows."""

    @property
    def others(self) -> Counter[str]:
        """Number of other files by suffix."""

    def label(self, name: str) -> str:
        """What messages call an image."""
        ...

    def levels(self, name: str) -> tuple[str, ...]:
        """The folders of an image, from the outermost."""
        ...

    def content(self, name: str) -> AbstractContextManager[bytes]:
        """Hold an image's bytes, and room for them, while a block runs; ImageRefusedError if they cannot be had."""
        ...


class _NamedByPath:
    """Images that are called by their paths."""

    def label(self, name: str) -> str:
        return name

    def levels(self, name: str) -> tuple[str, ...]:
        return folder_levels(name)


@dataclass(frozen=True)
class Folder(_NamedByPath):
    """Images below a folder."""

    path: Path
    names: tuple[str, ...]
    others: Counter[str]

    @contextmanager
    def content(self, name: str) -> Iterator[bytes]:
        inside, path = PurePosixPath(name), self.path / name
        if inside.is_absolute() or ".." in inside.parts:  # as no name read here is, but a stored one may be
            raise ImageRefusedError(spelled_out(name), "is outside its folder", "unreadable")
        with ExitStack() as held:
            try:
                if leads_outside(self.path, path):
                    raise ImageRefusedError(
                        spelled_out(name), "is a link to a file outside its folder", "unreadable", todo=COPY_IT
                    )
                stream = held.enter_context(open_regular(path))
                size = os.fstat(stream.fileno()).st_size
                require_bytes(size, spelled_out(name))
                held.enter_context(FILES.taken(size))
                data = stream.read(size)
            except ImageRefusedError:
                raise
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or words_of(error)
                todo = GONE if isinstance(error, FileNotFoundError) else ""
                raise ImageRefusedError(spelled_out(name), f"cannot be read: {why}", "unreadable", todo=todo) from error
            yield data


@dataclass(frozen=True)
class Archive(_NamedByPath):
    """Images in a zip archive."""

    path: Path
    names: tuple[str, ...]
    others: Counter[str]

    @cached_property
    def _opened(self) -> zipfile.ZipFile:
        """Its directory is read once, not for each image; members may be read by several threads at once."""
        stream = self.path.open("rb")
        weakref.finalize(self, stream.close)
        return open_zip(stream)

    @contextmanager
    def content(self, name: str) -> Iterator[bytes]:
        with ExitStack() as held:
            try:
                size = self._opened.getinfo(name).file_size
                require_bytes(size, name)
                held.enter_context(FILES.taken(size))
                with self._opened.open(name) as stream:
                    data = stream.read()  # no more than the directory says
            except ImageRefusedError:
                raise
            except NotImplementedError as error:  # a method of compression; it is a RuntimeError, too
                raise ImageRefusedError(name, f"cannot be unpacked: {words_of(error)}", "unreadable") from error
            except RuntimeError as error:  # what zipfile raises for a password
                raise ImageRefusedError(
                    name, "is encrypted", "unreadable", todo="Store the archive without a password"
                ) from error
            except (OSError, *DAMAGES) as error:
                raise ImageRefusedError(name, f"cannot be unpacked: {words_of(error)}", "unreadable") from error
            yield data


def images_at(path: Path) -> ImagePlace:
    """Find the images of a folder or zip archive, by their suffixes.

    Raises
    ------
    InputError
        There is nothing there, no image, more images than the limit on rows, or the archive is damaged.
    """
    if path.is_dir():
        found: ImagePlace = Folder(path, *_sorted(path, _files_below(path)))
    elif path.is_file():
        found = Archive(path, *_sorted(path, _members_of(path)))
    else:
        raise InputError(f"There is no file or folder {path}", todo="Check the name and the folder")
    if not found.names:
        kinds = ", ".join(
            f"{count:,} {suffix or 'without suffix'}" for suffix, count in found.others.most_common(_KINDS_NAMED)
        )
        todo = "" if path.is_dir() else "Unpack an archive of texts: a file of texts is read by itself"
        raise InputError(
            f"{path} holds no images", allowed=", ".join(IMAGE_SUFFIXES), received=kinds or "no files", todo=todo
        )
    return found


def place_at(path: Path) -> ImagePlace:
    """Return the folder or archive without looking for its images; InputError if it is gone."""
    if not path.exists():
        raise InputError(
            f"The images are no longer at {path}", todo="Put the folder or archive back, or read them anew"
        )
    return Folder(path, (), Counter()) if path.is_dir() else Archive(path, (), Counter())


def folder_levels(name: str) -> tuple[str, ...]:
    """The folders of an image, from the outermost: ``cats/indoors/1.png`` is in ``cats`` and ``indoors``."""
    return PurePosixPath(name).parts[:-1]


def _sorted(path: Path, names: Iterator[str]) -> tuple[tuple[str, ...], Counter[str]]:
    """The names of images in order, and the other files by suffix."""
    wanted, others, most = list[str](), Counter[str](), limits.rows()
    for name in names:
        inside = PurePosixPath(name)
        if any(part.startswith(".") for part in inside.parts) or "__MACOSX" in inside.parts:
            continue
        suffix = inside.suffix.lower()
        if suffix not in IMAGE_SUFFIXES + UNREAD_SUFFIXES:
            others[suffix] += 1
            continue
        wanted.append(name)
        if len(wanted) > most:
            raise limits.too_many_rows(path, most)
    return tuple(sorted(wanted)), others


def _files_below(folder: Path) -> Iterator[str]:
    for below, folders, files in os.walk(folder):
        folders.sort()
        for file in files:
            whole = Path(below) / file
            if whole.is_file():
                yield whole.relative_to(folder).as_posix()


def _members_of(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as stream, open_zip(stream) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (OSError, RuntimeError, *DAMAGES) as error:
        raise InputError(
            f"{path} is no zip archive that can be read",
            allowed="a folder or a .zip of images",
            received=words_of(error),
        ) from error
    most = max(streams.RATIO_FROM, streams.PACKED_RATIO * path.stat().st_size)
    total = sum(member.file_size for member in members)
    if total > most:
        raise InputError(
            f"{path} unpacks to far more than images do",
            allowed=f"at most {most:,} bytes",
            received=f"{total:,} bytes",
            todo="Leave out what is no image, or unpack the archive and name its folder",
        )
    return (member.filename for member in members)


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
