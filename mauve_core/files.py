"""Where things lie on disk, and how they get there: whole or not at all.

Everything the program keeps lives under one folder (``MAUVE_LENS_HOME``, else the user's data folder of the platform).
A file is written beside its final place, flushed, and renamed, so that a kill or a full disk never leaves half of one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_data_path

from mauve_core.errors import StorageError

HOME_VARIABLE = "MAUVE_LENS_HOME"


def home() -> Path:
    """The folder of runs, features and converted models; made when it is missing."""
    configured = os.environ.get(HOME_VARIABLE)
    folder = Path(configured).expanduser() if configured else user_data_path("mauve-lens", appauthor=False)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Call ``write`` on a temporary file beside ``path``, then rename it into place.

    Raises
    ------
    StorageError
        The disk is full or refuses; ``path`` is as it was before.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with temporary.open("xb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array as .npy, atomically and without pickle; StorageError as :func:`write_atomically`."""
    write_atomically(path, lambda stream: np.save(stream, array, allow_pickle=False))


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals about ``path`` into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            wrong, todo = f"No space left while writing {path}", "Free some space and run the same command again"
        else:
            wrong, todo = f"Cannot write {path}: {error.strerror or error}", "Check the folder's permissions"
        raise StorageError(wrong, todo=f"{todo}, or set {HOME_VARIABLE} to another folder") from error


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
