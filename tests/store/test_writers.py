"""Several processes at once: nothing that one of them did is lost, and nothing half-done is seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mauve_core.runs import RunStore, placing
from mauve_core.runs.index import INDEX
from mauve_core.runs.placing import DeletedRun
from tests.handmade import make_comparison, make_corpora

pytestmark = pytest.mark.integration

ROUNDS = 12
EDITS = 40
ROOT = Path(__file__).resolve().parents[2]

WORKER = """
import sys, time
from pathlib import Path
from mauve_core.runs import RunStore
from tests.handmade import make_comparison, make_corpora

root, me, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = RunStore(root)
(root / f"ready-{me}").touch()
while not (root / "go").exists():
    time.sleep(0.001)
said = ""
for number in range(rounds):
    store.save("same", make_comparison(), make_corpora())
    mine = store.save(f"{me} {number}", make_comparison(), make_corpora())
    for turn in range(4):
        line = {line.id: line for line in store.list()}["shared"]
        assert not said or said in (line.notes, *line.tags), f"{me} had said {said!r}, but there is {line}"
        said = f"{me} {number} {turn}"
        store.describe("shared", **({"notes": said} if me == "first" else {"tags": [said]}))
    store.delete(mine.id)
    (token,) = [entry.token for entry in store.deleted() if entry.summary.id == mine.id]
    if number % 2:
        assert store.restore(token).id == mine.id
    elif number % 4:
        assert store.purge(token) > 0
    listed = [line.id for line in store.list()]
    assert len(set(listed)) == len(listed)
    assert (mine.id in listed) == bool(number % 2), listed
"""

EDITOR = """
import sys, time
from pathlib import Path
from mauve_core.runs import About, ChangedMeanwhileError, RunStore

root, me, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = RunStore(root)
(root / f"ready-{me}").touch()
while not (root / "go").exists():
    time.sleep(0.001)
for number in range(rounds):
    while True:
        (line,) = store.list()
        seen = About(line.name, line.tags, line.notes)
        try:
            tags = [tag for tag in line.tags if tag != f"{me} {number - 1}"] + [f"{me} {number}"]
            store.describe("shared", tags=tags, notes=f"{line.notes}\\n{me} {number}", seen=seen)
            break
        except ChangedMeanwhileError:
            pass
"""

OPENER = """
import sys, time
from pathlib import Path
from mauve_core.runs import RunStore

root, me = Path(sys.argv[1]), sys.argv[2]
(root / f"ready-{me}").touch()
while not (root / "go").exists():
    time.sleep(0.001)
assert RunStore(root).list() == []
"""


def run_at_once(
    code: str, root: Path, *processes: tuple[str, ...], meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Start the processes, let them begin together, and wait for their ends; ``meanwhile`` is called until then."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(root), *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for arguments in processes
    ]
    try:
        while len(list(root.glob("ready-*"))) < len(started):
            assert all(process.poll() is None for process in started), "one ended before it began"
        (root / "go").touch()
        while any(process.poll() is None for process in started):
            meanwhile()
            time.sleep(0.003)
        for process in started:
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_two_processes_write_at_once_and_nothing_is_lost(store: RunStore) -> None:
    store.save("shared", make_comparison(), make_corpora())
    run_at_once(WORKER, store.root, ("first", str(ROUNDS)), ("second", str(ROUNDS)))
    listed = {line.id: line for line in store.list()}
    same = {f"same-{number}" for number in range(2, 2 * ROUNDS + 1)} | {"same"}
    restored = {f"{who}-{number}" for who in ("first", "second") for number in range(1, ROUNDS, 2)}
    assert listed.keys() == {"shared"} | same | restored
    last = f"{ROUNDS - 1} 3"
    assert (listed["shared"].notes, listed["shared"].tags) == (f"first {last}", (f"second {last}",))
    left = {f"{who}-{number}" for who in ("first", "second") for number in range(0, ROUNDS, 4)}
    assert {entry.summary.id for entry in store.deleted()} == left
    for run_id in listed:
        assert store.load(run_id).summary == listed[run_id]
    assert sorted(store.root.glob(".partial*")) == []


@pytest.mark.slow
def test_two_processes_edit_what_they_see_and_no_line_is_lost(store: RunStore) -> None:
    store.save("shared", make_comparison(), make_corpora())
    run_at_once(EDITOR, store.root, ("first", str(EDITS)), ("second", str(EDITS)))
    (line,) = store.list()
    notes = line.notes.splitlines()
    for who in ("first", "second"):
        assert [text for text in notes if text.startswith(who)] == [f"{who} {number}" for number in range(EDITS)]
    assert line.tags == (f"first {EDITS - 1}", f"second {EDITS - 1}")


@pytest.mark.slow
def test_no_line_is_lost_while_somebody_deletes_the_index(store: RunStore) -> None:
    store.save("shared", make_comparison(), make_corpora())
    deleted = Counter[bool]()

    def delete() -> None:
        with suppress(FileNotFoundError):
            (store.root / INDEX).unlink()
            deleted[True] += 1

    run_at_once(EDITOR, store.root, ("first", str(EDITS)), ("second", str(EDITS)), meanwhile=delete)
    assert deleted[True] > 10
    (line,) = store.list()
    for who in ("first", "second"):
        assert [text for text in line.notes.splitlines() if text.startswith(who)] == [
            f"{who} {i}" for i in range(EDITS)
        ]


@pytest.mark.slow
def test_an_index_is_made_once_however_many_open_it(store: RunStore) -> None:
    run_at_once(OPENER, store.root, *((str(number),) for number in range(4)))
    assert store.list() == []


def test_an_entry_that_is_restored_while_the_bin_is_listed_is_not_listed_as_damaged(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("one", make_comparison(), make_corpora())
    store.delete("one")
    (entry,) = store.deleted()
    read, other = placing._entry, RunStore(store.root)

    def restored_first(path: Path) -> DeletedRun:
        monkeypatch.setattr(placing, "_entry", read)
        other.restore(entry.token)
        return read(path)

    monkeypatch.setattr(placing, "_entry", restored_first)
    assert store.deleted() == []
    assert [line.id for line in store.list()] == ["one"]


def test_emptying_the_bin_takes_no_entry_from_under_a_deletion(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("one", make_comparison(), make_corpora())
    move, freed = placing.move_folder, list[int]()
    purging = threading.Thread(target=lambda: freed.append(RunStore(store.root).purge()))

    def purged_first(folder: Path, final: Path) -> Path:
        if folder.name == "one":
            purging.start()
            purging.join(0.5)  # all the time it would need
        return move(folder, final)

    monkeypatch.setattr(placing, "move_folder", purged_first)
    store.delete("one")
    purging.join()
    assert freed[0] > 0
    assert (store.list(), store.deleted()) == ([], [])


def test_the_freed_bytes_are_told_even_if_another_process_clears_the_hidden_folder_first(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("one", make_comparison(), make_corpora())
    (line,) = store.list()
    store.delete("one")
    (deleted,) = store.deleted()
    move = placing.move_folder

    def move_and_clear(source: Path, target: Path) -> None:
        move(source, target)
        shutil.rmtree(target)

    monkeypatch.setattr(placing, "move_folder", move_and_clear)
    assert store.purge(deleted.token) == line.bytes > 0
