"""The index of runs: made again from the folders whatever becomes of its file, and done without where it cannot be."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from mauve_core.base import files
from mauve_core.base.errors import StorageError
from mauve_core.runs import COMPARISON, RunStore, RunSummary, index
from mauve_core.runs.index import ASIDE, FORMAT, INDEX, IndexWarning
from mauve_core.runs.placing import locked
from tests.handmade import make_comparison, make_corpora


def save(store: RunStore, name: str) -> str:
    return store.save(name, make_comparison(), make_corpora()).id


def ids(store: RunStore) -> list[str]:
    return sorted(line.id for line in store.list())


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def version(path: Path) -> int:
    with opened(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_the_index_holds_what_is_listed_and_its_owner_alone_reads_it(store: RunStore) -> None:
    save(store, "one")
    store.list()
    path = store.root / INDEX
    assert path.stat().st_mode & 0o777 == 0o600
    with opened(path) as connection:
        assert connection.execute("SELECT id FROM runs").fetchall() == [("one",)]
    assert store.index_failure() is None


def test_folders_are_read_only_when_they_have_changed(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, "one")
    before = store.list()
    monkeypatch.setattr(index, "read_summary", pytest.fail)
    assert store.list() == before
    assert RunStore(store.root).list() == before
    monkeypatch.undo()
    assert store.describe("one", notes="x") == store.list()[0]


def test_the_number_of_the_layout_is_raised_with_what_is_in_it() -> None:
    """A line that another version wrote must not be taken for a whole one."""
    known = ("id", "name", "created", "human", "candidates", "n", "encoder", "tags", "notes", "bytes", "kind")
    assert (FORMAT, tuple(item.name for item in fields(RunSummary))) == (1, (*known, "features_from"))


@pytest.mark.parametrize("number", [0, FORMAT + 1])
@pytest.mark.parametrize("table", ["CREATE TABLE runs (id, km)", "CREATE TABLE other (km)"])
def test_an_index_of_another_layout_is_made_anew(store: RunStore, number: int, table: str) -> None:
    save(store, "one")
    store.describe("one", tags=["kept"])
    with opened(store.root / INDEX) as connection:
        connection.executescript(f"DROP TABLE IF EXISTS runs; {table}; PRAGMA user_version = {number}")
    assert [(line.id, line.tags) for line in store.list()] == [("one", ("kept",))]
    assert version(store.root / INDEX) == FORMAT
    assert not (store.root / ASIDE).exists(), "there was nothing wrong with it"


@pytest.mark.parametrize("first", ["list", "damaged", "describe", "save", "delete"])
def test_a_deleted_index_is_made_again(store: RunStore, first: str) -> None:
    save(store, "one")
    store.describe("one", name="Named", tags=["t"], notes="notes")
    before = store.list()
    (store.root / INDEX).unlink()
    if first == "delete":
        store.delete("one")
        store.restore(store.deleted()[0].token)
    elif first == "save":
        save(store, "two")
        shutil.rmtree(store.root / "two")
    else:
        {"list": store.list, "damaged": store.damaged, "describe": lambda: store.describe("one")}[first]()
    assert store.list() == before
    assert (store.root / INDEX).exists()


def test_an_index_deleted_under_a_change_or_a_reader_is_made_again(store: RunStore) -> None:
    save(store, "one")
    with opened(store.root / INDEX) as reader:
        store.list()
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        with locked(store.root):
            (store.root / INDEX).unlink()
            save(store, "two")
            assert ids(store) == ["one", "two"]
        assert reader.execute("SELECT count(*) FROM runs").fetchone() == (1,), "the file that it had opened"
    store.describe("two", notes="x")
    assert [line.notes for line in store.list() if line.id == "two"] == ["x"]


def test_an_index_deleted_while_it_is_written_costs_no_run(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, "one")
    store.list()
    save(store, "two")
    read_summary = index.read_summary

    def deleting(folder: Path) -> RunSummary:
        (store.root / INDEX).unlink()
        return read_summary(folder)

    with monkeypatch.context() as patch:
        patch.setattr(index, "read_summary", deleting)
        assert ids(store) == ["one", "two"], "deleted between its being read and written"
    assert ids(store) == ["one", "two"]
    with opened(store.root / INDEX) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (2,)


def _sql(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with opened(path) as connection:
            for statement in statements:
                connection.execute(statement)

    return damage


def _truncate(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size // 2)


def _break_text(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b"/data/human") == 1
    path.write_bytes(content.replace(b"/data/human", b"/data/h\xff\xfean"))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"no database, but long enough to be taken for one" * 100),
    "garbage behind a header": lambda path: path.write_bytes(b"SQLite format 3\x00" + b"x" * 8192),
    "truncated": _truncate,
    "no table of runs": _sql("DROP TABLE runs"),
    "another table of runs": _sql("DROP TABLE runs", "CREATE TABLE runs (id, km)"),
    "a view of that name": _sql("DROP TABLE runs", "CREATE VIEW runs AS SELECT 1", "PRAGMA user_version = 9"),
    "text for a number": _sql('UPDATE runs SET summary = replace(summary, \'"n": 7\', \'"n": "many"\')'),
    "no JSON": _sql("UPDATE runs SET summary = 'b, c'"),
    "JSON of another kind": _sql("UPDATE runs SET summary = '5'"),
    "JSON too deep": _sql(f"UPDATE runs SET summary = '{'[' * 100_000}'"),
    "no text": _sql(
        "DROP TABLE runs", "CREATE TABLE runs (id, fingerprint, summary)", "INSERT INTO runs DEFAULT VALUES"
    ),
    "bytes for text": _sql("UPDATE runs SET summary = x'ff00'"),
    "text that is no UTF-8": _break_text,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_put_aside_and_made_anew(store: RunStore, damage: str) -> None:
    path, run_id = store.root / INDEX, save(store, "one")
    store.describe(run_id, tags=["kept"])
    store.list()
    DAMAGE[damage](path)
    content = path.read_bytes()
    assert store.describe(run_id, notes="later").notes == "later", "what is said of runs does not ask the index"
    with pytest.warns(IndexWarning, match=rf"is damaged: .*Moving it to .*{ASIDE} and rebuilding it") as caught:
        store.list()
    assert len(caught) == 1
    assert [(line.id, line.tags, line.notes, line.n) for line in store.list()] == [(run_id, ("kept",), "later", 7)]
    assert (store.root / ASIDE).read_bytes() == content
    assert (store.index_failure(), store.damaged(), version(path)) == (None, {}, FORMAT)


@pytest.mark.parametrize("target", ["", "/dev/zero"])
@pytest.mark.parametrize("suffix", ["", "-journal", "-wal"])
def test_an_index_that_is_no_regular_file_is_made_anew(store: RunStore, suffix: str, target: str) -> None:
    run_id = save(store, "one")
    store.list()
    path = store.root / f"{INDEX}{suffix}"
    path.unlink(missing_ok=True)
    path.symlink_to(target) if target else os.mkfifo(path)
    with pytest.warns(IndexWarning, match="is damaged: .*not a regular file.*rebuilding it"):
        assert ids(store) == [run_id]
    assert ids(store) == [run_id]
    assert (store.root / INDEX).is_file()


def test_an_empty_file_is_filled(store: RunStore) -> None:
    run_id = save(store, "one")
    (store.root / INDEX).write_bytes(b"")
    assert ids(store) == [run_id]
    assert version(store.root / INDEX) == FORMAT


@pytest.mark.slow
def test_processes_that_meet_the_same_damage_make_it_anew_once(store: RunStore) -> None:
    run_ids = [save(store, name) for name in ("one", "two")]
    (store.root / INDEX).write_bytes(b"garbage" * 1000)
    code = "import sys; from mauve_core.runs import RunStore; print(len(RunStore(sys.argv[1]).list()))"
    command = [sys.executable, "-c", code, str(store.root)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [other.communicate() for other in others]
    assert [out.strip() for out, _ in answers] == ["2"] * 4, answers
    assert sum("Moving it to" in err for _, err in answers) == 1
    assert (store.root / ASIDE).read_bytes() == b"garbage" * 1000
    assert ids(store) == sorted(run_ids)


def test_an_index_that_cannot_be_opened_takes_nothing_down(store: RunStore) -> None:
    for name in ("one", "two", "three"):
        save(store, name)
    (store.root / "two" / COMPARISON).write_text("{")
    (store.root / INDEX).unlink(missing_ok=True)
    (store.root / INDEX).mkdir()
    with pytest.warns(IndexWarning, match=r"cannot be used: .*Listing runs from their folders"):
        assert ids(store) == ["one", "three"]
    assert "cannot be used" in str(store.index_failure())
    with pytest.warns(IndexWarning):
        assert list(store.damaged()) == ["two"]
    with pytest.warns(IndexWarning):
        assert store.disk_use().runs["one"] > 0
    assert store.load("one").id == "one"
    assert store.describe("one", notes="x").notes == "x"
    store.delete("three")
    with pytest.warns(IndexWarning):
        assert [(line.id, line.notes) for line in store.list()] == [("one", "x")]
    (store.root / INDEX).rmdir()
    assert [(line.id, line.notes) for line in store.list()] == [("one", "x")]
    assert store.index_failure() is None


def test_without_an_index_only_changed_folders_are_read(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, "one")
    (store.root / INDEX).mkdir()
    with pytest.warns(IndexWarning):
        before = store.list()
    monkeypatch.setattr(index, "read_summary", pytest.fail)
    with pytest.warns(IndexWarning):
        assert RunStore(store.root).list() == before


def test_a_full_disk_takes_no_list_down(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store, "one")
    connect = sqlite3.connect

    def full(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        with pytest.warns(IndexWarning, match=r"cannot be used: database or disk is full.*from their folders"):
            assert ids(store) == ["one"]
    assert ids(store) == ["one"]
    assert (store.index_failure(), (store.root / ASIDE).exists()) == (None, False)


@pytest.fixture
def mine() -> Iterator[RunStore]:
    """A store of a user whom modes of files bind, as they do not bind root."""
    folder = Path(tempfile.mkdtemp(prefix="mauve-index-"))
    nobody = 65534
    if os.geteuid() == 0:
        os.chown(folder, nobody, nobody)
        os.seteuid(nobody)
    try:
        yield RunStore(folder / "runs")
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        (folder / "runs").chmod(0o700)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_listed_by_its_index(mine: RunStore) -> None:
    save(mine, "one")
    before = mine.list()
    (mine.root / INDEX).chmod(0o400)
    mine.root.chmod(0o500)
    (mine.root / "one").chmod(0o500)
    assert mine.list() == before, "no warning: there is nothing to write"
    with pytest.raises(StorageError, match=r"Cannot read or write .*Check the disk and the folder's permissions"):
        mine.describe("one", notes="x")
    with pytest.raises(StorageError, match=r"Cannot read or write .*Check the disk and the folder's permissions"):
        mine.delete("one")
    (mine.root / "one").chmod(0o700)
    assert mine.list() == before


def test_a_folder_that_cannot_be_written_is_listed_though_its_index_is_old(mine: RunStore) -> None:
    save(mine, "one")
    mine.list()
    save(mine, "two")
    (mine.root / INDEX).chmod(0o400)
    mine.root.chmod(0o500)
    with pytest.warns(IndexWarning, match=r"cannot be used: attempt to write a readonly database"):
        assert ids(mine) == ["one", "two"]
    assert "check its permissions" in str(mine.index_failure())


@pytest.mark.parametrize("there", [True, False])
def test_an_index_that_cannot_be_read_or_made_is_done_without(mine: RunStore, there: bool) -> None:
    save(mine, "one")
    if there:
        mine.list()
        (mine.root / INDEX).chmod(0)
    mine.root.chmod(0o500)
    with pytest.warns(IndexWarning, match=r"cannot be used: unable to open database file"):
        assert ids(mine) == ["one"]


def test_a_folder_that_cannot_be_read_is_an_error(mine: RunStore) -> None:
    save(mine, "one")
    mine.root.chmod(0o300)
    for call in (mine.list, mine.damaged, mine.disk_use):
        with pytest.raises(StorageError, match="Permission denied"):
            call()


def test_a_writer_that_never_ends_takes_no_list_down(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WAIT_S", 0)
    save(store, "one")
    store.list()
    with opened(store.root / INDEX) as other:
        other.execute("BEGIN IMMEDIATE")
        assert ids(store) == ["one"], "readers do not wait for a writer"
        save(store, "two")
        with pytest.warns(IndexWarning, match="locked"):
            assert ids(store) == ["one", "two"]
        other.execute("ROLLBACK")
    assert ids(store) == ["one", "two"]
    assert store.index_failure() is None


def test_a_change_that_never_ends_keeps_others_from_changing_alone(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_PATIENCE_S", 0.0)
    save(store, "one")
    store.delete(save(store, "two"))
    (entry,) = store.deleted()
    with locked(store.root):
        for change in (
            lambda: store.describe("one", notes="x"),
            lambda: store.tag("one", add=["x"]),
            lambda: store.delete("one"),
            lambda: store.restore(entry.token),
        ):
            with pytest.raises(StorageError, match=r"Another process has been changing the runs in .*Try again"):
                change()
        assert [(line.id, line.notes, line.tags) for line in store.list()] == [("one", "", ())]
        assert save(store, "new") == "new", "folders come by one rename"
        with pytest.warns(UserWarning, match="The run was stored as one-2; the earlier one was kept"):
            assert store.save("one", make_comparison(), make_corpora(), replace=True).id == "one-2"
    assert store.describe("one", notes="x").notes == "x"
    assert ids(store) == ["new", "one", "one-2"]


def test_a_home_that_moves_takes_its_index_along(tmp_path: Path) -> None:
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    assert save(here, "same") == save(there, "same") == "same"
    here.describe("same", notes="here")
    assert [line.notes for line in there.list()] == [""]
    there.delete("same")
    assert [line.notes for line in here.list()] == ["here"]
    (tmp_path / "here").rename(tmp_path / "moved")
    assert [line.notes for line in RunStore(tmp_path / "moved").list()] == ["here"]


def test_texts_that_no_page_takes_are_listed(store: RunStore) -> None:
    save(store, "one")
    path = store.root / "one" / COMPARISON
    path.write_text(path.read_text().replace("/data/human.jsonl", "/data/\\u0000\\ud800"))
    assert [store.list()[0].human for _ in range(2)] == ["/data/\ufffd?"] * 2
