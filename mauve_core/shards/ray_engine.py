"""Tasks on a cluster of Ray, by actors that keep their model between tasks.

Only paths and small numbers travel through Ray; features, sums and labels are files in the work folder, which all
nodes must see. Ray starts an actor again elsewhere when its node or process dies, and repeats the task.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, own_words_of
from mauve_core.base.extras import require
from mauve_core.shards.tasks import Task, carry_out

RETRIES = 3
"""Times that a task is repeated after its actor has died."""

_HERE = {"_node_ip_address": "127.0.0.1"}
"""A cluster of one machine is reached from nowhere else."""

ANSWER_S = 10
"""Seconds within which the machine of a cluster must answer."""


class RayEngine:
    """A cluster of Ray.

    Parameters
    ----------
    address : str or None
        That of a cluster that runs, "auto" for the one of this machine; None starts one on this machine.
    workers : int, optional
        Actors, one task at a time each; default: one a GPU if the cluster has any, else one a core.

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
                ray.init(address=address, log_to_driver=False, logging_level="error", **options)
            except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
                raise _unreachable(address, error) from error
        resources = ray.cluster_resources()
        self._gpus = int(resources.get("GPU", 0))
        self._workers = workers or self._gpus or int(resources.get("CPU", 1))
        self._actors: list[Any] = []

    @property
    def name(self) -> str:
        nodes = sum(node["Alive"] for node in self._ray.nodes())
        return (
            f"ray, {self._workers} worker{'' if self._workers == 1 else 's'} on {nodes} node{'' if nodes == 1 else 's'}"
        )

    def run(self, folder: Path, tasks: Sequence[Task], done: Any) -> None:
        ray, actors = self._ray, self._started()
        waiting, idle = list(reversed(tasks)), list(actors)
        running: dict[Any, tuple[Task, Any]] = {}
        failure: BaseException | None = None
        while running or (waiting and failure is None):
            while waiting and idle and failure is None:
                task, actor = waiting.pop(), idle.pop()
                running[actor.carry_out.remote(str(folder), task.name, task.args)] = (task, actor)
            (ready,), _ = ray.wait(list(running), num_returns=1)
            task, actor = running.pop(ready)
            idle.append(actor)
            try:
                done(task, ray.get(ready))
            except ray.exceptions.RayTaskError as error:
                failure = failure or error.cause
            except ray.exceptions.RayError as error:
                failure = failure or _lost(task, error)
        if failure is not None:
            raise failure

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []
        if self._own:
            self._ray.shutdown()

    def _started(self) -> list[Any]:
        if not self._actors:
            actor = self._ray.remote(
                num_cpus=1,
                num_gpus=1 if self._gpus else 0,
                max_restarts=-1,
                max_task_retries=RETRIES,
                runtime_env={"env_vars": {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}},
            )(_Actor)
            self._actors = [actor.remote() for _ in range(self._workers)]
        return self._actors


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
        f"The worker of {task.what} was lost {RETRIES + 1} times: {own_words_of(error)}",
        todo="Look at the cluster's log, then start again: finished tasks are kept",
    )
