"""Where things lie on disk, and how they get there: whole or not at all.

Everything the program keeps lives under one folder (``MAUVE_LENS_HOME``, else the user's data folder of the platform).
A file is written beside its final place, flushed, and renamed, so that a kill or a full disk never leaves half of one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_data_path

from mauve_core.errors import InputError, StorageError

HOME_VARIABLE = "MAUVE_LENS_HOME"


def home() -> Path:
    """The folder of runs, features and converted models; made when it is missing."""
    configured = os.environ.get(HOME_VARIABLE)
    folder = Path(configured).expanduser() if configured else user_data_path("mauve-lens", appauthor=False)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def require_plain_file(path: Path, what: str) -> int:
    """Size in bytes of a file that was handed in, seen before it is opened.

    A named pipe would be waited for without end, and a device such as ``/dev/zero`` never ends. Links are followed.

    Parameters
    ----------
    path : Path
    what : str
        What the file was to be, for the message: "feature file", "archive of a run".

    Raises
    ------
    InputError
        There is none, it cannot be reached, or it is a folder, a named pipe, a socket or a device.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else _reason(error)
        raise InputError(f"The {what} {path} cannot be read: {reason}", todo="Check the path") from error
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _SPECIAL if is_kind(status.st_mode)), "no plain file")
        raise InputError(
            f"The {what} {path} is {kind}", allowed="a plain file", todo="Save its content to a file, and give that"
        )
    return status.st_size


_SPECIAL: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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
