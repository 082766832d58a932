"""The index's tables: as the migrations make them, over what was there before, and refused where they are too new."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from mauve_core.errors import InputError, StorageError
from mauve_core.store import RunStore
from mauve_core.store import database as database_module
from mauve_core.store.database import CATALOGUE, DATABASE_VARIABLE, database_url, transaction
from mauve_core.store.tables import HEAD, METADATA, VERSION_TABLE
from tests.handmade import make_comparison, make_corpora

OLD_COLUMNS = "id TEXT PRIMARY KEY, name, created, human, candidates, n, encoder"
"""The table of the catalogue that was made by hand, before there were migrations."""


@pytest.fixture
def empty_database(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """On the server, a database in which nothing was made yet."""
    if database == "sqlite":
        yield database
        return
    server = database_url(Path("/"))
    with _server(server) as connection:
        connection.execute(sa.text("CREATE DATABASE fresh"))
    monkeypatch.setenv(DATABASE_VARIABLE, server.set(database="fresh").render_as_string(hide_password=False))
    yield database
    database_module._engine(database_url(Path("/"))).dispose()
    with _server(server) as connection:
        connection.execute(sa.text("DROP DATABASE fresh"))


@contextmanager
def _server(url: sa.URL) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def save(store: RunStore, name: str) -> str:
    return store.save(name, make_comparison(), make_corpora()).id


def test_migrations_make_the_tables_that_the_program_uses(empty_database: str, tmp_path: Path) -> None:
    with transaction(tmp_path) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert context.get_current_revision() == HEAD
        other = sa.MetaData()
        for table in METADATA.tables.values():
            table.to_metadata(other)
        other.tables["mauve_runs"].append_column(sa.Column("new", sa.Text))
        assert len(compare_metadata(context, other)) == 1, "a column that no migration makes is noticed"


def test_the_program_knows_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database_module.__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_the_catalogue_from_before_is_replaced_without_losing_a_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    ids = [save(store, name) for name in ("one", "two")]
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as old, old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute(f"CREATE TABLE runs ({OLD_COLUMNS})")
        old.execute("INSERT INTO runs VALUES ('one', 'one', '2026', '/data', '[\"b\"]', 7, NULL)")
    assert sorted(line.id for line in store.list()) == ids
    assert store.describe("one", tags=["t"]).tags == ("t",)
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as now:
        tables = {name for (name,) in now.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert now.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert tables == {"mauve_roots", "mauve_runs", VERSION_TABLE}


@pytest.mark.parametrize("database", [pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_a_table_of_somebody_else_stays(empty_database: str, tmp_path: Path) -> None:
    with _server(database_url(tmp_path)) as connection:
        connection.execute(sa.text("CREATE TABLE runs (km integer)"))
        save(RunStore(tmp_path), "one")
        assert connection.execute(sa.text("SELECT count(*) FROM runs")).scalar() == 0


def test_a_catalogue_of_a_newer_version_is_refused(empty_database: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = save(store, "one")
    with transaction(tmp_path, writing=True) as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(StorageError, match=r"newer version.*up to 0001.*revision 9999"):
        store.list()
    with pytest.raises(StorageError, match="newer version"):
        store.describe(run_id, notes="x")
    assert save(store, "two") == "two", "hours of work are kept, whatever the index"
    assert store.load("two").name == "two"


def test_two_homes_share_a_database_without_meeting(database: str, tmp_path: Path) -> None:
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    assert save(here, "same") == save(there, "same") == "same"
    here.describe("same", notes="here")
    assert [line.notes for line in there.list()] == [""]
    there.delete("same")
    assert [line.notes for line in here.list()] == ["here"]
    (tmp_path / "here").rename(tmp_path / "moved")
    assert [line.notes for line in RunStore(tmp_path / "moved").list()] == ["here"]


def test_the_server_is_used_and_not_a_file(database: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    save(store, "one")
    assert (tmp_path / CATALOGUE).exists() == (database == "sqlite")
    with transaction(tmp_path) as connection:
        assert connection.dialect.name == database


def test_a_broken_catalogue_is_reported(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    save(store, "one")
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    (tmp_path / CATALOGUE).write_bytes(b"no database, but long enough to be taken for one" * 100)
    with pytest.raises(StorageError, match="it is rebuilt from the runs"):
        store.list()
    (tmp_path / CATALOGUE).unlink()
    assert len(store.list()) == 1


@pytest.mark.parametrize("url", ["nonsense", "mysql://u:secret@h/d", "postgresql+asyncpg://u:secret@h/d", "sqlite://"])
def test_a_url_of_no_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, url)
    with pytest.raises(InputError, match="Allowed: postgresql://") as caught:
        RunStore(tmp_path).list()
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_reported_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, f"postgres://me:secret@/mauve?host={tmp_path}")
    store = RunStore(tmp_path)
    with pytest.raises(StorageError, match=r"cannot be used.*See that the server of MAUVE_LENS_DATABASE") as caught:
        store.list()
    assert "secret" not in str(caught.value)
    run_id = save(store, "one")
    monkeypatch.delenv(DATABASE_VARIABLE)
    assert [line.id for line in store.list()] == [run_id], "the run was kept"


def test_names_that_no_database_takes_are_listed(database: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    save(store, "one")
    path = tmp_path / "one" / "comparison.json"
    path.write_text(path.read_text().replace("/data/human.jsonl", "/data/\\u0000\\ud800"))
    assert store.list()[0].human == "/data/\ufffd?"
