"""Tasks on a cluster of Ray, by actors that keep their model between tasks.

Only paths and small numbers travel through Ray; features, sums and labels are files in the work folder, which all
nodes must see. When a node or process dies, its task goes to another actor, and a new one is asked for in its place.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, own_words_of
from mauve_core.base.extras import require
from mauve_core.base.formatting import plural
from mauve_core.shards.engines import MOST_DEATHS, RAY, Done, workforce
from mauve_core.shards.failures import Failures
from mauve_core.shards.tasks import Task, carry_out, remaining

_LOG = logging.getLogger(__name__)

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
