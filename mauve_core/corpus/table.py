"""The rows of a file while their fields are looked at, and where each stands in it."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.corpus.paths import SAMPLED, at_path, text_paths
from mauve_core.corpus.rows import Row

# What a row is called in messages; that of other formats is a line.
ROW_WORDS = {"parquet": "row", "dataset": "row", "json": "record", "inspect": "sample"}

DELIMITERS = {"csv": ",", "tsv": "\t"}


class Part(NamedTuple):
    """One of several files that are read as one table."""

    name: str
    # The number of its first row is 1 more than this.
    before: int


class Places(NamedTuple):
    """Where the texts of a corpus stood in what was read.

    Attributes
    ----------
    word : str
        What a row is called: "line", "row", "record".
    numbers : tuple of int
        That of each text's row.
    parts : tuple of Part
        The files, if there are several.
    """

    word: str
    numbers: tuple[int, ...]
    parts: tuple[Part, ...] = ()

    def named(self, index: int) -> str:
        """Return "line 7", or "line 7 of b.jsonl"."""
        number = self.numbers[index]
        if not self.parts:
            return f"{self.word} {number}"
        part = self.parts[bisect_left(self.parts, number, key=lambda part: part.before) - 1]
        return f"{self.word} {number - part.before} of {part.name}"

    def take(self, chosen: Sequence[int]) -> Places:
        """Return those of some texts."""
        return self._replace(numbers=tuple(self.numbers[index] for index in chosen))


@dataclass(frozen=True)
class Table:
    """Content of a file, or of several that are read as one.

    Attributes
    ----------
    rows : list of (int, dict)
        Number of the row's first line (or Parquet row, record of a JSON document, file of a folder), and its values.
        Numbers go on from one of several files to the next.
    columns : tuple of str
        All fields, in the order of their first appearance.
    path : Path
    format : {"jsonl", "json", "csv", "tsv", "parquet", "text", "inspect", "dataset", "folder"}
    notes : tuple of str
        Sentences on what was skipped: blank lines, files of other kinds.
    parts : tuple of Part
        The files, if there are several.
    text_field : str or None
        The text field, if what was asked for names it (``hf:NAME:split:column``).
    """

    rows: list[Row]
    columns: tuple[str, ...]
    path: Path
    format: str
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    text_field: str | None = None

    @property
    def typed(self) -> bool:
        """Return whether values have types; CSV and TSV cells are text, from which numbers must be parsed."""
        return self.format not in DELIMITERS

    def values(self, field: str) -> list[Any]:
        """Return the value of the field, or at the dotted path, in every row; None where a row lacks it.

        Raises
        ------
        InputError
            No row has it; the message names the existing fields, nested ones included.
        """
        found = self.find(field)
        if found is None:
            fields = (*self.columns, *self.inner_fields)
            near = difflib.get_close_matches(field, fields, n=1, cutoff=0.5)
            raise InputError(
                f"{self.path} has no field named {field!r}",
                allowed=", ".join(map(repr, fields)),
                todo=f"Did you mean {near[0]!r}?" if near else "",
            )
        return found

    def find(self, field: str) -> list[Any] | None:
        """Like ``values``, but None if no row has it."""
        if field in self.columns:
            return [row.get(field) for _, row in self.rows]
        found = at_path((row for _, row in self.rows), self.columns, field)
        return None if found is None or all(value is None for value in found) else found

    @cached_property
    def inner_fields(self) -> tuple[str, ...]:
        """Return dotted paths to texts inside lists and objects of the first rows."""
        return text_paths([row for _, row in self.rows[:SAMPLED]], self.columns)

    def location(self, index: int) -> str:
        """Return where the row at that position is: "line 7", "record 7", "line 7 of b.jsonl" or "file notes/a.txt"."""
        number, row = self.rows[index]
        if self.format == "folder":
            return f"file {row['file']}"
        return Places(self.row_word, (number,), self.parts).named(0)

    def places(self, kept: Sequence[int]) -> Places | None:
        """Return where the rows at some positions are; None for a folder, whose files are ids."""
        if self.format == "folder":
            return None
        return Places(self.row_word, tuple(self.rows[index][0] for index in kept), self.parts)

    @property
    def row_word(self) -> str:
        """Return what a row is called in messages."""
        return ROW_WORDS.get(self.format, "line")


def blank_note(blank: int) -> tuple[str, ...]:
    """Return the note on lines without anything, if there are any."""
    return (f"{plural(blank, 'blank line')} between rows {verb(blank, 'was', 'were')} skipped.",) if blank else ()
