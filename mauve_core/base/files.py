"""Where files are kept on disk, and how they are written: whole or not at all.

All data is under one folder (``MAUVE_LENS_HOME``, else the platform's user data folder). Only its owner can read it:
folders have mode 0700 and files 0600, whatever the umask. Files written elsewhere follow the umask. A file is written
beside its final place (``partial.py``), flushed to the disk, and renamed, so that a kill or a full disk never leaves
half of one; its folder is flushed, too, so that a power cut takes back nothing that was said to be stored.
"""

from __future__ import annotations

import errno
import hashlib
import os
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
from mauve_core.base.partial import file_for

HOME_VARIABLE = "MAUVE_LENS_HOME"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""Modes of folders and files below the home folder."""

SECRETS = "secrets.toml"
"""File below the home folder that its owner writes. Its mode is checked and never changed (``sharing.py``)."""

PARTS = frozenset(
    {"faults", "features", "jobs", "likelihoods", "models", "runs", "signed-out", "studies", "unfinished", "uploads"}
)
"""Folders that the program makes below its home folder."""

_OTHERS = 0o077


def home() -> Path:
    """Return the folder of runs, features and converted models; create it if missing, and close it to other users."""
    folder = _home()
    with storage_errors(folder):
        make_folder(folder)
        _close_home(folder.absolute())
    return folder


def _home() -> Path:
    configured = os.environ.get(HOME_VARIABLE)
    return Path(configured).expanduser() if configured else user_data_path("mauve-lens", appauthor=False)


def make_folder(folder: Path) -> None:
    """Create a folder of the program and its parents for their owner alone; leave existing ones alone."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder; OSError if it fails. Some systems flush no folders."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder of others, to which files may be written only
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until the disk holds a folder that was filled without flushing; OSError if it fails."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def move_folder(folder: Path, final: Path) -> Path:
    """Rename a folder whose content is on the disk, and wait until its move is, too; OSError as :meth:`Path.rename`."""
    moved = folder.rename(final)
    for parent in {folder.parent, final.parent}:
        sync_folder(parent)
    return moved


def close_to_others(folder: Path) -> None:
    """Remove all rights of group and others from a folder and its content, without following links.

    The folder itself comes last, so that its mode marks completion. Files of other owners, or on a read-only disk,
    stay as they are.
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
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 (for speed)
        if mode & _OTHERS:
            os.chmod(path, mode & ~_OTHERS)  # noqa: PTH101


@cache
def _close_home(folder: Path) -> None:
    """Close a home folder that an older version left open, once per process.

    If ``MAUVE_LENS_HOME`` names a folder that holds other things, only the program's own folders in it are closed.
    """
    names: set[str] = {SECRETS + "/"}  # if the folder cannot be read, close nothing
    with suppress(OSError), os.scandir(folder) as entries:
        names = {entry.name for entry in entries}
    for part in (folder / name for name in names & PARTS):
        if not part.is_symlink() and part.is_dir() and part.stat().st_mode & _OTHERS:
            close_to_others(part)
    if names <= PARTS | {SECRETS}:
        _close(folder)


def private_opener(path: str, flags: int) -> int:
    """Opener for ``open``: a new file is readable by its owner alone."""
    return os.open(path, flags, PRIVATE_FILE)


def is_private(path: Path) -> bool:
    """Return whether something is, or will be, below the home folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(_home()))


def require_plain_file(path: Path, what: str) -> int:
    """Return the size in bytes of an input file, checked before it is opened; messages call it ``what``.

    Reading a named pipe would block forever, and a device such as ``/dev/zero`` never ends. Links are followed.

    Raises
    ------
    InputError
        It is missing, cannot be reached, or is a folder, a named pipe, a socket or a device.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        reason = "it does not exist" if isinstance(error, FileNotFoundError) else _reason(error)
        raise InputError(f"The {what} {path} cannot be read: {reason}", todo="Check the path") from error
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _SPECIAL if is_kind(status.st_mode)), "not a regular file")
        raise InputError(
            f"The {what} {path} is {kind}",
            allowed="a regular file",
            todo="Save its contents to a file and pass that file",
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

    Below the home folder, only the owner can read the file; elsewhere the umask decides.

    Raises
    ------
    StorageError
        The disk is full or refuses, or ``path`` is a folder or a device, which a rename would replace for good where
        the system allows it; ``path`` is unchanged.
    """
    with storage_errors(path):
        if path.exists() and not path.is_file():
            raise StorageError(f"Cannot write {path}", allowed="a new file, or a regular one", todo="Give another path")
        private = is_private(path)
        make_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
        temporary, handle = file_for(path, PRIVATE_FILE if private else 0o666)
        try:
            with os.fdopen(handle, "wb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
                temporary.replace(path)  # while it is locked
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array as .npy, atomically and without pickle; raises like :func:`write_atomically`."""
    write_atomically(path, lambda stream: np.save(stream, array, allow_pickle=False))


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about ``path`` into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            wrong, todo = f"No space left while writing {path}", "Free some space and run the same command again"
        elif error.errno == errno.ENAMETOOLONG:
            raise StorageError(
                f"The name of {path} is too long for the file system", todo="Give a shorter one"
            ) from error
        else:
            wrong = f"Cannot read or write {path}: {error.strerror or error}"
            todo = "Check the disk and the folder's permissions"
        raise StorageError(wrong, todo=f"{todo}, or set {HOME_VARIABLE} to another folder") from error


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
