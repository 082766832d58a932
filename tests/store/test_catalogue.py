"""The index's tables: as the migrations make them, over what was there before, and refused where they are too new."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from mauve_core.base.errors import InputError, StorageError
from mauve_core.store import RunStore
from mauve_core.store import database as database_module
from mauve_core.store.catalogue import CatalogueWarning
from mauve_core.store.database import ASIDE, CATALOGUE, DATABASE_VARIABLE, database_url, transaction
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
    with pytest.warns(CatalogueWarning, match=r"newer version.*up to 0001.*revision 9999"):
        assert [line.id for line in store.list()] == [run_id], "from the folders"
    failure = store.catalogue_failure()
    assert failure is not None
    assert "newer version" in str(failure)
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


def _sql(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return damage


def _truncate(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"no database, but long enough to be taken for one" * 100),
    "garbage behind a header": lambda path: path.write_bytes(b"SQLite format 3\x00" + b"x" * 8192),
    "truncated": _truncate,
    "no table of runs": _sql("DROP TABLE mauve_runs"),
    "another table of runs": _sql("DROP TABLE mauve_runs", "CREATE TABLE mauve_runs (root, id, km)"),
    "no table of revisions": _sql(f"DROP TABLE {VERSION_TABLE}"),
    "another table of revisions": _sql(f"DROP TABLE {VERSION_TABLE}", f"CREATE TABLE {VERSION_TABLE} (km)"),
    "text for a number": _sql("UPDATE mauve_runs SET n = 'many'"),
    "no JSON": _sql("UPDATE mauve_runs SET candidates = 'b, c'"),
    "JSON of another kind": _sql("UPDATE mauve_runs SET tags = '5'"),
    "bytes for text": _sql("UPDATE mauve_runs SET name = x'ff00'"),
}


@pytest.mark.parametrize("first", ["list", "describe"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_catalogue_is_put_aside_and_made_anew(tmp_path: Path, damage: str, first: str) -> None:
    store = RunStore(tmp_path)
    run_id = save(store, "one")
    store.describe(run_id, tags=["kept"])
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")  # all of it is in the one file
    DAMAGE[damage](tmp_path / CATALOGUE)
    content = (tmp_path / CATALOGUE).read_bytes()
    with pytest.warns(CatalogueWarning, match=rf"is damaged: .*put aside as .*{ASIDE} and made anew") as caught:
        store.list() if first == "list" else store.describe(run_id, notes="later")
    assert len([each for each in caught if each.category is CatalogueWarning]) == 1
    assert [(line.id, line.tags, line.n) for line in store.list()] == [(run_id, ("kept",), 7)]
    assert store.describe(run_id, notes="again").notes == "again"
    assert (tmp_path / ASIDE).read_bytes()[100:] == content[100:], "all but SQLite's header"
    assert (store.catalogue_failure(), store.damaged()) == (None, {})


def test_an_empty_catalogue_is_filled(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = save(store, "one")
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    (tmp_path / CATALOGUE).touch()
    assert [line.id for line in store.list()] == [run_id]


def test_processes_that_meet_the_same_damage_make_it_anew_once(tmp_path: Path) -> None:
    ids = [save(RunStore(tmp_path), name) for name in ("one", "two")]
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    (tmp_path / CATALOGUE).write_bytes(b"garbage" * 1000)
    code = "import sys; from mauve_core.store import RunStore; print(len(RunStore(sys.argv[1]).list()))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [other.communicate() for other in others]
    assert [out.strip() for out, _ in answers] == ["2"] * 4, answers
    assert sum("put aside" in err for _, err in answers) == 1
    assert (tmp_path / ASIDE).read_bytes() == b"garbage" * 1000
    assert sorted(line.id for line in RunStore(tmp_path).list()) == ids


def test_a_catalogue_that_cannot_be_opened_takes_no_list_down(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    ids = [save(store, name) for name in ("one", "two")]
    (tmp_path / "two" / "comparison.json").write_text("{")
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    (tmp_path / CATALOGUE).mkdir()
    with pytest.warns(CatalogueWarning, match=r"cannot be used: .*listed from their folders"):
        assert [line.id for line in store.list()] == ["one"]
    assert list(store.damaged()) == ["two"]
    assert store.load("one").id == "one"
    assert store.disk_use().runs["one"] > 0
    for change in (lambda: store.delete("one"), lambda: store.describe("one", notes="x")):
        with pytest.raises(StorageError, match="cannot be used"):
            change()
    assert store.load("one").notes == ""
    (tmp_path / CATALOGUE).rmdir()
    assert store.describe("one", notes="x").notes == "x"
    store.delete("two")
    assert [line.id for line in store.list()] == ids[:1]


def test_a_writer_that_never_ends_takes_no_list_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "WAIT_S", 0)
    database_module._engine.cache_clear()
    store = RunStore(tmp_path)
    save(store, "one")
    store.list()
    with closing(sqlite3.connect(tmp_path / CATALOGUE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.warns(CatalogueWarning, match="locked"):
            store.save("two", make_comparison(), make_corpora())
        assert {line.id for line in store.list()} == {"one", "two"}
        other.execute("ROLLBACK")
    database_module._engine.cache_clear()


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
    with pytest.warns(CatalogueWarning, match=r"cannot be used.*See that the server of MAUVE_LENS_DATABASE") as caught:
        run_id = save(store, "one")
    assert [line.id for line in store.list()] == [run_id], "asked for again, and not waited for again"
    with pytest.raises(StorageError, match="cannot be used") as refused:
        store.describe(run_id, notes="x")
    assert "secret" not in f"{caught[0].message} {refused.value} {store.catalogue_failure()}"
    monkeypatch.delenv(DATABASE_VARIABLE)
    assert [line.id for line in store.list()] == [run_id], "the run was kept"


def test_names_that_no_database_takes_are_listed(database: str, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    save(store, "one")
    path = tmp_path / "one" / "comparison.json"
    path.write_text(path.read_text().replace("/data/human.jsonl", "/data/\\u0000\\ud800"))
    assert store.list()[0].human == "/data/\ufffd?"


def test_a_run_that_was_to_take_a_place_is_kept_beside_it(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    save(store, "one")
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    (tmp_path / CATALOGUE).mkdir()
    kept = pytest.warns(UserWarning, match="The run is stored as one-2, the earlier one stays")
    with pytest.warns(CatalogueWarning), kept:
        assert store.save("one", make_comparison(), make_corpora(), replace=True).id == "one-2"
    assert {line.id for line in store.list()} == {"one", "one-2"}
