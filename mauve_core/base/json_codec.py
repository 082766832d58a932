"""JSON: dataclasses to plain values and back by their annotations, and documents of other programs within limits.

The annotation of a field is also its check: floats are finite, integers fit into 64 bits, and text has a maximum
length. Tuples become lists; mappings and dataclasses become objects. ``Annotated[float, Within(0, 1)]`` adds a range.
A new field therefore needs no code here, and whoever reads a dataclass can rely on its types.

JSON of others is parsed only if it holds no more values than its reader allows: ``[],`` has three bytes in a file and
becomes an object of 80 in memory, so a limit of bytes alone bounds little.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypedDict,
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


@dataclass(frozen=True)
class Within:
    """Range of a number, ends included."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class As:
    """Types of the named entries of a mapping; other entries may hold anything."""

    kind: Any


@dataclass(frozen=True)
class Holds:
    """A further condition on a value; ``allowed`` describes it in messages."""

    test: Callable[[Any], bool]
    allowed: str


@dataclass(frozen=True, eq=False)
class Named:
    """A name of a registry, as it is when a value is read."""

    names: Collection[str]


@dataclass(frozen=True)
class Written:
    """A value whose JSON form has the type ``kind``; ``write`` and ``read`` convert to that form and back."""

    kind: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class Joined:
    """One JSON object with the fields of several dataclasses or TypedDicts; a later one may replace fields of others,
    and the last one says in its docstring what the object is. A function returns its class when a schema is made."""

    def __init__(self, *kinds: Callable[[], Any]) -> None:
        self.kinds = kinds


@dataclass(frozen=True)
class Ranged:
    """Range of an estimate, for its JSON schema: of its mean, interval and values, not of its standard deviations. What
    the program computes lies in it; imported values are not checked."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RangedByName:
    """As :class:`Ranged`, of the entries of a mapping by their names."""

    bounds: Mapping[str, tuple[float, float]]


# Digits of a number that surely fits into 64 bits.
_MOST_DIGITS = 18

NotBlank = Annotated[str, Holds(lambda text: bool(text.strip()), "text other than blanks")]

# A number that may be infinite; JSON has no infinity, so it is written as text.
Extended = Annotated[float, Written(Literal["inf", "-inf"] | float, lambda x: x if math.isfinite(x) else str(x), float)]

# A count.
Count = Annotated[int, Within(0, 2**53)]

# A number of repetitions: seeds, splits.
Few = Annotated[int, Within(0, 1000)]

# A number of repetitions, at least one.
Seeds = Annotated[int, Within(1, 1000)]

NotNegative = Annotated[float, Within(0)]
Share = Annotated[float, Within(0, 1)]

# A p-value of exchanged or permuted texts, which counts the observed one.
PValue = Annotated[float, Within(0, 1), Holds(lambda p: p > 0, "a number above 0, up to 1")]


class Origin(TypedDict, total=False):
    """One side of the run that a table was made from.

    Attributes
    ----------
    n : int
        Number of texts.
    digest : str
        SHA-256 of ids and texts.
    """

    n: Count
    digest: str


class OtherCorpus(TypedDict, total=False):
    """Texts of another corpus, which clusters were learned on.

    Attributes
    ----------
    title : str
        The run or file that they are from.
    n : int
        Number of texts.
    digest : str
        SHA-256 of ids and texts.
    """

    title: str
    n: Count
    digest: str


class Settings(TypedDict, total=False):
    """The settings that are read back from a table of results.

    Attributes
    ----------
    seeds, splits, permutations : int
        Number of seeds, of splits into halves, and of permutations of a test.
    own_k : int
        Number of clusters of the run.
    candidate : str or None
        Whose pairwise clusters were used; None for the joint ones.
    source : str
        Whose texts were used.
    rows : list of int or None
        Places of the texts that were used; None for all.
    texts : mapping of str to int
        Number of texts by source.
    sources : mapping of str to Origin
        The run's sides by name.
    clusters_from : OtherCorpus
        Texts of another corpus, which clusters were learned on.
    own_neighbours : int
        Number of neighbors of ``mauve-lens measure``.
    """

    seeds: Few
    splits: Few
    permutations: Count
    own_k: Count
    candidate: str | None
    source: str
    rows: list[int] | None
    texts: Mapping[str, Count]
    sources: Mapping[str, Origin]
    clusters_from: OtherCorpus
    own_neighbours: Count


def whole_number(text: str) -> int | None:
    """Return the number that a text of ASCII digits writes; None for other text, or a number beyond 64 bits.

    Python's own ``int`` refuses long texts with advice for programmers, and takes digits of every script.
    """
    usable = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if usable else None


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
        elif isinstance(mark, Named) and result not in mark.names:
            raise _WrongError(path, ", ".join(mark.names), value)
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


# Most values of one document: settings of a model, a line of a table, or what a server answers.
MOST_VALUES = 2_000_000

_BETWEEN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def parse_json(source: bytes | str, **options: Any) -> Any:
    """Return what ``json.loads`` does of the source, with its options.

    Raises
    ------
    ValueError, RecursionError
        As ``json.loads``, or the source holds more than ``MOST_VALUES`` values.
    """
    require_few_values(source)
    return json.loads(source, **options)


def require_few_values(source: bytes | str, most: int | None = None) -> None:
    """Raise ValueError if JSON holds more values than ``most``, or ``MOST_VALUES``, before any of them takes memory."""
    most = MOST_VALUES if most is None else most
    if len(source) <= most or _openings(source) <= most:
        return
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    if _openings(_BETWEEN_QUOTES.sub(b"", data)) > most:  # commas of texts are no values
        raise ValueError(f"it holds more than {most:,} values")


def _openings(source: bytes | str) -> int:
    """At most so many values follow the first one."""
    marks = (",", "[", "{")
    return sum(source.count(mark) if isinstance(source, str) else source.count(mark.encode()) for mark in marks)


HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; ValueError if a name occurs twice."""
    row = dict(pairs)
    if len(row) != len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {repeated!r} occurs twice in one object")
    return row


def require_whole_characters(source: str, value: Any, location: str) -> None:
    """Raise InputError if the JSON source of a value holds half of a surrogate pair."""
    if HALF_PAIR.search(source):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{location} holds half of a surrogate pair, which is not a character",
                todo="Rewrite the text with errors='replace'",
            ) from error
