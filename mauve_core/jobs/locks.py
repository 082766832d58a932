"""The locks of jobs: one that says that a worker lives, one for whoever starts jobs or says what becomes of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import make_folder, private_opener, storage_errors
from mauve_core.base.locks import exclusive, lock_within
from mauve_core.jobs.state import ALIVE

CHANGES = "changes.lock"
"""A file beside the jobs; who starts, resumes, cancels, removes or takes back a job holds it locked meanwhile."""

PATIENCE_S = 10.0
"""A worker that has written its end holds its lock until it is gone; whoever looks whether it lives, for an instant."""


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
    with exclusive(handle, f"the jobs in {jobs}"):
        yield


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
        if not lock_within(handle, PATIENCE_S):
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
