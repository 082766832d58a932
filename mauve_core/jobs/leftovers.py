"""Remove leftovers below the home folder: old uploads, and partial files of killed processes.

Runs when the app's server starts and when a file is uploaded. The store removes what was left of whole runs and of
the trash; parts of unfinished work are removed with their work (``checkpoints.py``).

- An upload is removed if nobody has used it for ``MAUVE_LENS_UPLOAD_DAYS`` days, unless an unfinished job names it: a
  run has its own copy of the texts, but a resumed job reads the file again.
- A partial file or folder is removed unless its writer lives (``partial.py``).
- An upload of the time before the clock was set back counts as used now.
- A job's folder without a state comes from a process that was killed while starting the job. A lock keeps new jobs
  from starting meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mauve_core.base.errors import StorageError
from mauve_core.base.files import hidden_beside, home, read_stored, remove_abandoned, storage_errors
from mauve_core.jobs import queue
from mauve_core.jobs.locks import changing, is_alive
from mauve_core.jobs.state import STATE, TASK, read_state
from mauve_core.texts import limits

# Folder of uploads below the home folder; one folder per content, named by its SHA-256.
UPLOADS = "uploads"

DAY_S = 24 * 3600.0

_DIGEST = re.compile(r"[0-9a-f]{64}")


def uploads_folder() -> Path:
    """Return the folder of all uploads."""
    return home().absolute() / UPLOADS


def use_upload(folder: Path) -> bool:
    """Record a use of the upload in that folder, so that its days start again; False if it is gone."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    except OSError:  # a disk that may not be written loses no upload either
        return True
    return True


def remove_leftovers() -> None:
    """Remove all leftovers.

    Raises
    ------
    InputError
        ``MAUVE_LENS_UPLOAD_DAYS`` is not a number of days.
    StorageError
        The disk refused.
    """
    days = limits.upload_days()
    with storage_errors(home()), changing(queue.jobs_folder()):
        _remove_uploads(days * DAY_S)
        _remove_half_jobs()
        remove_abandoned(home())


def _remove_uploads(kept_s: float) -> None:
    """Remove old uploads that no job needs; no job can start meanwhile."""
    if not uploads_folder().is_dir():
        return
    needed = set(_needed())
    for folder in list(uploads_folder().iterdir()):
        unneeded = _DIGEST.fullmatch(folder.name) and folder.name not in needed
        if unneeded and _unused_s(folder) > kept_s:
            _remove_upload(folder, kept_s)


def _needed() -> Iterator[str]:
    """Yield digests in the tasks of unfinished jobs, including removed jobs that can be taken back."""
    folder = queue.jobs_folder()
    for path in (*folder.glob(f"*/{TASK}"), *folder.glob(f"{queue.REMOVED}/*/{TASK}")):
        with suppress(StorageError):  # a state that is damaged: it may be resumed by hand
            if read_state(path.parent).status == "done":
                continue
        with suppress(ValueError):  # a task that is no regular file, which nobody can resume
            yield from _DIGEST.findall(read_stored(path).decode(errors="replace"))


def _remove_upload(folder: Path, kept_s: float) -> None:
    """Hide and remove the upload, unless it was just used."""
    aside = hidden_beside(folder)
    folder.rename(aside)
    if _unused_s(aside) > kept_s:
        shutil.rmtree(aside, ignore_errors=True)
    else:
        with suppress(OSError):  # someone has uploaded it again meanwhile
            aside.rename(folder)


def _remove_half_jobs() -> None:
    """Remove folders without a complete job."""
    for folder in queue.folders():
        if not (folder / STATE).exists() and not is_alive(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _unused_s(path: Path) -> float:
    """Return the seconds since the path was written or used; 0 if it has vanished."""
    try:
        unused = time.time() - path.lstat().st_mtime
        if unused < 0:  # or it would stay until the clock is there again
            os.utime(path, follow_symlinks=False)
    except FileNotFoundError:
        return 0.0
    return max(unused, 0.0)
