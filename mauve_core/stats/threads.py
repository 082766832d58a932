"""Spread work over cores with our own threads, each with a single-threaded BLAS.

NumPy's BLAS can split one product over cores, but its threads spin while they wait: next to other work on the machine
one eigendecomposition takes tens of times as long. Independent pieces of work (restarts, partitions, blocks of rows)
need not wait for each other. No result depends on the number of cores.

A fork leaves the threads behind, so the child process starts a new pool (``os.register_at_fork``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")


def usable_cores() -> int:
    """Cores that this process may use, at most ``OMP_NUM_THREADS``; at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    requested = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(allowed, int(requested))) if requested.isdigit() else allowed


def parallel_map(function: Callable[[T], R], items: Iterable[T], advance: Callable[[], None] | None = None) -> list[R]:
    """Apply ``function`` to every item on all usable cores; results are in the order of the items.

    A call from within another call runs on the calling thread alone: only the outermost call spreads work.

    Parameters
    ----------
    function : callable
    items : iterable
    advance : callable, optional
        Called on the calling thread after each item. If it or ``function`` raises, items that have not begun are
        dropped, running ones finish, and the first error in the order of the items is raised.
    """
    sequence: Sequence[T] = list(items)
    tell = advance or _silent
    with single_threaded_blas():
        if len(sequence) < 2 or getattr(_thread_state, "inside", False) or usable_cores() == 1:
            return [_advanced(function(item), tell) for item in sequence]
        futures = [_pool(usable_cores()).submit(_inside, function, item) for item in sequence]
        try:
            return [_advanced(future.result(), tell) for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise


def one_by_one(function: Callable[[T], R], items: Iterable[T], advance: Callable[[], None] | None = None) -> list[R]:
    """As :func:`parallel_map`, on the calling thread alone and with all its libraries' threads."""
    return [_advanced(function(item), advance or _silent) for item in items]


def _silent() -> None:
    """Default ``advance``: do nothing."""


def _advanced(result: R, tell: Callable[[], None]) -> R:
    tell()
    return result


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit the process's BLAS to one thread while any thread is inside; the last to leave restores the old limit."""
    _hold.enter()
    try:
        yield
    finally:
        _hold.leave()


@contextmanager
def openmp_threads_kept() -> Iterator[None]:
    """Restore the calling thread's number of OpenMP threads, torch's among them, which numba's first work raises."""
    before = {pool.filepath: pool.num_threads for pool in _openmp()}
    try:
        yield
    finally:
        for pool in _openmp():  # numba may have loaded one that torch will use later
            pool.set_num_threads(before.get(pool.filepath, usable_cores()))


def _openmp() -> list[Any]:
    return [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "openmp"]


class _Hold:
    """Counts the threads inside, because the limit belongs to the whole process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal's handler may fork while it is held
        self._inside = 0
        self._limit: Any = None

    def enter(self) -> None:
        controller = _controller()  # before the lock, which is held for moments alone
        with self._lock:
            if self._inside == 0:
                _take_control()
                self._limit = controller.limit(limits=1, user_api="blas")
            self._inside += 1
        _thread_state.holds = getattr(_thread_state, "holds", 0) + 1

    def leave(self) -> None:
        _thread_state.holds -= 1
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._restore()

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Only the forking thread survives, with its own holds."""
        others = self._inside
        self._lock, self._inside = threading.RLock(), getattr(_thread_state, "holds", 0)
        if others and not self._inside:
            self._restore()

    def _restore(self) -> None:
        _take_control()
        self._limit.restore_original_limits()
        _take_control()


_hold = _Hold()
_thread_state = threading.local()


def _take_control() -> None:
    """Let this thread set the limit, and let none own it: threadpoolctl 3.8 obeys only the first thread that set it."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _after_fork_in_child() -> None:
    _pool.cache_clear()
    _hold.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hold.before_fork,
        after_in_parent=_hold.after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _inside(function: Callable[[T], R], item: T) -> R:
    _thread_state.inside = True
    return function(item)


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

    return ThreadpoolController()


@cache
def _pool(cores: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores, thread_name_prefix="mauve-numerics")
