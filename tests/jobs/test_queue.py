"""Jobs run in real processes here: they finish, fail with a reason, wait, stop when asked, and survive a kill."""

from __future__ import annotations

import dataclasses
import fcntl
import itertools
import json
import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.analyses.task_registry import read_task
from mauve_core.base import faults
from mauve_core.base.errors import CancelledError, InputError, StorageError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.progress import Progress
from mauve_core.jobs import queue, worker
from mauve_core.jobs import state as job_state
from mauve_core.jobs.queue import remove_leftovers, uploads_folder
from mauve_core.jobs.state import ALIVE, CANCEL, LOG, STATE, TASK, JobState, read_state, write_state
from mauve_core.runs import Run, RunStore
from tests.files_on_disk import make_task
from tests.job_folders import job, turn_taken

STATE_TEXT = '{{"id": "20300101-000000000000-abcd", "name": "study", {values}}}'
# A worker needs a few seconds for its imports; on a busy machine many times that.
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield home
    for state in queue.list():
        if state.active:
            os.kill(pid_of(state.id), signal.SIGKILL)
    for child in queue._children.values():
        child.wait()
    queue._children.clear()


@pytest.fixture
def task(tmp_path: Path) -> ComparisonTask:
    return make_task(tmp_path / "files")


def pid_of(job: str) -> int:
    return queue._children[job].pid


def wait_for(job: str, holds: Callable[[JobState], bool]) -> JobState:
    end = time.monotonic() + PATIENCE_S
    while not holds(state := queue.status(job)):
        if time.monotonic() > end:
            pytest.fail(f"still {state}; log: {queue.log_tail(job)}")
        time.sleep(0.05)
    return state


def ended(state: JobState) -> bool:
    return not state.active


