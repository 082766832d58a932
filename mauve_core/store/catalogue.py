"""The index of the runs' folders, in a database; it may be deleted at any time and is made again from the folders.

A line is made anew when its folder's sign (``signs.py``) has changed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from mauve_core.errors import StorageError
from mauve_core.files import storage_errors
from mauve_core.store.database import transaction
from mauve_core.store.folder import COMPARISON, RunSummary, folder_bytes, read_summary
from mauve_core.store.signs import folder_signs
from mauve_core.store.tables import ROOTS, RUNS

ROOT_ID = ".root-id"
"""File below a root that names it, whatever path or machine it is reached from."""

_FIELDS = ("id", "name", "created", "human", "candidates", "n", "encoder", "tags", "notes", "bytes")
_SELECT = sa.select(RUNS.c.sign, *(RUNS.c[name] for name in _FIELDS)).where(RUNS.c.root == sa.bindparam("root_id"))
_Lines = dict[str, tuple[str, RunSummary]]

_broken: dict[tuple[str, str], tuple[str, StorageError]] = {}
"""By root and run: the sign of a folder that could not be read, and why. It is tried again when the sign changes."""


class Catalogue:
    """The index of the runs below one folder.

    Every method raises StorageError when the database cannot be used, and InputError when the environment names none
    that can be.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def summaries(self) -> list[RunSummary]:
        """Every complete run that can be read, the newest first; the others are :meth:`damaged`."""
        with storage_errors(self.root):
            root_id, signs = _identity(self.root), folder_signs(self.root)
        with transaction(self.root) as connection:
            lines = _lines(connection, root_id)
        readable = {run_id: sign for run_id, sign in signs.items() if not _is_broken(root_id, run_id, sign)}
        if {run_id: sign for run_id, (sign, _) in lines.items()} == readable:
            return [summary for _, summary in lines.values()]
        return self._renewed(everything=False)

    def damaged(self) -> dict[str, StorageError]:
        """By id, why a run's record cannot be read."""
        self.summaries()
        with storage_errors(self.root):
            root_id, signs = _identity(self.root), folder_signs(self.root)
        return {
            run_id: _broken[root_id, run_id][1] for run_id, sign in signs.items() if _is_broken(root_id, run_id, sign)
        }

    def measured(self) -> list[RunSummary]:
        """As :meth:`summaries`, with the sizes as they are now."""
        found = self.summaries()
        if all(summary.bytes == folder_bytes(self.root / summary.id) for summary in found):
            return found
        return self._renewed(everything=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Only one such block runs for a root at any time, over all processes; then the index follows the folders."""
        with self._locked() as (connection, root_id):
            yield
            _refresh(connection, self.root, root_id)

    def _renewed(self, *, everything: bool) -> list[RunSummary]:
        with self._locked() as (connection, root_id):
            if everything:
                connection.execute(RUNS.update().where(RUNS.c.root == root_id).values(sign=""))
            _refresh(connection, self.root, root_id)
            lines = _lines(connection, root_id)
        return [summary for _, summary in lines.values()]

    @contextmanager
    def _locked(self) -> Iterator[tuple[sa.Connection, str]]:
        with storage_errors(self.root):
            root_id = _identity(self.root)
        with transaction(self.root, writing=True) as connection:
            _lock(connection, self.root, root_id)
            yield connection, root_id


def _identity(root: Path) -> str:
    path = root / ROOT_ID
    while True:
        with suppress(FileNotFoundError):
            found = path.read_text(encoding="ascii", errors="replace").strip()
            if len(found) == 32 and found.isalnum():
                return found
            path.unlink()
        fresh = path.with_name(f"{ROOT_ID}.{secrets.token_hex(8)}")
        fresh.write_text(secrets.token_hex(16), encoding="ascii")
        with suppress(FileExistsError):  # another process was first
            os.link(fresh, path)
        fresh.unlink()


def _lock(connection: sa.Connection, root: Path, root_id: str) -> None:
    """Wait for whoever changes runs of this root. SQLite's write lock is held since the transaction began."""
    known = connection.execute(sa.select(ROOTS.c.path).where(ROOTS.c.id == root_id).with_for_update()).scalar()
    path = str(root.absolute())
    if known == path:
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(ROOTS).values(id=root_id, path=path)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"path": path}))


def _is_broken(root_id: str, run_id: str, sign: str) -> bool:
    return (root_id, run_id) in _broken and _broken[root_id, run_id][0] == sign


def _refresh(connection: sa.Connection, root: Path, root_id: str) -> None:
    """Bring the lines up to date; a run that cannot be read gets none, and is remembered as broken."""
    with storage_errors(root):
        signs = folder_signs(root)
    rows = connection.execute(sa.select(RUNS.c.id, RUNS.c.sign).where(RUNS.c.root == root_id))
    known = {row.id: row.sign for row in rows}
    changed = sorted(run_id for run_id, sign in signs.items() if known.get(run_id) != sign)
    entered = []
    for run_id in changed:
        try:
            entered.append(_row(root_id, read_summary(root / run_id), signs[run_id]))
        except StorageError as error:
            if (root / run_id / COMPARISON).exists():
                _broken[root_id, run_id] = signs[run_id], error
    outdated = [run_id for run_id in known if run_id not in signs or run_id in changed]
    if outdated:
        gone = RUNS.delete().where(RUNS.c.root == root_id, RUNS.c.id == sa.bindparam("gone"))
        connection.execute(gone, [{"gone": run_id} for run_id in outdated])
    if entered:
        connection.execute(RUNS.insert(), entered)


def _lines(connection: sa.Connection, root_id: str) -> _Lines:
    """Sign and summary by id, the newest first; sorted here, because servers order text as their locale says."""
    rows = connection.execute(_SELECT, {"root_id": root_id}).all()
    found = [(sign, _summary(*values)) for sign, *values in rows]
    found.sort(key=lambda line: line[1].id)
    found.sort(key=lambda line: line[1].created, reverse=True)
    return {summary.id: (sign, summary) for sign, summary in found}


def _summary(*values: Any) -> RunSummary:
    identifier, name, created, human, candidates, n, encoder, tags, notes, size = values
    return RunSummary(identifier, name, created, human, tuple(candidates), n, encoder, tuple(tags), notes, size)


def _row(root_id: str, summary: RunSummary, sign: str) -> dict[str, Any]:
    values = {"root": root_id, "sign": sign, **asdict(summary)}
    return {name: _storable(value) if isinstance(value, str) else value for name, value in values.items()}


def _storable(text: str) -> str:
    """Without what a database refuses: NUL, halves of surrogate pairs."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
