"""What stands in a job's folder: its state, replaced whole, and its log, to which lines are added.

A folder ``<home>/jobs/<id>`` holds ``task.json`` (what to do), ``state.json`` (how far it is), ``cancel`` (present once
somebody asked to stop), ``log.txt`` (what the worker says of its work) and ``alive``, a file that the worker holds
locked from birth to death: whoever finds it unlocked knows that the worker is gone, whatever the state says and
whichever process has its number now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import from_json, to_json
from mauve_core.base.progress import remaining_seconds
from mauve_core.base.validation import Holds

Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]

TASK, STATE, CANCEL, LOG, ALIVE = "task.json", "state.json", "cancel", "log.txt", "alive"

LOG_BYTES = 64 * 1024
"""The end of a log in which its last lines are looked for."""

LINE_CHARACTERS = 400
"""A longer line of a log is cut."""


def _is_time(text: str) -> bool:
    """A time with its zone, or empty."""
    try:
        return text == "" or datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


Time = Annotated[str, Holds(_is_time, "a time with its zone, ISO 8601")]


@dataclass(frozen=True)
class JobState:
    """How far a job is.

    Attributes
    ----------
    id : str
        Begins with the time at which it was asked for, so that ids sort by it.
    name : str
        What it makes, in words: the name of a run, or of what is added to one.
    kind : str
        One of ``mauve_core.tasks.registry.KINDS``.
    status : {"queued", "running", "done", "failed", "cancelled", "interrupted"}
        Interrupted: the worker went without a word.
    stage : str
        What it is doing, in words.
    done, total : int
        Progress within the stage.
    done_before : int
        What of the stage was done when it began, because an earlier worker had finished it.
    created : str
        When it was asked for; ISO 8601, UTC.
    started : str or None
        When its turn came, the last time.
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
    created: Time = ""
    started: Time | None = None
    stage_started: Time | None = None
    updated: Time = ""
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


def read_state(folder: Path) -> JobState:
    """The state in a job's folder, as it was last written; StorageError when it is damaged."""
    todo = "Remove the job and start it again"
    try:
        state = from_json(JobState, read_json(folder / STATE))
    except InputError as error:
        raise StorageError(f"{folder / STATE} is no job's state: {error}", todo=todo) from error
    if state.id != folder.name:
        raise StorageError(f"{folder / STATE} is the state of another job", received=state.id, todo=todo)
    return state


def write_state(folder: Path, state: JobState) -> JobState:
    """Replace the state in a job's folder; returns what was written, with the time of writing in it."""
    state = replace(state, updated=datetime.now(UTC).isoformat())
    write_json(folder / STATE, to_json(state))
    return state


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of ours; StorageError when it is damaged."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: {error}", todo="Remove the job and start it again") from error
    if not isinstance(values, dict):
        raise StorageError(f"{path} is damaged", allowed="a JSON object", todo="Remove the job and start it again")
    return values


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object, whole or not at all."""
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(path, lambda stream: stream.write(text.encode()))


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log, each cut to a readable length; none when there is no log that can be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - LOG_BYTES))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return [line[:LINE_CHARACTERS] for line in text.splitlines() if line.strip()][-count:]
