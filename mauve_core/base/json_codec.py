"""The JSON codec: converts dataclasses to plain JSON and back by their annotations.

The annotation of a field is also its check: floats are finite, integers fit into 64 bits, and text has a maximum
length. Tuples become lists; mappings and dataclasses become objects. ``Annotated[float, Within(0, 1)]`` adds a range.
A new field therefore needs no code here, and whoever reads a dataclass can rely on its types.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from mauve_core.base.errors import InputError
from mauve_core.base.validation import As, Holds, Within, Written

_T = TypeVar("_T")

MAX_INTEGER = 2**63 - 1
# Maximum length of one string.
MAX_CHARACTERS = 1_000_000

# Maximum nesting of free-form values, such as settings.
MAX_DEPTH = 20


def dataclass_to_json(instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as plain JSON values, in order; :func:`from_json` reads them back."""
    hints = _hints(instance.__class__)
    return {
        item.name: _plain(getattr(instance, item.name), hints[item.name])
        for item in dataclasses.fields(instance)
        if item.init
    }


def from_json(kind: type[_T], values: object, what: str = "", *, strict: bool = False) -> _T:
    """Build a dataclass from plain JSON values.

    Parameters
    ----------
    kind : type
        A dataclass. Fields with a default may be missing.
    values : object
        As ``json.loads`` returns it.
    what : str
        Name for the message; default: the words of the class name.
    strict : bool
        Refuse unknown entries, as in settings that a person gives; stored documents may have those of later versions.

    Raises
    ------
    InputError
        An entry is missing, of the wrong type, out of range or unknown; the message says where it is.
    """
    with _worded(what or _words(kind)):
        found = cast(_T, _read(kind, values, ""))
        if strict:
            _require_known(values, dataclass_to_json(found), "")
        return found


def check_fields(instance: Any, noun: str = "entry") -> None:
    """Raise InputError for a field that :func:`from_json` would refuse.

    ``noun`` is the word for a field. A "setting" is something that a person gave, so its class is not named.
    """
    hints = _hints(instance.__class__)
    with _worded("" if noun == "setting" else _words(instance.__class__), noun):
        for name, value in dataclass_to_json(instance).items():
            _read(hints[name], value, name)


