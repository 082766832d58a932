"""Where files are kept on disk, and how they are written: whole or not at all.

All data is under one folder (``MAUVE_LENS_HOME``, else the platform's user data folder). Only its owner can read it:
folders have mode 0700 and files 0600, whatever the umask. Files written elsewhere follow the umask. A file is written
under a hidden name in the folder of its final place, flushed to the disk, and renamed, so that a kill or a full disk
never leaves half of one; its folder is flushed, too, so that a power cut takes back nothing that was said to be stored.
Its writer holds a lock of the system (flock), which ends with the process, however that ends. So a hidden file that
nobody holds was left behind, whatever its age and the clock say.

A stored file is opened by :func:`open_regular` and read whole only within a limit, so that a named pipe, a device or a
huge file in its place neither blocks nor fills the memory.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_data_path

from mauve_core.base.errors import InputError, StorageError, library_errors

HOME_VARIABLE = "MAUVE_LENS_HOME"
# Modes of folders and files below the home folder.
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600

# File below the home folder that its owner writes. Its mode is checked and never changed (``sharing.py``).
SECRETS = "secrets.toml"

# Most bytes of a small stored document, such as the state of a job; the largest that is written has a few MB.
DOCUMENT_BYTES = 64 << 20

# Ends of the names of the files that SQLite keeps beside a database and opens with it.
SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

# Folders that the program makes below its home folder.
PARTS = frozenset(
    {
        "answers",
        "demo-images",
        "faults",
        "features",
        "jobs",
        "likelihoods",
        "models",
        "runs",
        "shards",
        "signed-out",
        "studies",
        "unfinished",
        "uploads",
        "work-folders",
    }
)

_OTHERS = 0o077

# Errors of opening what is no file of ours, rather than of a disk that refuses. A socket has ENXIO.
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)


def home() -> Path:
    """Return the folder of runs, features and converted models; create it if missing, and close it to other users."""
    folder = _home()
    with storage_errors(folder):
        make_folder(folder)
        _close_home(folder.absolute())
    return folder


def _home() -> Path:
    configured = os.environ.get(HOME_VARIABLE)
    if not configured:
        return user_data_path("mauve-lens", appauthor=False)
    try:
        return Path(configured).expanduser()
    except RuntimeError as error:  # ~name of nobody here
        wrong = f"{HOME_VARIABLE} names the home of a user that this machine does not have"
        raise InputError(wrong, allowed="the path of a folder", received=repr(configured)) from error


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


def require_own_folder(folder: Path) -> None:
    """Close an existing folder of the program, wherever it is, to other users.

    Raises
    ------
    InputError
        Another user owns it, who could change what is in it.
    """
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise InputError(
            f"The folder {folder} belongs to another user, who can change what is in it",
            allowed="a folder of your own",
            received=f"one of the user with number {owner}",
            todo="Name another folder, or one that is not there yet",
        )
    _close(folder)


@cache
def _close_home(folder: Path) -> None:
    """Close a home folder that stands open to others, once per process.

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
    """Opener for ``open``: a new file is readable by its owner alone. It waits for no named pipe."""
    return os.open(path, flags | os.O_NONBLOCK, PRIVATE_FILE)


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
    kind = _special(status.st_mode)
    if kind:
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


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """Open a stored file to read its bytes, and nothing that would wait or never end in its place.

    Parameters
    ----------
    path : Path
    follow : bool
        Whether a link to a regular file will do.

    Raises
    ------
    OSError
        The file is missing or cannot be opened.
    ValueError
        It is a folder, a named pipe, a socket or a device; or a link, and ``follow`` is false.
    """

    def opener(name: str, flags: int) -> int:
        try:
            handle = os.open(name, flags | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
        except OSError as error:
            if follow or error.errno != errno.ELOOP:
                raise
            raise ValueError("it is a link, not a regular file") from error
        kind = _special(os.fstat(handle).st_mode)
        if kind:
            os.close(handle)
            raise ValueError(f"it is {kind}, not a regular file")
        return handle

    return open(path, "rb", opener=opener)


def read_stored(path: Path, most: int = DOCUMENT_BYTES, *, follow: bool = True) -> bytes:
    """Return the content of a stored file of at most ``most`` bytes; ``follow`` is as in :func:`open_regular`.

    Raises
    ------
    OSError, ValueError
        As :func:`open_regular`; ValueError also if it is larger, of which nothing is read.
    """
    with open_regular(path, follow=follow) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most:
            raise ValueError(f"it has {size:,} bytes; at most {most:,} are read")
        return stream.read(size)


def require_regular_database(path: Path) -> None:
    """Raise ValueError if SQLite would wait for, or read without end, what is in the place of one of its files."""
    for suffix in ("", *SQLITE_SUFFIXES):
        file = path.with_name(path.name + suffix)
        with suppress(FileNotFoundError):
            kind = _special(file.stat().st_mode)
            if kind and not file.is_dir():
                raise ValueError(f"{file.name} is {kind}, not a regular file")


def remove(path: Path) -> None:
    """Remove a file, a link or a folder; nothing if there is none. A folder is hidden first, in one step."""
    with suppress(FileNotFoundError):
        try:
            path.unlink()
        except IsADirectoryError:
            aside = hidden_beside(path)
            path.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)


