"""The locks of jobs: one that says that a worker lives, and one for whoever starts jobs or says what becomes of them.

Both are locks of the system on files (flock): they hold across processes and threads, and end with whoever holds them.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import make_folder, private_opener, storage_errors
from mauve_core.jobs.state import ALIVE

CHANGES = "changes.lock"
"""A file beside the jobs; who starts, resumes, cancels, removes or takes back a job holds it locked meanwhile."""

PATIENCE_S = 10.0
"""A worker that has written its end holds its lock until it is gone; whoever looks whether it lives, for an instant."""

CHANGES_PATIENCE_S = 30.0
"""A change takes milliseconds, or as long as it waits for a worker that ends."""

_POLL_S = 0.01


@contextmanager
def changing(jobs: Path) -> Iterator[None]:
    """Hold the lock under which jobs are looked at and changed, so that two who ask at once do so one after another.

    Parameters
    ----------
    jobs : Path
        The folder of all jobs; made when it is missing.

    Raises
    ------
    StorageError
        The disk refused, or somebody holds the lock for longer than any change takes.
    """
    with storage_errors(jobs):
        make_folder(jobs)
        handle = private_opener(str(jobs / CHANGES), os.O_RDWR | os.O_CREAT)
    try:
        if not _locked(handle, CHANGES_PATIENCE_S):
            raise StorageError(
                f"Another process has been changing the jobs in {jobs} for {CHANGES_PATIENCE_S:.0f} seconds",
                todo="Try again; if it goes on, end the process that hangs",
            )
        yield
    finally:
        os.close(handle)


@contextmanager
def lock_of_worker(folder: Path) -> Iterator[int]:
    """The lock that says that a worker lives, for whoever starts one, or makes sure that there is none.

    Raises
    ------
    InputError
        A worker holds it.
    """
    with storage_errors(folder):
        handle = private_opener(str(folder / ALIVE), os.O_RDWR | os.O_CREAT)
    try:
        if not _locked(handle, PATIENCE_S):
            raise at_work(folder.name)
        yield handle
    finally:
        os.close(handle)


def is_alive(folder: Path) -> bool:
    """Whether the worker of the job in that folder lives."""
    try:
        with storage_errors(folder / ALIVE):
            handle = os.open(folder / ALIVE, os.O_RDONLY)
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
    """What a job that is at work answers to whoever asks for what it cannot do then."""
    return InputError(f"The job {job_id} is still at work", todo="Cancel it first, or wait for it")


def _locked(handle: int, patience: float) -> bool:
    """Lock the open file, waiting at most so many seconds for whoever holds it."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True
