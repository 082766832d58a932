"""Fill a run's folder under a hidden name, then give it its id and place."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mauve_core.base import files
from mauve_core.base.errors import StorageError
from mauve_core.base.files import close_to_others, exclusive_lock, move_folder, open_regular, storage_errors, sync_tree
from mauve_core.store import trash
from mauve_core.store.about import ABOUT, write_about
from mauve_core.store.folder import RATINGS, about_run
from mauve_core.store.trash import PARTIAL

ABOUT_ASIDE = "about.damaged.json"


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let only one such block run at a time for these runs, across processes.

    StorageError if another process does not finish its block or the folder cannot be read: this block does not begin.
    """
    with storage_errors(root):
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    with exclusive_lock(handle, f"the runs in {root}"):
        yield


@contextmanager
def partial_folder(root: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill and rename; remove it if the block raises. Removes leftovers of others first."""
    clear_away(root)
    with files.partial_folder(root / PARTIAL.removeprefix(".")) as folder:
        yield folder


def clear_away(root: Path) -> None:
    """Remove what killed processes left: hidden folders that nobody holds, and entries of the trash without a run."""
    for folder in root.glob(f"{PARTIAL}*"):
        files.remove_if_abandoned(folder)
    if trash.without_run(root):
        with suppress(OSError, StorageError), locked(root):
            for token in trash.without_run(root):
                trash.remove(root, token)


def put(folder: Path, root: Path, base: str) -> Path:
    """Rename a finished folder to the first free id among ``base``, ``base-2``, ``base-3`` ..."""
    number = 1
    while True:
        final = root / (base if number == 1 else f"{base}-{number}")
        if not final.exists():
            try:
                return move_folder(folder, final)
            except OSError:
                if not (folder.exists() and final.exists()):
                    raise
        number += 1


def replace_run(folder: Path, final: Path) -> Path:
    """Replace a run by a finished folder, which takes over its ratings, tags and notes."""
    _move_annotations(final, folder)
    entry = trash.discard(final.parent, final.name)  # after a kill here, it can still be restored
    try:
        move_folder(folder, final)
    except OSError:
        move_folder(trash.folder_of(final.parent, entry.token), final)
        raise
    trash.remove(final.parent, entry.token)
    return final


def _move_annotations(old: Path, folder: Path) -> None:
    """Move ratings, tags and notes; damaged ones are kept as they are, so that the new run is not lost for them."""
    from mauve_core.judgments import RatingStore  # imports SciPy, which listing runs does not need

    if (old / RATINGS).exists():
        try:
            RatingStore(old / RATINGS).copy_to(folder / RATINGS)
        except StorageError:
            for path in old.glob(f"{RATINGS}*"):
                _keep(path, folder / path.name)
    if (old / ABOUT).exists():
        try:
            write_about(folder, dataclasses.replace(about_run(old), name=None))
        except StorageError:
            _keep(old / ABOUT, folder / ABOUT_ASIDE)
    close_to_others(folder)
    sync_tree(folder)


def _keep(path: Path, target: Path) -> None:
    """Copy a damaged file for a person to look at; nothing of what is no regular file."""
    with suppress(OSError, ValueError), open_regular(path, follow=False) as source, target.open("xb") as stream:
        shutil.copyfileobj(source, stream)