def _special(mode: int) -> str:
    """Return what something is that is no regular file; empty for one."""
    if stat.S_ISREG(mode):
        return ""
    return next((name for is_kind, name in _SPECIAL if is_kind(mode)), "something else")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def write_atomically(path: Path, write: Callable[[IO[bytes]], object], *, private: bool = False) -> None:
    """Call ``write`` on a temporary file beside ``path``, then rename it into place.

    Below the home folder, and if it is ``private``, only the owner can read the file; else the umask decides.

    Raises
    ------
    InputError
        ``path`` is a folder or a device, which a rename would replace for good where the system allows it, or no name
        of a file. If it is private, since no person names such files, a folder or a device is a StorageError.
    StorageError
        The disk is full or refuses; ``path`` is unchanged.
    """
    if "\0" in str(path):
        raise InputError(f"Cannot write {path}", allowed="a name without a NUL byte", todo="Give another path")
    with storage_errors(path):
        private = private or is_private(path)
        if path.exists() and not path.is_file():
            kind = StorageError if private else InputError
            raise kind(f"Cannot write {path}", allowed="a new file, or a regular one", todo="Give another path")
        make_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
        temporary, handle = partial_file(path, PRIVATE_FILE if private else 0o666)
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
        raise storage_error(path, error) from error


def storage_error(path: object, error: OSError) -> StorageError:
    """Return the StorageError that says what the operating system refuses about ``path``, and what to do."""
    if error.errno == errno.ENAMETOOLONG:
        return StorageError(f"The name of {path} is too long for the file system", todo="Give a shorter one")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        wrong, todo = f"No space left while writing {path}", "Free some space and run the same command again"
    else:
        wrong = f"Cannot read or write {path}: {error.strerror or error}"
        todo = "Check the disk and the folder's permissions"
    return StorageError(wrong, todo=f"{todo}, or set {HOME_VARIABLE} to another folder")


def digest_of_file(path: Path, *, follow: bool = True) -> str:
    """Return the SHA-256 of a file's content in hexadecimal; raises as :func:`open_regular`."""
    with open_regular(path, follow=follow) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_digest(path: Path, digest: str | None, *, follow: bool = True) -> None:
    """Raise ValueError unless a file has that SHA-256, and as :func:`open_regular`; unchanged files are read once."""
    about = path.stat() if follow else path.lstat()
    if _digest_at(path, (about.st_mtime_ns, about.st_ino, about.st_size), follow) != digest:
        raise ValueError("it is not the file that was stored with its record")


@lru_cache(maxsize=1 << 14)
def _digest_at(path: Path, state: tuple[int, int, int], follow: bool) -> str:  # noqa: ARG001 (the state is part of the key)
    return digest_of_file(path, follow=follow)


_NAME = re.compile(r"\..+\.[0-9a-f]{16}")


def hidden_beside(path: Path) -> Path:
    """Return a new hidden name beside ``path`` for what will be there."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def partial_file(path: Path, mode: int) -> tuple[Path, int]:
    """Create a file that will be ``path``; return its hidden path and its handle, which holds its lock."""
    while True:
        partial = hidden_beside(path)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _is_held(handle):
            return partial, handle
        os.close(handle)


@contextmanager
def partial_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill and to rename to ``path``, locked; what is not renamed in the block is removed."""
    partial, handle = _open_folder(path)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(handle)


