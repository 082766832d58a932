"""What the items of a comparison are called: human texts, real images."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Nouns for one kind of item.

    Attributes
    ----------
    item, items : str
        "text", "texts".
    reference : str
        What the P side is called before its items: "human", "real".
    made : str
        What the items of a candidate are called before their noun: "model", as in "model texts".
    """

    item: str
    items: str
    reference: str = "human"
    made: str = "model"

    @property
    def reference_items(self) -> str:
        """``human texts``."""
        return f"{self.reference} {self.items}"

    @property
    def reference_item(self) -> str:
        """``human text``."""
        return f"{self.reference} {self.item}"

    @property
    def made_items(self) -> str:
        """``model texts``."""
        return f"{self.made} {self.items}"

    def count(self, n: int) -> str:
        """``1 text``, ``2,000 texts``."""
        return f"{n:,} {self.item if n == 1 else self.items}"
