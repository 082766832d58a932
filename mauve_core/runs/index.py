"""The index of the runs' folders, an SQLite file that may be deleted at any time; search, tags and disk use.

The folders are authoritative. Whenever runs are listed, a row whose folder has another fingerprint is read again from
the folder. The fingerprint combines the last write times of the folder, its parts and the comparison with the
identities of these files: cheap enough for every rerun of a page, and unchanged by files that grow in place (ratings).
A file of another layout is rebuilt; a damaged one is put aside and rebuilt. If the file cannot be used at all, runs are
listed from their folders alone.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mauve_core.base.errors import StorageError, words_of
from mauve_core.base.files import SQLITE_SUFFIXES, private_opener, remove, require_regular_database, storage_errors
from mauve_core.base.json_codec import from_json
from mauve_core.runs.folder import ABOUT, ATTACHED, COMPARISON, RunSummary, folder_bytes, is_id, read_summary, storable
from mauve_core.runs.placing import locked

# Parts of a run's folder that its fingerprint covers.
_PARTS = ("", COMPARISON, ABOUT, ATTACHED, "derived")

# Errors of asking for what is not there; a link to itself leads nowhere.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

# Parts that pages show and other programs change; neither ratings nor precomputed results.
_SHOWN_PARTS = (COMPARISON, ABOUT, ATTACHED)


def folder_fingerprints(root: Path) -> dict[str, str]:
    """Return the fingerprint of each complete run, by id."""
    return _fingerprints(root, _PARTS)


def shown_fingerprints(root: Path) -> dict[str, str]:
    """As :func:`folder_fingerprints`, for what pages show; unchanged by ratings and precomputed results."""
    return _fingerprints(root, _SHOWN_PARTS)


def _fingerprints(root: Path, parts: tuple[str, ...]) -> dict[str, str]:
    with os.scandir(root) as entries:
        folders = [entry.path for entry in entries if is_id(entry.name)]
    found = {os.path.basename(folder): _fingerprint(folder, parts) for folder in folders}  # noqa: PTH119 (as quick as can be)
    return {run_id: each for run_id, each in found.items() if each}


def _fingerprint(folder: str, parts: tuple[str, ...]) -> str:
    """Return the folder's fingerprint; empty if it holds no complete run."""
    found = []
    for part in parts:
        try:
            status = os.stat(f"{folder}/{part}")  # noqa: PTH116
        except OSError as error:
            if error.errno not in _NOTHING:
                raise
            if part == COMPARISON:
                return ""
            found.append("")
        else:
            found.append(f"{status.st_mtime_ns}.{status.st_ino}")  # two files may be written within one tick
    return " ".join(found)


INDEX = "index.sqlite"
# Name under which the last damaged index is put aside; nothing reads it.
ASIDE = "index.damaged.sqlite"

# Layout of the table and its summaries, kept as the file's user_version; raise it when either changes.
FORMAT = 1

# Seconds to wait for another writer, who takes milliseconds.
WAIT_S = 5

_TABLE = (
    "DROP TABLE IF EXISTS runs",
    "CREATE TABLE runs (id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, summary TEXT NOT NULL)",
    f"PRAGMA user_version = {FORMAT}",
)

# By id: the folder's fingerprint when it was read, and its summary.
_Lines = dict[str, tuple[str, RunSummary]]

# Runs that can be read, and the errors of the others.
_Listed = tuple[_Lines, dict[str, StorageError]]

# By root: the last listing, for when the index cannot be used.
_last: dict[Path, _Lines] = {}

# By root: why the index could not be used at the last listing.
_failed: dict[Path, StorageError] = {}


class IndexWarning(UserWarning):
    """The index was damaged and is rebuilt, or cannot be used."""


class _DamagedIndexError(StorageError):
    """The file's content is unusable; the file can be put aside and rebuilt."""


