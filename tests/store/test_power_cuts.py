"""The power goes at any moment of a change: the disk then holds what was before or what was wanted, and what was done
stays done."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from mauve_app.server.access import SignedOut
from mauve_core.analyses.task_registry import read_task
from mauve_core.base.files import HOME_VARIABLE, home
from mauve_core.encoders.features import FeatureStore, Part
from mauve_core.jobs import memory, queue, worker
from mauve_core.jobs.queue import remove_leftovers
from mauve_core.jobs.state import TASK, read_json
from mauve_core.runs import RunStore
from mauve_core.runs.folder import RATINGS, folder_bytes
from tests.files_on_disk import make_task
from tests.handmade import make_comparison, make_corpora, make_features
from tests.power_cuts import Disk, recorded, write_state

KEY = "abc"
ARRAY = np.arange(6, dtype=np.float32).reshape(3, 2)
LENGTHS, CUT = np.array([1, 2, 3], dtype=np.int32), np.array([False, True, False])

# A folder in memory, where there is one: hundreds of disks are made.
QUICK = Path("/dev/shm")

Look = Callable[[], Any]


def save(name: str = "study", **options: bool) -> None:
    RunStore().save(name, make_comparison(), make_corpora(), make_features(), **options)


def runs() -> dict[str, Any]:
    """What is listed and what is in the bin, by id, read to the end; raises if anything of it is damaged."""
    store = RunStore()
    assert store.damaged() == {}
    found: dict[str, Any] = {}
    for line in store.list():
        run = store.load(line.id)
        features = [run.features(source.name) for source in run.comparison.sources]
        found[line.id] = (
            asdict(line) | {"bytes": 0},
            run.digest,
            run.attachment("note"),
            [np.asarray(each).tolist() for each in features],
        )
    for entry in store.deleted():
        assert not entry.damage
        assert folder_bytes(store.root / ".bin" / entry.token / "run") == entry.summary.bytes
        found[f"deleted {entry.summary.id}"] = True
    return found


def after_cuts(disk: Disk, look: Look, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    """What is seen after cuts while it changed, and after it has."""
    seen: tuple[list[Any], list[Any]] = [], []
    for state, ended in disk.states():
        with TemporaryDirectory(dir=QUICK if QUICK.is_dir() else None) as folder:
            write_state(state, Path(folder))
            monkeypatch.setenv(HOME_VARIABLE, folder)
            found = look()
        if found not in seen[ended]:
            seen[ended].append(found)
    return seen


def describe() -> None:
    RunStore().describe("study", name="Other", tags=["a"], notes="b")


def replace() -> None:
    save(replace=True)


def attach() -> None:
    RunStore().attach("study", "note", {"value": 2})


def delete() -> None:
    RunStore().delete("study")


def import_() -> None:
    RunStore().import_(Path(os.environ["ARCHIVE"]), name="brought")


def restore() -> None:
    (entry,) = [entry for entry in RunStore().deleted() if entry.summary.id == "old"]
    RunStore().restore(entry.token)


def purge() -> None:
    RunStore().purge()


LONG = [pytest.param(change, marks=pytest.mark.trial) for change in (import_, replace, purge)]


@pytest.mark.slow
@pytest.mark.parametrize("change", [save, describe, attach, delete, restore, *LONG])
def test_a_run_is_as_before_or_as_wanted(
    change: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save()
    save("old")
    RunStore().attach("study", "note", {"value": 1})
    monkeypatch.setenv("ARCHIVE", str(RunStore().export("study", tmp_path / "archive.zip")))
    RunStore().delete("old")
    before = runs()
    with recorded(home()) as disk:
        change()
    after = runs()
    assert after != before
    during, ended = after_cuts(disk, runs, monkeypatch)
    allowed = [before, after]
    if change is replace:  # the earlier run is in the bin meanwhile
        old = {"deleted old": True, "deleted study": True}
        allowed += [old, after | old]
    assert [seen for seen in during if seen not in allowed] == []
    assert before in during
    assert ended == [after]


def ratings() -> bytes | None:
    path = RunStore().root / "study" / RATINGS
    return path.read_bytes() if path.exists() else None


def test_damaged_ratings_stay_as_they_are_beside_the_new_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can read them but by hand; SQLite itself flushes what it copies."""
    save()
    (RunStore().root / "study" / RATINGS).write_bytes(b"damaged")
    with recorded(home()) as disk:
        save(replace=True)
    during, ended = after_cuts(disk, ratings, monkeypatch)
    assert {*during} == {b"damaged", None}
    assert ended == [b"damaged"]


def features() -> list[Any]:
    stored, parts = FeatureStore().get(KEY), FeatureStore().parts(KEY, len(ARRAY))
    return [None if stored is None else stored.array.tolist(), *(part.array.tolist() for part in parts)]


def test_features_replace_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged entry would warn, which is an error."""
    FeatureStore().save_part(KEY, Part(np.arange(2), ARRAY[:2], "cpu"))
    before, whole = features(), ARRAY.tolist()
    with recorded(home()) as disk:
        FeatureStore().put(KEY, ARRAY, LENGTHS, CUT, {})
    during, ended = after_cuts(disk, features, monkeypatch)
    assert all(seen in (before, [whole, *before[1:]]) for seen in during)
    assert all(seen[0] == whole for seen in ended)


def job_and_run() -> tuple[Any, ...]:
    """The job's status and the run that it names, after the next start; nothing of either may be damaged."""
    remove_leftovers()
    job = next(iter(queue.list()), None)
    assert job is None or "damaged" not in job.message, job
    if job is not None:
        assert read_task(job.kind, read_json(queue.jobs_folder() / job.id / TASK)).title == "study"
    return None if job is None else job.status, None if job is None else job.run, [*runs()]


@pytest.mark.slow
@pytest.mark.trial
def test_a_job_stays_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "nice", lambda more: 0)
    monkeypatch.setattr(memory, "limit_mb", lambda: None)
    monkeypatch.setattr(queue, "_spawn", lambda folder, lock: worker.work(folder))
    task = make_task(tmp_path / "files")
    runs()
    with recorded(home()) as disk:
        job = queue.start(task)
    assert job.status == "done"
    during, ended = after_cuts(disk, job_and_run, monkeypatch)
    assert ended == [("done", "study", ["study"])]
    assert {seen[0] for seen in during} == {None, "interrupted", "done"}
    assert all(stored == ["study"] for _, run, stored in during if run)


def test_who_signed_out_stays_signed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(home()) as disk:
        SignedOut().add([b"key"])
    during, ended = after_cuts(disk, lambda: SignedOut().holds([b"key"]), monkeypatch)
    assert False in during
    assert ended == [True]
