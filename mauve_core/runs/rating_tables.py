"""Ratings as tables: the exported file that moves between machines, and tables of pairwise ratings from elsewhere.

A table is read completely or not at all: every bad row gives an error with its line and column, and nothing is kept.
Blanks around a cell are no part of it. Files and the limits on them are those of files of texts.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import require_plain_file
from mauve_core.base.formatting import plural
from mauve_core.runs.ratings import DIGEST_LENGTH, OPTIONS, Rating
from mauve_core.texts import limits, read_table
from mauve_core.texts.streams import RowsOfLines, decoded_lines, first_bytes, refusals

# Header of an exported file, in order.
COLUMNS = tuple(item.name for item in fields(Rating))

# Columns required to store ratings with a run; the others may be missing or empty.
REQUIRED = ("rater", "prompt_id", "left", "right", "question", "option")

# Values of a column ``winner``; definitely and slightly count the same, so either may stand for it.
WINNERS = {"left": OPTIONS[0], "right": OPTIONS[-1], "tie": "tie"}

# First characters that make a spreadsheet read a cell as a formula; the export puts an apostrophe before them.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

# Characters in which an error describes bad rows, the first one always; and how many further ones it names.
DESCRIBED, NAMED = 220, 5

Ratings = tuple[tuple[Rating, ...], tuple[str, ...]]


def ratings_to_csv(ratings: Iterable[Rating]) -> bytes:
    """One row per rating with :class:`Rating`'s field names, UTF-8; :func:`ratings_from_csv` reads it back."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for rating in ratings:
        values = (getattr(rating, name) for name in COLUMNS)
        writer.writerow(["" if value is None else _guarded(value) for value in values])
    return stream.getvalue().encode()


def ratings_from_csv(data: bytes, name: str = "The file") -> Ratings:
    """Read ratings to store with a run.

    Parameters
    ----------
    data : bytes
        CSV in UTF-8 with the columns ``REQUIRED``, and any others of an exported file.
    name : str
        Name of the data in errors.

    Returns
    -------
    ratings : tuple of Rating
        Without digests if the file has none; :func:`with_digests` fills them in.
    notes : tuple of str
        Names the ignored columns.

    Raises
    ------
    InputError
        The data is not such a table, is larger than a file of texts may be, or a row is not a rating.
    """
    header, rows = _cells(data, name)
    missing = [column for column in REQUIRED if column not in header]
    if missing:
        raise InputError(
            f"{name} is not a table of ratings: it lacks {', '.join(missing)}",
            allowed=f"the columns {', '.join(REQUIRED)}, and others",
            received=", ".join(header),
        )
    ratings = _rated([(f"line {line}", row) for line, row in rows], name, QUESTIONS, REQUIRED)
    others = [column for column in header if column not in COLUMNS]
    return ratings, (f"Columns that are not part of a rating were skipped: {', '.join(others)}.",) if others else ()


def ratings_from_file(path: Path) -> Ratings:
    """Read a file as :func:`ratings_from_csv`; InputError if it is no regular file, cannot be read or is too large."""
    size, most = require_plain_file(path, "file of ratings"), limits.unpacked_bytes()
    with refusals(path), path.open("rb") as stream:
        data = first_bytes(stream, most) if size <= most else None
    if data is None:
        raise limits.too_large(path, most)
    return ratings_from_csv(data, str(path))


def ratings_from_table(path: Path) -> Ratings:
    """Read ratings to rank from any table: JSONL, CSV, TSV or Parquet, each also gzipped.

    It needs the columns ``left`` and ``right`` (names of the two sources) and either ``option`` (one of ``OPTIONS``)
    or ``winner`` (left, right or tie). ``question``, ``rater``, ``prompt_id`` and the other fields of a rating are
    optional. Without ``prompt_id`` each row counts as its own prompt.

    Raises
    ------
    InputError
        The file cannot be read, lacks a column, or has a row that is not a rating.
    """
    table = read_table(path)
    answer = next((column for column in ("option", "winner") if column in table.columns), None)
    if answer is None or not {"left", "right"} <= set(table.columns):
        raise InputError(
            f"{path} is not a table of pairwise ratings",
            allowed="the columns left, right, and option or winner",
            received=", ".join(table.columns),
        )
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for index, (_, values) in enumerate(table.rows):
        cells = values if table.typed else {column: _unguarded(cell) for column, cell in values.items()}
        location, row = table.location(index), {"prompt_id": table.location(index), **cells}
        rows.append((location, {**row, "option": row.get("option" if answer == "option" else "winner")}))
    ratings = _rated(rows, str(path), None, ("left", "right"))
    return _without_repeats(ratings, {"rater", "prompt_id"} <= set(table.columns), table.notes)


