"""Repeated generations: several texts of one candidate for each prompt.

The field ``generation`` tells them apart. A row may instead hold a list of texts, which are numbered from 0. A text's
id is that of its prompt in the first generation, and ends with its generation in the others: ``p7``, ``p7#1``,
``p7#2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.texts.entries import listing, look_like_labels
from mauve_core.texts.tables import Rows, Table

# Name of the field.
GENERATION = "generation"


def lengths_of(values: Iterable[Any]) -> list[int]:
    """Return the length of each list; 0 for other values."""
    return [len(value) if isinstance(value, list) else 0 for value in values]


def usual_number(lengths: Iterable[int]) -> int:
    """Return how many texts a list holds usually: the median of those that hold any, the lower one; 0 without any."""
    filled = sorted(length for length in lengths if length)
    return filled[(len(filled) - 1) // 2] if filled else 0


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


def one_text_a_row(table: Table, path: str, columns: Iterable[str], notes: list[str], place: int | None) -> Table:
    """Return the table with a row for each text of the lists at a path, and their numbers as ``GENERATION``.

    There are as many generations as :func:`usual_number` says. A row without any text stays, to be counted.

    Parameters
    ----------
    table : Table
    path : str
    columns : iterable of str
        Fields and paths to keep, as columns.
    notes : list of str
        Gets sentences on what was read.
    place : int, optional
        Take the text at that place of each list alone.

    Raises
    ------
    InputError
        No list has that place, or there are more texts than a file may have rows.
    """
    lists = [value if isinstance(value, list) else [] for value in table.values(path)]
    lengths, kept = lengths_of(lists), {name: table.values(name) for name in columns}
    first, end = (0, usual_number(lengths)) if place is None else (place, place + 1)
    if place is not None and place >= max(lengths, default=0):
        raise no_generation(table, str(place), [str(number) for number in range(max(lengths, default=0))])
    rows = Rows(table.path)
    for index, (number, _) in enumerate(table.rows):
        own = {name: values[index] for name, values in kept.items()}
        for generation, text in enumerate(lists[index][first:end] or [None]):
            rows.add(number, {**own, path: text, GENERATION: generation})
    notes.append(
        f"{end:,} generations were read from the lists {path!r}, one text of each."
        if place is None
        else f"Of the lists {path!r}, the text at place {place} was read; places are counted from 0."
    )
    more, fewer = (
        (sum(max(0, n - end) for n in lengths), sum(0 < n < end for n in lengths)) if place is None else (0, 0)
    )
    if fewer:
        notes.append(f"{fewer:,} of {len(lists):,} rows hold fewer texts, so some generations lack their prompts.")
    if more:
        notes.append(f"{more:,} texts were left out because half of the rows hold no more than {end}.")
    return replace(table, rows=rows.kept, columns=tuple(rows.columns))


def no_generation(table: Table, wanted: str, names: Sequence[str]) -> InputError:
    """Return the error for a generation that the table does not have."""
    return InputError(f"{table.path} has no generation {wanted!r}", allowed=listing([*map(repr, names)]) or "none")
