"""Several people, tabs or processes who ask something of the same job at the same instant."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analyses import task_registry
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.errors import InputError, StorageError
from mauve_core.jobs import queue, state
from mauve_core.jobs.state import TASK, JobState, read_state
from tests.files_on_disk import make_task
from tests.job_folders import job

PATIENCE_S = 120


@pytest.fixture
def task(tmp_path: Path) -> ComparisonTask:
    return make_task(tmp_path / "files")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Workers that hold their lock and do nothing else: no process is started."""
    held: list[int] = []
    monkeypatch.setattr(queue, "_spawn", lambda folder, lock: held.append(os.dup(lock)))
    yield held
    for handle in held:
        os.close(handle)


class Asked(threading.Thread):
    """Somebody who asks, with the answer: what came back, or the error."""

    def __init__(self, ask: Callable[[], Any], then: Callable[[], object] = lambda: None) -> None:
        super().__init__(daemon=True)
        self._ask, self._then = ask, then
        self.answer: Any = None

    def run(self) -> None:
        try:
            self.answer = self._ask()
        except (InputError, StorageError) as error:
            self.answer = error
        finally:
            self._then()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """``meanwhile("read_task", first, second)``: the first is stopped as it calls that function of ``jobs``, the second
    goes on as far as it can, to its end or to a lock; then the first goes on. The answers of both."""

    def both(name: str, first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
        reached, stuck, go_on = threading.Event(), threading.Event(), threading.Event()
        module = next(each for each in (queue, task_registry) if hasattr(each, name))
        real = getattr(module, name)

        def stopping(*given: Any, **named: Any) -> Any:
            found = real(*given, **named)
            if threading.current_thread() is early:
                reached.set()
                assert go_on.wait(PATIENCE_S)
            return found

        def waits(seconds: float) -> None:
            stuck.set()
            go_on.wait(seconds)

        monkeypatch.setattr(module, name, stopping)
        monkeypatch.setattr("mauve_core.base.files.time.sleep", waits)
        early, late = Asked(first), Asked(second, stuck.set)
        early.start()
        assert reached.wait(PATIENCE_S)
        late.start()
        assert stuck.wait(PATIENCE_S)
        go_on.set()
        for thread in (early, late):
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        return early.answer, late.answer

    return both


Meanwhile = Callable[..., tuple[Any, Any]]


def interrupted(task: ComparisonTask, number: int = 1, **values: Any) -> JobState:
    """The job of that task whose worker is gone."""
    with job(number, **{"status": "failed", **values}) as state:
        pass
    (queue.jobs_folder() / state.id / TASK).write_text(json.dumps(task.to_json()))
    return state


def test_the_same_work_asked_for_at_once_is_one_job(
    task: ComparisonTask, workers: list[int], meanwhile: Meanwhile
) -> None:
    def start() -> JobState:
        return queue.start(task)

    first, second = meanwhile("_at_work_on", start, start)
    assert first.id == second.id
    assert [state.id for state in queue.list()] == [first.id]
    assert len(workers) == 1


def test_of_two_who_resume_a_job_one_is_told_that_it_is_at_work(
    task: ComparisonTask, workers: list[int], meanwhile: Meanwhile
) -> None:
    state = interrupted(task)
    first, second = meanwhile("read_task", lambda: queue.resume(state.id), lambda: queue.resume(state.id))
    assert (first.id, first.status) == (state.id, "queued")
    assert isinstance(second, InputError)
    assert "has not ended yet" in str(second)
    assert len(workers) == 1


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("set_by", [timedelta(days=-365), timedelta(days=365)], ids=str)
def test_jobs_keep_their_turns_when_the_clock_is_set(
    set_by: timedelta, task: ComparisonTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + set_by

    first = queue.start(task)
    with monkeypatch.context() as patch:
        patch.setattr(queue, "datetime", Clock)
        second = queue.start(dataclasses.replace(task, name="second"))
    third = queue.start(dataclasses.replace(task, name="third"))
    found = queue.list()
    assert [job.id for job in found] == [third.id, second.id, first.id]
    assert [queue.ahead_of(job.id, found) for job in (first, second, third)] == [0, 1, 2]


@pytest.mark.usefixtures("workers")
def test_a_job_is_not_resumed_while_another_does_its_work(task: ComparisonTask) -> None:
    state = interrupted(task)
    other = queue.start(task)
    with pytest.raises(InputError, match=rf"{other.id} is already doing the same work"):
        queue.resume(state.id)
    queue.cancel(other.id)
    assert queue.resume(state.id).id == state.id


@pytest.mark.usefixtures("workers")
def test_who_asks_for_work_while_it_is_resumed_gets_that_job(task: ComparisonTask, meanwhile: Meanwhile) -> None:
    state = interrupted(task)
    _, second = meanwhile("read_task", lambda: queue.resume(state.id), lambda: queue.start(task))
    assert second.id == state.id
    assert [found.id for found in queue.list()] == [state.id]


@pytest.mark.usefixtures("workers")
def test_a_request_to_stop_a_job_that_is_being_resumed_is_not_lost(task: ComparisonTask, meanwhile: Meanwhile) -> None:
    state = interrupted(task)
    folder = queue.jobs_folder() / state.id
    (folder / "state.json").write_text((folder / "state.json").read_text().replace('"failed"', '"running"'))
    assert read_state(folder).active
    first, second = meanwhile("read_task", lambda: queue.resume(state.id), lambda: queue.cancel(state.id))
    assert (first.id, second) == (state.id, None)
    assert queue.is_stopping(queue.status(state.id))


@pytest.mark.usefixtures("workers")
def test_a_job_that_is_being_resumed_is_not_removed(task: ComparisonTask, meanwhile: Meanwhile) -> None:
    state = interrupted(task)
    first, second = meanwhile("read_task", lambda: queue.resume(state.id), lambda: queue.remove(state.id))
    assert first.status == "queued"
    assert "has not ended yet" in str(second)
    assert [found.id for found in queue.list()] == [state.id]


def test_of_two_who_remove_a_job_or_take_it_back_one_is_told_that_it_was_done(
    task: ComparisonTask, meanwhile: Meanwhile
) -> None:
    state = interrupted(task)
    first, second = meanwhile("status", lambda: queue.remove(state.id), lambda: queue.remove(state.id))
    assert first is None
    assert "No job has the id" in str(second)
    assert isinstance(second, InputError)
    assert queue.take_back(state.id).id == state.id
    with pytest.raises(InputError, match="was removed within the last day"):
        queue.take_back(state.id)


def test_a_job_that_is_removed_while_it_is_listed_is_not_listed_as_damaged(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(task)
    monkeypatch.setattr(
        queue, "read_state", lambda folder: folder.rename(folder.parent / "gone") and read_state(folder)
    )
    assert queue.list() == ()
    assert (queue.jobs_folder() / "gone" / TASK).exists()


def test_a_lock_that_nobody_lets_go_is_an_error_that_says_so(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mauve_core.base.files.LOCK_PATIENCE_S", 0.0)
    with (
        state.changing(queue.jobs_folder()),
        pytest.raises(StorageError, match=r"Another process has been changing the jobs"),
    ):
        queue.start(task)
    assert queue.list() == ()