def started(state: JobState) -> bool:
    """The worker has read its task and asks for its turn: it is nicer than the tests since just before."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    return os.getpriority(os.PRIO_PROCESS, pid_of(state.id)) >= min(own + worker.NICENESS, 19)


@pytest.mark.slow
def test_one_job_at_a_time_and_a_waiting_one_can_be_cancelled(task: ComparisonTask) -> None:
    with turn_taken():
        first = queue.start(task)
        second = queue.start(dataclasses.replace(task, name="other"))
        assert [state.id for state in queue.list()] == [second.id, first.id]
        for job in (first, second):
            wait_for(job.id, started)
        time.sleep(3 * worker.POLL_INTERVAL_S)
        assert [state.status for state in queue.list()] == ["queued", "queued"]
        with pytest.raises(InputError, match="has not ended yet"):
            queue.remove(first.id)
        with pytest.raises(InputError, match="has not ended yet"):
            queue.resume(first.id)
        queue.cancel(second.id)
        assert wait_for(second.id, ended).status == "cancelled"
        assert queue.status(first.id).status == "queued"


@pytest.mark.slow
def test_the_same_work_is_not_started_twice(task: ComparisonTask) -> None:
    with turn_taken():
        first = queue.start(task)
        assert queue.start(task).id == first.id
        other = queue.start(dataclasses.replace(task, name="other"))
        assert [state.id for state in queue.list()] == [other.id, first.id]
        wait_for(first.id, started)
        os.kill(pid_of(first.id), signal.SIGSTOP)
        queue.cancel(first.id)
        queue.cancel(first.id)
        assert queue.is_stopping(queue.status(first.id))
        again = queue.start(task)
        assert again.id != first.id, "that one is to stop"
        os.kill(pid_of(first.id), signal.SIGCONT)
        assert wait_for(first.id, ended).status == "cancelled"
        assert not queue.is_stopping(queue.status(first.id))


@pytest.mark.slow
def test_a_killed_worker_is_noticed_and_its_resumed_job_makes_the_run(task: ComparisonTask) -> None:
    with turn_taken():
        job = queue.start(task)
        wait_for(job.id, started)
        os.kill(pid_of(job.id), signal.SIGKILL)
        state = wait_for(job.id, ended)
    assert state.status == "interrupted"
    assert "killed" in state.message
    (queue.jobs_folder() / job.id / ".state.json.0123").write_text("{")  # what it may have been writing
    again = queue.resume(job.id)
    assert (again.id, again.created) == (job.id, job.created)
    state = wait_for(job.id, ended)
    assert (state.status, state.run, state.message) == ("done", "study", "")
    run = RunStore().load("study")
    assert run.comparison.config == task.config
    assert [candidate.name for candidate in run.comparison.candidates] == list(task.candidates)
    assert [state.id for state in queue.list()] == [job.id]
    assert not list((queue.jobs_folder() / job.id).glob(".*"))
    with pytest.raises(InputError, match="is done"):
        queue.resume(job.id)
    queue.remove(job.id)
    assert queue.list() == ()
    assert [summary.id for summary in RunStore().list()] == ["study"], "the run outlives its job"


def test_a_job_is_done_as_soon_as_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_state, "PATIENCE_S", 0)
    with (
        job(1, status="done") as done,
        job_state.lock_of_worker(queue.jobs_folder() / done.id),
        pytest.raises(InputError, match="is done"),
    ):
        queue.resume(done.id)


@pytest.mark.slow
@pytest.mark.trial
def test_a_job_that_was_killed_after_its_run_was_stored_makes_no_second_one(task: ComparisonTask) -> None:
    job = queue.start(task)
    wait_for(job.id, ended)
    folder = queue.jobs_folder() / job.id
    before = (RunStore().root / "study" / "comparison.json").read_bytes()
    shutil.rmtree(RunStore().root / "study" / "derived")
    write_state(folder, dataclasses.replace(read_state(folder), status="running", run=None))
    assert wait_for(job.id, ended).status == "interrupted"
    queue.resume(job.id)
    assert wait_for(job.id, ended).run == "study"
    assert [summary.id for summary in RunStore().list()] == ["study"]
    assert (RunStore().root / "study" / "comparison.json").read_bytes() == before
    assert (RunStore().root / "study" / "derived").is_dir()
    other = wait_for(queue.start(task).id, ended)
    assert other.run == "study-2", "another job of that name makes a run of its own"


@pytest.mark.slow
@pytest.mark.trial
def test_waiting_jobs_have_their_turn_in_the_order_in_which_they_were_asked_for(task: ComparisonTask) -> None:
    with turn_taken():
        started_jobs = [queue.start(dataclasses.replace(task, name=f"job {place}")) for place in range(3)]
        for job in started_jobs:
            wait_for(job.id, started)
        found = queue.list()
        assert [queue.ahead_of(job.id, found) for job in started_jobs] == [0, 1, 2]
        os.kill(pid_of(started_jobs[0].id), signal.SIGKILL)
        wait_for(started_jobs[0].id, ended)
        assert [queue.ahead_of(job.id, queue.list()) for job in started_jobs[1:]] == [0, 1]
        queue.resume(started_jobs[0].id)
        wait_for(started_jobs[0].id, started)
    ends = [wait_for(job.id, ended) for job in started_jobs]
    assert [state.status for state in ends] == ["done"] * 3
    assert ends == sorted(ends, key=lambda state: state.updated)
    for earlier, later in itertools.pairwise(ends):
        assert later.started is not None
        assert earlier.updated <= later.started
    assert any("Jobs ahead of this one: 2" in line for line in queue.log_lines(started_jobs[2].id))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": {}}, "no candidate"),
        ({"nonsense": 1}, "comparison task cannot be used.*Received: 'nonsense'"),
        ({"config": {"score": {"seeds": 0}}}, r"entry config\.score\.seeds of"),
    ],
)
def test_a_bad_description_starts_nothing(task: ComparisonTask, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        queue.start(read_task("comparison", {**task.to_json(), **change}))
    assert queue.list() == ()


def test_a_full_disk_starts_nothing(task: ComparisonTask, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, write: object) -> None:
        raise StorageError("No space left")

    monkeypatch.setattr(job_state, "write_atomically", full)
    with pytest.raises(StorageError, match="No space"):
        queue.start(task)
    assert [path.name for path in queue.jobs_folder().iterdir()] == [job_state.CHANGES]


def test_paths_of_a_job_do_not_depend_on_the_folder(task: ComparisonTask, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(task.human.path).parent
    monkeypatch.chdir(folder.parent)
    relative = dataclasses.replace(task, human=dataclasses.replace(task.human, path=f"{folder.name}/human.jsonl"))
    assert relative.absolute() == task


@pytest.mark.parametrize("identifier", ["../jobs", "20300101-000000000000-abcd"])
def test_an_unknown_job_is_an_input_error(identifier: str) -> None:
    for action in (queue.status, queue.cancel, queue.resume, queue.remove, queue.take_back, queue.log_lines):
        with pytest.raises(InputError, match=r"No job (has|with) the id"):
            action(identifier)


def make_job(**changes: object) -> tuple[Path, JobState]:
    """A job's folder as if its worker, now gone, had written it."""
    state = JobState(id="20300101-000000000000-abcd", name="study", status="queued")
    folder = queue.jobs_folder() / state.id
    folder.mkdir(parents=True)
    (folder / ALIVE).touch()
    return folder, write_state(folder, dataclasses.replace(state, **changes))  # type: ignore[arg-type]


