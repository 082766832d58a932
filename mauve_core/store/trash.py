"""Deleted runs, whole, below ``.bin``: ``<token>/run`` is the run's folder, ``<token>/deleted.json`` what it was.

A run gets there and back by one rename each. An entry whose folder never arrived, or left, is no entry. Nothing leaves
the bin but by a person's word: an age would be the clock's word, and clocks jump. Each entry stands for itself: one
whose ``deleted.json`` is damaged is described by the run itself, and can be restored and removed like any other.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import make_folder, storage_errors, write_atomically
from mauve_core.base.json_codec import from_json
from mauve_core.store.folder import BROKEN, RunSummary, folder_bytes, is_id, parse_json, read_summary, run_id

BIN = ".bin"
PARTIAL = ".partial-"
"""Prefix of a folder that is being written or removed; never listed, never loaded."""

_RUN, _DELETED = "run", "deleted.json"
_TOKEN = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")


@dataclass(frozen=True)
class DeletedRun:
    """A run in the bin.

    Attributes
    ----------
    token : str
        What restores it.
    summary : RunSummary
        What it was; no more than an id where that is damaged.
    deleted : str
        When; ISO 8601, UTC.
    damage : str
        What is wrong with what was noted of it; empty where nothing is.
    """

    token: str
    summary: RunSummary
    deleted: str
    damage: str = ""


@dataclass(frozen=True)
class _Noted:
    """What ``deleted.json`` holds."""

    deleted: str
    summary: RunSummary

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.deleted)
        if not is_id(self.summary.id):
            raise InputError("It holds no run's id", received=repr(self.summary.id)[:80])


def discard(root: Path, run_id: str) -> DeletedRun:
    """Move a run's folder to the bin; a damaged run's summary says no more than its id."""
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
    folder.rename(entry / _RUN)
    return deleted


def entries(root: Path) -> list[DeletedRun]:
    """What the bin holds, the latest first."""
    with storage_errors(root):
        found = [_entry(path) for path in _folders(root) if (path / _RUN).is_dir()]
    return sorted(found, key=lambda deleted: deleted.token, reverse=True)


def entry(root: Path, token: str) -> DeletedRun:
    """The deleted run of that token; InputError when there is none."""
    path = root / BIN / token
    if not _TOKEN.fullmatch(token) or not (path / _RUN).is_dir():
        raise InputError(
            f"The bin holds nothing under {token!r}",
            allowed=", ".join(deleted.token for deleted in entries(root)) or "it is empty",
            todo="See what it holds: mauve-lens runs bin",
        )
    return _entry(path)


def tokens(root: Path) -> list[str]:
    """Of all entries."""
    with storage_errors(root):
        return sorted(path.name for path in _folders(root))


def folder_of(root: Path, token: str) -> Path:
    """Where the deleted run's files are."""
    return root / BIN / token / _RUN


def remove(root: Path, token: str) -> int:
    """Remove an entry for good, out of sight first; the bytes that its files took."""
    path = root / BIN / token
    hidden = root / f"{PARTIAL}{token}"
    try:
        path.rename(hidden)
    except FileNotFoundError:  # restored or removed by another process
        return 0
    size = folder_bytes(hidden / _RUN)
    with suppress(FileNotFoundError):  # another process clears away what a kill would have left
        shutil.rmtree(hidden)
    return size


def _folders(root: Path) -> Iterator[Path]:
    if (root / BIN).is_dir():
        yield from (path for path in (root / BIN).iterdir() if _TOKEN.fullmatch(path.name))


def _entry(path: Path) -> DeletedRun:
    try:
        noted = from_json(_Noted, parse_json((path / _DELETED).read_bytes()), "deleted run")
    except BROKEN as error:
        summary = _described_by_itself(path)
        return DeletedRun(path.name, summary, _time_of(path.name), f"{_DELETED} is damaged: {error}")
    return DeletedRun(path.name, noted.summary, noted.deleted)


def _described_by_itself(path: Path) -> RunSummary:
    """What the run's own files say of it, under the id that its name asks for."""
    try:
        found = read_summary(path / _RUN)
        slug = run_id(found.name)
    except (StorageError, InputError):
        return _unknown(path.name.lower(), path / _RUN)
    return replace(found, id=slug)


def _unknown(run_id: str, folder: Path) -> RunSummary:
    """The line of a run that cannot be read."""
    return RunSummary(run_id, run_id, "", "", (), 0, None, bytes=folder_bytes(folder))


def _time_of(token: str) -> str:
    """When the entry was made, as its name says."""
    try:
        made = datetime.strptime(token[:21], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return ""
    return made.isoformat(timespec="seconds")
