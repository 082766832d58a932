"""Deleted runs, whole, below ``.bin``: ``<token>/run`` is the run's folder, ``<token>/deleted.json`` what it was.

A run gets there and back by one rename each. An entry whose folder never arrived, or left, is no entry.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mauve_core.errors import InputError, StorageError
from mauve_core.files import storage_errors, write_atomically
from mauve_core.store.folder import RunSummary, folder_bytes, read_summary

BIN = ".bin"
BIN_KEPT = timedelta(days=30)
"""How long a deleted run can be restored; older ones go when a run is saved."""

PARTIAL = ".partial-"
"""Prefix of a folder that is being written or removed; never listed, never loaded."""

_RUN, _DELETED = "run", "deleted.json"
_TOKEN = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")


@dataclass(frozen=True)
class DeletedRun:
    """A run in the bin: what restores it, what it was, when it was deleted (ISO 8601, UTC)."""

    token: str
    summary: RunSummary
    deleted: str


def discard(root: Path, run_id: str) -> DeletedRun:
    """Move a run's folder to the bin; a damaged run's summary says no more than its id."""
    now, folder = datetime.now(UTC), root / run_id
    try:
        summary = read_summary(folder)
    except StorageError:
        summary = RunSummary(run_id, run_id, "", "", (), 0, None, bytes=folder_bytes(folder))
    deleted = DeletedRun(f"{now:%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}", summary, now.isoformat(timespec="seconds"))
    entry = root / BIN / deleted.token
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
    """Of all entries, damaged ones among them."""
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
    shutil.rmtree(hidden)
    return size


def remove_old(root: Path) -> None:
    """Remove what has been in the bin for longer than it keeps."""
    oldest = datetime.now(UTC) - BIN_KEPT
    for path in _folders(root):
        if datetime.strptime(path.name[:21], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC) < oldest:
            remove(root, path.name)


def _folders(root: Path) -> Iterator[Path]:
    if (root / BIN).is_dir():
        yield from (path for path in (root / BIN).iterdir() if _TOKEN.fullmatch(path.name))


def _entry(path: Path) -> DeletedRun:
    try:
        values = json.loads((path / _DELETED).read_bytes())
        line = values["summary"]
        summary = RunSummary(**{**line, "candidates": tuple(line["candidates"]), "tags": tuple(line["tags"])})
        return DeletedRun(path.name, summary, str(values["deleted"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            f"{path / _DELETED} is damaged: {error}", todo=f"Empty the bin, or move {path / _RUN} back by hand"
        ) from error