def marks(annotation: Any, kind: type[_T]) -> list[_T]:
    """Return the markers of class ``kind`` that an annotation, or one of its alternatives, carries."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return [mark for part in parts for mark in getattr(part, "__metadata__", ()) if isinstance(mark, kind)]


def _plain(value: Any, annotation: Any = None) -> Any:
    for mark in marks(annotation, Written):
        return mark.write(value)
    if dataclasses.is_dataclass(value):
        return dataclass_to_json(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _words(kind: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__.lstrip("_")).lower()


@contextmanager
def _worded(what: str, noun: str = "entry") -> Iterator[None]:
    """Turn errors into an InputError that says where they occurred."""
    try:
        yield
    except _WrongError as error:
        if what:
            subject = f"The {noun} {error.path} of the {what}" if error.path else f"The {what}"
        else:
            subject = f"The {noun} {error.path.partition('[')[0]}"
        raise InputError(f"{subject} cannot be used", allowed=error.allowed, received=_short(error.value)) from None


class _WrongError(Exception):
    def __init__(self, path: str, allowed: str, value: object) -> None:
        super().__init__(path)
        self.path, self.allowed, self.value = path, allowed, value


def _read(annotation: Any, value: Any, path: str) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return _any(value, path, MAX_DEPTH)
    if origin is Annotated:
        return _within(arguments, value, path)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, path)
    if origin is Literal:
        if type(value) not in (str, int, bool) or value not in arguments:
            raise _WrongError(path, ", ".join(map(str, arguments)), value)
        return value
    if origin in (tuple, list, Sequence):
        return _items(origin, arguments, value, path)
    if origin in (dict, Mapping):
        return {_text(key, path): _read(arguments[1], each, _child(path, key)) for key, each in _object(value, path)}
    if origin is np.ndarray:
        return _array(arguments, value, path)
    if is_typeddict(annotation):
        hints = _hints(annotation)
        return {key: _read(hints.get(key, Any), each, _child(path, key)) for key, each in _object(value, path)}
    if dataclasses.is_dataclass(annotation):
        return _fields(cast(type, annotation), value, path)
    return _LEAVES[annotation](value, path)


def _within(arguments: tuple[Any, ...], value: Any, path: str) -> Any:
    first, *others = arguments
    for mark in others:
        if isinstance(mark, Written):
            return mark.read(_read(mark.kind, value, path))
    try:
        result = _read(first, value, path)
    except _WrongError as error:
        allowed = next((mark.allowed for mark in others if isinstance(mark, Holds)), error.allowed)
        raise _WrongError(error.path, allowed if error.path == path else error.allowed, error.value) from None
    for mark in others:
        if isinstance(mark, As):
            result = _read(mark.kind, value, path)
        elif isinstance(mark, Within) and not mark.low <= result <= mark.high:
            raise _WrongError(path, _range(mark), value)
        elif isinstance(mark, Holds) and not mark.test(result):
            raise _WrongError(path, mark.allowed, value)
    return result


def _one_of(arguments: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and type(None) in arguments:
        return None
    others = [each for each in arguments if each is not type(None)]
    for each in others[:-1]:
        try:
            return _read(each, value, path)
        except _WrongError:
            continue
    return _read(others[-1], value, path)


def _items(origin: Any, arguments: tuple[Any, ...], value: Any, path: str) -> Any:
    if not isinstance(value, list | tuple):
        raise _WrongError(path, "a list", value)
    if origin is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            raise _WrongError(path, f"{len(arguments)} items", value)
        return tuple(_read(kind, each, f"{path}[{i}]") for i, (kind, each) in enumerate(zip(arguments, value)))  # noqa: B905 (as long)
    items = (_read(arguments[0], each, f"{path}[{i}]") for i, each in enumerate(value))
    return list(items) if origin is list else tuple(items)


def _array(arguments: tuple[Any, ...], value: Any, path: str) -> Any:
    """Return one row of numbers with the dtype of the array."""
    (dtype,) = get_args(arguments[1])
    kind = int if issubclass(dtype, np.integer) else float
    numbers = _items(tuple, (kind, ...), value, path)
    if kind is int and numbers and not np.iinfo(dtype).min <= min(numbers) <= max(numbers) <= np.iinfo(dtype).max:
        raise _WrongError(path, f"whole numbers of {dtype.__name__}", [min(numbers), max(numbers)])
    return np.array(numbers, dtype=dtype)


def _fields(kind: type, value: Any, path: str) -> Any:
    entries = dict(_object(value, path))
    known = {item.name: item for item in dataclasses.fields(kind) if item.init}
    needed = {name for name, item in known.items() if item.default is item.default_factory is dataclasses.MISSING}
    if not needed <= set(entries):
        raise _WrongError(path, f"the entries {', '.join(sorted(needed))}", ", ".join(map(str, entries)))
    hints = _hints(kind)
    return kind(
        **{name: _read(hints[name], each, _child(path, name)) for name, each in entries.items() if name in known}
    )


def _require_known(values: Any, known: Any, path: str) -> None:
    """Refuse an entry that is not among those of the same document as it is written."""
    if isinstance(values, Mapping) and isinstance(known, Mapping):
        unknown = [name for name in values if name not in known]
        if unknown:
            raise _WrongError(path, f"the entries {', '.join(known)}", ", ".join(map(str, unknown)))
        for name, each in values.items():
            _require_known(each, known[name], _child(path, name))
    elif isinstance(values, list | tuple) and isinstance(known, list):
        for i, (each, own) in enumerate(zip(values, known, strict=False)):
            _require_known(each, own, f"{path}[{i}]")


def _any(value: Any, path: str, depth: int) -> Any:
    if depth == 0:
        raise _WrongError(path, f"at most {MAX_DEPTH} levels", type(value).__name__)
    if isinstance(value, dict):
        return {_text(key, path): _any(each, _child(path, key), depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_any(each, path, depth - 1) for each in value]
    if value is None or isinstance(value, bool):
        return value
    return _LEAVES.get(type(value), _nothing)(value, path)


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e308 <= value <= 1e308:
        raise _WrongError(path, "a finite number", value)
    return value if abs(value) <= MAX_INTEGER else float(value)  # 2 stays 2 when written again


def _integer(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INTEGER:
        raise _WrongError(path, "a whole number", value)
    return value


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise _WrongError(path, f"text of up to {MAX_CHARACTERS:,} characters", value)
    return value


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _WrongError(path, "true or false", value)
    return value


def _nothing(value: Any, path: str) -> Any:
    if value is not None:
        raise _WrongError(path, "null", value)
    return value


_LEAVES: dict[Any, Callable[[Any, str], Any]] = {
    float: _number,
    int: _integer,
    str: _text,
    bool: _flag,
    type(None): _nothing,
}


def _object(value: Any, path: str) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise _WrongError(path, "an object", value)
    return list(value.items())


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _child(path: str, key: object) -> str:
    name = str(key)[:80]
    return f"{path}.{name}" if path else name


def _range(mark: Within) -> str:
    """The range in words; an infinite end is left out."""
    if mark.high == math.inf:
        return f"a number of at least {_bound(mark.low)}"
    if mark.low == -math.inf:
        return f"a number of at most {_bound(mark.high)}"
    return f"a number from {_bound(mark.low)} to {_bound(mark.high)}"


def _bound(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def _short(value: object) -> str:
    return repr(value)[:80]
