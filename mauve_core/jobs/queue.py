"""Long work in a separate process, so that a page may be left, reloaded or closed while it runs.

A job is a folder ``<home>/jobs/<id>`` (:mod:`mauve_core.jobs.state`). Its worker (:mod:`mauve_core.jobs.worker`) is
independent of the process that started it. Finished parts of a killed worker are stored elsewhere, by content, and
:func:`resume` continues from there; only a person resumes a job. :mod:`mauve_core.analyses.task_registry` lists what
a job can do.

Leftovers are removed when the app's server starts and when a file is uploaded: an upload that nobody has used for
``MAUVE_LENS_UPLOAD_DAYS`` days, unless an unfinished job names it (a run has its own copy of the texts, but a resumed
job reads the file again); partial files whose writer is gone; a job's folder without a state, from a process that was
killed while starting it, under a lock that keeps new jobs from starting. An upload of the time before the clock was set
back counts as used now.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mauve_core.analyses.tasks import Amount, Task
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import (
    HOME_VARIABLE,
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    hidden_beside,
    home,
    make_folder,
    move_folder,
    private_opener,
    read_stored,
    remove_abandoned,
    storage_errors,
    sync_folder,
)
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.jobs.state import (
    AMOUNT,
    CANCEL,
    LOG,
    STATE,
    TASK,
    JobState,
    at_work,
    changing,
    is_alive,
    last_lines,
    lock_of_worker,
    read_json,
    read_state,
    write_json,
    write_state,
)
from mauve_core.texts import limits

# Number of log lines to show.
LOG_LINES = 40

# Folder of recently removed jobs.
REMOVED = ".removed"

# Seconds for which they can be taken back.
REMOVED_KEPT_S = 24 * 3600

_TIME = "%Y%m%d-%H%M%S%f"
_ID = re.compile(r"\d{8}-\d{12}-[0-9a-f]{4}")
_children: dict[str, subprocess.Popen[bytes]] = {}


def start(task: Task, amount: Amount | None = None) -> JobState:
    """Start a worker on a task, unless a job with the same work waits or runs.

    Parameters
    ----------
    amount : Amount, optional
        How much work it is, for estimates of later jobs.

    Returns
    -------
    JobState
        ``queued``, or the state of the job that does this work already. Poll :func:`status` with its id.

    Raises
    ------
    StorageError
        The disk refused.
    """
    task = task.absolute()
    with changing(jobs_folder()):
        return _at_work_on(task) or _start(task, amount)


def _start(task: Task, amount: Amount | None) -> JobState:
    now = datetime.now(UTC)
    identifier = f"{_after_others(now):{_TIME}}-{secrets.token_hex(2)}"
    state = JobState(id=identifier, name=task.title, kind=task.kind, status="queued", created=now.isoformat())
    folder = jobs_folder() / state.id
    with storage_errors(folder):
        folder.mkdir(PRIVATE_FOLDER)
        sync_folder(folder.parent)
    try:
        with lock_of_worker(folder) as lock:
            write_json(folder / TASK, task.to_json())
            if amount is not None:
                write_json(folder / AMOUNT, dataclass_to_json(amount))
            write_state(folder, state)
            _spawn(folder, lock)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return status(state.id)


def status(job_id: str) -> JobState:
    """Return the state of a job.

    A job whose worker ended without notice (killed, or the machine stopped) counts as interrupted, or as cancelled if
    that was requested. A job with a damaged state counts as failed, so that a broken folder hides no other job.

    Raises
    ------
    InputError
        No job has that id.
    """
    folder = _folder(job_id)
    child = _children.get(job_id)
    if child is not None and child.poll() is not None:
        _children.pop(job_id, None)  # unless another thread has seen it, too
    try:
        state = read_state(folder)
        if state.active and is_alive(folder):
            return state
        state = read_state(folder)  # again: it may have written its end just before it went
    except StorageError as error:
        _folder(job_id)  # it may have been removed meanwhile
        return JobState(job_id, name=job_id, status="failed", message=str(error))
    if not state.active:
        return state
    if (folder / CANCEL).exists():
        return replace(state, status="cancelled")
    from mauve_core.analyses.task_registry import KEPT  # imports all tasks

    message = "The worker stopped early: it was killed, it ran out of memory or disk space, or the machine went down."
    finished = KEPT.get(state.kind, "")
    message += f" Resume it: {finished} are kept." if finished else " Start it again."
    tail = log_tail(job_id)
    return replace(state, status="interrupted", message=f"{message} Last line of its log: {tail}" if tail else message)


def cancel(job_id: str) -> None:
    """Ask the job to stop, which it does at its next progress report. A job that has ended is not affected.

    Raises
    ------
    InputError
        No job has that id.
    """
    folder = _folder(job_id)
    with changing(folder.parent):
        if status(job_id).active:
            with storage_errors(folder):
                (folder / CANCEL).touch(PRIVATE_FILE)


def is_stopping(job: JobState) -> bool:
    """Whether a job that waits or runs has been asked to stop."""
    return job.active and (jobs_folder() / job.id / CANCEL).exists()


def resume(job_id: str) -> JobState:
    """Put a job that ended unfinished back into the queue, with its log.

    Finished work is not repeated, as far as the kind of job keeps it (``mauve_core.analyses.task_registry.KEPT``).

    Raises
    ------
    InputError
        No job has that id, it is at work or done, or another job does its work.
    StorageError
        Its description is damaged, or the disk refused.
    """
    folder = _folder(job_id)
    with changing(folder.parent):
        _require_unfinished(read_state(folder))  # its worker may still be ending
        _require_ended(job_id)
        _resume(folder)
        return status(job_id)


def _require_unfinished(state: JobState) -> None:
    if state.status == "done":
        raise InputError(f"Job {state.id} is done", todo="Start a new one")


def _resume(folder: Path) -> None:
    from mauve_core.analyses.task_registry import read_task  # imports all tasks

    with lock_of_worker(folder) as lock:
        state = read_state(folder)
        _require_unfinished(state)
        task = read_task(state.kind, read_json(folder / TASK))
        other = _at_work_on(task, besides=state.id)
        if other is not None:
            raise InputError(f"Job {other.id} is already doing the same work", todo="Wait for it or cancel it first")
        with storage_errors(folder):
            (folder / CANCEL).unlink(missing_ok=True)
            for left in folder.glob(".*"):  # what a killed worker was writing
                left.unlink(missing_ok=True)
        write_state(folder, JobState(state.id, state.name, "queued", kind=state.kind, created=state.created))
        _spawn(folder, lock)


def remove(job_id: str) -> None:
    """Remove a job that has ended, which :func:`take_back` can undo for a day; its run stays.

    Raises
    ------
    InputError
        No job has that id, or it is at work.
    StorageError
        The disk refused.
    """
    folder = _folder(job_id)
    removed = folder.parent / REMOVED
    with changing(folder.parent), storage_errors(folder):
        _require_ended(job_id)
        make_folder(removed)
        for old in removed.iterdir():
            if time.time() - old.stat().st_mtime > REMOVED_KEPT_S:
                shutil.rmtree(old, ignore_errors=True)
        os.utime(folder)  # its day begins now
        move_folder(folder, removed / job_id)


def take_back(job_id: str) -> JobState:
    """Restore a removed job with its log.

    Raises
    ------
    InputError
        No job of that id was removed within a day.
    StorageError
        The disk refused.
    """
    folder = jobs_folder() / REMOVED / job_id
    with changing(jobs_folder()), storage_errors(folder):
        if not _ID.fullmatch(job_id) or not (folder / STATE).is_file():
            raise InputError(f"No job with the id {job_id!r} was removed within the last day")
        move_folder(folder, jobs_folder() / job_id)
        return status(job_id)


def list() -> tuple[JobState, ...]:  # noqa: A001 (jobs.list() reads well, and nothing here needs the builtin)
    """Return every job, the newest first; StorageError if the folder cannot be read."""
    with storage_errors(jobs_folder()):
        names = sorted(path.parent.name for path in jobs_folder().glob(f"*/{STATE}"))
    found = []
    for name in reversed(names):
        with suppress(InputError):  # removed in the meantime
            found += [status(name)] if _ID.fullmatch(name) else []
    return tuple(found)


def ahead_of(job_id: str, found: Sequence[JobState]) -> int:
    """Count the jobs ahead of a waiting job: those that run, and those that were queued before it."""
    others = [job for job in found if job.id != job_id]
    return sum(job.status == "running" or (job.status == "queued" and job.id < job_id) for job in others)


def log_lines(job_id: str, count: int = LOG_LINES) -> tuple[str, ...]:
    """Return the last lines of a job's log."""
    return tuple(last_lines(_folder(job_id) / LOG, count))


