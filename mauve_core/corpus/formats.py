"""Read files into rows: JSONL, CSV, TSV, Parquet, plain text, or a folder of text files, each also gzipped.

The suffix decides the format. Text is UTF-8, with or without a byte order mark. Every error is an InputError that
names the file and the line. ``limits.py`` bounds the unpacked content.

Sources: RFC 4180 (CSV; quotes inside a cell are doubled), jsonlines.org (one object per line).
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, words_of
from mauve_core.corpus import limits
from mauve_core.corpus.folders import spelled_out, text_files, texts_of
from mauve_core.corpus.metadata import plain
from mauve_core.corpus.parquet import ROWS_AT_A_TIME, ParquetTable, values_of
from mauve_core.corpus.paths import SAMPLED, at_path, text_paths
from mauve_core.corpus.streams import RowsOfLines, decoded_lines, opened, refusals, unpacked

NO_NAME_WORDS = 4
"""An only column whose name has so many words has none: its first text stands there."""

FIELD_LIMIT = 1000
"""Maximum number of fields in a file; more suggests misplaced data."""

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
}
"""Format by suffix, in any case; ``.gz`` may follow."""

DELIMITERS = {"csv": ",", "tsv": "\t"}
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")

Row = tuple[int, dict[str, Any]]
"""Number of the line (or row, or file) from 1, and the values by field."""


@dataclass(frozen=True)
class Table:
    """Content of a file.

    Attributes
    ----------
    rows : list of (int, dict)
        Number of the row's first line (or Parquet row, or file of a folder), and its values.
    columns : tuple of str
        All fields, in the order of their first appearance.
    path : Path
    format : {"jsonl", "csv", "tsv", "parquet", "text", "folder"}
    notes : tuple of str
        Sentences on what was skipped: blank lines, files of other kinds.
    """

    rows: list[Row]
    columns: tuple[str, ...]
    path: Path
    format: str
    notes: tuple[str, ...] = ()

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
        """Return where the row at that position is: "line 7", "row 7", or "file notes/a.txt"."""
        number, row = self.rows[index]
        if self.format == "folder":
            return f"file {row['file']}"
        return f"{'row' if self.format == 'parquet' else 'line'} {number}"


class _Rows:
    """Rows of a file during reading, within the limits in force when it is opened."""

    def __init__(self, path: Path) -> None:
        self.kept: list[Row] = []
        self._path, self._most, self._longest = path, limits.rows(), limits.characters()
        self._cells, self._most_cells = 0, limits.cells()

    def add(self, number: int, row: dict[str, Any]) -> None:
        """Keep a row; InputError for too many rows or values, or a text that is too long."""
        if len(self.kept) >= self._most:
            raise limits.too_many_rows(self._path, self._most)
        inner = list(row.values())
        while inner:  # nested values count too: an empty list takes 2 bytes in a file and 50 in memory
            self._cells += len(inner)
            if self._cells > self._most_cells:
                raise limits.too_many_cells(self._path, self._most_cells)
            deeper: list[Any] = []
            for value in inner:
                if isinstance(value, str):
                    if len(value) > self._longest:
                        raise limits.too_long(self._path, f"Row {len(self.kept) + 1}", self._longest)
                elif isinstance(value, list):
                    deeper += value
                elif isinstance(value, dict):
                    deeper += value.values()
            inner = deeper
        self.kept.append((number, row))


def read_table(path: str | Path) -> Table:
    """Read a file, or a folder of .txt files, into rows.

    Parameters
    ----------
    path : str or Path
        Its suffix decides the format, see ``SUFFIXES``.

    Returns
    -------
    Table
        At least one row. Plain text has the field ``text`` (one text per line, blank lines included); a folder has
        ``file`` (the name inside the folder, sorted) and ``text`` (the content without its last line ending).

    Raises
    ------
    InputError
        The file is missing, empty, of unknown format, not UTF-8, damaged, or too large when unpacked.
    """
    path = Path(path)
    with refusals(path):
        if path.is_dir():
            return _read_folder(path)
        form, packed = _format_of(path)
        if not path.exists():
            raise InputError(f"{path} does not exist", todo="Check the name and the folder")
        if not path.is_file():
            raise InputError(f"{path} is not a file", allowed="a file, or a folder of .txt files")
        size = path.stat().st_size
        if size == 0:
            raise InputError(f"{path} is empty")
        if size > limits.unpacked_bytes():
            raise limits.too_large(path, limits.unpacked_bytes())
        if form == "parquet":
            return _read_parquet(path, packed)
        with opened(path, packed) as stream:
            table = _READERS[form](path, decoded_lines(stream, path, packed))
    if not table.rows:
        raise InputError(f"{path} holds no rows", received="an empty file" if not table.columns else "only a header")
    return table


def title_of(path: Path) -> str:
    """Return the file's name without the suffixes of its format."""
    name = spelled_out(path.name).removesuffix(".gz")
    suffix = Path(name).suffix
    return (name[: -len(suffix)] if suffix.lower() in SUFFIXES else name) or path.name or str(path)


def _format_of(path: Path) -> tuple[str, bool]:
    """Return the format by suffix, and whether the file is gzipped."""
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"The suffix of {path} is not that of a known format",
            allowed=f"{', '.join(SUFFIXES)}, each optionally with .gz, or a folder of .txt files",
            received=repr(suffix) if suffix else "no suffix",
            todo="" if path.exists() else "Also, no such file or folder exists",
        )
    return SUFFIXES[suffix], packed


