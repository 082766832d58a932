"""Engines carry out the tasks of a pass: in processes of this machine, or on a cluster of Ray."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural
from mauve_core.encoders.devices import gpus_for, visible_variable
from mauve_core.shards.failures import Failures
from mauve_core.shards.tasks import Task, remaining
from mauve_core.stats.threads import usable_cores

LOCAL, RAY = "local", "ray"

_LOG = logging.getLogger(__name__)

# Workers that may die of one task: one that kills its worker would go on for ever.
MOST_DEATHS = 3

# What a worker is started with, by this Python.
COMMAND = ("-P", "-m", "mauve_core.shards.worker")

# Seconds within which a process that has closed its output must end.
END_S = 10

# Called with each finished task and the most memory that its process has had.
Done = Callable[[Task, int], None]


class Engine(Protocol):
    """Carries out tasks.

    Attributes
    ----------
    name : str
        For people: "local, 2 workers".
    workers : int
        Tasks without a model for a GPU that are carried out at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int: ...

    def gpus(self, device: str | None) -> int:
        """GPUs for tasks with a device (:class:`mauve_core.shards.tasks.Task`), one task each; 0 if cores do them."""
        ...

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        """Carry out those tasks of a pass that are not done, in any order.

        What a task raises about one shard (:class:`mauve_core.shards.failures.ShardError`) stops no other task, unless
        all of its side seem to fail; after any other error, no task begins. When none is running any more, the first
        error of another kind is raised, or one that names all shards that failed, as a ShardError.
        """
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class LocalEngine:
    """Processes of this machine, one task at a time each; a task whose process dies goes to a new one.

    Tasks with a model get one process per GPU. These end when a pass without a model begins, which has all cores.

    Parameters
    ----------
    workers : int, optional
        Most tasks at once. Default: the usable cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._most = workers
        self.workers = workers or usable_cores()
        self._used_gpus = 0
        self._seats: tuple[str | None, ...] = ()
        self._idle: list[_Seat] = []
        self._busy: set[_Worker] = set()
        self._stopped = False

    @property
    def name(self) -> str:
        return f"{LOCAL}, {workforce(self._used_gpus, self.workers)}"

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes that carry out a task."""
        return [worker.process for worker in tuple(self._busy)]

    def gpus(self, device: str | None) -> int:
        return len(self._gpus_for(device))

    def _gpus_for(self, device: str | None) -> tuple[str | None, ...]:
        return () if device is None else gpus_for(device)[: self._most]

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        self._stopped = False
        left = remaining(tasks)
        if not left:
            return
        at_once = self._take_seats(left[0].device)
        waiting = list(reversed(left))
        running: dict[Future[int], Task] = {}
        failures = Failures(tasks, left, _LOG)
        with ThreadPoolExecutor(at_once) as waiters:
            try:
                while running or (waiting and not failures.stopped):
                    while waiting and len(running) < at_once and not failures.stopped:
                        task = waiting.pop()
                        running[waiters.submit(self._carry_out, folder, task)] = task
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        task, error = running.pop(future), future.exception()
                        if error is not None:
                            failures.add(task, error)
                        else:
                            failures.succeeded(task)
                            done(task, future.result())
            except Exception:
                wait(running)
                raise
            except BaseException:  # an interruption: tasks are not waited for
                self._stop()
                wait(running)  # until every worker is idle or has ended: one that has just answered is neither yet
                self.close()
                raise
        failures.raise_any()

    def _take_seats(self, device: str | None) -> int:
        """Let go of workers that are for other tasks; return how many tasks there are at once."""
        gpus = self._gpus_for(device)
        seats = gpus or (None,) * self.workers
        if seats != self._seats:
            self._release()
            self._seats, self._idle = seats, [_Seat(gpu) for gpu in seats]
        self._used_gpus = max(self._used_gpus, len(gpus))
        return len(seats)

    def _carry_out(self, folder: Path, task: Task) -> int:
        seat = self._idle.pop()  # the last one that was used, so that no more workers start than are needed
        try:
            return self._answer(seat, folder, task)
        finally:
            self._idle.append(seat)

    def _answer(self, seat: _Seat, folder: Path, task: Task) -> int:
        deaths: list[str] = []
        while len(deaths) < MOST_DEATHS and not self._stopped:
            worker = seat.worker = seat.worker or _Worker(seat.gpu)
            self._busy.add(worker)
            if self._stopped:  # it was started while the others were ended
                worker.kill()
            try:
                answer = worker.ask((str(folder), task.name, task.args))
            except (EOFError, OSError, pickle.UnpicklingError):
                seat.worker = None
                deaths.append(worker.ended())
                if not self._stopped:  # otherwise the engine has ended it
                    _LOG.warning("The worker of %s died (%s)", task.what, deaths[-1])
            else:
                if isinstance(answer, BaseException):
                    raise answer
                return answer
            finally:
                self._busy.discard(worker)
        raise InputError(
            f"The worker of {task.what} died {len(deaths)} times ({', '.join(deaths)})",
            todo="If the memory ran out, use fewer workers or smaller shards. Finished tasks are kept",
        )

    def close(self) -> None:
        self._stop()
        self._release()
        self._seats = ()

    def _stop(self) -> None:
        """Kill the workers that have a task, also those that start meanwhile."""
        self._stopped = True
        for worker in tuple(self._busy):
            worker.kill()

    def _release(self) -> None:
        """End the workers that have no task."""
        idle = [seat.worker for seat in self._idle if seat.worker is not None]
        for worker in idle:
            worker.kill()
        while idle:
            idle.pop().ended()
        self._idle = []


@dataclass
class _Seat:
    """Room for one worker at a time, and the GPU that it may use; None for whatever the engine may."""

    gpu: str | None
    worker: _Worker | None = None


class _Worker:
    """A process of :mod:`mauve_core.shards.worker`, which sees one GPU or whatever the engine sees."""

    def __init__(self, gpu: str | None) -> None:
        package = Path(__file__).resolve().parents[2]
        known = {} if gpu is None else {visible_variable(): gpu}
        known |= {
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


def workforce(gpus: int, workers: int) -> str:
    """Say how many work at once: "2 workers", or "1 GPU and 16 workers"."""
    return f"{plural(gpus, 'GPU')} and {plural(workers, 'worker')}" if gpus else plural(workers, "worker")


def engine_for(choice: str, workers: int | None = None) -> Engine:
    """Return an engine by its name.

    Parameters
    ----------
    choice : str
        "local"; "ray" for a cluster of its own on this machine, or "ray:ADDRESS" for one that runs.
    workers : int, optional
        Most tasks at once. Default: one per GPU for those with a model; else the usable cores, or those of the cluster.

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
