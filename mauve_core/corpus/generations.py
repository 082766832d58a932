"""Repeated generations: several texts of one candidate for each prompt, told apart by the field ``generation``.

A text's id is that of its prompt in the first generation, and ends with its generation in the others: ``p7``,
``p7#1``, ``p7#2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mauve_core.corpus.looks import look_like_labels

GENERATION = "generation"
"""Name of the field."""


def generation_id(identifier: str, generation: object) -> str:
    """Return the id of a text of a generation, 0 or "" being the first."""
    return f"{identifier}#{generation}" if generation else identifier


def name_generations(values: Sequence[Any]) -> tuple[str, ...]:
    """Return whole numbers or labels as text, one per text; empty if the values cannot tell generations apart.

    They cannot if one is missing, if they are neither whole numbers nor short texts that repeat, or if they are equal.
    """
    numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    labels = all(isinstance(value, str) and value.strip() for value in values) and look_like_labels(values)
    if len(set(values)) < 2 or not (numbers or labels):
        return ()
    return tuple(map(str, values))


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return the different names, numbers by size before texts by alphabet."""

    def key(name: str) -> tuple[bool, int, str]:
        number = name.removeprefix("-").isdecimal()
        return not number, int(name) if number else 0, name

    return tuple(sorted(set(names), key=key))


def ids_by_generation(ids: Sequence[str | None], names: Sequence[str]) -> list[str | None]:
    """Return ids that differ between generations: those given if no id repeats, else each with its generation."""
    if len(set(ids)) == len(ids):
        return list(ids)
    first = in_order(names)[0]
    return [
        None if own is None else generation_id(own, "" if name == first else name)
        for own, name in zip(ids, names, strict=True)
    ]


def ids_of_prompts(ids: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the ids without their generations."""
    first = in_order(names)[0]
    return [
        own if name == first else own.removesuffix(generation_id("", name))
        for own, name in zip(ids, names, strict=True)
    ]


def numbers_within(names: Sequence[str]) -> list[str]:
    """Return each text's place in its own generation, from 1, as ids of texts without ids."""
    counts: dict[str, int] = {}
    found = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        found.append(str(counts[name]))
    return found
