"""Engines carry out the tasks of a pass: in processes of this machine, or on a cluster of Ray.

On Ray, actors keep their model between tasks. Only paths and small numbers travel through Ray; features, sums and
labels are files in the work folder, which all nodes must see. When a node or process dies, its task goes to another
actor, and a new one is asked for in its place.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from mauve_core.base.errors import InputError, own_words_of
from mauve_core.base.extras import require
from mauve_core.base.formatting import plural
from mauve_core.encoders.devices import gpus_for, visible_variable
from mauve_core.shards.places import DamagedError, ShardError, error_of
from mauve_core.shards.tasks import Task, carry_out, remaining
from mauve_core.stats.threads import usable_cores

LOCAL, RAY = "local", "ray"

_LOG = logging.getLogger(__name__)

# Workers that may die of one task: one that kills its worker would go on for ever.
MOST_DEATHS = 3

# Shards of a side that are tried in a row if none of them can be used: then its place or its fields are wrong, or its
# store refuses by now, not shards.
MOST_IN_VAIN = 20

# What a worker is started with, by this Python.
COMMAND = ("-P", "-m", "mauve_core.shards.tasks")

# Seconds within which a process that has closed its output must end.
END_S = 10

# Called with each finished task and the most memory that its process has had.
Done = Callable[[Task, int], None]


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

        What a task raises about one shard (:class:`mauve_core.shards.places.ShardError`) stops no other task, unless
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
    """A process of :mod:`mauve_core.shards.tasks`, which sees one GPU or whatever the engine sees."""

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
        return RayEngine(address or None, workers)
    raise InputError("This engine is unknown", allowed="local, ray or ray:ADDRESS", received=repr(choice))


# Seconds within which the first of several workers must start.
START_S = 300

# A cluster of one machine is reached from nowhere else.
_HERE = {"_node_ip_address": "127.0.0.1"}

# Seconds within which the machine of a cluster must answer.
ANSWER_S = 10


class RayEngine:
    """A cluster of Ray.

    Parameters
    ----------
    address : str or None
        That of a cluster that runs, "auto" for the one of this machine; None starts one on this machine.
    workers : int, optional
        Most actors, one task at a time each. Default: one per GPU for tasks with a model if the cluster has any; else
        one per core.

    Raises
    ------
    InputError
        Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports to its makers otherwise
        require("ray", other="or use --engine local")
        ray: Any = import_module("ray")
        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            _require_answer(address)
            options: dict[str, Any] = {} if address else {"include_dashboard": False, "num_cpus": workers} | _HERE
            try:
                ray.init(address=address or "local", log_to_driver=False, logging_level="error", **options)
            except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                raise _unreachable(address, error) from error
        resources = ray.cluster_resources()
        self._gpus = int(resources.get("GPU", 0))
        self._most = workers
        self.workers = workers or int(resources.get("CPU", 1))
        self._with_gpu = False
        self._used_gpus = 0
        self._failed_starts = 0
        self._starting: dict[Any, Any] = {}
        self._idle: list[Any] = []

    @property
    def name(self) -> str:
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        return f"{RAY}, {workforce(self._used_gpus, self.workers)} on {plural(nodes, 'node')}"

    def gpus(self, device: str | None) -> int:
        if device is None or device == "cpu":
            return 0
        if device not in ("auto", "cuda"):
            raise InputError(
                "On Ray, every worker sees the GPU that Ray gives it", allowed="auto, cuda or cpu", received=device
            )
        if device == "cuda":  # a cluster may grow when it is asked for more
            return self._most or max(self._gpus, 1)
        return min(self._gpus, self._most or self._gpus)

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        left = remaining(tasks)
        if not left:
            return
        ray = self._ray
        waiting = [(task, 0) for task in reversed(left)]
        running: dict[Any, tuple[Task, int, Any]] = {}
        failures = Failures(tasks, left, _LOG)
        self._take_seats(left[0].device)
        while running or (waiting and not failures.stopped):
            while waiting and self._idle and not failures.stopped:
                task, deaths = waiting.pop()
                actor = self._idle.pop()
                running[actor.carry_out.remote(str(folder), task.name, task.args)] = (task, deaths, actor)
            ready, _ = ray.wait([*running, *self._starting], num_returns=1, timeout=None if running else START_S)
            if not ready:
                raise InputError(
                    f"No worker of the Ray cluster has started within {START_S:,} seconds",
                    todo="Look at ray status: each worker needs a core, and for encoding a GPU if the cluster has any",
                )
            (first,) = ready
            if first in self._starting:
                self._welcome(first)
                continue
            task, deaths, actor = running.pop(first)
            try:
                memory = ray.get(first)
            except ray.exceptions.RayTaskError as error:
                self._idle.append(actor)
                failures.add(task, error.cause)
            except ray.exceptions.RayError as error:
                _LOG.warning("The worker of %s was lost: %s", task.what, own_words_of(error))
                if deaths == MOST_DEATHS - 1:
                    failures.add(task, _lost(task, error))
                waiting.append((task, deaths + 1))
                self._start(1)
            else:
                self._idle.append(actor)
                failures.succeeded(task)
                done(task, memory)
        failures.raise_any()

    def close(self) -> None:
        self._release()
        if self._own:
            self._ray.shutdown()

    def _take_seats(self, device: str | None) -> None:
        """Let go of actors that are for other tasks, and ask for those that are missing."""
        gpus = self.gpus(device)
        if (gpus > 0) != self._with_gpu:
            self._release()
        self._with_gpu, self._used_gpus = gpus > 0, max(self._used_gpus, gpus)
        self._start((gpus or self.workers) - len(self._starting) - len(self._idle))

    def _release(self) -> None:
        for actor in (*self._idle, *self._starting.values()):
            self._ray.kill(actor)
        self._idle, self._starting = [], {}

    def _start(self, count: int) -> None:
        """Ask for so many actors; they are used once they have answered, and not waited for while others work."""
        options = {
            "num_cpus": 1,
            "num_gpus": 1 if self._with_gpu else 0,
            "max_restarts": 0,
            "runtime_env": {"env_vars": {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}},
        }
        for _ in range(count):
            actor = self._ray.remote(**options)(_Actor).remote()
            self._starting[actor.process.remote()] = actor

    def _welcome(self, first: Any) -> None:
        """Take in an actor that has answered; ask for another one if it died instead."""
        actor = self._starting.pop(first)
        try:
            self._ray.get(first)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts >= MOST_DEATHS * (1 + len(self._starting)):
                raise InputError(
                    f"Workers of the Ray cluster cannot start: {own_words_of(error)}",
                    todo="Install mauve-lens[ray] in this version, with its models, on every node",
                ) from error
            self._start(1)
        else:
            self._failed_starts = 0
            self._idle.append(actor)


class _Actor:
    """A process of the cluster; its encoder stays in memory from one shard to the next."""

    def carry_out(self, folder: str, name: str, args: tuple[Any, ...]) -> int:
        return carry_out(folder, name, args)

    def process(self) -> int:
        """The number of the process."""
        return os.getpid()


def _require_answer(address: str | None) -> None:
    """Raise InputError at once if nothing listens there: Ray itself waits for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdigit():
        raise InputError(
            "The address of a Ray cluster cannot be used", allowed="HOST:PORT or auto", received=repr(address)
        )
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str | None, error: Exception) -> InputError:
    return InputError(
        f"The Ray cluster at {address} cannot be reached: {own_words_of(error)}",
        todo="Start it (ray start --head), or name its address",
    )


def _lost(task: Task, error: Exception) -> InputError:
    return InputError(
        f"The worker of {task.what} was lost {MOST_DEATHS} times: {own_words_of(error)}",
        todo="Look at the cluster's log, then start again: finished tasks are kept",
    )
