"""What an annotation may say of a field besides its type; :mod:`mauve_core.base.json_codec` holds values against it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict


@dataclass(frozen=True)
class Within:
    """Range of a number, both ends included."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class As:
    """What a mapping holds under the names that somebody reads; under others it may hold anything."""

    kind: Any


@dataclass(frozen=True)
class Holds:
    """What else is asked of a value; ``allowed`` says it to the reader."""

    test: Callable[[Any], bool]
    allowed: str


@dataclass(frozen=True)
class Written:
    """A value that stands in JSON as something else.

    Attributes
    ----------
    kind : annotation
        Of what stands in JSON.
    write, read : callable
        From the value to that, and back.
    """

    kind: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


NotBlank = Annotated[str, Holds(lambda text: bool(text.strip()), "text")]

Extended = Annotated[float, Written(Literal["inf", "-inf"] | float, lambda x: x if math.isfinite(x) else str(x), float)]
"""A number that may be infinite; JSON has no word for that, so that it is written as text."""

Count = Annotated[int, Within(0, 2**53)]
"""A number of things."""

Few = Annotated[int, Within(0, 1000)]
"""A number of repetitions: seeds, splits."""

Seeds = Annotated[int, Within(1, 1000)]
"""A number of repetitions of which there is at least one."""

NotNegative = Annotated[float, Within(0)]
Share = Annotated[float, Within(0, 1)]


class Origin(TypedDict, total=False):
    """One side of the run that a table was made of."""

    n: Count
    digest: str


class Settings(TypedDict, total=False):
    """What is read of the settings that stand with a table of results."""

    seeds: Few
    splits: Few
    permutations: Count
    own_k: Count
    candidate: str | None
    source: str
    rows: list[int] | None
    texts: Mapping[str, Count]
    sources: Mapping[str, Origin]
