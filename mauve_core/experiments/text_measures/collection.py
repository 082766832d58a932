"""One side of a comparison, as input of text measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import text_list
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.texts.pairing import Column, Keys, unit_names


@dataclass(frozen=True, eq=False)
class Collection:
    """One side as measures see it.

    Attributes
    ----------
    ids, texts : tuple of str
        One per text; of the collections of :func:`by_unit`, equal ids mean one unit.
    features : (n, d) array or None
    decoder : str or None
        Decoder spec for :func:`mauve_core.decoding.decoders.parse_decoder`; None if unknown.
    generations : tuple of int or None
        Generation of each text, from 0; None without repeats.
    numbered : bool
        Whether ids are numbers of lines or positions, as texts without ids have them.
    column : (str, str) or None
        Where numbered texts come from, as in :class:`mauve_core.texts.pairing.Keys`.
    groups : tuple of str or None
        Values of a field that groups texts in place of the prompt.
    """

    name: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    prompts: tuple[str, ...] | None = None
    features: NDArray[np.floating] | None = None
    decoder: str | None = None
    generations: tuple[int, ...] | None = None
    numbered: bool = False
    column: Column | None = None
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for part in ("ids", "texts", "prompts"):
            if getattr(self, part) is not None:
                found = text_list(getattr(self, part), f"The {part} of the collection {self.name!r}")
                object.__setattr__(self, part, tuple(found))
        parts: dict[str, Any] = {"ids": self.ids, "prompts": self.prompts, "rows of features": self.features}
        parts["generations"] = self.generations
        for what, part in parts.items():
            if part is not None and len(part) != len(self.texts):
                raise InputError(f"The collection {self.name!r} has {len(self.texts)} texts and {len(part)} {what}")
        if not self.texts:
            raise InputError(f"The collection {self.name!r} holds no text", allowed="at least one text")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The texts at those indices, in that order."""
        return dataclasses.replace(
            self,
            ids=tuple(self.ids[i] for i in rows),
            texts=tuple(self.texts[i] for i in rows),
            prompts=None if self.prompts is None else tuple(self.prompts[i] for i in rows),
            features=None if self.features is None else self.features[rows],
            generations=None if self.generations is None else tuple(self.generations[i] for i in rows),
            groups=None if self.groups is None else tuple(self.groups[i] for i in rows),
        )

    def by_generation(self) -> tuple[Self, ...]:
        """The texts of each generation; the whole collection without repeats."""
        return tuple(
            self if rows is None else dataclasses.replace(self.take(rows), generations=None)
            for rows in self.rows_by_generation()
        )

    def rows_by_generation(self) -> list[NDArray[np.int64] | None]:
        """Rows of each generation; None, which is all, without repeats."""
        if self.generations is None:
            return [None]
        codes = np.array(self.generations)
        return [np.flatnonzero(codes == number) for number in np.unique(codes)]


def by_unit(human: Collection, candidates: Mapping[str, Collection]) -> tuple[Collection, dict[str, Collection]]:
    """The same collections with equal ids for texts of one unit (:func:`mauve_core.texts.pairing.unit_names`)."""
    sides = {HUMAN: human, **candidates}
    names = unit_names(
        {
            name: Keys(
                side.ids, side.prompts, side.generations or (), side.numbered, side.column, side.texts, side.groups
            )
            for name, side in sides.items()
        }
    )
    found = {name: dataclasses.replace(side, ids=names[name]) for name, side in sides.items()}
    return found.pop(HUMAN), found
