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

from app.caching.memory_use import memory_use
from mauve_core.corpus import limits

MEGABYTE = 1_000_000

P = ParamSpec("P")
R = TypeVar("R")


class _Entry(Generic[R]):
    """Wrapper that Streamlit stores in place of a value; it reveals when Streamlit drops the value."""

    def __init__(self, value: R) -> None:
        self.value = value


@dataclass(frozen=True)
class _Line:
    size: int
    function: str
    drop: Callable[[], object]
    watch: weakref.finalize[Any, Any]


class Ledger:
    """All entries, the most recently used last.

    Streamlit drops entries under its own locks, so nothing here calls Streamlit while holding the lock.
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[int, _Line] = OrderedDict()
        self._lock = threading.RLock()

    def enter(self, entry: _Entry[Any], function: str, size: int, drop: Callable[[], object]) -> None:
        """Add an entry and drop others until all fit."""
        number = id(entry)
        watch = weakref.finalize(entry, self._forget, number)
        watch.atexit = False
        with self._lock:
            self._lines[number] = _Line(size, function, drop, watch)
            dropped = self._too_many(limits.cache_mb() * MEGABYTE)
        for line in dropped:
            line.drop()

    def use(self, entry: _Entry[Any]) -> None:
        """Mark an entry as just used."""
        with self._lock:
            if id(entry) in self._lines:
                self._lines.move_to_end(id(entry))

    @property
    def bytes(self) -> int:
        """Approximate size of all entries."""
        with self._lock:
            return sum(line.size for line in self._lines.values())

    def _forget(self, number: int) -> None:
        with self._lock:
            self._lines.pop(number, None)

    def _too_many(self, most: int) -> list[_Line]:
        total = sum(line.size for line in self._lines.values())
        last = {line.function: number for number, line in self._lines.items()}
        gone = []
        for number in [number for number, line in self._lines.items() if last[line.function] != number]:
            if total <= most:
                break
            line = self._lines.pop(number)
            line.watch.detach()
            total -= line.size
            gone.append(line)
        return gone


LEDGER = Ledger()


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
        def entry_of(*args: Any, version: Hashable, **kwargs: Any) -> _Entry[R]:  # noqa: ARG001 (part of the key)
            return _Entry(function(*args, **kwargs))

        noted: weakref.WeakSet[_Entry[R]] = weakref.WeakSet()

        @functools.wraps(function)
        def value_of(*args: P.args, **kwargs: P.kwargs) -> R:
            current = None if version is None else version(*args, **kwargs)
            entry = entry_of(*args, version=current, **kwargs)
            if entry in noted:
                LEDGER.use(entry)
            else:
                noted.add(entry)
                size = memory_use((entry.value, args, kwargs))
                LEDGER.enter(entry, name, size, functools.partial(entry_of.clear, *args, version=current, **kwargs))
            return entry.value

        return value_of

    return decorate
