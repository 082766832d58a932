"""A byte-bounded cache of resources, shared by all reruns, sessions and functions.

Streamlit limits the number of entries per function, whatever their size. Here all entries together take at most about
``MAUVE_LENS_CACHE_MB`` megabytes, and the least recently used are dropped first. The value that each function returned
last always stays: a page shows it and would otherwise recompute it on every rerun.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

import streamlit as st

from mauve_app.caching.memory_use import memory_use
from mauve_core.corpus import limits

MEGABYTE = 1_000_000

P = ParamSpec("P")
R = TypeVar("R")


class _Box(Generic[R]):
    """Wrapper that Streamlit stores in place of a value; it reveals when Streamlit drops the value."""

    def __init__(self, value: R) -> None:
        self.value = value


@dataclass(frozen=True)
class _Entry:
    size: int
    function: str
    drop: Callable[[], object]
    watch: weakref.finalize[Any, Any]


class Budget:
    """All entries, the most recently used last.

    Streamlit drops entries under its own locks, so nothing here calls Streamlit while holding the lock.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._lock = threading.RLock()

    def add(self, box: _Box[Any], function: str, size: int, drop: Callable[[], object]) -> None:
        """Add an entry and drop others until all fit."""
        number = id(box)
        watch = weakref.finalize(box, self._forget, number)
        watch.atexit = False  # when the process ends, nothing needs to be forgotten
        with self._lock:
            self._entries[number] = _Entry(size, function, drop, watch)
            evicted = self._evict(limits.cache_mb() * MEGABYTE)
        for entry in evicted:
            entry.drop()

    def use(self, box: _Box[Any]) -> None:
        """Mark an entry as just used."""
        with self._lock:
            if id(box) in self._entries:
                self._entries.move_to_end(id(box))

    @property
    def bytes(self) -> int:
        """Approximate size of all entries."""
        with self._lock:
            return sum(entry.size for entry in self._entries.values())

    def _forget(self, number: int) -> None:
        with self._lock:
            self._entries.pop(number, None)

    def _evict(self, most: int) -> list[_Entry]:
        """Remove entries until at most ``most`` bytes are left, and return them; each function keeps its last one."""
        total = sum(entry.size for entry in self._entries.values())
        last = {entry.function: number for number, entry in self._entries.items()}
        evicted = []
        for number in [number for number, entry in self._entries.items() if last[entry.function] != number]:
            if total <= most:
                break
            entry = self._entries.pop(number)
            entry.watch.detach()
            total -= entry.size
            evicted.append(entry)
        return evicted


BUDGET = Budget()


def kept(
    *, max_entries: int, show_spinner: bool | str = False, version: Callable[..., Hashable] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Like ``st.cache_resource``, within the byte limit that all entries share.

    Parameters
    ----------
    max_entries : int
        Limit for this function.
    show_spinner : bool or str
    version : callable, optional
        Takes the same arguments and returns whatever else decides the value; part of the key.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = f"{function.__module__}.{function.__qualname__}"

        @st.cache_resource(max_entries=max_entries, show_spinner=show_spinner)
        @functools.wraps(function)
        def box_of(*args: Any, version: Hashable, **kwargs: Any) -> _Box[R]:  # noqa: ARG001 (part of the key)
            return _Box(function(*args, **kwargs))

        noted: weakref.WeakSet[_Box[R]] = weakref.WeakSet()

        @functools.wraps(function)
        def value_of(*args: P.args, **kwargs: P.kwargs) -> R:
            current = None if version is None else version(*args, **kwargs)
            box = box_of(*args, version=current, **kwargs)
            if box in noted:
                BUDGET.use(box)
            else:
                noted.add(box)
                size = memory_use((box.value, args, kwargs))
                BUDGET.add(box, name, size, functools.partial(box_of.clear, *args, version=current, **kwargs))
            return box.value

        return value_of

    return decorate
