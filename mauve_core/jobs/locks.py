"""Locks of jobs: one shows that a worker is alive, the other serializes changes to jobs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import exclusive_lock, lock_within, make_folder, private_opener, storage_errors
from mauve_core.jobs.state import ALIVE

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