def _read_jsonl(path: Path, lines: Iterator[tuple[int, str]]) -> Table:
    rows = _Rows(path)
    columns: dict[str, None] = {}
    blank = 0
    for number, line in lines:
        if not line.strip():
            blank += 1
            continue
        row = _json_object(line, path, number)
        columns.update(dict.fromkeys(row))
        _check_field_count(columns, path)
        rows.add(number, row)
    return Table(rows.kept, tuple(columns), path, "jsonl", _blank_note(blank))


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    location = f"Line {number} of {path}"
    try:
        row = json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{location} is not valid JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}",
            allowed="one object per line",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{location} is JSON that cannot be used", allowed="one object per line", received=words_of(error)
        ) from error
    if not isinstance(row, dict):
        raise InputError(
            f"{location} is not a JSON object",
            allowed='one object per line, such as {"text": "..."}',
            received=type(row).__name__,
            todo="Split the array into lines with: jq -c '.[]' FILE > NEW.jsonl" if isinstance(row, list) else "",
        )
    if HALF_PAIR.search(line):
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{location} holds half of a surrogate pair, which is not a character",
                todo="Rewrite the text with errors='replace'",
            ) from error
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {repeated!r} occurs twice in one object")
    return row


def _read_cells(path: Path, lines: Iterator[tuple[int, str]], form: str) -> Table:
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    # Number a row that spans several lines by its first line.
    fed = RowsOfLines(path, lines)
    reader = csv.reader(fed, delimiter=DELIMITERS[form], strict=True)
    header: list[str] | None = None
    rows = _Rows(path)
    notes: list[str] = []
    blank, begins = 0, 1
    try:
        for cells in reader:
            number, begins = begins, reader.line_num + 1
            fed.row_ends()
            if not cells and (header is None or len(header) > 1):
                blank += 1
            elif header is None:
                header = _header(cells, path, notes)
            elif len(cells or [""]) != len(header):
                raise InputError(
                    f"Line {number} of {path} has {len(cells)} cells but the header has {len(header)}",
                    allowed=f"{len(header)} cells in every row",
                    todo="Quote any cell that holds a delimiter or a line break",
                )
            else:
                rows.add(number, dict(zip(header, cells or [""], strict=True)))
    except csv.Error as error:
        raise InputError(
            f"The row that begins on line {begins} of {path} is not valid {form.upper()}: {words_of(error)}",
            allowed='a quoted cell with its inner quotes doubled: "say ""yes"""',
        ) from error
    return Table(rows.kept, tuple(header or ()), path, form, (*notes, *_blank_note(blank)))


def _header(cells: list[str], path: Path, notes: list[str]) -> list[str]:
    """Return the column names; a nameless column is called by its number."""
    _check_field_count(cells, path)
    names = [cell or f"column {location}" for location, cell in enumerate(cells, start=1)]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(f"The header of {path} repeats column names: {', '.join(repeated)}", allowed="different names")
    if len(names) == 1 and len(names[0].split()) >= NO_NAME_WORDS:
        raise InputError(
            f"The first line of {path} is read as the name of its only column, and looks like a text",
            allowed="a header such as text, then a text on each line",
            received=repr(names[0]),
            todo="Add a header, or name the file .txt: one text per line",
        )
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other:
        raise InputError(
            f"The header of {path} is a single column that holds {other!r}, which looks like a different delimiter",
            allowed="commas in .csv, tabs in .tsv",
            received=repr(names[0]),
        )
    nameless = [name for name, cell in zip(names, cells, strict=True) if not cell]
    if nameless:
        notes.append(f"Columns without a name were named by position: {', '.join(nameless)}.")
    return names


def _check_field_count(names: Any, path: Path) -> None:
    if len(names) > FIELD_LIMIT:
        raise InputError(f"{path} has more than {FIELD_LIMIT} different fields", allowed=f"at most {FIELD_LIMIT}")


def _blank_note(blank: int) -> tuple[str, ...]:
    return (f"{blank} blank lines between rows were skipped.",) if blank else ()


def _read_text(path: Path, lines: Iterator[tuple[int, str]]) -> Table:
    rows = _Rows(path)
    for number, line in lines:
        rows.add(number, {"text": _without_ending(line)})
    return Table(rows.kept, ("text",), path, "text")


def _without_ending(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _read_folder(path: Path) -> Table:
    """Read each .txt or .txt.gz file below the folder as one row, sorted by name."""
    names, others = text_files(path)
    rows = _Rows(path)
    for number, (name, text) in enumerate(texts_of(path, names), start=1):
        rows.add(number, {"file": spelled_out(name), "text": _without_ending(text)})
    notes = (f"{others} other files in the folder were skipped (not .txt, or hidden).",) if others else ()
    return Table(rows.kept, ("file", "text"), path, "folder", notes)


def _read_parquet(path: Path, packed: bool) -> Table:
    rows = _Rows(path)
    with io.BytesIO(unpacked(path)) if packed else path.open("rb") as stream:
        table = ParquetTable(stream, path)
        _check_field_count(table.names, path)
        try:
            for batch in table.batches():
                columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
                for values in zip(*columns, strict=True):
                    rows.add(len(rows.kept) + 1, dict(zip(table.names, values, strict=True)))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} holds text that is not UTF-8, in the {ROWS_AT_A_TIME} rows after row {len(rows.kept)}",
                allowed="UTF-8",
            ) from error
    if not rows.kept:
        raise InputError(f"{path} holds no rows", received=f"a Parquet file with the columns {', '.join(table.names)}")
    return Table(rows.kept, table.names, path, "parquet")


_READERS: dict[str, Callable[[Path, Iterator[tuple[int, str]]], Table]] = {
    "jsonl": _read_jsonl,
    "csv": lambda path, lines: _read_cells(path, lines, "csv"),
    "tsv": lambda path, lines: _read_cells(path, lines, "tsv"),
    "text": _read_text,
}
