"""Building blocks of a report: sections with figures, tables, text samples, pictures and remarks, as plain strings.

Headings and notes are put in the words of the run's items; names of candidates and clusters stay as they are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mauve_core.base.words import Words
from mauve_core.texts import Corpus
from mauve_core.texts.media import SIDES


@dataclass(frozen=True)
class Chart:
    """A figure with a title and a note on how to read it.

    Attributes
    ----------
    key : str
        Letters, digits and dashes; unique in a report.
    figure : plotly.graph_objects.Figure
    title, note : str
        Text above and below the figure; the note names the partition.
    narrow : bool
        Whether the figure is about as wide as high.
    """

    kind: ClassVar[str] = "chart"
    key: str
    figure: Any
    title: str
    note: str
    narrow: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of strings; the first ``heads`` cells of a row are headings."""

    kind: ClassVar[str] = "table"
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Remarks:
    """Sentences, one per line; ``weighty`` remarks are prominent."""

    kind: ClassVar[str] = "remarks"
    lines: tuple[str, ...]
    weighty: bool = False


@dataclass(frozen=True)
class Verbatim:
    """Text to copy verbatim."""

    kind: ClassVar[str] = "verbatim"
    title: str
    text: str


@dataclass(frozen=True)
class Sample:
    """A text and the number of characters cut from its end."""

    id: str
    text: str
    cut: int


@dataclass(frozen=True)
class Picture:
    """A small picture of an item, as a data URL."""

    id: str
    url: str


@dataclass(frozen=True)
class Side:
    """Some items of one side of a cluster, out of ``total``, marked with its color in the figures.

    Attributes
    ----------
    name, colour : str
    total : int
    samples : tuple of Sample
        Texts.
    words : Words
        What the items are called.
    pictures : tuple of Picture
        Items that are drawn, in place of texts.
    """

    name: str
    colour: str
    total: int
    samples: tuple[Sample, ...]
    words: Words
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Card:
    """One cluster: its name, its effect on the score, its words, some of its texts."""

    title: str
    facts: tuple[str, ...]
    words: str
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class Cards:
    """The clusters with the largest shares of an error."""

    kind: ClassVar[str] = "cards"
    title: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Part:
    """A collapsible part of a section."""

    kind: ClassVar[str] = "part"
    title: str
    blocks: tuple[Block, ...]
    open: bool = True


@dataclass(frozen=True)
class Section:
    """A section with a heading; ``key`` is its anchor."""

    key: str
    title: str
    blocks: tuple[Block | Part, ...] = field(default=())


Block = Chart | Table | Remarks | Verbatim | Cards


def charts_of(blocks: Sequence[Block | Part]) -> list[Chart]:
    """All figures in these blocks and parts."""
    found: list[Chart] = []
    for block in blocks:
        if isinstance(block, Part):
            found += charts_of(block.blocks)
        elif isinstance(block, Chart):
            found.append(block)
    return found


# Of a side, at most.
PICTURES = 12


def pictures_of(corpus: Corpus, indices: Iterable[int]) -> tuple[Picture, ...]:
    """Return the small pictures of these items; none where a corpus has no pictures."""
    media = corpus.media
    if media is None:
        return ()
    shown = ((index, base64.b64encode(media.picture(index, SIDES[0])).decode("ascii")) for index in indices)
    return tuple(Picture(corpus.ids[index], f"data:image/webp;base64,{encoded}") for index, encoded in shown)
