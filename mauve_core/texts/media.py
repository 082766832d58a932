"""What stands for items that are not text: a digest of each, and the small pictures shown of them.

The pictures are WebP files in one zip archive, stored as they are, each named by the digest of its item and the pixels
of its longer side. While items are read, the archive is a file without a name, which goes with the process; a run
keeps a copy, so that it can be moved without the items.
"""

from __future__ import annotations

import re
import tempfile
import weakref
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Protocol

from mauve_core.base.archives import DAMAGES, open_zip
from mauve_core.base.errors import InputError, StorageError, library_errors, words_of
from mauve_core.base.files import open_regular, write_atomically

# Pixels of the longer side: in a sheet, and alone.
SIDES = (96, 256)

# Of a picture in an archive that came from elsewhere.
MOST_BYTES = 400_000

_MEMBER = re.compile(r"(\d{2,3})/([0-9a-f]{64})\.webp")


class Thumbnails:
    """Small pictures of items, in one archive.

    Parameters
    ----------
    path : Path, optional
        An archive that exists. Without it, the archive is new and has no name.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._new: IO[bytes] | None = None
        if path is None:
            self._new = tempfile.TemporaryFile(prefix="mauve-lens-")  # noqa: SIM115 (open as long as this object)
            self._archive = zipfile.ZipFile(self._new, "w")
            weakref.finalize(self, _close, self._archive, self._new)

    def __reduce__(self) -> tuple[type[Thumbnails], tuple[Path | None]]:
        """For another process; of a new archive, which is this one's alone, it has none of the pictures."""
        return Thumbnails, (self.path,)

    @cached_property
    def _opened(self) -> zipfile.ZipFile:
        """The archive for reading; its directory is read once."""
        if self._new is not None:
            self._archive.close()
        try:
            if self._new is not None:
                return open_zip(self._new)
            stored = open_regular(Path(self.path or ""))
            weakref.finalize(self, stored.close)
            return open_zip(stored)
        except (OSError, *DAMAGES) as error:
            raise StorageError(f"The thumbnails {self.path} cannot be read: {words_of(error)}") from error

    @cached_property
    def members(self) -> frozenset[str]:
        """Return the names of all pictures, such as ``96/<digest>.webp``."""
        return frozenset(self._opened.namelist())

    def add(self, digest: str, pictures: Iterable[bytes]) -> None:
        """Add an item's pictures, one for each of ``SIDES``; not after the first has been read."""
        for side, data in zip(SIDES, pictures, strict=True):
            self._archive.writestr(_member(side, digest), data)

    def get(self, digest: str, side: int) -> bytes:
        """Return the picture of an item in WebP.

        Raises
        ------
        KeyError
            The archive has none for it.
        StorageError
            The archive is damaged.
        """
        try:
            return self._opened.read(_member(side, digest))
        except KeyError:
            raise
        except (OSError, RuntimeError, *DAMAGES) as error:
            raise StorageError(f"The thumbnails {self.path} are damaged: {words_of(error)}") from error

    def write(self, path: Path, digests: Iterable[str]) -> None:
        """Write the pictures of these items, each once, to a new archive; StorageError if the disk refuses."""

        def pack(stream: IO[bytes]) -> None:
            with zipfile.ZipFile(stream, "w") as archive:
                for digest in dict.fromkeys(digests):
                    for side in SIDES:
                        name = zipfile.ZipInfo(_member(side, digest))  # of a fixed time: equal pictures, equal bytes
                        archive.writestr(name, self.get(digest, side))

        write_atomically(path, pack)

    def require_usable(self, digests: Iterable[str]) -> None:
        """Check an archive that came from elsewhere: all pictures are there, nothing else, each small and a WebP.

        Raises
        ------
        InputError, StorageError
            It is not so; the words name the picture.
        """
        expected = {_member(side, digest) for digest in digests for side in SIDES}
        if self.members != expected or len(self._opened.infolist()) != len(expected):
            odd = ", ".join(sorted(self.members ^ expected)[:3])
            raise InputError(f"missing or unexpected thumbnails: {odd or 'one twice'}"[:500])
        for member in self._opened.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > MOST_BYTES:
                raise InputError(f"The thumbnail {member.filename} is packed or has more than {MOST_BYTES:,} bytes")
            side = int(member.filename.partition("/")[0])
            _require_webp(self.get(member.filename[-69:-5], side), side, member.filename)


class Alteration(Protocol):
    """What becomes of every item of a corpus before it is encoded."""

    @property
    def key(self) -> str:
        """What decides its results besides the item."""

    def __call__(self, item: Any, digest: str, /) -> Any:
        """Return the altered item; the digest is that of its file."""

    def made(self, digest: str) -> Any | None:
        """Return the altered item of that digest if it is at hand, which spares reading the item."""


@dataclass(frozen=True, eq=False)
class Media:
    """The items of a corpus that are not text, in the order of its rows.

    Attributes
    ----------
    digests : tuple of str
        SHA-256 of each item's file, in hexadecimal.
    thumbnails : Thumbnails
    alteration : Alteration or None
        Of each item when it is encoded; digests and thumbnails remain those of the originals. It is not stored.
    """

    digests: tuple[str, ...]
    thumbnails: Thumbnails
    alteration: Alteration | None = None

    def take(self, positions: Iterable[int]) -> Media:
        """Return those at some positions; the thumbnails are shared."""
        return replace(self, digests=tuple(self.digests[i] for i in positions))

    def picture(self, index: int, side: int) -> bytes:
        """Return the picture of the item at a position, in WebP; as :meth:`Thumbnails.get`."""
        return self.thumbnails.get(self.digests[index], side)


def archive_beside(table: Path) -> Path:
    """Return the path of the thumbnails that belong to a stored corpus."""
    return table.with_suffix(".thumbnails.zip")


def digest_and_side(member: str) -> tuple[str, int] | None:
    """Return what a picture's name says, such as ``96/<digest>.webp``; None if it is no such name."""
    found = _MEMBER.fullmatch(member)
    return None if found is None or int(found[1]) not in SIDES else (found[2], int(found[1]))


def _close(*opened: IO[bytes] | zipfile.ZipFile) -> None:
    for each in opened:
        each.close()


def _member(side: int, digest: str) -> str:
    return f"{side}/{digest}.webp"


def _require_webp(data: bytes, side: int, name: str) -> None:
    """Raise InputError unless it is one still picture of at most that many pixels a side, by its header."""
    from PIL import Image

    with (
        library_errors(lambda error: InputError(f"The thumbnail {name} is no WebP picture: {words_of(error)}")),
        Image.open(BytesIO(data), formats=("WEBP",)) as image,
    ):
        if max(image.size) > side or getattr(image, "n_frames", 1) > 1:
            raise InputError(f"The thumbnail {name} is larger than its name says, or moves")
