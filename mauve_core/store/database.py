"""Where the catalogue's tables are: an SQLite file beside the runs, or the server that the environment names.

Transactions begin as what they are: one that writes takes SQLite's write lock at once (``BEGIN IMMEDIATE``), so that
nothing is read that another writer is about to change. A database is brought up to date when it is first opened.
SQLite's connections are not kept: the file may be deleted at any time.

A file that is damaged, or whose tables are not those of its revision, is put aside and made anew (:func:`put_aside`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import private_opener, storage_errors
from mauve_core.store.tables import HEAD, VERSION_TABLE

DATABASE_VARIABLE = "MAUVE_LENS_DATABASE"
CATALOGUE = "catalogue.sqlite"
ASIDE = "catalogue.damaged.sqlite"
"""What was put aside last, beside the catalogue; nothing reads it."""

WAIT_S = 30
"""How long to wait for another writer, or for a server's answer."""

_MIGRATING = 0x4D41555645
"""PostgreSQL's advisory lock of whoever applies migrations: MAUVE in ASCII."""

_WRITING = "mauve_writing"

_OUTER_CAUSES = frozenset(
    {
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN),
        *(sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
    }
)
"""Errors of SQLite that say nothing against the file's content."""


class DamagedCatalogueError(StorageError):
    """The content of the catalogue's file cannot be used; it can be put aside and made anew from the runs."""


def database_url(root: Path) -> sa.URL:
    """The catalogue's database.

    Raises
    ------
    InputError
        ``MAUVE_LENS_DATABASE`` is no URL of a database that the program can use.
    """
    configured = os.environ.get(DATABASE_VARIABLE)
    if not configured:
        return sa.URL.create("sqlite", database=str((root / CATALOGUE).absolute()))
    allowed = "postgresql://USER:PASSWORD@HOST/DATABASE"
    try:
        url = sa.make_url(configured)
    except ArgumentError as error:  # its message would repeat the password
        raise InputError(f"{DATABASE_VARIABLE} holds no URL of a database", allowed=allowed) from error
    kind, _, driver = url.drivername.partition("+")
    if kind not in ("postgresql", "postgres") or driver not in ("", "psycopg"):
        raise InputError(f"{DATABASE_VARIABLE} names no usable database", allowed=allowed, received=url.drivername)
    return url.set(drivername="postgresql+psycopg")


@contextmanager
def transaction(root: Path, *, writing: bool = False) -> Iterator[sa.Connection]:
    """A connection in a transaction, which ends with the block: committed, or rolled back when it raises.

    Raises
    ------
    InputError
        As :func:`database_url`.
    StorageError
        The database cannot be reached or used, or was written by a newer version of the program.
    DamagedCatalogueError
        The content of the file is damaged.
    """
    url = database_url(root)
    try:
        if url.get_backend_name() == "sqlite":
            _make_private(Path(str(url.database)))
        engine = _engine(url)
        chosen = engine.execution_options(**{_WRITING: True}) if writing else engine
        with ExitStack() as stack:
            connection = stack.enter_context(chosen.begin())
            if not _is_current(connection):
                stack.close()
                _migrate(engine)
                connection = stack.enter_context(chosen.begin())
            yield connection
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise _unusable(url, error) from error


def put_aside(root: Path) -> Path:
    """Rename the catalogue's file and what belongs to it, in place of what was put aside before; the new path."""
    path = root / CATALOGUE
    with storage_errors(path):
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):  # another process was first, or there is none
                path.with_name(CATALOGUE + ending).replace(path.with_name(ASIDE + ending))
    return path.with_name(ASIDE)


def _make_private(path: Path) -> None:
    """An empty file for its owner alone where there is none: SQLite would ask the umask."""
    if path.parent.is_dir() and not path.exists():
        with suppress(OSError):  # SQLite says what is wrong
            os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT))


@lru_cache(maxsize=16)
def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        wait = {} if "connect_timeout" in url.query else {"connect_timeout": WAIT_S}
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=wait)
        event.listen(engine, "begin", _begin_server)
        return engine
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": WAIT_S})
    event.listen(engine, "connect", _connect_file)
    event.listen(engine, "begin", _begin_file)
    return engine


def _connect_file(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says so, not where Python guesses
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")  # what a power cut takes from an index is made again
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_file(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get(_WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _begin_server(connection: sa.Connection) -> None:
    if connection.get_execution_options().get(_WRITING, False):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_S}s'")


def _is_current(connection: sa.Connection) -> bool:
    return _version(connection) == HEAD


def _version(connection: sa.Connection) -> str | None:
    """The revision of the tables; None where there are none yet."""
    if not connection.dialect.has_table(connection, VERSION_TABLE):
        return None
    version: str | None = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return version


def _migrate(engine: sa.Engine) -> None:
    """Apply what is missing, in one transaction that others wait for."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    folder = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with engine.execution_options(**{_WRITING: True}).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
        version = _version(connection)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if version is not None and version not in known:
            raise StorageError(
                f"The catalogue {_shown(engine.url)} was written by a newer version of the program",
                allowed=f"revisions up to {HEAD}",
                received=f"revision {version}",
                todo=f"Install that version, or {_replaced(engine.url)}",
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _unusable(url: sa.URL, error: Exception) -> StorageError:
    origin = getattr(error, "orig", None) or error
    reason = " ".join(str(origin).split())
    code = getattr(origin, "sqlite_errorcode", None)
    if url.get_backend_name() == "sqlite" and code is not None and code & 0xFF not in _OUTER_CAUSES:
        return DamagedCatalogueError(f"The catalogue {_shown(url)} is damaged: {reason}")
    todo = _replaced(url)
    return StorageError(f"The catalogue {_shown(url)} cannot be used: {reason}", todo=todo[0].upper() + todo[1:])


def shown_url(root: Path) -> str:
    """Where the catalogue is, without a password."""
    return _shown(database_url(root))


def _shown(url: sa.URL) -> str:
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def _replaced(url: sa.URL) -> str:
    if url.get_backend_name() == "sqlite":
        return "free some space or check its permissions; the file may be deleted, it is rebuilt from the runs"
    return f"see that the server of {DATABASE_VARIABLE} runs and lets this user in; without the variable a file serves"
