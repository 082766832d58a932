"""What a report is made of: sections of figures, tables, samples of texts and remarks, in plain strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Chart:
    """A figure, what it shows in words, and how to read it.

    Attributes
    ----------
    key : str
        Letters, digits and dashes; unique in a report.
    figure : plotly.graph_objects.Figure
    title, note : str
        Over and under the figure; the note says which partition it shows.
    narrow : bool
        The figure is about as wide as it is high.
    """

    kind: ClassVar[str] = "chart"
    key: str
    figure: Any
    title: str
    note: str
    narrow: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of strings; the first ``heads`` cells of a row name it."""

    kind: ClassVar[str] = "table"
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Remarks:
    """Sentences, a line each; ``weighty`` ones must not be overlooked."""

    kind: ClassVar[str] = "remarks"
    lines: tuple[str, ...]
    weighty: bool = False


@dataclass(frozen=True)
class Verbatim:
    """Text to be copied as it stands."""

    kind: ClassVar[str] = "verbatim"
    title: str
    text: str


@dataclass(frozen=True)
class Sample:
    """A text, and how many characters were cut from its end."""

    id: str
    text: str
    cut: int


@dataclass(frozen=True)
class Side:
    """Some texts of one side of a cluster, out of ``total``."""

    name: str
    human: bool
    total: int
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Card:
    """One cluster: what it does to the score, its words, some of its texts."""

    cluster: int
    facts: tuple[str, ...]
    words: str
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class Cards:
    """Clusters that lead an error."""

    kind: ClassVar[str] = "cards"
    title: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Part:
    """A part of a section that can be folded away."""

    kind: ClassVar[str] = "part"
    title: str
    blocks: tuple[Block, ...]
    open: bool = True


@dataclass(frozen=True)
class Section:
    """A section with a heading of its own; ``key`` is its anchor."""

    key: str
    title: str
    blocks: tuple[Block | Part, ...] = field(default=())


Block = Chart | Table | Remarks | Verbatim | Cards


def charts_of(blocks: Sequence[Block | Part]) -> list[Chart]:
    """Every figure in these blocks, those in parts too."""
    found: list[Chart] = []
    for block in blocks:
        if isinstance(block, Part):
            found += charts_of(block.blocks)
        elif isinstance(block, Chart):
            found.append(block)
    return found