def log_tail(job_id: str) -> str:
    """Return the last line of a job's log; empty if there is none."""
    return "".join(log_lines(job_id, 1))


def folders() -> Iterator[Path]:
    """Yield the folder of every job, including incomplete ones; StorageError as :func:`list`."""
    with storage_errors(jobs_folder()):
        yield from [path for path in jobs_folder().glob("*") if _ID.fullmatch(path.name)]


def jobs_folder() -> Path:
    """Return the folder of all jobs."""
    return home().absolute() / "jobs"


def _folder(job_id: str) -> Path:
    folder = jobs_folder() / job_id
    if not _ID.fullmatch(job_id) or not (folder / STATE).exists():
        raise InputError(f"No job has the id {job_id!r}")
    return folder


def _at_work_on(task: Task, besides: str = "") -> JobState | None:
    """Return the job that waits or runs with this task, unless it is to stop; a second click starts no second job."""
    wanted = task.to_json()
    for job in list():
        if job.active and job.kind == task.kind and job.id != besides and not is_stopping(job):
            with suppress(StorageError):
                if read_json(jobs_folder() / job.id / TASK) == wanted:
                    return job
    return None


def _after_others(now: datetime) -> datetime:
    """The time for a new id, which sorts after all others even if the clock was set back."""
    last = max((folder.name for folder in folders()), default="")
    with suppress(ValueError):  # there is none, or a folder that has no time in its name
        now = max(now, datetime.strptime(last[:21], _TIME).replace(tzinfo=UTC) + timedelta(microseconds=1))
    return now


