"""How a run's folder is filled out of sight, and gets its id and its place."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mauve_core.base.errors import StorageError
from mauve_core.base.files import close_to_others, storage_errors
from mauve_core.base.locks import exclusive, lock_within
from mauve_core.store import trash
from mauve_core.store.about import ABOUT, write_about
from mauve_core.store.folder import RATINGS, about_run
from mauve_core.store.trash import PARTIAL

ABOUT_ASIDE = "about.damaged.json"


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Only one such block runs for these runs at any time, over all processes.

    Raises
    ------
    StorageError
        Another process does not end its own, or the folder cannot be read: the block does not begin.
    """
    with storage_errors(root):
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    with exclusive(handle, f"the runs in {root}"):
        yield


@contextmanager
def partial_folder(root: Path) -> Iterator[Path]:
    """A hidden folder to be filled and renamed in the block; removed when that raises. What others left goes first."""
    clear_away(root)
    partial, lock = _locked_folder(root)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def clear_away(root: Path) -> None:
    """Remove the hidden folders of processes that were killed: those that nobody holds locked."""
    for folder in root.glob(f"{PARTIAL}*"):
        with suppress(OSError):  # it is gone, or locked
            lock = _lock(folder)
            try:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _locked_folder(root: Path) -> tuple[Path, int]:
    """A new hidden folder, and the lock that says that its process lives; the system releases it with the process."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=root, prefix=PARTIAL))
        with suppress(FileNotFoundError, BlockingIOError):  # cleared away before it was locked
            lock = _lock(folder)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _lock(folder: Path) -> int:
    """BlockingIOError where another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    if lock_within(handle, 0):
        return handle
    os.close(handle)
    raise BlockingIOError


def put(folder: Path, root: Path, base: str) -> Path:
    """Rename a finished folder to the first free of the ids ``base``, ``base-2``, ``base-3`` ..."""
    number = 1
    while True:
        final = root / (base if number == 1 else f"{base}-{number}")
        if not final.exists():
            try:
                return folder.rename(final)
            except OSError:
                if not final.exists():
                    raise
        number += 1


def take_place(folder: Path, final: Path) -> Path:
    """Rename a finished folder over a run, which leaves its ratings, tags and notes."""
    _take_what_people_made(final, folder)
    entry = trash.discard(final.parent, final.name)  # a kill before the next line leaves it to be restored
    try:
        folder.rename(final)
    except OSError:
        trash.folder_of(final.parent, entry.token).rename(final)
        raise
    trash.remove(final.parent, entry.token)
    return final


def _take_what_people_made(old: Path, folder: Path) -> None:
    """Ratings, tags and notes. Damaged ones are kept as they are: the new run must not be lost for them."""
    from mauve_core.judgments import RatingStore  # and SciPy, which listing runs does without

    if (old / RATINGS).exists():
        try:
            RatingStore(old / RATINGS).copy_to(folder / RATINGS)
        except StorageError:
            for path in old.glob(f"{RATINGS}*"):
                shutil.copy(path, folder / path.name)
    if (old / ABOUT).exists():
        try:
            write_about(folder, dataclasses.replace(about_run(old), name=None))
        except StorageError:
            shutil.copy(old / ABOUT, folder / ABOUT_ASIDE)
    close_to_others(folder)
