"""Batches handed out from one queue to several workers: devices, or threads of a CPU; results as they come in.

A CPU encodes faster with one worker of one thread a core than batch by batch with all cores, because no worker waits
for another within a layer. A GPU's worker starts its next batch before it fetches the last one's result, so that the
device never waits for the way back. Nothing here knows a model.

What torch's threads need of a process that forks stands here too: OpenMP's do not survive it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Worker(Generic[Batch, Result]):
    """Something that works through batches.

    Attributes
    ----------
    start : callable
        Batch -> whatever ``finish`` needs; on a GPU it returns before the work is done.
    finish : callable
        What ``start`` gave -> the result.
    ahead : int
        Batches that are started before the one before them is finished.
    threads : int or None
        Threads that torch may use within this worker; None leaves its setting alone.
    """

    start: Callable[[Batch], Any]
    finish: Callable[[Any], Result]
    ahead: int = 0
    threads: int | None = None


class WorkerPool(Generic[Batch, Result]):
    """Batches on their way through workers; a single worker works in the caller's own thread.

    Parameters
    ----------
    workers : sequence of at least one Worker
    batches : sequence
        Begun in this order, and finished in any.
    """

    def __init__(self, workers: Sequence[Worker[Batch, Result]], batches: Sequence[Batch]) -> None:
        self._workers, self._waiting = workers, deque(batches)
        self._walk: Iterator[tuple[Batch, Result]] | None = None
        self._threads: list[threading.Thread] = []
        self._done: SimpleQueue[tuple[Batch, Result] | BaseException] = SimpleQueue()

    def take(self) -> tuple[Batch, Result]:
        """The next batch that is finished, with its result; raises what a worker raised.

        May be called as often as there are batches. Work begins with the first call.
        """
        if len(self._workers) == 1:
            self._walk = self._walk or self._along(self._workers[0])
            return next(self._walk)
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in self._workers
            ]
            for thread in self._threads:
                thread.start()
        item = self._done.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def stop(self) -> list[tuple[Batch, Result]]:
        """Begin no further batch, and wait for those that were begun: what is finished and was not taken."""
        self._waiting.clear()
        for thread in self._threads:
            thread.join()
        rest = [] if self._walk is None else list(self._walk)
        while not self._done.empty():
            item = self._done.get()
            rest += [] if isinstance(item, BaseException) else [item]
        return rest

    def _run(self, worker: Worker[Batch, Result]) -> None:
        try:
            if worker.threads is not None:
                import torch

                torch.set_num_threads(worker.threads)
            for item in self._along(worker):
                self._done.put(item)
        except BaseException as error:  # noqa: BLE001 (raised again where results are taken)
            self._waiting.clear()
            self._done.put(error)

    def _along(self, worker: Worker[Batch, Result]) -> Iterator[tuple[Batch, Result]]:
        begun: deque[tuple[Batch, Any]] = deque()
        while True:
            try:
                batch = self._waiting.popleft()
            except IndexError:
                while begun:
                    earlier, started = begun.popleft()
                    yield earlier, worker.finish(started)
                return
            begun.append((batch, worker.start(batch)))
            if len(begun) > worker.ahead:
                earlier, started = begun.popleft()
                yield earlier, worker.finish(started)


_users, _threads_before, _lock = 0, 0, threading.Lock()
_torch_works, _threads_of_parent = False, 0


def note_work() -> None:
    """To be called before torch computes anything here: a forked child has to know."""
    global _torch_works
    _torch_works = True


def worker_threads() -> int:
    """Threads for workers of a CPU: as many as torch takes, or took before the process forked."""
    import torch

    return _threads_of_parent or torch.get_num_threads()


@contextmanager
def threads_kept() -> Iterator[None]:
    """Restore torch's number of threads, which workers change for the whole process, when the last user is done."""
    global _users, _threads_before
    import torch

    with _lock:
        if not _users:
            _threads_before = torch.get_num_threads()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                torch.set_num_threads(_threads_before)


def _after_fork_in_child() -> None:
    """Torch goes on with one thread, as in the workers of its own DataLoader; with more it would wait for ever.

    Workers of one thread are threads of ours, and remain as many.
    """
    global _users, _lock, _threads_of_parent
    if _torch_works:
        torch = sys.modules["torch"]
        _threads_of_parent = _threads_of_parent or (_threads_before if _users else torch.get_num_threads())
        torch.set_num_threads(1)
    _users, _lock = 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
