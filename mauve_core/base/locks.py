"""Locks of the system on open files and folders (flock).

They hold across processes and threads, and end when their holder exits.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mauve_core.base.errors import StorageError

# A change takes milliseconds, or as long as the wait for another process to end.
PATIENCE_S = 30.0

_POLL_S = 0.01


@contextmanager
def exclusive(handle: int, what: str, patience_s: float | None = None) -> Iterator[None]:
    """Hold the lock of an open file or folder, and close it at the end of the block; messages call it ``what``.

    Raises
    ------
    StorageError
        Someone else has held the lock for ``patience_s``, by default longer than any change takes; the block does not
        start.
    """
    patience_s = PATIENCE_S if patience_s is None else patience_s
    try:
        if not lock_within(handle, patience_s):
            raise StorageError(
                f"Another process has been changing {what} for {patience_s:.0f} seconds",
                todo="Try again; if this persists, end the process that is stuck",
            )
        yield
    finally:
        os.close(handle)


def lock_within(handle: int, seconds: float) -> bool:
    """Wait up to ``seconds`` to lock an open file or folder; return whether it is locked."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True
