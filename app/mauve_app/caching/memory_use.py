"""Approximate memory use of a value, for caches bounded by bytes; memory that two values share counts twice."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

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
