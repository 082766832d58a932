"""Where things lie on disk, and how they get there: whole or not at all.

Everything the program keeps lives under one folder (``MAUVE_LENS_HOME``, else the user's data folder of the platform),
which its owner alone may read: folders have mode 0700 and files 0600, whatever the umask. What is written elsewhere
follows the umask. A file is written beside its final place, flushed, and renamed, so that a kill or a full disk never
leaves half of one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_data_path

from mauve_core.base.errors import InputError, StorageError

HOME_VARIABLE = "MAUVE_LENS_HOME"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""Modes of what the program keeps."""

SECRETS = "secrets.toml"
"""File below the home folder that its owner writes; its mode is checked and never changed (``sharing.py``)."""

PARTS = frozenset(
    {"features", "jobs", "likelihoods", "models", "runs", "signed-out", "studies", "unfinished", "uploads"}
)
"""Folders that the program makes below its home folder."""

_OTHERS = 0o077


def home() -> Path:
    """The folder of runs, features and converted models; made when it is missing, and closed to other users."""
    folder = _home()
    with storage_errors(folder):
        make_folder(folder)
        _close_home(folder.absolute())
    return folder


def _home() -> Path:
    configured = os.environ.get(HOME_VARIABLE)
    return Path(configured).expanduser() if configured else user_data_path("mauve-lens", appauthor=False)


def make_folder(folder: Path) -> None:
    """Make a folder of the program, and those that lead to it, for their owner alone; one that is there stays."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Take every right of the group and of others from a folder and what lies in it; links are not followed.

    The folder itself comes last, so that its mode says that all is done. What belongs to somebody else, or lies on a
    disk that cannot be written, stays as it is.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                close_to_others(Path(entry.path))
            elif not entry.is_symlink():
                _close(entry.path)
    _close(folder)


def _close(path: str | Path) -> None:
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 (as quick as can be)
        if mode & _OTHERS:
            os.chmod(path, mode & ~_OTHERS)  # noqa: PTH101


@cache
def _close_home(folder: Path) -> None:
    """Close a home that an older version left open, once a process.

    Only the program's own folders: the variable may name a folder that holds other things, and that one stays open.
    """
    names: set[str] = {SECRETS + "/"}  # none of ours, where it cannot be read
    with suppress(OSError), os.scandir(folder) as entries:
        names = {entry.name for entry in entries}
    for part in (folder / name for name in names & PARTS):
        if not part.is_symlink() and part.is_dir() and part.stat().st_mode & _OTHERS:
            close_to_others(part)
    if names <= PARTS | {SECRETS}:
        _close(folder)


def private_opener(path: str, flags: int) -> int:
    """For ``open``: a file that is made by it is for its owner alone."""
    return os.open(path, flags, PRIVATE_FILE)


def is_private(path: Path) -> bool:
    """Whether something lies, or is about to, below the home folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(_home()))


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

    Below the home folder the file is for its owner alone, elsewhere as the umask says.

    Raises
    ------
    StorageError
        The disk is full or refuses; ``path`` is as it was before.
    """
    with storage_errors(path):
        private = is_private(path)
        make_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            mode = PRIVATE_FILE if private else 0o666
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
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
