"""How URL values are written and read. Values that cannot be read become None, which counts as absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, get_args

from mauve_app.selection import simplified
from mauve_core.base.errors import InputError
from mauve_core.corpus.kinds import parse_perturbation

T = TypeVar("T")
Point = tuple[float, float]

# Maximum number of clusters or columns in a link; the rest is cut.
MAX_CHOSEN = 200

# Maximum number of corners of a polygon in a link.
MAX_LASSO_POINTS = 200

# Maximum length of a perturbation: room for the longest pattern and replacement.
MAX_SPEC = 3000

# Maximum number of perturbations of one text in a link.
MAX_TRIED = 20

# Stands for an empty choice, where an absent one has another meaning.
_EMPTY = "none"


@dataclass(frozen=True)
class Codec(Generic[T]):
    """Reads and writes one kind of value.

    Attributes
    ----------
    read : callable
        The value of a text, or None. Inverts ``write``, and checks and normalizes typed input.
    write : callable
    """

    read: Callable[[str], T | None]
    write: Callable[[Any], str] = str


def one_of(choices: Any) -> Codec[Any]:
    """One of the names of a Literal type, or of a collection."""
    names = get_args(choices) or tuple(choices)
    return Codec(lambda text: text if text in names else None)


def index(most: int = 10**9 - 1) -> Codec[int]:
    """An integer from 0 to ``most``."""
    return Codec(lambda text: _index(text, most), lambda value: str(int(value)))


def number(low: float, high: float) -> Codec[float]:
    """A number in [low, high], with five digits."""
    return Codec(lambda text: _number(text, low, high), _digits)


def line(most: int) -> Codec[str]:
    """One line of at most ``most`` characters; the rest is cut."""
    return Codec(lambda text: " ".join(text.split())[:most].strip() or None)


def words(most: int) -> Codec[str]:
    """At most ``most`` characters as typed, unless they are all white space; the rest is cut."""
    return Codec(lambda text: text[:most] if text.strip() else None)


def _index(text: str, most: int = 10**9 - 1) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most else None


def _number(text: str, low: float, high: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if low <= value <= high else None


def _digits(value: float) -> str:
    return f"{value:.5g}"


def _read_indices(text: str) -> tuple[int, ...] | None:
    found = set() if text == _EMPTY else {_index(item) for item in text.split(",")}
    return None if None in found or len(found) > MAX_CHOSEN else tuple(sorted(cast("set[int]", found)))


def _write_indices(values: Sequence[int]) -> str:
    return ",".join(map(str, sorted({int(value) for value in values})[:MAX_CHOSEN])) or _EMPTY


def _read_polygon(text: str) -> tuple[Point, ...] | None:
    corners = [[_number(item, -1e6, 1e6) for item in corner.split(",")] for corner in text.split(";")]
    if not 3 <= len(corners) <= MAX_LASSO_POINTS or any(len(corner) != 2 or None in corner for corner in corners):
        return None
    return tuple((x, y) for x, y in cast("list[list[float]]", corners))


def _write_polygon(polygon: Sequence[Point]) -> str:
    return ";".join(f"{_digits(x)},{_digits(y)}" for x, y in simplified(polygon, MAX_LASSO_POINTS))


def _read_flow(text: str) -> tuple[int, int] | None:
    ends = [_index(item) for item in text.split(",")]
    if len(ends) != 2 or None in ends or ends[0] == ends[1]:
        return None
    return cast("tuple[int, int]", tuple(ends))


def _read_names(text: str) -> tuple[str, str] | None:
    first, _, second = text.partition(",")
    return (first, second) if first and second else None


def _read_perturbation(text: str) -> str | None:
    try:
        return parse_perturbation(text).spec if len(text) <= MAX_SPEC else None
    except InputError:
        return None


def _read_perturbations(text: str) -> tuple[str, ...] | None:
    specs = () if text == _EMPTY else tuple(dict.fromkeys(text.split("\n")))
    return specs if len(specs) <= MAX_TRIED and all(0 < len(spec) <= MAX_SPEC for spec in specs) else None


def _with_commas(values: Sequence[object]) -> str:
    return ",".join(map(str, values))


TEXT = Codec[str](lambda text: text or None)
# May be empty.
ANY_TEXT = Codec[str](str)

SWITCH = Codec[bool]({"on": True, "off": False}.get, lambda value: "on" if value else "off")
# A set of integers, sorted.
INDICES = Codec(_read_indices, _write_indices)

TAGS = Codec[tuple[str, ...]](lambda text: tuple(sorted({tag.strip() for tag in text.split(",")} - {""})), _with_commas)
POLYGON = Codec(_read_polygon, _write_polygon)
# Two different clusters.
FLOW = Codec(_read_flow, _with_commas)

TWO_NAMES = Codec(_read_names, _with_commas)
# One perturbation, in canonical form.
PERTURBATION = Codec(_read_perturbation)

# Several perturbations, as typed.
PERTURBATIONS = Codec(_read_perturbations, lambda specs: "\n".join(specs) or _EMPTY)
