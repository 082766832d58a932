"""Engines carry out the tasks of a pass: in processes of this machine, or on a cluster of Ray."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from mauve_core.base.errors import InputError
from mauve_core.numerics.threads import usable_cores
from mauve_core.shards.tasks import Task

LOCAL, RAY = "local", "ray"

MOST_DEATHS = 3
"""Workers that may die of one task: one that kills its worker would go on for ever."""

COMMAND = ("-P", "-m", "mauve_core.shards.worker")
"""What a worker is started with, by this Python."""

END_S = 10
"""Seconds within which a process that has closed its output must end."""

Done = Callable[[Task, int], None]
"""Called with each finished task and the most memory that its process has had."""


class Engine(Protocol):
    """Carries out tasks.

    Attributes
    ----------
    name : str
        For people: "local, 2 workers".
    workers : int
        Tasks that are carried out at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int: ...

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        """Carry out all tasks, in any order; raise the first error of one, when none is running any more."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class LocalEngine:
    """Processes of this machine, one task at a time each; a task whose process dies goes to a new one.

    Parameters
    ----------
    workers : int, optional
        Default: the usable cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or usable_cores()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._stopped = False

    @property
    def name(self) -> str:
        return f"{LOCAL}, {self.workers} worker{'' if self.workers == 1 else 's'}"

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes that carry out a task."""
        return [worker.process for worker in self._busy]

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        self._stopped = False
        waiting = list(reversed(tasks))
        running: dict[Future[int], Task] = {}
        with ThreadPoolExecutor(self.workers) as waiters:
            try:
                while waiting or running:
                    while waiting and len(running) < self.workers:
                        task = waiting.pop()
                        running[waiters.submit(self._carry_out, folder, task)] = task
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        task = running.pop(future)
                        done(task, future.result())
            except Exception:
                wait(running)
                raise
            except BaseException:  # an interruption: tasks are not waited for
                self.close()
                raise

    def _carry_out(self, folder: Path, task: Task) -> int:
        deaths: list[str] = []
        while len(deaths) < MOST_DEATHS and not self._stopped:
            worker = self._free_worker()
            self._busy.add(worker)
            try:
                answer = worker.ask((str(folder), task.name, task.args))
            except (EOFError, OSError, pickle.UnpicklingError):
                deaths.append(worker.ended())
            else:
                self._idle.append(worker)
                if isinstance(answer, BaseException):
                    raise answer
                return answer
            finally:
                self._busy.discard(worker)
        raise InputError(
            f"The worker of {task.what} died {len(deaths)} times ({', '.join(deaths)})",
            todo="If the memory ran out, use fewer workers or smaller shards. Finished tasks are kept",
        )

    def _free_worker(self) -> _Worker:
        try:
            return self._idle.pop()
        except IndexError:
            return _Worker()

    def close(self) -> None:
        self._stopped = True
        for worker in (*self._idle, *self._busy):
            worker.kill()
        while self._idle:
            self._idle.pop().ended()


class _Worker:
    """A process of :mod:`mauve_core.shards.worker`."""

    def __init__(self) -> None:
        package = Path(__file__).resolve().parents[2]
        known = {
            "OMP_NUM_THREADS": "1",  # before the libraries are loaded
            "PYTHONPATH": os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")])),
            "TOKENIZERS_PARALLELISM": "false",
        }
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **known},
        )
        self._input, self._output = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)

    @property
    def process(self) -> int:
        return self._process.pid

    def ask(self, request: tuple[str, str, tuple[Any, ...]]) -> int | BaseException:
        """The answer to a request; EOFError or OSError if the process died of it."""
        pickle.dump(request, self._input)
        self._input.flush()
        answer: int | BaseException = pickle.load(self._output)
        return answer

    def kill(self) -> None:
        self._process.kill()

    def ended(self) -> str:
        """Wait for the end of the process, which has begun; return how it ended."""
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        for stream in (self._input, self._output):
            with suppress(OSError):  # what was left to write has no reader
                stream.close()
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


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
