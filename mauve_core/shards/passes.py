"""Run the passes of a comparison over shards, and add up what they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from mauve_core.base.errors import StorageError
from mauve_core.base.formatting import significant
from mauve_core.base.progress import Paced, Progress
from mauve_core.shards.checking import SameFields
from mauve_core.shards.encoding import shard_info
from mauve_core.shards.engines import Engine
from mauve_core.shards.plan import Work
from mauve_core.shards.result import Pass
from mauve_core.shards.tasks import Task, peak_memory, remaining
from mauve_core.stats.threads import single_threaded_blas

# Seconds within which a file that another machine wrote must be seen here: NFS remembers that there was none.
SEEN_S = 90.0

_POLL_S = 0.5


def await_outputs(tasks: Sequence[Task]) -> None:
    """Wait until what tasks have written is seen here; StorageError if it is not."""
    missing, deadline = remaining(tasks), time.monotonic() + SEEN_S
    while missing:
        if time.monotonic() > deadline:
            raise StorageError(
                f"{missing[0].output} was written by another machine, and is not seen here",
                allowed="a work folder that all machines see under one path",
                todo="Name such a folder (--work), and start again",
            )
        time.sleep(_POLL_S)
        for folder in {task.output.parent for task in missing}:
            with suppress(OSError):  # a listing makes the system ask the server again
                list(folder.iterdir())
        missing = remaining(missing)


class Passes:
    """Runs passes, and adds up what they take.

    Parameters
    ----------
    work : Work
    engine : Engine
    progress : callable
        Called with (pass, tasks done, tasks).

    Attributes
    ----------
    finished : dict of str to Pass
        By name; a pass that is run again adds to its entry.
    """

    def __init__(self, work: Work, engine: Engine, progress: Progress) -> None:
        self._work, self._engine, self._progress = work, engine, progress
        self.finished: dict[str, Pass] = {}

    def run(self, name: str, tasks: Sequence[Task]) -> None:
        """Carry out those tasks that are not done."""
        left = remaining(tasks)
        done, peak, began, pace = len(tasks) - len(left), 0, time.monotonic(), Pace(self._work)
        fields = SameFields(self._work)

        def advance(task: Task, memory: int) -> None:
            nonlocal done, peak
            if task.name == "encode" and not remaining([task]):  # another machine wrote it if it is not seen here yet
                fields.add(*task.args[:2])
            done, peak = done + 1, max(peak, memory)
            self._progress(pace.after(name, task), done, len(tasks))

        if left:
            self._progress(name, done, len(tasks))
            self._engine.run(self._work.folder, tasks, advance)
            await_outputs(left)
        self._add(Pass(name, len(tasks), len(tasks) - len(left), time.monotonic() - began, peak))

    def here(self, name: str, work: Callable[[], object]) -> None:
        """Do a step of a pass in this process."""
        began = time.monotonic()
        with single_threaded_blas():
            work()
        self._add(Pass(name, 0, 0, time.monotonic() - began, peak_memory()))

    def _add(self, more: Pass) -> None:
        before = self.finished.get(more.name, Pass(more.name, 0, 0, 0.0, 0))
        self.finished[more.name] = Pass(
            more.name,
            before.tasks + more.tasks,
            before.done_before + more.done_before,
            before.seconds + more.seconds,
            max(before.peak_bytes, more.peak_bytes),
        )


class Pace:
    """The pace of all workers together.

    Parameters
    ----------
    work : Work
    """

    def __init__(self, work: Work) -> None:
        self._work, self._began = work, time.monotonic()
        self._texts = self._tokens = 0

    def after(self, stage: str, task: Task) -> str:
        """The name of the stage with the pace after a finished task, if it encoded texts."""
        if task.name != "encode" or self._work.plan.encoder is None or remaining([task]):  # not seen here yet
            return stage
        info = shard_info(self._work, *task.args[:2])
        self._texts, self._tokens = self._texts + info.n, self._tokens + info.tokens
        seconds = max(time.monotonic() - self._began, 1e-9)
        return Paced(stage, f"{amount(self._texts / seconds)} texts/s, {amount(self._tokens / seconds)} tokens/s")


def amount(number: float) -> str:
    """Format ``8,400``, ``1.2 million``, ``13.1 billion``: three digits from a million on, whole numbers below."""
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= 0.9995 * size:
            return f"{significant(number / size, 3)} {unit}"
    return significant(number, 3)
