"""Tasks: frozen dataclasses that check themselves, convert to and from JSON, and do the work.

The command line and the background jobs share them, so both do the same work in the same way; a job's worker reads its
task from JSON. A task says how much work it is, so that earlier jobs say how long it takes
(:mod:`mauve_core.jobs.estimates`). What a task does stands in the file of its analysis.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_type_hints

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.json_codec import NotBlank, Within, check_fields, dataclass_to_json, from_json, marks
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.runs import ID_PATTERN, Run, RunStore, run_id
from mauve_core.texts.reading import Located

Part = Literal["none", "some", "all"]


@dataclass(frozen=True)
class Amount:
    """How much work a task is.

    Attributes
    ----------
    like : tuple of str
        What decides the pace. Jobs that differ in it say nothing about each other.
    size : float
        What the time grows with, about in proportion.
    words : str
        The size in words: ``500 texts``.
    encodes : {"none", "some", "all"}
        Of the items, those that have to be encoded because their features are not stored.
    """

    like: tuple[str, ...]
    size: Annotated[float, Within(0)]
    words: str
    encodes: Part = "none"


@dataclass(frozen=True)
class SideSize:
    """Number of items of one side, whether their features are stored, and what they are called."""

    texts: int
    stored: bool
    words: Words = TEXTS


def settings_in_words(settings: Any) -> str:
    """Return a settings dataclass as one string, equal for equal settings."""
    return json.dumps(dataclass_to_json(settings), sort_keys=True)


def amount_of_sides(like: tuple[str, ...], sides: Iterable[SideSize]) -> Amount:
    """Return the amount of comparing these sides: the items to encode, or all items if there are none."""
    sides = list(sides)
    total, new = sum(side.texts for side in sides), sum(side.texts for side in sides if not side.stored)
    encodes: Part = "none" if new == 0 else "all" if new == total else "some"
    size = new or total
    return Amount(like, size, f"{size:,} {sides[0].words.items}" + (" to encode" if encodes == "some" else ""), encodes)


Result = TypeVar("Result")

# Called with a new run as soon as it is stored with its scores, while work on it goes on.
Stored = Callable[[Run], None]


def unheeded(run: Run) -> None:
    """Do nothing when a run is stored."""


Splits = Annotated[int, Within(1, 100)]

# Progress stage of work that adds to a run.
SAVING = "Saving the result"


class Task(ABC):
    """Work that can be described, checked before it begins, and carried out.

    Attributes
    ----------
    kind : str
        Name in job files.
    kept : str
        Work of an unfinished job that is not repeated on resuming; empty if it starts over.
    """

    kind: ClassVar[str]
    kept: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_fields(self, "setting")

    @property
    @abstractmethod
    def title(self) -> str:
        """Return what the task makes, as a list of jobs shows it."""

    @abstractmethod
    def perform(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> str:
        """Carry out the task and return the id of the run that was made or added to.

        Parameters
        ----------
        progress : callable
            May raise CancelledError.
        job : str or None
            Id of the job. A new run records it, so that a job that is resumed after its run was stored does not make a
            second one.
        stored : callable
            Called with a new run once it is stored, also when that was done by an earlier worker of the job.

        Raises
        ------
        InputError, StorageError, CancelledError
            The run, a file or a model is missing or unusable; the disk refuses; ``progress`` stops the work.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the task as plain JSON values."""
        return dataclass_to_json(self)

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Return the task that ``to_json`` wrote; InputError if it is unusable. Fields with defaults may be missing."""
        return from_json(cls, values, strict=True)

    def absolute(self) -> Self:
        """Return the task with absolute paths, for a process that runs in another folder."""
        return _absolute(self)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class NewRunTask(Task):
    """Work that makes a new run, called ``name``."""

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        run_id(self.name)

    @property
    def title(self) -> str:
        return self.name

    def perform(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> str:
        return self.make(progress, job, stored).id

    @abstractmethod
    def make(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> Run:
        """Do the work and store the run; parameters and errors as :meth:`perform`."""


@dataclass(frozen=True)
class RunTask(Task):
    """Work that adds a result to the stored run with id ``run``.

    Attributes
    ----------
    titled : str
        The beginning of the title, before the run's id.
    attachment : str
        Name under which :meth:`stored` finds its result; empty if it finds none.
    """

    titled: ClassVar[str]
    attachment: ClassVar[str] = ""

    run: NotBlank

    @property
    def title(self) -> str:
        return f"{self.titled} {self.run}"

    def perform(
        self,
        progress: Progress = silent,
        job: str | None = None,  # noqa: ARG002 (makes no run)
        stored: Stored = unheeded,  # noqa: ARG002
    ) -> str:
        before = self._inode()
        try:
            self.compute(progress)
        except StorageError as error:
            if before is None or self._inode() == before:
                raise
            todo = "List the runs with: mauve-lens runs"
            raise InputError(f"Run {self.run} was deleted or replaced during the work on it", todo=todo) from error
        return self.run

    @abstractmethod
    def compute(self, progress: Progress = silent) -> object:
        """Do the work, keep the result beside the run in place of an earlier one, and return it; errors as
        :meth:`perform`.
        """

    def amount(self, run: Run) -> Amount | None:  # noqa: ARG002
        """Return how much work the task is on its loaded run; None if that cannot be said beforehand."""
        return None

    def stored(self) -> object | None:
        """Return what is kept beside the run if it answers the task, so that nothing need be computed; None if it does
        not, or cannot be read.
        """
        with suppress(InputError, StorageError):
            return self._answer(self.load())
        return None

    def _answer(self, run: Run) -> object | None:  # noqa: ARG002
        """:meth:`stored` of a loaded run; may raise."""
        return None

    def _inode(self) -> int | None:
        """Identify the run's folder; None if there is none."""
        path = RunStore().root / self.run
        return path.stat().st_ino if ID_PATTERN.fullmatch(self.run) and path.is_dir() else None

    def load(self) -> Run:
        return RunStore().load(self.run)

    def keep(self, run: Run, attachment: str, result: Result, progress: Progress = silent) -> Result:
        """Attach a result to the run that it was computed from, and return it."""
        progress(SAVING, 0, 1)
        RunStore().attach(run.id, attachment, dataclass_to_json(result), of=run)
        progress(SAVING, 1, 1)
        return result


def _absolute(value: Any, annotation: Any = None) -> Any:
    if is_dataclass(value):
        hints = get_type_hints(type(value), include_extras=True)
        changed = {item.name: _absolute(getattr(value, item.name), hints[item.name]) for item in fields(value)}
        return replace(value, **changed)  # type: ignore[type-var]
    if isinstance(value, Mapping):
        return {key: _absolute(each) for key, each in value.items()}
    for mark in marks(annotation, Located) if isinstance(value, str) else ():
        return mark.absolute(value)
    return value