def _require_ended(job_id: str) -> None:
    if status(job_id).active:
        raise at_work(job_id)


def _spawn(folder: Path, lock: int) -> None:
    """Start the worker with its lock already held, so that it never looks dead."""
    package = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    known = {"PYTHONPATH": paths, HOME_VARIABLE: str(home().absolute())}
    earlier = _children.pop(folder.name, None)
    if earlier is not None:
        earlier.wait()  # it has let go of the lock
    with open(folder / LOG, "ab", opener=private_opener) as log:
        _children[folder.name] = subprocess.Popen(
            [sys.executable, "-P", "-m", "mauve_core.jobs.waiting", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **known},
            pass_fds=(lock,),
            start_new_session=True,
        )


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
    with storage_errors(home()), changing(jobs_folder()):
        _remove_uploads(days * DAY_S)
        _remove_half_jobs()
        remove_abandoned(home())


def _remove_uploads(kept_s: float) -> None:
    """Remove old uploads that no job needs; no job can start meanwhile."""
    if not uploads_folder().is_dir():
        return
    needed = set(_needed())
    for folder in sorted(uploads_folder().iterdir()):
        unneeded = _DIGEST.fullmatch(folder.name) and folder.name not in needed
        if unneeded and _unused_s(folder) > kept_s:
            _remove_upload(folder, kept_s)


def _needed() -> Iterator[str]:
    """Yield digests in the tasks of unfinished jobs, including removed jobs that can be taken back."""
    folder = jobs_folder()
    for path in (*folder.glob(f"*/{TASK}"), *folder.glob(f"{REMOVED}/*/{TASK}")):
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
    for folder in folders():
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
