"""Long work in a process of its own, so that a page may be left, reloaded or closed while it goes on.

A job is a folder ``<home>/jobs/<id>`` with ``task.json`` (what to do), ``state.json`` (how far it is, replaced whole),
``cancel`` (present once somebody asked to stop), ``log.txt`` (the worker's output) and ``alive``, a file the worker
holds locked from birth to death: whoever finds it unlocked knows that the worker is gone, whatever the state says and
whichever process has its number now. Whatever a killed worker had encoded lies in the feature store, so that
:func:`restart` goes on from there. What a job can do is listed in :mod:`mauve_core.tasks`; the worker itself is in
:mod:`mauve_core.worker`.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from mauve_core.errors import InputError, StorageError
from mauve_core.files import HOME_VARIABLE, home, storage_errors, write_atomically
from mauve_core.progress import remaining_seconds
from mauve_core.tasks import read_task

Status = Literal["queued", "running", "done", "failed", "cancelled"]

LOG_TAIL_CHARACTERS = 400

TASK, STATE, CANCEL, LOG, ALIVE = "task.json", "state.json", "cancel", "log.txt", "alive"
_ID = re.compile(r"\d{8}-\d{12}-[0-9a-f]{4}")
_children: dict[str, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class JobState:
    """How far a job is.

    Attributes
    ----------
    id : str
    name : str
        What it makes, in words: the name of a run, or of what is added to one.
    kind : str
        One of ``mauve_core.tasks.KINDS``.
    status : {"queued", "running", "done", "failed", "cancelled"}
    stage : str
        What it is doing, in words.
    done, total : int
        Progress within the stage.
    done_before : int
        What of the stage was done when it began, because an earlier job had finished it.
    created : str
        When it was asked for; ISO 8601, UTC.
    started : str or None
        When its turn came.
    stage_started : str or None
    updated : str
    message : str
        For the reader: why it failed; empty otherwise.
    run : str or None
        Id of the stored run, once done.
    """

    id: str
    name: str
    status: Status
    stage: str = ""
    done: int = 0
    total: int = 0
    done_before: int = 0
    created: str = ""
    started: str | None = None
    stage_started: str | None = None
    updated: str = ""
    message: str = ""
    run: str | None = None
    kind: str = "comparison"

    @property
    def active(self) -> bool:
        """Whether it waits or works."""
        return self.status in ("queued", "running")

    @property
    def seconds_left(self) -> float | None:
        """Seconds left in this stage at its pace so far; None while that is unknown."""
        if self.status != "running" or self.stage_started is None:
            return None
        elapsed = datetime.fromisoformat(self.updated) - datetime.fromisoformat(self.stage_started)
        return remaining_seconds(elapsed.total_seconds(), self.done - self.done_before, self.total - self.done_before)


def start(kind: str, spec: Mapping[str, Any]) -> JobState:
    """Check a description of work and start a worker on it.

    Parameters
    ----------
    kind : str
        One of ``mauve_core.tasks.KINDS``: "comparison", "measures", "sweep", "methods", "study", "without".
    spec : mapping
        As the ``as_dict`` of that kind's task writes it.

    Returns
    -------
    JobState
        Status ``queued``; poll :func:`status` with its id.

    Raises
    ------
    InputError
        The description is not usable; nothing was started.
    StorageError
        The disk refused.
    """
    task = read_task(kind, spec).absolute()
    now = datetime.now(UTC)
    identifier = f"{now:%Y%m%d-%H%M%S%f}-{secrets.token_hex(2)}"
    state = JobState(id=identifier, name=task.name, kind=kind, status="queued", created=now.isoformat())
    folder = jobs_folder() / state.id
    with storage_errors(folder):
        folder.mkdir(parents=True)
    try:
        _write_json(folder / TASK, task.as_dict())
        write_state(folder, state)
        _spawn(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return status(state.id)


def status(job_id: str) -> JobState:
    """How far the job is.

    One whose worker died counts as failed (or as cancelled, if that was asked for), and so does one whose state is
    damaged, so that a single broken folder hides no other job.

    Raises
    ------
    InputError
        No job has that id.
    """
    folder = _folder(job_id)
    child = _children.get(job_id)
    if child is not None and child.poll() is not None:
        del _children[job_id]
    try:
        state = read_state(folder)
        if state.active and _is_alive(folder):
            return state
        state = read_state(folder)  # again: it may have written its end just before it went
    except StorageError as error:
        return JobState(job_id, name=job_id, status="failed", message=str(error))
    if not state.active:
        return state
    if (folder / CANCEL).exists():
        return replace(state, status="cancelled")
    message = "The worker stopped before it finished: killed, out of memory, or an error of this program. "
    message += "Start it again: what was encoded is kept."
    tail = log_tail(job_id)
    return replace(state, status="failed", message=f"{message} Last line of its log: {tail}" if tail else message)


def cancel(job_id: str) -> None:
    """Ask the job to stop; it does at its next sign of progress. Nothing happens to a job that has ended.

    Raises
    ------
    InputError
        No job has that id.
    """
    folder = _folder(job_id)
    if status(job_id).active:
        with storage_errors(folder):
            (folder / CANCEL).touch()


def restart(job_id: str) -> JobState:
    """Start a new job with the same task, and forget the old one, which must have ended."""
    folder = _folder(job_id)
    if status(job_id).active:
        raise InputError(f"The job {job_id} is still at work", todo="Cancel it first, or wait for it")
    fresh = start(read_state(folder).kind, read_json(folder / TASK))
    remove(job_id)
    return fresh


def remove(job_id: str) -> None:
    """Forget a job that has ended; the run it made stays."""
    folder = _folder(job_id)
    if status(job_id).active:
        raise InputError(f"The job {job_id} is still at work", todo="Cancel it first, or wait for it")
    with storage_errors(folder):
        shutil.rmtree(folder)


def list() -> tuple[JobState, ...]:  # noqa: A001 (jobs.list() reads well, and nothing here needs the builtin)
    """Every job, the newest first."""
    names = sorted(path.parent.name for path in jobs_folder().glob(f"*/{STATE}"))
    return tuple(status(name) for name in reversed(names) if _ID.fullmatch(name))


def log_tail(job_id: str) -> str:
    """The last line that the worker wrote to its log, cut to a readable length; empty when it wrote none."""
    path = _folder(job_id) / LOG
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1][-LOG_TAIL_CHARACTERS:] if lines else ""


def jobs_folder() -> Path:
    """The folder of all jobs."""
    return home().absolute() / "jobs"


def read_state(folder: Path) -> JobState:
    """The state in a job's folder, as the worker last wrote it."""
    values = read_json(folder / STATE)
    try:
        state = JobState(**values)
        holds = state.status in get_args(Status)
    except TypeError:
        holds = False
    if not holds:
        raise StorageError(f"{folder / STATE} is no job's state", todo="Remove the job and start it again")
    return state