class RunIndex:
    """Index of the runs below the folder ``root``.

    Methods that list runs issue an IndexWarning and go on without the index if it cannot be used. They raise
    StorageError if the folder itself cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.path = self.root / INDEX

    def summaries(self) -> list[RunSummary]:
        """Return every complete, readable run, the newest first; the others are in :meth:`damaged`."""
        return _newest_first(self._listed()[0])

    def damaged(self) -> dict[str, StorageError]:
        """Return, by id, why a run's record cannot be read."""
        return self._listed()[1]

    def measured(self) -> list[RunSummary]:
        """As :meth:`summaries`, with current sizes."""
        sizes = {run_id: folder_bytes(self.root / run_id) for run_id in self._listed()[0]}
        return _newest_first(self._listed(sizes)[0])

    def failure(self) -> StorageError | None:
        """Return why the index could not be used at the last listing; None if it could."""
        return _failed.get(self.root)

    def _listed(self, sizes: Mapping[str, int] | None = None) -> _Listed:
        """List runs by the index if possible, with the bytes in ``sizes`` where given."""
        try:
            found = self._mended(sizes or {})
            _failed.pop(self.root, None)
        except StorageError as error:
            found = self._read_folders(_last.get(self.root, {}), sizes or {})
            _failed[self.root] = error
            warnings.warn(f"{error} Listing runs from their folders instead", IndexWarning, stacklevel=4)
        _last[self.root] = found[0]
        return found

    def _mended(self, sizes: Mapping[str, int]) -> _Listed:
        """As :meth:`_updated`; one process alone puts a damaged file aside and rebuilds it."""
        try:
            return self._updated(sizes)
        except _DamagedIndexError:
            with locked(self.root):
                try:
                    return self._updated(sizes)  # another process may have rebuilt it
                except _DamagedIndexError as error:
                    aside = self.path.with_name(ASIDE)
                    message = f"{error.wrong}. Moving it to {aside} and rebuilding it from the runs"
                    warnings.warn(message, IndexWarning, stacklevel=5)
                    with storage_errors(self.path):
                        with suppress(FileNotFoundError):  # one of its side files is damaged
                            self.path.replace(aside)
                        for suffix in SQLITE_SUFFIXES:  # the new file's own changes must not meet them
                            remove(self.path.with_name(INDEX + suffix))
                    return self._updated(sizes)

    def _updated(self, sizes: Mapping[str, int]) -> _Listed:
        known = self._load()
        lines, damaged = self._read_folders(known, sizes)
        if lines != known:
            self._store(known, lines)
        return lines, damaged

    def _read_folders(self, known: _Lines, sizes: Mapping[str, int]) -> _Listed:
        """Keep the rows of unchanged folders and read the other folders."""
        lines: _Lines = {}
        damaged = {}
        with storage_errors(self.root):
            fingerprints = folder_fingerprints(self.root)
        for run_id, fingerprint in fingerprints.items():
            then, summary = known.get(run_id, ("", None))
            try:
                if summary is None or then != fingerprint:
                    summary = _read_line(self.root / run_id)
                lines[run_id] = fingerprint, replace(summary, bytes=sizes.get(run_id, summary.bytes))
            except StorageError as error:
                if (self.root / run_id / COMPARISON).exists():  # it may have been deleted meanwhile
                    damaged[run_id] = error
        return lines, damaged

    def _load(self) -> _Lines:
        """Return the table's rows; none if it has another layout."""
        with self._transaction("DEFERRED") as connection:
            if not _is_current(connection):
                return {}
            try:
                rows = connection.execute("SELECT id, fingerprint, summary FROM runs")
                return {run_id: (then, from_json(RunSummary, json.loads(text), "line")) for run_id, then, text in rows}
            except (ValueError, TypeError, RecursionError) as error:
                raise sqlite3.DatabaseError(str(error)) from error

    def _store(self, known: _Lines, lines: _Lines) -> None:
        with self._transaction("IMMEDIATE") as connection:
            if not _is_current(connection):
                for statement in _TABLE:
                    connection.execute(statement)
            gone = [(run_id,) for run_id in known.keys() - lines.keys()]
            connection.executemany("DELETE FROM runs WHERE id = ?", gone)
            changed = [run_id for run_id, line in lines.items() if known.get(run_id) != line]
            rows = [(run_id, lines[run_id][0], json.dumps(asdict(lines[run_id][1]))) for run_id in changed]
            connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        """Open a separate connection, which recreates a file that was deleted meanwhile."""
        try:
            require_regular_database(self.path)
        except ValueError as error:
            raise _DamagedIndexError(f"The index {self.path} is damaged: {words_of(error)}") from error
        try:
            with suppress(OSError):  # SQLite reports errors; alone, it would make a file that others can read
                os.close(private_opener(str(self.path), os.O_RDONLY | os.O_CREAT))
            with closing(sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)) as connection:
                connection.execute(f"BEGIN {kind}")
                yield connection
                connection.execute("COMMIT")  # closing without it rolls back
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if not isinstance(error, sqlite3.OperationalError) or code == sqlite3.SQLITE_ERROR:
                raise _DamagedIndexError(f"The index {self.path} is damaged: {words_of(error)}") from error
            todo = "Free some space or check its permissions; if the file is deleted, it is rebuilt from the runs"
            raise StorageError(f"The index {self.path} cannot be used: {words_of(error)}", todo=todo) from error


def _is_current(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version == FORMAT)


def _newest_first(lines: _Lines) -> list[RunSummary]:
    by_id = [summary for _, (_, summary) in sorted(lines.items())]
    return sorted(by_id, key=lambda summary: summary.created, reverse=True)


def _read_line(folder: Path) -> RunSummary:
    summary = read_summary(folder)
    texts: dict[str, Any] = {name: storable(text) for name, text in vars(summary).items() if isinstance(text, str)}
    return replace(summary, **texts)


@dataclass(frozen=True)
class DiskUse:
    """Bytes of each run by id, the newest first, and of the trash."""

    runs: Mapping[str, int]
    bin: int

    @property
    def total(self) -> int:
        """Bytes of all runs and the trash."""
        return sum(self.runs.values()) + self.bin


def matching(summaries: Sequence[RunSummary], query: str, tags: Iterable[str]) -> list[RunSummary]:
    """Return the runs that contain every word of ``query``, ignoring case, and have all ``tags``."""
    words, wanted = query.casefold().split(), set(tags)
    return [summary for summary in summaries if wanted <= set(summary.tags) and _holds(summary, words)]


def used_tags(summaries: Iterable[RunSummary]) -> dict[str, int]:
    """Return every tag, in alphabetical order, with its number of runs."""
    counts = Counter(tag for summary in summaries for tag in summary.tags)
    return {tag: counts[tag] for tag in sorted(counts, key=lambda tag: (tag.casefold(), tag))}


def _holds(summary: RunSummary, words: Sequence[str]) -> bool:
    fields = (summary.id, summary.name, summary.notes, summary.human, summary.encoder or summary.features_from or "")
    text = "\n".join((*fields, *summary.tags, *summary.candidates)).casefold()
    return all(word in text for word in words)
