"""How a run's folder is filled out of sight, and gets its id and its place."""

from __future__ import annotations

import dataclasses
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mauve_core.errors import InputError
from mauve_core.names import require_text
from mauve_core.store import deleted
from mauve_core.store.about import ABOUT, write_about
from mauve_core.store.deleted import PARTIAL
from mauve_core.store.folder import RATINGS, about_run

PARTIAL_KEPT_S = 24 * 3600
"""Age after which a folder left by a killed process is removed."""


def run_id(name: str) -> str:
    """The id that a run of that name asks for, ``my-run-1`` for ``My Run (1)``; InputError where there is none."""
    require_text(name, "run")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
    if not slug:
        raise InputError("The run's name cannot be used", allowed="a name with a letter or digit", received=repr(name))
    return slug


@contextmanager
def partial_folder(root: Path) -> Iterator[Path]:
    """A hidden folder to be filled and renamed in the block; removed when that raises. What is old goes first."""
    for folder in root.glob(f"{PARTIAL}*"):
        try:
            age = time.time() - folder.stat().st_mtime
        except FileNotFoundError:
            continue
        if age > PARTIAL_KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
    deleted.remove_old(root)
    partial = Path(tempfile.mkdtemp(dir=root, prefix=PARTIAL))
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


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
    if (final / RATINGS).exists():
        copy_ratings(final / RATINGS, folder / RATINGS)
    if (final / ABOUT).exists():
        write_about(folder, dataclasses.replace(about_run(final), name=None))
    entry = deleted.discard(final.parent, final.name)  # a kill before the next line leaves it to be restored
    try:
        folder.rename(final)
    except OSError:
        deleted.folder_of(final.parent, entry.token).rename(final)
        raise
    deleted.remove(final.parent, entry.token)
    return final


def copy_ratings(source: Path, target: Path) -> None:
    """Copy a ratings file, with whatever lies in its write-ahead log; people's work outlives a run's recomputation."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
