"""Jobs on disk without workers, for whatever shows them, and a queue that waits."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mauve_core.jobs import queue, worker
from mauve_core.jobs.state import ALIVE, LOG, TASK, JobState, write_state


@contextmanager
def job(number: int, log: str = "", task: Mapping[str, Any] | None = None, **values: Any) -> Iterator[JobState]:
    """A job's folder; while the block runs, its worker looks alive if the job is active."""
    state = JobState(**{"id": f"20260101-00000000{number:04d}-abcd", "name": f"job {number}", **values})
    folder = queue.jobs_folder() / state.id
    folder.mkdir(parents=True)
    (folder / LOG).write_text(log)
    (folder / TASK).write_text(json.dumps(dict(task or {})))
    written = write_state(folder, state)
    with (folder / ALIVE).open("w") as handle:
        if state.active:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield written


@contextmanager
def turn_taken() -> Iterator[None]:
    """Another worker seems to be at work: jobs that are started meanwhile wait."""
    path = queue.jobs_folder() / worker.TURN
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
