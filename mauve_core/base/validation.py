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


class Joined:
    """One JSON object with the fields of several dataclasses or TypedDicts; a later one may replace fields of others,
    and the last one says in its docstring what the object is."""

    def __init__(self, *kinds: type) -> None:
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
