"""Plan batches of texts, and distribute them to workers (devices, or threads of a CPU). No model is known here.

A padded batch costs its number of rows times its longest row. Sorting by length keeps the padding small. Bounding
padded tokens, not rows, keeps the memory per batch constant. Packed texts (laid end to end) need no padding, but are
sorted by length too, because attention is faster over equal lengths.

Workers take batches from one queue, and results come as they finish. A CPU encodes faster with one single-threaded
worker per core than with all cores on one batch, because no worker waits for another within a layer. A GPU's worker
starts its next batch before it fetches the last result, so that the device never waits for the transfer. torch's
threads need care when a process forks: OpenMP's threads do not survive that.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError

# (t,) token ids of one text.
TokenIds = NDArray[np.int32]


def plan_batches(lengths: NDArray[np.int32], batch_tokens: int) -> list[NDArray[np.int64]]:
    """Split texts into batches, the longest texts first, so that a lack of memory shows at once.

    Parameters
    ----------
    lengths : (n,) int array
        Tokens of each text, at least 1.
    batch_tokens : int
        Upper bound of rows times longest row. A text longer than that is a batch of its own.

    Returns
    -------
    list of (rows,) int64 arrays
        Indices of the texts, each from 0 to n - 1 exactly once. Texts of equal length keep their order.

    Raises
    ------
    InputError
        ``batch_tokens`` or a length is below 1.
    """
    lengths = np.asarray(lengths)
    if batch_tokens < 1:
        raise InputError(
            "batch_tokens cannot be used", allowed="a whole number of at least 1", received=repr(batch_tokens)
        )
    if lengths.size and lengths.min() < 1:
        raise InputError("A text without tokens cannot be put in a batch", received=f"text {int(lengths.argmin())}")
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    batches, start = [], 0
    while start < len(order):
        rows = max(1, batch_tokens // int(lengths[order[start]]))
        batches.append(order[start : start + rows].astype(np.int64))
        start += rows
    return batches


def plan_packed(lengths: NDArray[np.int32], batch_tokens: int) -> list[NDArray[np.int64]]:
    """Like :func:`plan_batches`, errors included, for packed texts: ``batch_tokens`` bounds their tokens."""
    order = np.concatenate([np.empty(0, dtype=np.int64), *plan_batches(lengths, batch_tokens)])
    batches, start, tokens = [], 0, 0
    for index, length in enumerate(np.asarray(lengths, dtype=np.int64)[order]):
        if index > start and tokens + length > batch_tokens:
            batches.append(order[start:index])
            start, tokens = index, 0
        tokens += length
    return [*batches, order[start:]] if len(order) else []


def padded_tokens(lengths: NDArray[np.int32], batches: Sequence[NDArray[np.int64]]) -> int:
    """Return the tokens that the model processes over all ``batches``, padding included."""
    return sum(len(batch) * int(lengths[batch].max()) for batch in batches)


def pad(token_ids: Sequence[TokenIds], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stack texts of unequal length, padded on the right.

    Parameters
    ----------
    token_ids : sequence of (t,) int arrays
    padding : int
        Padding token id; it is masked, so its value does not affect the features.

    Returns
    -------
    ids : (rows, longest) int64 array
    mask : (rows, longest) int64 array
        1 at real tokens, 0 at padding.
    """
    longest = max(len(row) for row in token_ids)
    ids = np.full((len(token_ids), longest), padding, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(token_ids):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask


Batch = TypeVar("Batch")
Result = TypeVar("Result")

EXIT_LIMIT_S = 5.0  # a number may have gone to another thread by then


@dataclass(frozen=True, eq=False)
class Worker(Generic[Batch, Result]):
    """A worker that processes batches.

    Attributes
    ----------
    start : callable
        Batch -> whatever ``finish`` needs; on a GPU it returns before the work is done.
    finish : callable
        Output of ``start`` -> the result.
    ahead : int
        Batches that may start before the previous one is finished.
    threads : int or None
        Threads that torch may use in this worker; None leaves its setting alone.
    """

    start: Callable[[Batch], Any]
    finish: Callable[[Any], Result]
    ahead: int = 0
    threads: int | None = None


class WorkerPool(Generic[Batch, Result]):
    """Process batches with at least one worker; a single worker runs in the caller's own thread.

    Batches start in order, and finish in any.
    """

    def __init__(self, workers: Sequence[Worker[Batch, Result]], batches: Sequence[Batch]) -> None:
        self._workers, self._waiting = workers, deque(batches)
        self._walk: Iterator[tuple[Batch, Result]] | None = None
        self._threads: list[threading.Thread] = []
        self._done: SimpleQueue[tuple[Batch, Result] | BaseException] = SimpleQueue()

    def take(self) -> tuple[Batch, Result]:
        """Return the next finished batch with its result; raises what a worker raised.

        Call it at most once per batch. Work starts with the first call.
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
        """Start no further batch, wait for those in progress, and return finished results that were not taken."""
        self._waiting.clear()
        for thread in self._threads:
            thread.join()
        _wait_for_exit(self._threads)
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
        except BaseException as error:  # noqa: BLE001 (raised again in take)
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


def _wait_for_exit(threads: Sequence[threading.Thread]) -> None:
    """Wait until the system has ended threads that Python has joined, which is moments later, on Linux.

    A thread gives MKL's buffers back as it ends, under a lock that a process forked in those moments would inherit
    locked: the child would wait for it forever.
    """
    deadline = time.monotonic() + EXIT_LIMIT_S
    for thread in threads:
        while Path(f"/proc/self/task/{thread.native_id}").exists() and time.monotonic() < deadline:
            time.sleep(0.0005)


_users, _threads_before, _lock = 0, 0, threading.Lock()
_torch_works, _threads_of_parent = False, 0


def note_work() -> None:
    """Call this before torch computes anything here, so that a forked child knows."""
    global _torch_works
    _torch_works = True


def worker_threads() -> int:
    """Return the threads for CPU workers: torch's number, or its number before the process forked."""
    import torch

    return _threads_of_parent or torch.get_num_threads()


@contextmanager
def threads_kept() -> Iterator[None]:
    """Restore torch's process-wide number of threads, which workers change, when the last user is done."""
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
    """Limit torch to one thread, as its own DataLoader workers do; with more it would hang.

    The number of CPU workers stays the same, since they are our own threads.
    """
    global _users, _lock, _threads_of_parent
    if _torch_works:
        torch = sys.modules["torch"]
        _threads_of_parent = _threads_of_parent or (_threads_before if _users else torch.get_num_threads())
        torch.set_num_threads(1)
    _users, _lock = 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
