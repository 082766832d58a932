"""Files and folders on the way: under a hidden name, and locked for as long as their writer lives.

The system releases the locks of a process that ends, however it ends. So what nobody holds was left behind, whatever
its age and the clock say.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mauve_core.base.locks import lock_within

_NAME = re.compile(r"\..+\.[0-9a-f]{16}")


def hidden_beside(path: Path) -> Path:
    """Return a new hidden name beside ``path`` for what will be there."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def file_for(path: Path, mode: int) -> tuple[Path, int]:
    """Create a file that will be ``path``; return its hidden path and its handle, which holds its lock."""
    while True:
        partial = hidden_beside(path)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _is_held(handle):
            return partial, handle
        os.close(handle)


@contextmanager
def folder_for(path: Path) -> Iterator[Path]:
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
