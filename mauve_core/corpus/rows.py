"""Rows of a file while it is read, within the limits on rows, values and lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.corpus import limits

# Maximum number of fields in a file; more suggests misplaced data.
FIELD_LIMIT = 1000

# Values that a list or an object within a row counts as: an object with one entry takes 200 bytes.
CONTAINER = 5

# Number of the line (or row, or file) from 1, and the values by field.
Row = tuple[int, dict[str, Any]]


class Rows:
    """Rows of a file during reading, within the limits in force when it is opened.

    Attributes
    ----------
    kept : list of (int, dict)
    columns : dict
        All fields, in the order of their first appearance; the values are None.
    """

    def __init__(self, path: Path) -> None:
        self.kept: list[Row] = []
        self.columns: dict[str, None] = {}
        self._path, self._most, self._longest = path, limits.rows(), limits.characters()
        self._cells, self._most_cells = 0, limits.cells()

    def add(self, number: int, row: dict[str, Any]) -> None:
        """Keep a row; InputError for too many rows, fields or values, or a text that is too long."""
        if len(self.kept) >= self._most:
            raise limits.too_many_rows(self._path, self._most)
        if not row.keys() <= self.columns.keys():
            self.columns.update(dict.fromkeys(row))
            check_field_count(self.columns, self._path)
        self.count(row.values())
        self.kept.append((number, row))

    def count(self, values: Iterable[Any]) -> None:
        """Count values and those inside them; InputError for too many, or a text that is too long."""
        inner = list(values)
        while inner:  # nested values count too: an empty list takes 2 bytes in a file and 50 in memory
            self._cells += len(inner)
            self._check_cells()
            deeper: list[Any] = []
            for value in inner:
                if isinstance(value, str):
                    if len(value) > self._longest:
                        raise limits.too_long(self._path, f"Row {len(self.kept) + 1}", self._longest)
                elif isinstance(value, list | dict):
                    self._cells += CONTAINER - 1
                    deeper += value if isinstance(value, list) else value.values()
            inner = deeper
        self._check_cells()

    def _check_cells(self) -> None:
        if self._cells > self._most_cells:
            raise limits.too_many_cells(self._path, self._most_cells)


def check_field_count(names: Sized, path: Path) -> None:
    """Raise InputError for more fields than a file may have."""
    if len(names) > FIELD_LIMIT:
        raise InputError(f"{path} has more than {FIELD_LIMIT} different fields", allowed=f"at most {FIELD_LIMIT}")