def _open_folder(path: Path) -> tuple[Path, int]:
    while True:
        partial = hidden_beside(path)
        partial.mkdir(0o700)
        with suppress(FileNotFoundError):  # another process removed it before it was locked
            handle = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
            if _is_held(handle):
                return partial, handle
            os.close(handle)


def _is_held(handle: int) -> bool:
    """Lock what was just created; False if another process locked or removed it before."""
    try:
        if not lock_within(handle, 0):
            return False
    except OSError:  # a disk without locks, on which nothing is taken for left behind either
        return True
    return os.fstat(handle).st_nlink > 0


def remove_abandoned(folder: Path, unchanged_s: float = 0.0) -> None:
    """Remove what dead processes were writing below ``folder``; links are not followed, and what resists stays.

    So does what has changed in the last seconds: on a disk of several machines, locks may not tell who writes.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                if not unchanged_s or time.time() - entry.stat(follow_symlinks=False).st_mtime > unchanged_s:
                    remove_if_abandoned(Path(entry.path))
            elif entry.is_dir(follow_symlinks=False):
                remove_abandoned(Path(entry.path), unchanged_s)


def remove_if_abandoned(path: Path) -> None:
    """Remove a file or a folder that nobody holds locked."""
    with suppress(OSError):  # it is gone, a link, or on a disk without locks
        access = os.O_RDONLY if path.is_dir() else os.O_RDWR  # over NFS, what is locked must be open for writing
        handle = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not lock_within(handle, 0):
                return
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(handle)


# A change takes milliseconds, or as long as the wait for another process to end.
LOCK_PATIENCE_S = 30.0

_POLL_S = 0.01


@contextmanager
def exclusive_lock(handle: int, what: str, patience_s: float | None = None) -> Iterator[None]:
    """Hold the lock of an open file or folder, and close it at the end of the block; messages call it ``what``.

    Raises
    ------
    StorageError
        Someone else has held the lock for ``patience_s``, by default longer than any change takes; the block does not
        start.
    """
    patience_s = LOCK_PATIENCE_S if patience_s is None else patience_s
    try:
        if not lock_within(handle, patience_s):
            raise StorageError(
                f"Another process has been changing {what} for {patience_s:.0f} seconds",
                todo="Try again; if this persists, end the process that is stuck",
            )
        yield
    finally:
        os.close(handle)


def lock_within(handle: int, seconds: float) -> bool:
    """Wait up to ``seconds`` to lock an open file or folder; return whether it is locked."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def bundled(name: str) -> Path:
    """Return a folder of ``data``, which an installed package holds and a clone of the repository has beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "data"
    return (inside if inside.is_dir() else package.parent / "data") / name


MOST_TOML_BYTES = 2**16

# Most dots of one line: for a key of so many parts, the parser takes time and memory in the square of their number.
MOST_TOML_DOTS = 1000


def read_toml(path: Path, what: str = "file of settings") -> dict[str, Any]:
    """Return the content of the file, which messages call ``what``.

    Raises
    ------
    InputError
        It cannot be read, is too large, has a line with more than ``MOST_DOTS`` dots, or is not TOML.
    """
    if require_plain_file(path, what) > MOST_TOML_BYTES:
        raise InputError(f"{path} is too large for a {what}", allowed=f"at most {MOST_TOML_BYTES:,} bytes")
    try:
        with open_regular(path) as stream:
            content = stream.read(MOST_TOML_BYTES).decode("utf-8")
        for number, line in enumerate(content.split("\n"), start=1):
            if line.count(".") > MOST_TOML_DOTS:
                raise InputError(f"Line {number} of {path} has too many dots", allowed=f"at most {MOST_TOML_DOTS:,}")
        with library_errors(lambda error: _no_toml(path, error)):
            return tomllib.loads(content)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", todo="Check its permissions") from error
    except ValueError as error:
        raise _no_toml(path, error) from error


def _no_toml(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path} is not a TOML file", received=str(error), allowed="lines such as seeds = 10")
