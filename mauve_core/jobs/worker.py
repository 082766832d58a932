"""The process behind a job: wait for its turn, carry out the task, and record its progress.

Workers run at low priority, to keep pages responsive, and one at a time in the order requested, because two would
share the same cores and memory. A worker checks for a stop request at every progress report. It logs to standard
error, with the time, which goes to the job's log.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from mauve_core.analyses.task_registry import read_task
from mauve_core.analyses.tasks import Amount
from mauve_core.base import faults
from mauve_core.base.errors import CancelledError, MauveLensError, StorageError
from mauve_core.base.extras import asking_for_packages
from mauve_core.base.files import private_opener, storage_errors
from mauve_core.base.json_codec import from_json
from mauve_core.base.progress import StageClock, StageClocks, Told, format_seconds
from mauve_core.jobs import estimates, memory, queue
from mauve_core.jobs.state import AMOUNT, CANCEL, LOG, TASK, JobState, read_json, read_state, write_state
from mauve_core.runs import Run

NICENESS = 10
# File beside the jobs, locked by the worker whose turn it is.
TURN = "turn.lock"

POLL_INTERVAL_S = 0.25
# Progress within a stage is written at most this often; a new stage always is.
WRITE_INTERVAL_S = 0.5

# Progress within a stage is logged at most this often.
LOG_INTERVAL_S = 60.0

LONGEST_LINE = 2000

# Exit code of a worker that gives up.
FAILED = 1


def work(folder: Path) -> JobState:
    """Carry out the job in that folder.

    Returns
    -------
    JobState
        Status ``done``.

    Raises
    ------
    MauveLensError
        The error that stopped the work, once it is in the job's state and log. Any other exception, also recorded
        there, is a defect or a lack of memory.
    """
    os.nice(NICENESS)
    reporter = _Reporter(folder)
    try:
        with _logged(), reporter.turn():
            reporter.begin()
            task = read_task(read_state(folder).kind, read_json(folder / TASK))
            with memory.watched(reporter.give_up), asking_for_packages():
                run = task.perform(reporter, folder.name, reporter.stored)
            reporter.remember()
        return reporter.end(status="done", run=run)
    except CancelledError:
        reporter.end(status="cancelled")
        raise
    except MauveLensError as error:
        reporter.end(status="failed", message=str(error))
        raise
    except Exception as error:
        log(traceback.format_exc(), lines=True)
        if memory.ran_out(error):
            message = f"Out of memory. Use fewer texts or a smaller model. {_one_line(error)}"
        elif (refused := faults.refused_by_system(error)) is not None:
            message = str(refused)
        else:
            faults.remember(error, f"job {reporter.kind}")
            message = f"Error in this program: {_one_line(error)}. See the log for details. {faults.REPORT}."
        reporter.end(status="failed", message=message)
        raise


def log(text: str, *, lines: bool = False) -> None:
    """Write one line, or several, to standard error with the time; a disk that refuses a line stops no work."""
    now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
    with suppress(OSError):
        for line in text.splitlines() if lines else [" ".join(text.split())]:
            sys.stderr.write(f"{now}  {line[:LONGEST_LINE]}\n")
        sys.stderr.flush()


class _Reporter:
    """A progress callback that keeps the job's state on disk and raises CancelledError if asked to stop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = read_state(folder)
        self._written = self._logged = 0.0
        self._begun = time.monotonic()
        self._clocks = StageClocks()
        self._encoded = False
        self._writing = threading.RLock()
        log_file = folder / LOG
        self._resumed = log_file.exists() and log_file.stat().st_size > 0

    @property
    def kind(self) -> str:
        """The job's kind."""
        return self._state.kind

    def begin(self) -> None:
        self._begun = time.monotonic()
        self._write(replace(self._state, status="running", started=_now()))

    def stored(self, run: Run) -> None:
        """Record that the run has its scores, so that pages open it while the work goes on."""
        log(f"Scores stored as run {run.id}")
        self._write(replace(self._state, run=run.id))

    def remember(self) -> None:
        """Keep the job's time for later estimates, if one worker did all of it and its amount was known."""
        with suppress(MauveLensError):  # estimates are worth no failed job
            if not self._resumed and (self._folder / AMOUNT).exists():
                amount = from_json(Amount, read_json(self._folder / AMOUNT))
                if (amount.encodes != "none") == self._encoded:
                    estimates.remember(self._state.kind, amount, time.monotonic() - self._begun)

    def end(self, **changes: object) -> JobState:
        state = replace(self._state, **changes)  # type: ignore[arg-type]
        after = f"after {format_seconds(time.monotonic() - self._begun)}"
        messages = {
            "done": f"Done {after}: run {state.run}",
            "cancelled": f"Cancelled on request {after}",
            "failed": f"Failed {after}: {state.message}",
        }
        log(messages[state.status])
        try:
            self._write(state)
        except StorageError as error:  # it will look interrupted, and its log says why
            log(f"This could not be recorded: {error}")
        return self._state

    def give_up(self, error: MauveLensError) -> NoReturn:
        """Record the error and end the process at once, whatever it is doing; what is on disk is whole at any time."""
        self._writing.acquire()  # for good: no progress of the work replaces the end
        self.end(status="failed", message=str(error))
        os._exit(FAILED)

    def check(self) -> None:
        if (self._folder / CANCEL).exists():
            raise CancelledError("Cancelled on request", todo="Finished work is kept")

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.check()
        if isinstance(stage, Told):
            self._log(stage)
            self._write(replace(self._state, told=str(stage)))
            return
        now = time.monotonic()
        clock = self._clocks.clock_of(stage, done, total, now)
        self._encoded = self._encoded or estimates.is_encoding(stage)
        begins = clock.reports == 1 and not clock.is_repeated
        ends = done >= total and not clock.is_repeated
        if begins or ends or now - self._written >= WRITE_INTERVAL_S:
            self._report(stage, clock, now)
        if begins:
            before = f", {done:,} already done" if 0 < done < total else ""
            self._log(f"{stage}: {total:,}{before}" if total > 1 else stage)
        elif now - self._logged >= LOG_INTERVAL_S and done < total:
            left = clock.seconds_left(now)
            estimate = "" if left is None else f", about {format_seconds(left)} left"
            self._log(f"{stage}: {done:,} of {total:,}{estimate}")

    def _report(self, stage: str, clock: StageClock, now: float) -> None:
        """Write the progress; the stage's start leaves out the time that the machine slept or its clock was set."""
        began = datetime.fromtimestamp(time.time() - (now - clock.begun), UTC).isoformat()
        state = replace(self._state, stage=stage, stage_started=began, done_before=clock.done_before)
        self._write(replace(state, done=clock.done, total=clock.total))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock that only one worker holds at a time; the system releases it if this process dies."""
        job = self._state
        log(f"Worker {os.getpid()} of {job.kind} {job.name!r}, job {job.id}")
        path = self._folder.parent / TURN
        with storage_errors(path):
            handle = private_opener(str(path), os.O_RDWR | os.O_CREAT)
        try:
            announced = 0
            while True:
                self.check()
                waiting_for = queue.ahead_of(job.id, queue.list())
                if waiting_for != announced:
                    log(f"Jobs ahead of this one: {waiting_for}")
                    announced = waiting_for
                if not waiting_for:
                    try:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        pass
                time.sleep(POLL_INTERVAL_S)
            yield
        finally:
            os.close(handle)

    def _write(self, state: JobState) -> None:
        with self._writing:
            self._state = write_state(self._folder, state)
            self._written = time.monotonic()

    def _log(self, text: str) -> None:
        self._logged = time.monotonic()
        log(text)


@contextmanager
def _logged() -> Iterator[None]:
    """Send warnings to the log, and turn the system's request to end into an exception that unwinds the work."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        log(f"Warning: {message}")

    def stopped(*_: object) -> NoReturn:
        log("Stopped by the system; finished work is kept")
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stopped)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_LINE]


def _now() -> str:
    return datetime.now(UTC).isoformat()
