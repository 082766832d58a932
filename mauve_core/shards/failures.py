"""Shards that cannot be used: the others go on, and one error at the end names them all. Damage is made good."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import NO_FILE, remove, storage_errors
from mauve_core.encoders.features import DamagedEntryWarning

if TYPE_CHECKING:
    from mauve_core.shards.tasks import Task

# Shards that an error names.
MOST_NAMED = 10

# Of the files that a step writes side by side: the record, which is written last, and what it has the digests of.
STEP_SUFFIXES = (".json", ".npy", ".npz", ".jsonl")

# Shards of a side that are tried in a row if none of them can be used: then its place or its fields are wrong, or its
# store refuses by now, not shards.
MOST_IN_VAIN = 20

REPAIR = "Repair or remove them, or name other fields if these are wrong, then start again: finished shards are kept"


class ShardError(InputError):
    """A shard, or each of several, cannot be used; others may be (exit code 2)."""

    @classmethod
    def of(cls, error: InputError) -> Self:
        """The same error, word for word, as one about a single shard."""
        same = cls(error.wrong)
        vars(same).update(vars(error))
        same.args = error.args
        return same


class DamagedError(StorageError):
    """Files of the work folder are missing or not what a pass has written; the pass can write them again (exit code 1).

    Attributes
    ----------
    damage : tuple of (Path, str)
        The files, and what is wrong with each.
    """

    damage: tuple[tuple[Path, str], ...]

    @classmethod
    def of(cls, *damage: tuple[Path, str]) -> Self:
        """The error of some files."""
        each = [f"{path} is damaged or missing: {reason}" for path, reason in damage[:MOST_NAMED]]
        records = ", ".join(str(path.with_suffix(".json")) for path, _ in damage[:MOST_NAMED])
        todo = f"Remove {records}, then repeat the command of the comparison: what is there is not done again"
        error = cls("The work folder is damaged:", each=each, todo=todo)
        error.damage = damage
        return error


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn what reading a file of the work folder raises into a DamagedError; StorageError if the disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_FILE:
            with storage_errors(path):
                raise
        raise DamagedError.of((path, error.strerror or str(error))) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError.of((path, words_of(error))) from error


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def remade(step: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a step that goes on where it ended remove files that it finds damaged, say so, and begin anew.

    A DamagedError is raised if one file is damaged again.
    """

    @wraps(step)
    def again(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        seen = set[Path]()
        while True:
            try:
                return step(*args, **kwargs)
            except DamagedError as error:
                if seen & {path for path, _ in error.damage}:
                    raise
                for path, reason in error.damage:
                    seen.add(path)
                    for suffix in STEP_SUFFIXES:  # the record first, without which the step is not done
                        with storage_errors(path):
                            remove(path.with_suffix(suffix))
                    message = f"{path} was damaged or missing ({reason}); it was removed and is made again"
                    warnings.warn(message, DamagedEntryWarning, stacklevel=2)

    return again


@contextmanager
def about_one_shard() -> Iterator[None]:
    """Raise an InputError as one about a single shard."""
    try:
        yield
    except InputError as error:
        raise ShardError.of(error) from error


def error_of(errors: Sequence[InputError], shards: int, hopeless: str = "") -> InputError:
    """Return one error for those of several shards, out of so many; a single one stays as it is.

    ``hopeless`` says which of them are why no others were tried: "all of 'model' that were tried".
    """
    if len(errors) == 1:
        return errors[0]
    why = hopeless and f", among them {hopeless}, so no others were tried"
    each = [f"{error.wrong} (received: {error.received})" if error.received else error.wrong for error in errors]
    more, todos = len(each) - MOST_NAMED, {error.todo for error in errors}
    return ShardError(
        f"{len(errors):,} of {shards:,} shards cannot be used{why}:",
        each=each[:MOST_NAMED] + ([f"And {more:,} more"] if more > 0 else []),
        allowed="; ".join(dict.fromkeys(error.allowed for error in errors[:MOST_NAMED] if error.allowed)),
        todo=(todos.pop() if len(todos) == 1 else "") or REPAIR,
    )


class Failures:
    """What fails while tasks are carried out: whether others still begin, and the error in the end.

    After an error about one shard, others begin, unless many of its side have failed in a row. A side of which shards
    were finished before goes on until one more succeeds: damaged ones may be all that is left at the beginning. After
    one about damage of the work folder, others begin. After any other error, none does.

    Parameters
    ----------
    tasks : sequence of Task
        All of a pass, finished ones too.
    left : sequence of Task
        Those of them that are to be carried out.
    log : Logger, optional
        Where errors about single shards are told when they happen, because the end may be hours away.
    """

    def __init__(self, tasks: Sequence[Task], left: Sequence[Task], log: logging.Logger | None = None) -> None:
        outputs = {task.output for task in left}
        self._tasks, self._left, self._log = len(tasks), len(left), log
        self._finished_before: set[str] = {task.args[0] for task in tasks if task.output not in outputs}
        self._of_shards: list[InputError] = []
        self._damage: list[tuple[Path, str]] = []
        self._fatal: BaseException | None = None
        self._succeeded: set[str] = set()
        self._in_a_row: Counter[str] = Counter()

    @property
    def stopped(self) -> bool:
        """Whether no other task is to begin, unless one that is carried out succeeds."""
        return self._fatal is not None or bool(self._hopeless())

    def succeeded(self, task: Task) -> None:
        """Note that a task is done."""
        self._left -= 1
        self._succeeded.add(task.args[0])
        self._in_a_row[task.args[0]] = 0

    def add(self, task: Task, error: BaseException) -> None:
        """Note what a task has raised."""
        self._left -= 1
        if isinstance(error, DamagedError):
            self._damage += error.damage
            return
        if not isinstance(error, ShardError):
            self._fatal = self._fatal or error
            return
        if self._log is not None:
            self._log.warning("A shard cannot be used, others go on: %s", error)
        self._of_shards.append(error)
        self._in_a_row[task.args[0]] += 1

    def raise_any(self) -> None:
        """Raise the error of the tasks, if there is one, when none is carried out any more."""
        if self._fatal is not None:
            raise self._fatal
        if self._damage:
            raise DamagedError.of(*dict(self._damage).items())
        if self._of_shards:
            raise error_of(self._of_shards, self._tasks, self._hopeless() if self._left else "")

    def _hopeless(self) -> str:
        """Say which shards of a side have failed in a row, if they are too many for others to begin."""
        for side, failed in self._in_a_row.items():
            if failed >= MOST_IN_VAIN and side in self._succeeded:
                return f"the last {failed:,} of {side!r} that were tried"
            if failed >= MOST_IN_VAIN and side not in self._finished_before:
                return f"all of {side!r} that were tried"
        return ""
