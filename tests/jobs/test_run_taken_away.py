"""A run is deleted or replaced while a job works on it: the job ends with one line, what was done to
the run stays done, and nothing of it comes back."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analyses.comparison_task import MapTask
from mauve_core.analyses.measures_over_neighbours import NeighboursTask
from mauve_core.analyses.task_registry import PrecomputeTask
from mauve_core.analyses.tasks import RunTask
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.files import HOME_VARIABLE, write_atomically
from mauve_core.findings import precomputed
from mauve_core.jobs import memory, queue, worker
from mauve_core.jobs.state import JobState
from mauve_core.runs import RunStore, store
from tests.files_on_disk import make_task

pytestmark = pytest.mark.slow

# Of a job, at which the run is taken away.
POINTS = 3

# For whoever takes it away, before the job goes on: it may hold a lock.
PATIENCE_S = 0.3

TASKS = [NeighboursTask("study", ks=(3,)), PrecomputeTask("study"), MapTask("study")]


def deleted(other: Path) -> None:
    RunStore().delete("study")


def replaced(other: Path) -> None:
    RunStore().delete("study")
    RunStore().import_(other)


Act = Callable[[Path], None]


class Meanwhile:
    """Does something in a thread as a job touches its run for the n-th time; ``count`` says how often it has."""

    def __init__(self) -> None:
        self.folder, self.count, self.point = "", 0, 0
        self.act: Callable[[], None] = lambda: None
        self._thread = threading.Thread()
        sys.addaudithook(self._see)

    def during(self, work: Callable[[], JobState], point: int, act: Callable[[], None]) -> JobState:
        self.folder, self.count, self.point, self.act = str(RunStore().root), 0, point, act
        try:
            return work()
        finally:
            self.folder = ""
            if self.point:
                self._thread.join()

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.folder or event not in ("open", "os.rename") or threading.current_thread() is self._thread:
            return
        if f"{self.folder}/study" in str(arguments[0]):
            self.count += 1
            if self.count == self.point:
                self._thread = threading.Thread(target=self.act)
                self._thread.start()
                self._thread.join(PATIENCE_S)


@pytest.fixture(scope="module")
def meanwhile() -> Meanwhile:
    return Meanwhile()


@pytest.fixture(autouse=True)
def workers_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(folder: Path, lock: int) -> None:
        with suppress(MauveLensError):
            worker.work(folder)

    monkeypatch.setattr(os, "nice", lambda more: 0)
    monkeypatch.setattr(memory, "limit_mb", lambda: None)
    monkeypatch.setattr(queue, "_spawn", work)


def require_nothing_left(job: JobState, act: Act) -> None:
    store = RunStore()
    folders = [path for path in store.root.iterdir() if path.is_dir() and path.name != ".bin"]
    assert all((folder / "comparison.json").is_file() for folder in folders), [*store.root.rglob("*")]
    assert [path for path in store.root.rglob(".*") if path.name != ".bin"] == []
    assert store.damaged() == {}
    listed = {line.id: line for line in store.list()}
    assert [*listed] == ([] if act is deleted else ["study"])
    if act is replaced:
        run = store.load("study")
        kept = run.attachment("neighbours")
        assert kept is None or kept["settings"]["texts"]["human"] == run.comparison.human.n
    assert len(store.deleted()) == 1
    assert "\n" not in job.message
    gone = "deleted or replaced", "No run has the id", "replaced meanwhile"
    assert job.status == "done" or any(said in job.message for said in gone), job


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home with a run, and another run of the same id as a file."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(folder / "other"))
        other = RunStore().export(make_task(folder / "others", n=30).make().id, folder)
        patch.setenv(HOME_VARIABLE, str(folder / "home"))
        shutil.rmtree(make_task(folder / "files").make().path / precomputed.DERIVED)
    return folder / "home", other


@pytest.mark.trial
@pytest.mark.parametrize("act", [deleted, replaced])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_taken_away(
    task: RunTask,
    act: Act,
    meanwhile: Meanwhile,
    study: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, other = study

    def done(point: int) -> JobState:
        monkeypatch.setenv(HOME_VARIABLE, str(shutil.copytree(home, tmp_path / f"home-{point}")))
        return meanwhile.during(lambda: queue.start(task), point, lambda: act(other))

    assert done(0).status == "done"
    assert meanwhile.count >= POINTS
    for point in [1 + number * (meanwhile.count - 1) // (POINTS - 1) for number in range(POINTS)]:
        require_nothing_left(done(point), act)


def test_deleted_as_something_is_added(
    study: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look whether the run is there and the making of a folder in it."""
    monkeypatch.setenv(HOME_VARIABLE, str(shutil.copytree(study[0], tmp_path / "copy")))
    threads = [threading.Thread(target=lambda: RunStore().delete("study"))]

    def write(path: Path, *how: Any) -> None:
        if not threads[0].ident:
            threads[0].start()
            threads[0].join(PATIENCE_S)
        write_atomically(path, *how)

    monkeypatch.setattr(store, "write_atomically", write)
    job = queue.start(TASKS[0])
    threads[0].join()
    require_nothing_left(job, deleted)


def test_a_result_of_a_run_is_not_kept_beside_another_of_its_id(
    study: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(shutil.copytree(study[0], tmp_path / "copy")))
    run = RunStore().load("study")
    replaced(study[1])
    with pytest.raises(InputError, match="was replaced meanwhile, so the result is not kept"):
        RunStore().attach("study", "note", {}, of=run)
    assert RunStore().load("study").attachment("note") is None
