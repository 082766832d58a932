"""What nobody needs any more below the home folder: old uploads, and what killed processes were writing.

Looked for when the app's server starts and when a file is uploaded. Runs and the bin are the store's; parts of
unfinished work go with their work (``finished.py``).

- An upload goes once nobody has used it for ``MAUVE_LENS_UPLOAD_DAYS`` days, unless a job that is not done names it: a
  run has its own copy of the texts, a job that is resumed reads the file again.
- Names that begin with a dot are of things that are being written; after a day whoever wrote them is gone.
- A job's folder without a state is that of a process that was killed as it started the job: nobody starts one while
  this is looked at.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mauve_core.base.errors import StorageError
from mauve_core.base.files import home, storage_errors
from mauve_core.corpus import limits
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.jobs import queue
from mauve_core.jobs.locks import changing, is_alive
from mauve_core.jobs.state import STATE, TASK, read_state

UPLOADS = "uploads"
"""Folder of the uploads below the home folder; one folder a content, named by its SHA-256."""

DAY_S = 24 * 3600.0
ABANDONED_AFTER_S = DAY_S

_DIGEST = re.compile(r"[0-9a-f]{64}")


def uploads_folder() -> Path:
    """The folder of all uploads."""
    return home().absolute() / UPLOADS


def use_upload(folder: Path) -> bool:
    """Note that the upload in that folder is used, so that its days begin anew; False where it is gone."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    except OSError:  # a disk that may not be written loses no upload either
        return True
    return True


def remove_leftovers() -> None:
    """Remove all of it.

    Raises
    ------
    InputError
        ``MAUVE_LENS_UPLOAD_DAYS`` is no number of days.
    StorageError
        The disk refused.
    """
    days = limits.upload_days()
    with storage_errors(home()):
        with changing(queue.jobs_folder()):
            _remove_uploads(days * DAY_S)
            _remove_half_jobs()
        FeatureStore().sweep()


def _remove_uploads(kept_s: float) -> None:
    """Old uploads that no job needs, and what was left of writing others; no job is started meanwhile."""
    if not uploads_folder().is_dir():
        return
    needed = set(_needed())
    for folder in list(uploads_folder().iterdir()):
        if not _DIGEST.fullmatch(folder.name):
            _remove_hidden(folder)
        elif folder.name not in needed and _unused_s(folder) > kept_s:
            _remove_upload(folder, kept_s)
        else:
            for path in folder.glob(".*"):
                _remove_hidden(path)


def _needed() -> Iterator[str]:
    """Digests that stand in the tasks of jobs that are not done, those among them that may be taken back."""
    folder = queue.jobs_folder()
    for path in (*folder.glob(f"*/{TASK}"), *folder.glob(f"{queue.REMOVED}/*/{TASK}")):
        with suppress(StorageError):  # a state that is damaged: it may be resumed by hand
            if read_state(path.parent).status == "done":
                continue
        yield from _DIGEST.findall(path.read_text(encoding="utf-8", errors="replace"))


def _remove_upload(folder: Path, kept_s: float) -> None:
    """Take it out of sight, unless it was used just now."""
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    folder.rename(aside)
    if _unused_s(aside) > kept_s:
        shutil.rmtree(aside, ignore_errors=True)
    else:
        with suppress(OSError):  # somebody has brought it anew meanwhile
            aside.rename(folder)


def _remove_half_jobs() -> None:
    """Folders in which no job came to be, and what workers that are gone were writing."""
    for folder in queue.folders():
        if is_alive(folder):
            continue
        if not (folder / STATE).exists():
            shutil.rmtree(folder, ignore_errors=True)
        for path in folder.glob(".*"):
            _remove_hidden(path)


def _remove_hidden(path: Path) -> None:
    if path.name.startswith(".") and _unused_s(path) > ABANDONED_AFTER_S:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _unused_s(path: Path) -> float:
    """Seconds since it was written or used; 0 where it has gone meanwhile."""
    try:
        return max(time.time() - path.lstat().st_mtime, 0.0)
    except FileNotFoundError:
        return 0.0
