"""The index of the runs' folders, one SQLite file; it may be deleted at any time and is made again from the folders."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mauve_core.errors import StorageError
from mauve_core.files import storage_errors
from mauve_core.store.folder import COMPARISON, RunSummary, is_id, read_summary

CATALOGUE = "catalogue.sqlite"
_COLUMNS = "id, name, created, human, candidates, n, encoder"
_SCHEMA = f"CREATE TABLE IF NOT EXISTS runs ({_COLUMNS.replace('id,', 'id TEXT PRIMARY KEY,', 1)})"


def summaries(root: Path) -> list[RunSummary]:
    """Every complete run below ``root``, the newest first; StorageError when the catalogue cannot be read."""
    with storage_errors(root):
        folders = {path.parent.name for path in root.glob(f"*/{COMPARISON}") if is_id(path.parent.name)}
    with _opened(root) as catalogue:
        known = {row[0] for row in catalogue.execute("SELECT id FROM runs")}
        catalogue.executemany("DELETE FROM runs WHERE id = ?", [(gone,) for gone in known - folders])
        for found in sorted(folders - known):
            _insert(catalogue, read_summary(root / found))
        rows = catalogue.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, id").fetchall()
    return [
        RunSummary(identifier, name, created, human, tuple(json.loads(candidates)), n, encoder)
        for identifier, name, created, human, candidates, n, encoder in rows
    ]


def enter(root: Path, summary: RunSummary) -> None:
    """Add a run, or put it in place of the one of its id."""
    with _opened(root) as catalogue:
        _insert(catalogue, summary)


def remove(root: Path, run_id: str) -> None:
    """Take a run out."""
    with _opened(root) as catalogue:
        catalogue.execute("DELETE FROM runs WHERE id = ?", (run_id,))


@contextmanager
def _opened(root: Path) -> Iterator[sqlite3.Connection]:
    path = root / CATALOGUE
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            with connection:
                connection.execute(_SCHEMA)
                yield connection
    except sqlite3.Error as error:
        todo = "Free some space or check its permissions; the file may be deleted, it is rebuilt from the runs"
        raise StorageError(f"The catalogue {path} cannot be used: {error}", todo=todo) from error


def _insert(catalogue: sqlite3.Connection, summary: RunSummary) -> None:
    values = (summary.id, summary.name, summary.created, summary.human, json.dumps(summary.candidates))
    catalogue.execute(
        f"INSERT OR REPLACE INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, summary.n, summary.encoder)
    )
