"""How much work a task is, so that earlier jobs say how long it takes (:mod:`mauve_core.jobs.estimates`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mauve_core.base.json_codec import Within, dataclass_to_json
from mauve_core.base.words import TEXTS, Words

Part = Literal["none", "some", "all"]


@dataclass(frozen=True)
class Amount:
    """How much work a task is.

    Attributes
    ----------
    like : tuple of str
        What decides the pace. Jobs that differ in it say nothing about each other.
    size : float
        What the time grows with, about in proportion.
    words : str
        The size in words: ``500 texts``.
    encodes : {"none", "some", "all"}
        Of the items, those that have to be encoded because their features are not stored.
    """

    like: tuple[str, ...]
    size: Annotated[float, Within(0)]
    words: str
    encodes: Part = "none"


@dataclass(frozen=True)
class SideSize:
    """Number of items of one side, whether their features are stored, and what they are called."""

    texts: int
    stored: bool
    words: Words = TEXTS


def settings_in_words(settings: Any) -> str:
    """Return a settings dataclass as one string, equal for equal settings."""
    return json.dumps(dataclass_to_json(settings), sort_keys=True)


def amount_of_sides(like: tuple[str, ...], sides: Iterable[SideSize]) -> Amount:
    """Return the amount of comparing these sides: the items to encode, or all items if there are none."""
    sides = list(sides)
    total, new = sum(side.texts for side in sides), sum(side.texts for side in sides if not side.stored)
    encodes: Part = "none" if new == 0 else "all" if new == total else "some"
    size = new or total
    return Amount(like, size, f"{size:,} {sides[0].words.items}" + (" to encode" if encodes == "some" else ""), encodes)
