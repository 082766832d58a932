"""Markers for annotations: constraints beyond the type, which :mod:`mauve_core.base.json_codec` checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict


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


@dataclass(frozen=True)
class Written:
    """A value whose JSON form has the type ``kind``; ``write`` and ``read`` convert to that form and back."""

    kind: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Later:
    """A field that older files lack. It is written only if it differs from its default, so that these files stay as
    they are when they are written again, and older versions read files that do not need the field."""


NotBlank = Annotated[str, Holds(lambda text: bool(text.strip()), "text")]

Extended = Annotated[float, Written(Literal["inf", "-inf"] | float, lambda x: x if math.isfinite(x) else str(x), float)]
"""A number that may be infinite; JSON has no infinity, so it is written as text."""

Count = Annotated[int, Within(0, 2**53)]
"""A count."""

Few = Annotated[int, Within(0, 1000)]
"""A number of repetitions: seeds, splits."""

Seeds = Annotated[int, Within(1, 1000)]
"""A number of repetitions, at least one."""

NotNegative = Annotated[float, Within(0)]
Share = Annotated[float, Within(0, 1)]


class Origin(TypedDict, total=False):
    """One side of the run that a table was made from."""

    n: Count
    digest: str


class OtherCorpus(TypedDict, total=False):
    """Texts of another corpus, which clusters were learned on."""

    title: str
    n: Count
    digest: str


class Settings(TypedDict, total=False):
    """The settings that are read back from a table of results."""

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
