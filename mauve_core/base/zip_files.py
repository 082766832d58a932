"""Zip archives of other people: a directory that is bounded as it is read, and every error that damage can raise."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from typing import IO, Any, cast

# What opening a damaged archive or reading a damaged member raises, besides OSError, and RuntimeError for a password;
# ``bz2`` raises the former.
DAMAGES = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
)

# Most bytes of a directory: each entry has 46 at least, and takes ten times as many in memory.
DIRECTORY_BYTES = 32 << 20


class _Bounded:
    """A stream that reads at most ``most`` bytes at once; None for any number."""

    def __init__(self, stream: IO[bytes], most: int | None) -> None:
        self._stream, self.most = stream, most

    def read(self, size: int = -1, /) -> bytes:
        if self.most is not None and size > self.most:
            raise zipfile.BadZipFile(f"its file list takes {size:,} bytes; at most {self.most:,} are allowed")
        return self._stream.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_zip(stream: IO[bytes], most: int | None = None, module: Any = zipfile) -> zipfile.ZipFile:
    """Open an archive whose directory has at most so many bytes, by default ``DIRECTORY_BYTES``; ``module`` is zipfile
    or one that stands in for it.

    The directory is read at once, so its size is known before it takes memory. Closing the archive leaves the stream
    open.

    Raises
    ------
    zipfile.BadZipFile
        The directory is larger, or the stream holds no archive.
    """
    bounded = _Bounded(stream, DIRECTORY_BYTES if most is None else most)
    archive = module.ZipFile(cast(IO[bytes], bounded))
    bounded.most = None
    return cast(zipfile.ZipFile, archive)
