"""Folders of runs come and go by one rename: filled under a hidden name, put in place, moved to the trash and back.

Deleted runs are below ``.bin``: ``<token>/run`` is the run's folder, ``<token>/deleted.json`` its summary. An entry
without a run's folder does not count. Only a person empties the trash: an age limit would depend on the clock, and
clocks jump. Entries are independent: if ``deleted.json`` is damaged, the run itself describes the entry, which can be
restored and removed like any other.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from mauve_core.base import files
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import (
    close_to_others,
    exclusive_lock,
    make_folder,
    move_folder,
    open_regular,
    read_stored,
    storage_errors,
    sync_tree,
    write_atomically,
)
from mauve_core.base.json_codec import from_json
from mauve_core.runs.folder import (
    ABOUT,
    BROKEN,
    RATINGS,
    RunSummary,
    about_run,
    folder_bytes,
    is_id,
    parse_json,
    read_summary,
    run_id,
    write_about,
)

BIN = ".bin"
# Prefix of a folder that is being written or removed; never listed, never loaded.
PARTIAL = ".partial"

_RUN, _DELETED = "run", "deleted.json"
_TOKEN = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")


@dataclass(frozen=True)
class DeletedRun:
    """A run in the trash; ``token`` restores it.

    Attributes
    ----------
    token : str
        Restores it.
    summary : RunSummary
        As it was; only an id if that is damaged.
    deleted : str
        Time of deletion; ISO 8601, UTC.
    damage : str
        What is wrong with its ``deleted.json``; empty if nothing is.
    """

    token: str
    summary: RunSummary
    deleted: str
    damage: str = ""


@dataclass(frozen=True)
class _Noted:
    deleted: str
    summary: RunSummary

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.deleted)
        if not is_id(self.summary.id):
            raise InputError("It does not contain a run id", received=repr(self.summary.id)[:80])


def discard(root: Path, run_id: str) -> DeletedRun:
    """Move a run's folder to the trash; the summary of a damaged run has only its id."""
    now, folder = datetime.now(UTC), root / run_id
    try:
        summary = read_summary(folder)
    except StorageError:
        summary = _unknown(run_id, folder)
    deleted = DeletedRun(f"{now:%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}", summary, now.isoformat(timespec="seconds"))
    entry = root / BIN / deleted.token
    make_folder(entry)
    text = json.dumps({"deleted": deleted.deleted, "summary": asdict(summary)}, indent=1)
    write_atomically(entry / _DELETED, lambda stream: stream.write(text.encode()))
    move_folder(folder, entry / _RUN)
    return deleted


def entries(root: Path) -> list[DeletedRun]:
    """Return the content of the trash, the latest first."""
    with storage_errors(root):
        found = [_entry(path) for path in _folders(root) if (path / _RUN).is_dir()]
    found = [
        each for each in found if not each.damage or folder_of(root, each.token).is_dir()
    ]  # else it went meanwhile
    return sorted(found, key=lambda deleted: deleted.token, reverse=True)


def entry(root: Path, token: str) -> DeletedRun:
    """Return the deleted run of that token; InputError if there is none."""
    path = root / BIN / token
    if not _TOKEN.fullmatch(token) or not (path / _RUN).is_dir():
        raise InputError(
            f"The bin has no entry {token!r}",
            allowed=", ".join(deleted.token for deleted in entries(root)) or "it is empty",
            todo="List its entries with: mauve-lens runs bin",
        )
    return _entry(path)


def tokens(root: Path) -> list[str]:
    """Return the tokens of all entries."""
    with storage_errors(root):
        return sorted(path.name for path in _folders(root))


def folder_of(root: Path, token: str) -> Path:
    """Return the folder of the deleted run's files."""
    return root / BIN / token / _RUN


def remove(root: Path, token: str) -> int:
    """Remove an entry for good, hiding it first; return the bytes that its files took."""
    path = root / BIN / token
    hidden = root / f"{PARTIAL}-{token}"
    size = folder_bytes(path / _RUN)  # measured now: another process may clean up what is hidden at once
    try:
        move_folder(path, hidden)  # before its files go: no power cut brings back an entry without them
    except FileNotFoundError:  # restored or removed by another process
        return 0
    with suppress(FileNotFoundError):
        shutil.rmtree(hidden)
    return size


def without_run(root: Path) -> list[str]:
    """Return the tokens of entries whose run has not come yet, or has gone: a killed process's, unless one is at it."""
    return [token for token in tokens(root) if not folder_of(root, token).exists()]


def _folders(root: Path) -> Iterator[Path]:
    if (root / BIN).is_dir():
        yield from (path for path in (root / BIN).iterdir() if _TOKEN.fullmatch(path.name))


def _entry(path: Path) -> DeletedRun:
    try:
        noted = from_json(_Noted, parse_json(read_stored(path / _DELETED)), "deleted run")
    except BROKEN as error:
        summary = _described_by_itself(path)
        return DeletedRun(path.name, summary, _time_of(path.name), f"{_DELETED} is damaged: {words_of(error)}")
    return DeletedRun(path.name, noted.summary, noted.deleted)


def _described_by_itself(path: Path) -> RunSummary:
    """Return the summary in the run's own files, under the id that its name gives."""
    try:
        found = read_summary(path / _RUN)
        slug = run_id(found.name)
    except (StorageError, InputError):
        return _unknown(path.name.lower(), path / _RUN)
    return replace(found, id=slug)


def _unknown(run_id: str, folder: Path) -> RunSummary:
    """Return the summary of a run that cannot be read."""
    return RunSummary(run_id, run_id, "", "", (), 0, None, bytes=folder_bytes(folder))


def _time_of(token: str) -> str:
    """Return the entry's time, which its token holds."""
    try:
        created = datetime.strptime(token[:21], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return ""
    return created.isoformat(timespec="seconds")


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
    if without_run(root):
        with suppress(OSError, StorageError), locked(root):
            for token in without_run(root):
                remove(root, token)


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
    entry = discard(final.parent, final.name)  # after a kill here, it can still be restored
    try:
        move_folder(folder, final)
    except OSError:
        move_folder(folder_of(final.parent, entry.token), final)
        raise
    remove(final.parent, entry.token)
    return final


def _move_annotations(old: Path, folder: Path) -> None:
    """Move ratings, tags and notes; damaged ones are kept as they are, so that the new run is not lost for them."""
    from mauve_core.runs.ratings import RatingStore  # imports SciPy, which listing runs does not need

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