def write_state(folder: Path, state: JobState) -> JobState:
    """Replace the state in a job's folder; returns what was written, with the time of writing in it."""
    state = replace(state, updated=datetime.now(UTC).isoformat())
    _write_json(folder / STATE, dataclasses.asdict(state))
    return state


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of ours; StorageError when it is damaged."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} is damaged: {error}", todo="Remove the job and start it again") from error
    if not isinstance(values, dict):
        raise StorageError(f"{path} is damaged", allowed="a JSON object", todo="Remove the job and start it again")
    return values


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _folder(job_id: str) -> Path:
    folder = jobs_folder() / job_id
    if not _ID.fullmatch(job_id) or not (folder / STATE).is_file():
        raise InputError(f"No job has the id {job_id!r}")
    return folder


def _spawn(folder: Path) -> None:
    """Start the worker with its own lock already held, so that there is no moment in which it looks dead."""
    package = Path(__file__).resolve().parent.parent
    paths = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, HOME_VARIABLE: str(home().absolute())}
    handle = os.open(folder / ALIVE, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with (folder / LOG).open("ab") as log:
            _children[folder.name] = subprocess.Popen(
                [sys.executable, "-P", "-m", "mauve_core", "work", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(handle,),
                start_new_session=True,
            )
    finally:
        os.close(handle)


def _is_alive(folder: Path) -> bool:
    handle = os.open(folder / ALIVE, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)
