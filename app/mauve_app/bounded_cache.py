"""A byte-bounded cache of resources, shared by all reruns, sessions and functions.

Streamlit limits the number of entries per function, whatever their size. Here all entries together take at most about
``MAUVE_LENS_CACHE_MB`` megabytes, and the least recently used are dropped first. The value that each function returned
last always stays: a page shows it and would otherwise recompute it on every rerun. Sizes are approximate; memory that
two values share counts twice.

Where values derive from a run, the state of its folder is part of every key. A run that is replaced or deleted on disk
never returns stale values, and leaves the entries of other runs alone; its old entries go when room is needed.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from mauve_core.runs import COMPARISON, ID_PATTERN, RunStore
from mauve_core.texts import limits

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


def run_stamp(run_id: str) -> tuple[str, int | None]:
    """The folder of runs and the run's modification time in ns; None if the run does not exist."""
    root = RunStore().root
    path = root / run_id / COMPARISON
    written = path.stat().st_mtime_ns if ID_PATTERN.fullmatch(run_id) and path.is_file() else None
    return str(root), written


def kept_by_run(*, max_entries: int, show_spinner: bool | str = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Like :func:`mauve_app.bounded_cache.kept`, for functions whose first argument is a run id."""

    def version(run_id: str, *_: Any, **__: Any) -> tuple[str, int | None]:
        return run_stamp(run_id)

    return kept(max_entries=max_entries, show_spinner=show_spinner, version=version)


# Number of items measured in a longer collection, as a sample of all.
SAMPLED = 256
_PLAIN = (int, float, complex, bool, bytes, str, type(None), range)
_NOT_DATA = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)


def memory_use(value: Any) -> int:
    """Bytes of the value and of everything it refers to, counting each object once.

    Collections longer than ``SAMPLED`` are sampled evenly. Memory-mapped rows count 0, as the system can release them.
    """
    return int(_bytes(value, set()))


def _bytes(value: Any, seen: set[int]) -> float:
    if id(value) in seen or isinstance(value, _NOT_DATA):
        return 0.0
    seen.add(id(value))
    if isinstance(value, _PLAIN):
        return sys.getsizeof(value)
    if isinstance(value, np.ndarray):
        return _array_bytes(value, seen)
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        usage = value.memory_usage(deep=False)
        columns = [value[name] for name in value] if isinstance(value, pd.DataFrame) else [value]
        texts = (column.to_numpy() for column in columns if column.dtype == object)
        return float(np.sum(usage)) + sum(_items(column, len(column), seen) for column in texts)
    if isinstance(value, Mapping):
        both = (part for item in _spread(list(value.items())) for part in item)
        return sys.getsizeof(value) + sum(_bytes(part, seen) for part in both) * max(len(value) / SAMPLED, 1.0)
    if isinstance(value, list | tuple | set | frozenset):
        return sys.getsizeof(value) + _items(value, len(value), seen)
    return sys.getsizeof(value) + sum(_bytes(part, seen) for part in _attributes(value))


def _array_bytes(array: np.ndarray[Any, Any], seen: set[int]) -> float:
    owner: Any = array
    while isinstance(owner.base, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    if isinstance(owner, np.memmap) or (owner is not array and id(owner) in seen):
        return 0.0
    seen.add(id(owner))
    inner = _items(array.ravel(), array.size, seen) if array.dtype == object else 0.0
    return float(owner.nbytes) + inner


def _items(values: Iterable[Any], count: int, seen: set[int]) -> float:
    return sum(_bytes(item, seen) for item in _spread(values)) * max(count / SAMPLED, 1.0)


def _spread(values: Iterable[Any]) -> list[Any]:
    items = values if isinstance(values, list | tuple | np.ndarray) else list(values)
    if len(items) <= SAMPLED:
        return list(items)
    return [items[index * len(items) // SAMPLED] for index in range(SAMPLED)]


def _attributes(value: Any) -> list[Any]:
    names = [name for kind in type(value).__mro__ for name in _slots(kind)]
    found = [getattr(value, name) for name in names if hasattr(value, name)]
    return [*found, *islice(getattr(value, "__dict__", {}).values(), SAMPLED)]


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if not name.startswith("__")]