def _without_repeats(ratings: Sequence[Rating], distinguishable: bool, notes: tuple[str, ...]) -> Ratings:
    """Remove rows that repeat another in every field, if raters and prompts are named: they are one rating."""
    different = tuple(dict.fromkeys(ratings)) if distinguishable else tuple(ratings)
    repeated = len(ratings) - len(different)
    more = (f"{plural(repeated, 'row')} exactly like an earlier one: such rows count once.",) if repeated else ()
    return different, (*notes, *more)


def _cells(data: bytes, name: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The header, and each row by column with the number of its first line."""
    path = Path(name)
    if len(data) > limits.unpacked_bytes():
        raise limits.too_large(path, limits.unpacked_bytes())
    lines = RowsOfLines(path, decoded_lines(io.BytesIO(data), path, packed=False))
    header, rows = _read_cells(lines, path)
    if len(set(header)) != len(header):
        raise InputError(f"The header of {name} repeats a column name", received=", ".join(header))
    return header, rows


def _read_cells(lines: RowsOfLines, path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    header: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    reader, begins = csv.reader(lines, strict=True), 1
    most = min(limits.rows(), limits.cells() // len(COLUMNS))
    try:
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            lines.row_ends()
            if not cells:
                continue
            if not header:
                header = cells
                most = min(most, limits.cells() // len(header))
            elif len(cells) != len(header):
                raise InputError(
                    f"Line {line} of {path} has {len(cells)} cells", allowed=f"{len(header)}, as in the header"
                )
            elif len(rows) == most:
                raise limits.too_many_rows(path, most)
            else:
                rows.append((line, {column: _unguarded(cell) for column, cell in zip(header, cells, strict=True)}))
    except csv.Error as error:
        raise InputError(f"Line {begins} of {path} is not valid CSV: {words_of(error)}") from error
    return header, rows


def _rated(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    name: str,
    questions: Iterable[str] | None,
    required: Sequence[str],
) -> tuple[Rating, ...]:
    """Every row as a rating, or an error that names the bad rows."""
    ratings: list[Rating] = []
    problems: dict[str, str] = {}
    for location, row in rows:
        try:
            ratings.append(_rating(row, questions, required))
        except InputError as error:
            problems[location] = f"{location}: {words_of(error)}"
    if problems:
        shown = max(1, sum(total <= DESCRIBED for total in itertools.accumulate(map(len, problems.values()))))
        rest = list(problems)[shown:]
        also = f" Also {', '.join(rest[:NAMED])}" if rest else ""
        more = f" and {len(rest) - NAMED} more" if len(rest) > NAMED else ""
        wrong = f"{name} holds rows that are not ratings ({len(problems)}); nothing was read."
        raise InputError(f"{wrong} {' '.join(list(problems.values())[:shown])}{also}{more}")
    return tuple(ratings)


def _rating(row: Mapping[str, Any], questions: Iterable[str] | None, required: Sequence[str]) -> Rating:
    values = {column: _text(row.get(column)) for column in COLUMNS}
    for column in required:
        if not values[column]:
            raise InputError(f"the column {column} is empty")
    if questions is not None and values["question"] not in questions:
        raise InputError(
            "the column question has an unknown value", allowed=", ".join(questions), received=values["question"]
        )
    option = next((known for known in OPTIONS if known.lower() == values["option"].lower()), None)
    values["option"] = option or WINNERS.get(values["option"].lower(), "")
    if not values["option"]:
        allowed = ", ".join([*OPTIONS, *WINNERS][:-1])
        raise InputError(
            "the column option or winner has an unknown value", allowed=allowed, received=repr(row.get("option"))
        )
    if values["left"] == values["right"]:
        raise InputError("the columns left and right are equal", allowed="two sources", received=repr(values["left"]))
    _check_time(values["created"])
    for column in ("left_digest", "right_digest"):
        if values[column] and not _is_digest(values[column]):
            raise InputError(f"the column {column} is not a digest", allowed="16 hexadecimal digits, or empty")
    return Rating(**{**values, "seconds": _seconds(values["seconds"])})  # type: ignore[arg-type]


def _check_time(value: str) -> None:
    try:
        _ = value and datetime.fromisoformat(value)
    except ValueError as error:
        raise InputError("the column created is not a time", allowed="ISO 8601, or empty", received=value) from error


def _seconds(value: str) -> float | None:
    if not value:
        return None
    try:
        return float(value)
    except ValueError as error:
        raise InputError("the column seconds is not a number", allowed="0 or more, or empty", received=value) from error


def _is_digest(value: str) -> bool:
    return len(value) == DIGEST_LENGTH and set(value) <= set("0123456789abcdef")


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _guarded(value: object) -> object:
    """Put an apostrophe before text that a spreadsheet would calculate, even if it already has some."""
    return f"'{value}" if isinstance(value, str) and value.lstrip("'").startswith(FORMULA_STARTS) else value


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS) else cell
