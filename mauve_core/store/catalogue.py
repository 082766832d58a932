"""The index of the runs' folders, in a database; it may be deleted at any time and is made again from the folders.

A line is made anew when its folder's sign (``signs.py``) has changed. A damaged file is put aside and made anew. Where
the database cannot be used at all, runs are listed from their folders, and what is said of runs cannot be changed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from mauve_core.base.errors import StorageError
from mauve_core.base.files import PRIVATE_FILE, storage_errors
from mauve_core.base.json_codec import from_json
from mauve_core.store.database import DamagedCatalogueError, database_url, put_aside, shown_url, transaction
from mauve_core.store.fingerprints import folder_signs
from mauve_core.store.folder import COMPARISON, RunSummary, folder_bytes, read_summary
from mauve_core.store.tables import ROOTS, RUNS

ROOT_ID = ".root-id"
"""File below a root that names it, whatever path or machine it is reached from."""

_FIELDS = ("id", "name", "created", "human", "candidates", "n", "encoder", "tags", "notes", "bytes")
_SELECT = sa.select(RUNS.c.sign, *(RUNS.c[name] for name in _FIELDS)).where(RUNS.c.root == sa.bindparam("root_id"))
_Lines = dict[str, tuple[str, RunSummary]]
_T = TypeVar("_T")

_broken: dict[tuple[str, str], tuple[str, StorageError]] = {}
"""By root and run: the sign of a folder that could not be read, and why. It is tried again when the sign changes."""

_read: dict[tuple[str, str], tuple[str, RunSummary]] = {}
"""By root and run: the sign and the line of a folder that was read because the database could not be used."""

_failed: dict[tuple[str, str], tuple[float, StorageError]] = {}
"""By root and database: until when it is left alone (seconds of the monotonic clock), and why it could not be used."""

RETRY_S = 60.0
"""For how long lists do without a database that could not be used: a server may take long to say no."""


class CatalogueWarning(UserWarning):
    """The catalogue was damaged and is made anew, or cannot be used."""


class Catalogue:
    """The index of the runs below one folder.

    Methods that list runs warn with a CatalogueWarning where the database fails, and go on without; they raise
    StorageError when the folder cannot be read, and InputError when the environment names no usable kind of database.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def summaries(self) -> list[RunSummary]:
        """Every complete run that can be read, the newest first; the others are :meth:`damaged`."""
        return self._or_from_folders(lambda: self._summaries(everything=False))

    def damaged(self) -> dict[str, StorageError]:
        """By id, why a run's record cannot be read."""
        self.summaries()
        key, signs = str(self.root), self._signs()
        return {run_id: _broken[key, run_id][1] for run_id, sign in signs.items() if _is_broken(key, run_id, sign)}

    def measured(self) -> list[RunSummary]:
        """As :meth:`summaries`, with the sizes as they are now."""
        found = self.summaries()
        sizes = {summary.id: folder_bytes(self.root / summary.id) for summary in found}
        if all(summary.bytes == sizes[summary.id] for summary in found):
            return found
        found = self._or_from_folders(lambda: self._summaries(everything=True))
        return [replace(summary, bytes=sizes.get(summary.id, summary.bytes)) for summary in found]

    def failure(self) -> StorageError | None:
        """Why the database could not be used when runs were listed last; None where it could."""
        _, error = _failed.get(self._key, (0.0, None))
        return error

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Only one such block runs for a root at any time, over all processes; then the index follows the folders.

        Raises
        ------
        StorageError
            The database cannot be used: the block does not begin.
        """
        self._mended(self._check)
        with self._locked() as (connection, root_id):
            yield
            _refresh(connection, self.root, root_id)

    @property
    def _key(self) -> tuple[str, str]:
        return str(self.root), str(database_url(self.root))

    def _signs(self) -> dict[str, str]:
        with storage_errors(self.root):
            return folder_signs(self.root)

    def _or_from_folders(self, find: Callable[[], list[RunSummary]]) -> list[RunSummary]:
        until, error = _failed.get(self._key, (0.0, None))
        if error is None or time.monotonic() >= until:
            try:
                found = self._mended(find)
            except StorageError as refused:
                _failed[self._key] = time.monotonic() + RETRY_S, refused
                message = f"{refused} Runs are listed from their folders; they cannot be renamed, tagged or deleted now"
                warnings.warn(message, CatalogueWarning, stacklevel=4)
            else:
                _failed.pop(self._key, None)
                return found
        return self._from_folders()

    def _from_folders(self) -> list[RunSummary]:
        key, found = str(self.root), []
        for run_id, sign in self._signs().items():
            known = _read.get((key, run_id))
            if known is None or known[0] != sign:
                line = _line_of(self.root / run_id, sign)
                if line is None:
                    continue
                known = _read[key, run_id] = sign, line
            found.append(known[1])
        return _newest_first(found)

    def _mended(self, act: Callable[[], _T]) -> _T:
        """What ``act`` returns; a damaged file is put aside and made anew, by one process alone."""
        try:
            return act()
        except DamagedCatalogueError:
            if database_url(self.root).get_backend_name() != "sqlite":
                raise
            with _folder_locked(self.root):
                try:
                    return act()  # another process may have made it anew
                except DamagedCatalogueError as error:
                    message = f"{error.wrong}. It is put aside as {put_aside(self.root)} and made anew from the runs"
                    warnings.warn(message, CatalogueWarning, stacklevel=5)
                    return act()

    def _summaries(self, *, everything: bool) -> list[RunSummary]:
        """From the database, brought up to date; ``everything``: whatever the folders' signs say."""
        with storage_errors(self.root):
            root_id, signs = _identity(self.root), folder_signs(self.root)
        if not everything:
            with transaction(self.root) as connection:
                lines = _lines(connection, self.root, root_id)
            readable = {run_id: sign for run_id, sign in signs.items() if not _is_broken(str(self.root), run_id, sign)}
            if {run_id: sign for run_id, (sign, _) in lines.items()} == readable:
                return [summary for _, summary in lines.values()]
        with self._locked() as (connection, root_id):
            if everything:
                connection.execute(RUNS.update().where(RUNS.c.root == root_id).values(sign=""))
            _refresh(connection, self.root, root_id)
            lines = _lines(connection, self.root, root_id)
        return [summary for _, summary in lines.values()]

    def _check(self) -> None:
        with self._locked() as (connection, root_id):
            _lines(connection, self.root, root_id)

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
        fresh.touch(PRIVATE_FILE)
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


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    with storage_errors(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_broken(root: str, run_id: str, sign: str) -> bool:
    return (root, run_id) in _broken and _broken[root, run_id][0] == sign


def _line_of(folder: Path, sign: str) -> RunSummary | None:
    """None for a run that cannot be read, which is remembered as broken, and for one that is gone."""
    try:
        return read_summary(folder)
    except StorageError as error:
        if (folder / COMPARISON).exists():
            _broken[str(folder.parent), folder.name] = sign, error
        return None


def _refresh(connection: sa.Connection, root: Path, root_id: str) -> None:
    """Bring the lines up to date; a run that cannot be read gets none."""
    with storage_errors(root):
        signs = folder_signs(root)
    rows = connection.execute(sa.select(RUNS.c.id, RUNS.c.sign).where(RUNS.c.root == root_id))
    known = {row.id: row.sign for row in rows}
    changed = sorted(run_id for run_id, sign in signs.items() if known.get(run_id) != sign)
    lines = {run_id: _line_of(root / run_id, signs[run_id]) for run_id in changed}
    entered = [_row(root_id, line, signs[run_id]) for run_id, line in lines.items() if line is not None]
    outdated = [run_id for run_id in known if run_id not in signs or run_id in changed]
    if outdated:
        gone = RUNS.delete().where(RUNS.c.root == root_id, RUNS.c.id == sa.bindparam("gone"))
        connection.execute(gone, [{"gone": run_id} for run_id in outdated])
    if entered:
        connection.execute(RUNS.insert(), entered)


def _lines(connection: sa.Connection, root: Path, root_id: str) -> _Lines:
    """Sign and summary by id, the newest first; DamagedCatalogueError where one holds what no run has."""
    signs, found = {}, []
    try:
        for sign, *values in connection.execute(_SELECT, {"root_id": root_id}):
            found.append(from_json(RunSummary, dict(zip(_FIELDS, values, strict=True)), "line of the catalogue"))
            signs[found[-1].id] = str(sign)
    except (ValueError, TypeError) as error:  # what SQLAlchemy says of values that are not of their column's type
        raise DamagedCatalogueError(f"The catalogue {shown_url(root)} is damaged: {error}") from error
    return {summary.id: (signs[summary.id], summary) for summary in _newest_first(found)}


def _newest_first(summaries: list[RunSummary]) -> list[RunSummary]:
    """Sorted here, because servers order text as their locale says."""
    return sorted(sorted(summaries, key=lambda line: line.id), key=lambda line: line.created, reverse=True)


def _row(root_id: str, summary: RunSummary, sign: str) -> dict[str, Any]:
    values = {"root": root_id, "sign": sign, **asdict(summary)}
    return {name: _storable(value) if isinstance(value, str) else value for name, value in values.items()}


def _storable(text: str) -> str:
    """Without what a database refuses: NUL, halves of surrogate pairs."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
