"""Engines carry out the tasks of a pass: in processes of this machine, or on a cluster of Ray."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol

from mauve_core.base.errors import InputError
from mauve_core.numerics.threads import usable_cores
from mauve_core.shards.tasks import Task, carry_out

LOCAL, RAY = "local", "ray"

MOST_DEATHS = 3
"""Workers that may die in a row without one task finished in between: a task that kills its worker would go on."""

Done = Callable[[Task, int], None]
"""Called with each finished task and the most memory that its process has had."""


class Engine(Protocol):
    """Carries out tasks.

    Attributes
    ----------
    name : str
        For people: "local, 2 workers".
    """

    @property
    def name(self) -> str: ...

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        """Carry out all tasks, in any order; raise the first error of one, when none is running any more."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class LocalEngine:
    """Processes of this machine, one task at a time each.

    Parameters
    ----------
    workers : int, optional
        Default: the usable cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or usable_cores()
        self._pool: ProcessPoolExecutor | None = None

    @property
    def name(self) -> str:
        return f"{LOCAL}, {self._workers} worker{'' if self._workers == 1 else 's'}"

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        left, deaths = list(tasks), 0
        while left:
            before = len(left)
            try:
                self._run(folder, left, done)
            except BrokenProcessPool as error:
                self._pool = None
                left = [task for task in left if not task.output.exists()]
                deaths = 0 if len(left) < before else deaths + 1
                if deaths >= MOST_DEATHS:
                    raise _died(left[0], deaths) from error
            else:
                return

    def _run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        pool = self._opened()
        waiting = list(reversed(tasks))
        running: dict[Future[int], Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._workers:
                    task = waiting.pop()
                    running[pool.submit(carry_out, str(folder), task.name, task.args)] = task
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = running.pop(future)
                    done(task, future.result())
        except BaseException:
            wait(running)
            raise

    def _opened(self) -> ProcessPoolExecutor:
        if self._pool is None:
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            self._pool = ProcessPoolExecutor(self._workers, multiprocessing.get_context("spawn"), _begin)
        return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _begin() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are loaded


def engine_for(choice: str, workers: int | None = None) -> Engine:
    """Return an engine by its name.

    Parameters
    ----------
    choice : str
        "local"; "ray" for a cluster of its own on this machine, or "ray:ADDRESS" for one that runs.
    workers : int, optional
        Tasks at once. Default: the usable cores, or those of the cluster.

    Raises
    ------
    InputError
        The engine is unknown, Ray is not installed, or the cluster cannot be reached.
    """
    kind, _, address = choice.partition(":")
    if kind == LOCAL and not address:
        return LocalEngine(workers)
    if kind == RAY:
        from mauve_core.shards.ray_engine import RayEngine

        return RayEngine(address or None, workers)
    raise InputError("This engine is unknown", allowed="local, ray or ray:ADDRESS", received=repr(choice))


def _died(task: Task, deaths: int) -> InputError:
    return InputError(
        f"The worker of {task.what} died {deaths} times",
        todo="The memory may have run out: give it fewer workers, or smaller shards. Finished tasks are kept",
    )
