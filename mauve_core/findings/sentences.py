"""Sentences in which names from people or files are marked, so that each place that shows them can escape them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mauve_core.base.words import TEXTS, Words

# Candidates that a sentence lists by name; of more, one fewer is named and the others are counted.
MOST_NAMES = 4


class Name(str):
    """A candidate's name in a sentence; it comes from a person or a file."""

    __slots__ = ()


class Origin(str):
    """What made the features, in the words of a person or a file: no candidate's name, and none of our own words."""

    __slots__ = ()


Parts = tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence in parts; ``str`` joins them as plain text.

    Attributes
    ----------
    parts : tuple of str
        In order; a candidate's name is a :class:`Name`, an encoder that a person named an :class:`Origin`.
    """

    parts: Parts

    def written(self, name: Callable[[str], str], text: Callable[[str], str] = str) -> str:
        """Write the sentence for where it is shown: ``name`` marks and escapes names, ``text`` escapes all else."""
        return "".join(name(part) if isinstance(part, Name) else text(part) for part in self.parts)

    @property
    def names(self) -> list[str]:
        """The names in it, in order."""
        return [part for part in self.parts if isinstance(part, Name)]

    def __str__(self) -> str:
        return "".join(self.parts)


def sentence(template: str, *values: str | Sequence[str], words: Words = TEXTS) -> Sentence:
    """Make a sentence of :func:`filled` parts."""
    return Sentence(filled(template, *values, words=words))


def filled(template: str, *values: str | Sequence[str], words: Words = TEXTS) -> Parts:
    """Fill the fields ``{}`` of a template with texts, names or parts, and slots such as ``{items}`` with words."""
    parts: list[str] = []
    remaining = iter(values)
    for text, field, _, _ in string.Formatter().parse(template):
        parts += [text] if text else []
        if field:
            parts.append(words.slots[field])
        elif field is not None:
            value = next(remaining)
            parts += [value] if isinstance(value, str) else value
    return tuple(parts)


def listed(names: Sequence[str]) -> Parts:
    """``a``, ``a and b``, ``a, b and c``, or ``a, b, c and 4 more``."""
    shown = [Name(name) for name in (names if len(names) <= MOST_NAMES else names[: MOST_NAMES - 1])]
    ends = shown if len(shown) == len(names) else [*shown, f"{len(names) - len(shown):,} more"]
    parts: list[str] = []
    for index, each in enumerate(ends):
        between = "" if index == 0 else " and " if index == len(ends) - 1 else ", "
        parts += [between, each] if between else [each]
    return tuple(parts)