def test_a_state_without_a_worker_is_an_interruption() -> None:
    folder, state = make_job(status="running")
    (folder / LOG).write_text("Reading files: 4\nEncoding tokens of human: 28,000\n\n")
    found = queue.status(state.id)
    assert (found.status, found.active) == ("interrupted", False)
    assert "features already computed are kept" in found.message
    assert found.message.endswith("Last line of its log: Encoding tokens of human: 28,000")
    (folder / CANCEL).touch()
    assert queue.status(state.id).status == "cancelled"


def test_a_worker_counts_as_alive_while_its_lock_is_held() -> None:
    """Whatever its process number: that of a dead worker may belong to somebody else by now."""
    folder, state = make_job(status="running")
    with (folder / ALIVE).open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert queue.status(state.id).status == "running"
    assert queue.status(state.id).status == "interrupted"


def test_a_worker_whose_lock_is_gone_is_gone() -> None:
    folder, state = make_job(status="running")
    (folder / ALIVE).unlink()
    assert queue.status(state.id).status == "interrupted"
    assert [found.id for found in queue.list()] == [state.id]


def test_an_ended_job_stays_as_it_was_written() -> None:
    _, state = make_job(status="done", run="study")
    queue.cancel(state.id)
    assert queue.status(state.id) == state


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"surprise": 1}',
        "[" * 100_000,
        STATE_TEXT.format(values='"status": ["running"]'),
        STATE_TEXT.format(values='"status": "running", "stage_started": "yesterday"'),
        STATE_TEXT.format(values='"status": "done"').replace("2030", "2031"),
    ],
)
def test_a_damaged_state_is_a_failure_that_can_be_removed(content: str) -> None:
    folder, state = make_job()
    (folder / STATE).write_text(content)
    assert [(found.id, found.status) for found in queue.list()] == [(state.id, "failed")]
    assert "state.json" in queue.status(state.id).message
    with pytest.raises(StorageError, match=r"state\.json"):
        read_state(folder)
    queue.remove(state.id)
    assert queue.list() == ()


@pytest.mark.parametrize("target", ["", "/dev/zero"])
def test_files_of_a_job_that_are_none_are_not_waited_for(target: str) -> None:
    folder, state = make_job()
    for name in (STATE, LOG, TASK, ALIVE):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target) if target else os.mkfifo(folder / name)
    assert [found.status for found in queue.list()] == ["failed"]
    assert "not a regular file" in queue.status(state.id).message
    assert queue.log_lines(state.id) == ()
    uploads_folder().mkdir()
    remove_leftovers()
    queue.remove(state.id)
    assert queue.list() == ()


def test_seconds_left_counts_from_where_the_stage_began() -> None:
    """80 of 100 were there before; 10 more in 5 s leave 10, so 5 s more."""
    state = JobState(
        id="x",
        name="x",
        status="running",
        done=90,
        total=100,
        done_before=80,
        stage_started="2030-01-01T00:00:00+00:00",
        updated="2030-01-01T00:00:05+00:00",
    )
    assert state.seconds_left == pytest.approx(5.0, rel=1e-12)
    assert dataclasses.replace(state, done=80).seconds_left is None
    assert dataclasses.replace(state, status="done").seconds_left is None


