"""Content of a job's folder: its state, always replaced as a whole, its log, which is appended to, and its locks.

A folder ``<home>/jobs/<id>`` holds ``task.json`` (the work), ``amount.json`` (how much it is, if known), ``state.json``
(its progress), ``cancel`` (present once a stop was requested), ``log.txt`` (messages of the worker) and ``alive``. The
worker locks ``alive`` for its lifetime: if it is unlocked, the worker is gone, whatever the state says and whichever
process now has its process id. Another lock serializes changes to jobs.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import (
    exclusive_lock,
    lock_within,
    make_folder,
    open_regular,
    private_opener,
    read_stored,
    storage_errors,
    write_atomically,
)
from mauve_core.base.json_codec import Count, Holds, dataclass_to_json, from_json, parse_json
from mauve_core.base.progress import remaining_seconds

Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]

TASK, AMOUNT, STATE, CANCEL, LOG, ALIVE = "task.json", "amount.json", "state.json", "cancel", "log.txt", "alive"

# Bytes at the end of a log that are searched for its last lines.
LOG_BYTES = 64 * 1024

# Longer log lines are cut.
LINE_CHARACTERS = 400

_ANEW = "Remove the job and start it again"


def _is_time(text: str) -> bool:
    """Whether the text is a time with its zone, or empty."""
    try:
        return text == "" or datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


Time = Annotated[str, Holds(_is_time, "an ISO 8601 time with a time zone")]


@dataclass(frozen=True)
class JobState:
    """Progress of a job.

    Attributes
    ----------
    id : str
        Begins with the time of the request, so that ids sort by it.
    name : str
        What it makes, in words: the name of a run, or of a result added to one.
    kind : str
        One of ``mauve_core.analyses.task_registry.KINDS``.
    status : {"queued", "running", "done", "failed", "cancelled", "interrupted"}
        Interrupted: the worker ended without notice.
    stage : str
        Current work, in words.
    done, total : int
        Progress within the stage.
    done_before : int
        Progress at the start of the stage, from an earlier worker.
    created : str
        Time of the request; ISO 8601, UTC.
    started : str or None
        Time of its last turn.
    stage_started : str or None
        Time at which the current stage began.
    updated : str
        Time at which this was written.
    told : str
        What the work had to tell so far, such as the scores of a few texts; empty without anything.
    message : str
        For the reader: why it failed; empty otherwise.
    run : str or None
        Id of the run that it made, as soon as that is stored with its scores, or that it added to, once done.
    """

    id: str
    name: str
    status: Status
    stage: str = ""
    done: Count = 0
    total: Count = 0
    done_before: Count = 0
    created: Time = ""
    started: Time | None = None
    stage_started: Time | None = None
    updated: Time = ""
    told: str = ""
    message: str = ""
    run: str | None = None
    kind: str = "comparison"

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ("queued", "running")

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds left in this stage at its pace so far; None if unknown."""
        if self.status != "running" or self.stage_started is None:
            return None
        elapsed = datetime.fromisoformat(self.updated) - datetime.fromisoformat(self.stage_started)
        return remaining_seconds(elapsed.total_seconds(), self.done - self.done_before, self.total - self.done_before)


def read_state(folder: Path) -> JobState:
    """Read the last state written to a job's folder; raises as :func:`read_json` does."""
    try:
        state = from_json(JobState, read_json(folder / STATE))
    except InputError as error:
        raise StorageError(f"{folder / STATE} is not the state of a job: {words_of(error)}", todo=_ANEW) from error
    if state.id != folder.name:
        raise StorageError(f"{folder / STATE} is the state of another job", received=state.id, todo=_ANEW)
    return state


def write_state(folder: Path, state: JobState) -> JobState:
    """Replace the state in a job's folder; return it with its time of writing."""
    state = replace(state, updated=datetime.now(UTC).isoformat())
    write_json(folder / STATE, dataclass_to_json(state))
    return state


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in one of our JSON files; StorageError if it is missing or damaged, or the disk refuses."""
    try:
        with storage_errors(path):
            if not path.exists():
                raise StorageError(f"{path} is missing", todo=_ANEW)
            values = parse_json(read_stored(path))
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: {words_of(error)}", todo=_ANEW) from error
    if not isinstance(values, dict):
        raise StorageError(f"{path} is damaged", allowed="a JSON object", todo=_ANEW)
    return values


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object atomically."""
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(path, lambda stream: stream.write(text.encode()))


def last_lines(path: Path, count: int) -> list[str]:
    """Return the last lines of a log, each cut to a readable length; none if the log is missing or unreadable."""
    try:
        with open_regular(path) as stream:
            stream.seek(max(0, stream.seek(0, 2) - LOG_BYTES))
            text = stream.read().decode(errors="replace")
    except (OSError, ValueError):
        return []
    return [line[:LINE_CHARACTERS] for line in text.splitlines() if line.strip()][-count:]


# File beside the jobs, locked while a process starts, resumes, cancels, removes or takes back a job.
CHANGES = "changes.lock"

# Seconds to wait for a worker's lock: an ending worker holds it until it exits, a liveness check for an instant.
PATIENCE_S = 10.0


@contextmanager
def changing(jobs: Path) -> Iterator[None]:
    """Hold the lock for reading and changing jobs, so that concurrent requests run one after another.

    Parameters
    ----------
    jobs : Path
        The folder of all jobs; created if missing.

    Raises
    ------
    StorageError
        The disk refused, or another process holds the lock for longer than any change takes.
    """
    with storage_errors(jobs):
        make_folder(jobs)
        handle = private_opener(str(jobs / CHANGES), os.O_RDWR | os.O_CREAT)
    with exclusive_lock(handle, f"the jobs in {jobs}"):
        yield


@contextmanager
def lock_of_worker(folder: Path) -> Iterator[int]:
    """Hold a worker's lock, to start the worker or to ensure that there is none; InputError if a worker holds it."""
    with storage_errors(folder):
        handle = private_opener(str(folder / ALIVE), os.O_RDWR | os.O_CREAT)
    try:
        if not lock_within(handle, PATIENCE_S):
            raise at_work(folder.name)
        yield handle
    finally:
        os.close(handle)


def is_alive(folder: Path) -> bool:
    """Whether the worker of the job in that folder is alive."""
    try:
        with storage_errors(folder / ALIVE):
            handle = os.open(folder / ALIVE, os.O_RDONLY | os.O_NONBLOCK)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):  # nobody can hold it
            return False
        raise
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)


def at_work(job_id: str) -> InputError:
    """Return the error for an action that a job at work does not allow."""
    return InputError(f"Job {job_id} has not ended yet", todo="Cancel it or wait for it to end")
