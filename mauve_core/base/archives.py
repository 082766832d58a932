"""Zip archives and NumPy's .npy and .npz files that may be damaged or malicious.

An archive's directory is bounded as it is read. The header of an array is a Python literal and may promise 10^30 rows,
or not be a header at all; NumPy then raises whatever the parser, the allocator or the operating system raises. Sizes
are therefore checked before memory is allocated, nothing is unpickled, and all damage of an array is a ValueError.

Source: numpy.lib.format (the .npy format, versions 1.0 and 2.0).
"""

from __future__ import annotations

import lzma
import math
import struct
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import words_of
from mauve_core.base.files import open_regular

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


_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# NumPy kinds that a file may hold: numbers, Booleans, text.
_KINDS = "fiubcU"

_LONGEST_HEADER = 1 << 16
_NO_HEADER = "its header is not that of an array"

# Held while NumPy parses a header. Before Python 3.11.8, two threads that parse literals at once may raise SystemError
# ("AST constructor recursion depth mismatch", https://github.com/python/cpython/issues/106905).
_PARSING = threading.Lock()

_Header = tuple[tuple[int, ...], bool, np.dtype[Any]]


def load_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Return the array in a .npy file.

    Parameters
    ----------
    path : Path
    mapped : bool
        Return a read-only memory map without reading any data.

    Raises
    ------
    OSError
        The file is missing or cannot be read.
    ValueError
        It is not a regular file, holds no array of numbers, Booleans or text, or holds less than its header promises.
    """
    with open_regular(path) as stream, _damage():
        size = stream.seek(0, 2)
        stream.seek(0)
        shape, by_columns, dtype = _header(stream, size)
        offset, order = stream.tell(), "F" if by_columns else "C"
        if mapped and 0 not in shape:
            return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)  # type: ignore[call-overload, no-any-return]
        return np.fromfile(stream, dtype=dtype, count=math.prod(shape)).reshape(shape, order=order)  # type: ignore[call-overload, no-any-return]


def load_arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays in a .npz file by name, as ``numpy.savez`` writes it; if there are ``names``, only theirs.

    Raises
    ------
    OSError
        The file is missing or cannot be read.
    ValueError
        It is not a regular file or not an archive, is compressed, or holds something that :func:`load_array` refuses.
    """
    found = {}
    with open_regular(path) as stream, _damage(), open_zip(stream) as archive:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED or not info.filename.endswith(".npy"):
                raise ValueError(f"it holds {info.filename!r}, which is compressed or not an array")
            if names and info.filename.removesuffix(".npy") not in names:
                continue
            with archive.open(info) as member:
                shape, by_columns, dtype = _header(member, min(info.file_size, info.compress_size))
                values = np.frombuffer(bytearray(member.read()), dtype=dtype, count=math.prod(shape))
            found[info.filename.removesuffix(".npy")] = values.reshape(shape, order="F" if by_columns else "C")
    return found


def _header(stream: IO[bytes], size: int) -> _Header:
    """Return shape, order and type of the array, after checking that all its data is there."""
    version = np.lib.format.read_magic(stream)
    if version not in _READERS:
        raise ValueError(f"it is a .npy file of version {version}, not 1.0 or 2.0")
    if version == (2, 0):  # NumPy reads the declared length before it rejects it as too long
        begins = stream.tell()
        if int.from_bytes(stream.read(4), "little") > _LONGEST_HEADER:
            raise ValueError(f"its header is longer than {_LONGEST_HEADER:,} bytes")
        stream.seek(begins)
    try:
        with _PARSING:
            shape, by_columns, dtype = _READERS[version](stream)
    except ValueError as error:  # its words show objects of Python's parser
        raise ValueError(_NO_HEADER) from error
    if dtype.kind not in _KINDS or dtype.subdtype is not None:
        what = "Python objects" if dtype.hasobject else f"values of type {dtype}"
        raise ValueError(f"it holds {what}; only numbers, booleans and text are allowed")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"its header declares an array of shape {shape}")
    promised, available = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if promised > available:
        raise ValueError(f"its header declares {promised:,} bytes, but it holds {available:,}")
    return shape, by_columns, dtype


@contextmanager
def _damage() -> Iterator[None]:
    """Turn whatever damaged headers and archives raise into a ValueError."""
    try:
        yield
    except ValueError:
        raise
    except (SyntaxError, tokenize.TokenError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(_NO_HEADER) from error
    except (RuntimeError, *DAMAGES) as error:
        raise ValueError(f"it is not an array file: {words_of(error)}") from error
