"""The process behind a job: waits for its turn, carries the task out, and writes how far it is.

Workers run at low priority, so that the page stays quick, and one at a time, because two would share the same cores
and the same memory. A worker looks for the request to stop whenever the work reports progress.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from mauve_core.errors import CancelledError, MauveLensError
from mauve_core.files import storage_errors
from mauve_core.jobs import CANCEL, TASK, JobState, read_json, read_state, write_state
from mauve_core.tasks import read_task

NICENESS = 10
TURN = "turn.lock"
"""A file beside the jobs; the worker whose turn it is holds it locked."""

POLL_INTERVAL_S = 0.25
WRITE_INTERVAL_S = 0.5
"""Progress within a stage is written at most this often; a new stage always is."""


def work(folder: Path) -> JobState:
    """Carry out the job in that folder.

    Returns
    -------
    JobState
        Status ``done``.

    Raises
    ------
    MauveLensError
        What stopped the work, after it was written to the job's state. Any other exception is a defect of ours and
        leaves the state as it was; :func:`mauve_core.jobs.status` then finds the worker gone.
    """
    os.nice(NICENESS)
    reporter = _Reporter(folder)
    try:
        task = read_task(read_state(folder).kind, read_json(folder / TASK))
        with _turn(folder, reporter):
            reporter.begin()
            run = task.perform(reporter)
        return reporter.end(status="done", run=run)
    except CancelledError:
        reporter.end(status="cancelled")
        raise
    except MauveLensError as error:
        reporter.end(status="failed", message=str(error))
        raise


class _Reporter:
    """A progress callback that keeps the job's state on disk and raises CancelledError when asked to stop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = read_state(folder)
        self._written = 0.0

    def begin(self) -> None:
        self._write(replace(self._state, status="running", started=_now()))

    def end(self, **changes: object) -> JobState:
        self._write(replace(self._state, **changes))  # type: ignore[arg-type]
        return self._state

    def check(self) -> None:
        if (self._folder / CANCEL).exists():
            raise CancelledError("Cancelled on request", todo="What was encoded is kept")

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.check()
        if stage != self._state.stage:
            begun = replace(self._state, stage=stage, stage_started=_now(), done_before=done)
            self._write(replace(begun, done=done, total=total))
        elif time.monotonic() - self._written >= WRITE_INTERVAL_S or done >= total:
            self._write(replace(self._state, done=done, total=total))

    def _write(self, state: JobState) -> None:
        self._state = write_state(self._folder, state)
        self._written = time.monotonic()


@contextmanager
def _turn(folder: Path, reporter: _Reporter) -> Iterator[None]:
    """Hold the lock that only one worker holds at a time; the system releases it if this process dies."""
    path = folder.parent / TURN
    with storage_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        while True:
            reporter.check()
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(POLL_INTERVAL_S)
        yield
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(UTC).isoformat()
