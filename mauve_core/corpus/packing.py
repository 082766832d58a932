"""Open compressed files as streams of bytes; the last suffix of a name says how the file is compressed.

Sources: RFC 1952 (gzip), RFC 8878 (Zstandard). Zstandard is part of Python from 3.14; before that, the package
``backports.zstd`` brings the same module.
"""

from __future__ import annotations

import bz2
import gzip
import sys
import zlib
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from mauve_core.base.errors import InputError

# Name of each compression by its suffix, in any case.
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard"}

ZSTANDARD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def packing_of(path: Path) -> str:
    """Return the suffix, in lower case, that says how the file is compressed; empty if none does."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKINGS else ""


def opened(path: Path, packing: str, stream: IO[bytes] | None = None) -> IO[bytes]:
    """Open the file as a stream of bytes, unpacked if ``packing`` is one of ``PACKINGS``.

    ``stream`` is the file itself if it is open already.

    Raises
    ------
    InputError
        The file is compressed with Zstandard, and the package that reads it is not installed.
    OSError
        The file cannot be opened. Reading raises one of ``damages()``, or OSError, for damaged content.
    """
    source = path if stream is None else stream
    if packing == ".gz":
        return gzip.open(source, "rb")  # type: ignore[return-value]
    if packing == ".bz2":
        return bz2.open(source, "rb")
    if packing == ".zst":
        return zstandard(path).open(source, "rb")  # type: ignore[no-any-return]
    return path.open("rb") if stream is None else stream


def zstandard(path: Path) -> Any:
    """Return the module that reads Zstandard; InputError, which names the file and the package, without one."""
    try:
        return import_module(ZSTANDARD)
    except ImportError as error:
        raise InputError(
            f"{path} is compressed with Zstandard, which needs a package that is not installed",
            todo="Install it: pip install backports.zstd; or unpack the file: zstd -d FILE",
        ) from error


def damages() -> tuple[type[Exception], ...]:
    """Return the errors, other than OSError, that say that compressed content is cut off or damaged."""
    module = sys.modules.get(ZSTANDARD)
    return (EOFError, zlib.error, *([module.ZstdError] if module else []))
