"""What the items of a comparison are called: human texts, real images.

A sentence is written once, with neutral verbs, for items of every kind: :class:`Words` has what it calls them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mauve_core.base.config import HUMAN


@dataclass(frozen=True)
class Words:
    """Nouns for one kind of item.

    Attributes
    ----------
    item, items : str
        "text", "texts".
    reference, references : str
        What the P side is called before its items and as a noun: "human", "humans"; "real", "real images".
    group : str
        What items that belong together share: "prompt", "id".
    """

    item: str
    items: str
    reference: str = "human"
    references: str = "humans"
    group: str = "prompt"

    @property
    def reference_items(self) -> str:
        """``human texts``."""
        return f"{self.reference} {self.items}"

    @property
    def one(self) -> str:
        """``a text``, ``an image``."""
        return f"{'an' if self.item[0] in 'aeiou' else 'a'} {self.item}"

    @property
    def halves(self) -> str:
        """``human vs. human``: one part of the items of P against another."""
        return f"{self.reference} vs. {self.reference}"

    @property
    def slots(self) -> dict[str, str]:
        """What fills each slot of a sentence: ``items``, ``reference_items``; ``Items`` where it begins one."""
        names = "item", "items", "one", "reference", "references", "reference_items", "group"
        found = {name: str(getattr(self, name)) for name in names}
        return found | {name.capitalize(): each.capitalize() for name, each in found.items()}

    def fill(self, sentence: str) -> str:
        """Fill the slots of a sentence that holds no name or text from elsewhere: ``The {items} are compared.``"""
        return sentence.format_map(self.slots)

    def against(self, source: str) -> Words:
        """Return the words for texts of P that ``source`` wrote, as in ``Corpus.source``; these if it is empty."""
        known = not source or self != TEXTS
        return self if known else replace(self, reference="reference", references="the reference")

    def count(self, n: int) -> str:
        """``1 text``, ``2,000 texts``."""
        return f"{n:,} {self.item if n == 1 else self.items}"

    def source(self, name: str) -> str:
        """What a source is called: the P side by its own word, ``real`` for images; a candidate by its name."""
        return self.reference if name == HUMAN else name


TEXTS = Words("text", "texts")
