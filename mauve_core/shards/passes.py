"""Run the passes of a comparison over shards, and add up what they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from mauve_core.base.errors import StorageError
from mauve_core.base.progress import Progress
from mauve_core.numerics.threads import single_threaded_blas
from mauve_core.shards.engines import Engine
from mauve_core.shards.pace import Pace
from mauve_core.shards.plan import Work
from mauve_core.shards.readings import Readings
from mauve_core.shards.result import Pass
from mauve_core.shards.tasks import Task, peak_memory, remaining

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
        readings = Readings(self._work)

        def advance(task: Task, memory: int) -> None:
            nonlocal done, peak
            if task.name == "encode":
                with suppress(FileNotFoundError):  # another machine wrote it, and it is not seen here yet
                    readings.add(*task.args[:2])
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
