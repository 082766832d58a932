"""A property of items: a number that each item has, and the words for having more or less of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mauve_core.base.formatting import as_percent, written

MOST_DECIMALS = 2
"""Decimals of two means that are written together."""


@dataclass(frozen=True)
class Property:
    """Description of a property.

    Attributes
    ----------
    name, title, unit : str
    description : str
    more, less : str
        What is said of a writer whose texts have clearly more of it than others, and clearly less.
    texts_more, texts_less : str
        The same of the texts.
    counted : str
        What a mean is of, around ``{}``: ``{} words``, ``distinct-4 {} per text``.
    binary : bool
        Whether a text either has it or not.
    """

    name: str
    title: str
    unit: str
    description: str
    more: str
    less: str
    texts_more: str
    texts_less: str
    counted: str
    binary: bool = False

    def means(self, first: float, second: float) -> str:
        """Write two means: ``distinct-4 46% per text against 95%``, with the decimals of :func:`apart`.

        Shares are percentages, lengths have their unit.
        """
        shown = apart(first, second, written if self.unit else as_percent)
        return f"{self.counted.format(shown[0])} against {shown[1]}"


def apart(first: float, second: float, write: Callable[[float, int], str]) -> tuple[str, str]:
    """Write two numbers without decimals, or with as many as show that they differ, at most two."""
    for decimals in range(MOST_DECIMALS + 1):
        shown = write(first, decimals), write(second, decimals)
        if shown[0] != shown[1]:
            break
    return shown