def run_worker(
    monkeypatch: pytest.MonkeyPatch, task: ComparisonTask, perform: Callable[[ComparisonTask, Progress], Run]
) -> tuple[Path, JobState]:
    """Carry a job out in this process, with ``perform`` in the place of the comparison."""
    folder, _ = make_job()
    (folder / TASK).write_text(json.dumps(task.to_json()))
    monkeypatch.setattr(os, "nice", lambda increment: increment)
    monkeypatch.setattr(ComparisonTask, "make", lambda task, progress, job, stored: perform(task, progress))
    return folder, worker.work(folder)


def test_progress_is_written_and_a_request_to_stop_obeyed(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[JobState] = []

    def perform(task: ComparisonTask, progress: Progress) -> Run:
        folder = next(queue.jobs_folder().glob(f"*/{STATE}")).parent
        progress("Encoding", 30, 100)
        seen.append(read_state(folder))
        progress("Encoding", 31, 100)  # within the write interval: not written
        seen.append(read_state(folder))
        progress("Encoding", 100, 100)
        seen.append(read_state(folder))
        (folder / CANCEL).touch()
        progress("Clustering", 0, 5)
        pytest.fail("the work went on")

    with pytest.raises(CancelledError):
        run_worker(monkeypatch, task, perform)
    assert [(state.status, state.stage, state.done, state.done_before) for state in seen] == [
        ("running", "Encoding", 30, 30),
        ("running", "Encoding", 30, 30),
        ("running", "Encoding", 100, 30),
    ]
    assert queue.list()[0].status == "cancelled"


def test_an_error_on_purpose_is_stored_and_raised(task: ComparisonTask, monkeypatch: pytest.MonkeyPatch) -> None:
    def perform(task: ComparisonTask, progress: Progress) -> Run:
        raise StorageError("No space left", todo="Free some")

    with pytest.raises(StorageError):
        run_worker(monkeypatch, task, perform)
    assert (queue.list()[0].status, queue.list()[0].message) == ("failed", "No space left. Free some.")


def test_a_defect_is_told_with_its_place_in_the_log(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def perform(task: ComparisonTask, progress: Progress) -> Run:
        warnings.simplefilter("always")  # pytest makes errors of them
        warnings.warn("odd texts", UserWarning, stacklevel=1)
        raise ZeroDivisionError("a\nb")

    with pytest.raises(ZeroDivisionError):
        run_worker(monkeypatch, task, perform)
    state = queue.list()[0]
    assert state.status == "failed"
    told = "Error in this program: ZeroDivisionError: a b. See the log for details."
    assert state.message == f"{told} {faults.REPORT}."
    assert [fault["during"] for fault in faults.remembered()] == ["job comparison"]
    written = capsys.readouterr().err
    assert "Warning: odd texts" in written
    assert "Traceback (most recent call last)" in written
    assert written.splitlines()[-1].endswith(f"  Failed after 1 s: {state.message}")


def test_a_worker_on_a_full_disk_says_so_in_its_log(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> JobState:
        raise StorageError("No space left", todo="Free some")

    def perform(task: ComparisonTask, progress: Progress) -> Run:
        monkeypatch.setattr(worker, "write_state", full)
        progress("Encoding", 0, 100)
        pytest.fail("the work went on")

    with pytest.raises(StorageError):
        run_worker(monkeypatch, task, perform)
    said = [line.split("  ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert said[-2:] == [
        "Failed after 1 s: No space left. Free some.",
        "This could not be recorded: No space left. Free some.",
    ]
    assert queue.list()[0].status == "interrupted"


def test_a_job_waits_for_what_runs_and_for_what_was_asked_for_before_it() -> None:
    def job(number: int, status: str) -> JobState:
        return JobState(id=f"20300101-{number:012d}-abcd", name="x", status=status)  # type: ignore[arg-type]

    found = [job(5, "queued"), job(4, "running"), job(3, "queued"), job(2, "failed"), job(1, "done")]
    assert queue.ahead_of(job(3, "queued").id, found) == 1
    assert queue.ahead_of(job(5, "queued").id, found) == 2


def test_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert job_state.last_lines(path, 3) == []
    path.write_bytes(b"\xff" * 200_000 + b"\nlast but one\n\n" + b"y" * 1000 + b"\n")
    assert job_state.last_lines(path, 2) == ["last but one", "y" * job_state.LINE_CHARACTERS]
