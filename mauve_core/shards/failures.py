"""Shards that cannot be used: the others go on, and one error at the end names them all."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from mauve_core.base.errors import InputError

if TYPE_CHECKING:
    from mauve_core.shards.tasks import Task

MOST_NAMED = 10
"""Shards that an error names."""

MOST_IN_VAIN = 20
"""Shards of a side that are tried if none of them can be used: then its place or its fields are wrong, not shards."""

REPAIR = "Repair or remove them, or name other fields if these are wrong, then start again: finished shards are kept"


class ShardError(InputError):
    """One shard cannot be used; others may be (exit code 2)."""

    @classmethod
    def of(cls, error: InputError) -> Self:
        """The same error, word for word, as one about a single shard."""
        same = cls(error.wrong)
        vars(same).update(vars(error))
        same.args = error.args
        return same


@contextmanager
def about_one_shard() -> Iterator[None]:
    """Raise an InputError as one about a single shard."""
    try:
        yield
    except InputError as error:
        raise ShardError.of(error) from error


def error_of(errors: Sequence[InputError], shards: int, hopeless: str | None = None) -> InputError:
    """Return one error for those of several shards, out of so many; a single one stays as it is.

    ``hopeless`` is the side of which no shard could be used, so that none was tried any more.
    """
    if len(errors) == 1:
        return errors[0]
    why = "" if hopeless is None else f", among them all of {hopeless!r} that were tried, so no others were tried"
    each = [f"{error.wrong} (received: {error.received})" if error.received else error.wrong for error in errors]
    more, todos = len(each) - MOST_NAMED, {error.todo for error in errors}
    return InputError(
        f"{len(errors):,} of {shards:,} shards cannot be used{why}:",
        each=each[:MOST_NAMED] + ([f"And {more:,} more"] if more > 0 else []),
        allowed="; ".join(dict.fromkeys(error.allowed for error in errors[:MOST_NAMED] if error.allowed)),
        todo=(todos.pop() if len(todos) == 1 else "") or REPAIR,
    )


class Failures:
    """What fails while tasks are carried out: whether others still begin, and the error in the end.

    After an error about one shard, others begin, unless many of its side have failed and none has succeeded. After any
    other error, none begins.

    Parameters
    ----------
    tasks : int
        Tasks in all.
    log : Logger, optional
        Where errors about single shards are told when they happen, because the end may be hours away.
    """

    def __init__(self, tasks: int, log: logging.Logger | None = None) -> None:
        self._tasks, self._log = tasks, log
        self._of_shards: list[InputError] = []
        self._fatal: BaseException | None = None
        self._succeeded: set[str] = set()
        self._failed: Counter[str] = Counter()

    @property
    def stopped(self) -> bool:
        """Whether no other task is to begin, unless one that is carried out succeeds."""
        return self._fatal is not None or self._hopeless() is not None

    def succeeded(self, task: Task) -> None:
        """Note that a task is done."""
        self._succeeded.add(task.args[0])

    def add(self, task: Task, error: BaseException) -> None:
        """Note what a task has raised."""
        if not isinstance(error, ShardError):
            self._fatal = self._fatal or error
            return
        if self._log is not None:
            self._log.warning("A shard cannot be used, others go on: %s", error)
        self._of_shards.append(error)
        self._failed[task.args[0]] += 1

    def raise_any(self) -> None:
        """Raise the error of the tasks, if there is one, when none is carried out any more."""
        if self._fatal is not None:
            raise self._fatal
        if self._of_shards:
            raise error_of(self._of_shards, self._tasks, self._hopeless())

    def _hopeless(self) -> str | None:
        """The side of which many shards have failed and none has succeeded; None if there is none."""
        many = (side for side, failed in self._failed.items() if failed >= MOST_IN_VAIN)
        return next((side for side in many if side not in self._succeeded), None)
