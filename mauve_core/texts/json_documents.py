"""Read a JSON document (not one object per line) into rows: an array of records, or an object that holds them.

An object may hold one list of records, equally long columns, columns by row number (as pandas writes a table), a record
for each key, or a log of Inspect. Elements are decoded one at a time, each within the limits of one line of JSONL, so
that no document is held twice.

Source: RFC 8259 (JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.json_codec import require_few_values, require_whole_characters, unique_names
from mauve_core.texts import limits
from mauve_core.texts.inspect_logs import is_inspect_log, rows_of_json
from mauve_core.texts.tables import Rows, as_row, is_message

# What a .json file may hold, for messages.
FORMS = (
    "an array of records, an object that holds one list of records or equally long columns, or one object on each line"
)

# Keys of the rows of a table that pandas writes by column.
INDEX_KEY = re.compile(r"0|[1-9][0-9]{0,17}")

# Lists that are the parts of one answer, not records.
PARTS = frozenset({"choices", "outputs", "candidates"})

# Characters that may follow a value.
AFTER = frozenset(":,]} \t\r\n")

# Characters read at a time, so that few values are cut where a part ends.
READ = 1 << 16

# Characters of what has a meaning only as a whole: ``-Infinity``, an escaped pair of surrogates.
LONGEST_PIECE = 16

_SPACE = re.compile(r"[ \t\r\n]*")


class MalformedJSONError(InputError):
    """The document is not valid JSON.

    Attributes
    ----------
    problem : str
        What is wrong, and where.
    line : int
        Where, from 1.
    """

    problem: str = ""
    line: int = 1


class Reader:
    """A JSON document, read value by value.

    Parameters
    ----------
    parts : iterator of str
        The document's text, in parts of any length.
    path : Path
        Names the file in errors.
    before : int
        Lines of the file before these parts.
    """

    def __init__(self, parts: Iterator[str], path: Path, before: int = 0) -> None:
        self._parts, self._path = parts, path
        self._text, self._at, self._lines, self._ended = "", 0, before, False
        self._longest = limits.characters() * limits.BYTES_A_CHARACTER
        self._decoder = json.JSONDecoder(object_pairs_hook=unique_names)

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            end = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if end < len(self._text):
                self._at = end
                return self._text[end]
            if not self._more(len(self._text) - end):
                return ""

    @property
    def line(self) -> int:
        """Return the line of the next character, or of the first one of a value that is refused, from 1."""
        return self._line_of(self._at)

    def value(self) -> Any:
        """Return the next value, however it is nested."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_definite(error) or not self._more():
                    self._refuse(error.msg.removesuffix(" at"), error.pos)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self._path} is JSON that cannot be used", received=words_of(error)) from error
            else:
                if self._text[end : end + 1] in AFTER or not self._more():  # what looks like a number may go on
                    require_whole_characters(self._text[self._at : end], value, f"{self._path}")
                    self._at = end
                    return value

    def elements(self) -> Iterator[Any]:
        """Yield the elements of the array that begins here."""
        for _ in self._separated("[", "]"):
            yield self.value()

    def members(self) -> Iterator[str]:
        """Yield the names of the object that begins here; the caller reads each value before the next name."""
        for _ in self._separated("{", "}"):
            if self.peek() != '"':
                self._refuse("Expecting property name enclosed in double quotes", self._at)
            name = self.value()
            self._take(":")
            yield name

    def _separated(self, opens: str, closes: str) -> Iterator[None]:
        self._take(opens)
        if self.peek() == closes:
            return self._take(closes)
        while True:
            yield
            if self.peek() == closes:
                return self._take(closes)
            self._take(",")

    def _take(self, mark: str) -> None:
        if self.peek() != mark:
            self._refuse(f"Expecting {mark!r}", self._at)
        self._at += 1

    def _more(self, kept: int | None = None) -> bool:
        """Read on, and forget what was read before the value that begins here; False, with nothing moved, at the end.

        Doubles what is held, so that a long value is not decoded too often.
        """
        kept = len(self._text) - self._at if kept is None else kept
        if kept > self._longest:
            raise limits.too_long(self._path, "A value", limits.characters())
        pieces, length = [], 0
        while not self._ended and length <= max(kept, READ):
            part = next(self._parts, None)
            self._ended = part is None
            pieces.append(part or "")
            length += len(part or "")
        if not length:
            return False
        start = len(self._text) - kept
        self._lines += self._text.count("\n", 0, start)
        self._text, self._at = "".join([self._text[start:], *pieces]), 0
        if kept > READ:  # the value goes on, and is most of what is held
            try:
                require_few_values(self._text)
            except ValueError as error:
                raise InputError(f"{self._path} is JSON that cannot be used", received=words_of(error)) from error
        return True

    def _is_definite(self, error: json.JSONDecodeError) -> bool:
        """Return whether no further text can mend a value, so that a damaged file is not read to its end."""
        return not error.msg.startswith("Unterminated string") and error.pos + LONGEST_PIECE < len(self._text)

    def _line_of(self, at: int) -> int:
        return self._lines + self._text.count("\n", 0, at) + 1

    def _refuse(self, problem: str, at: int) -> NoReturn:
        line = self._line_of(at)
        column = at - self._text.rfind("\n", 0, at)
        where = "at its end" if at >= len(self._text) else f"on line {line}, character {column}"
        error = MalformedJSONError(f"{self._path} is not valid JSON: {problem} {where}", allowed=FORMS)
        error.problem, error.line = f"{problem} {where}", line
        raise error


def read_array(reader: Reader, rows: Rows, path: Path) -> None:
    """Add the elements of an array: records, or texts as the field ``text``."""
    for number, element in enumerate(reader.elements(), start=1):
        rows.add(number, _record(as_row(element), f"Element {number} of the array in {path}", rows))
    if reader.peek():
        raise InputError(f"{path} goes on after its array", allowed=FORMS)


def _record(element: Any, location: str, rows: Rows) -> dict[str, Any]:
    if isinstance(element, str) and (not rows.kept or "text" in rows.kept[0][1]):
        return {"text": element}
    if not isinstance(element, dict):
        raise InputError(
            f"{location} is not an object", allowed='records such as {"text": "..."}', received=type(element).__name__
        )
    return element


def read_object(reader: Reader, rows: Rows, path: Path) -> tuple[str, ...] | None:
    """Add the records of an object that is the whole document, and return sentences on where they were found.

    None, with no row added, if another value follows: the file has one object per line.
    """
    content: dict[str, Any] = {}
    for name in reader.members():
        if name in content:
            raise InputError(f"{path} is JSON that cannot be used", received=f"the name {name!r} occurs twice")
        if reader.peek() == "[":
            content[name] = []
            for element in reader.elements():
                rows.count([element])
                content[name].append(element)
                if len(content[name]) > limits.rows():
                    raise limits.too_many_rows(path, limits.rows())
        else:
            content[name] = reader.value()
            rows.count([content[name]])
    if reader.peek():
        return None
    records, note = _records_of(content, path)
    counted = Rows(path)  # the values were counted as they were read, as part of the object
    for number, record in enumerate(records, start=1):
        counted.add(number, record)
    rows.kept, rows.columns = counted.kept, counted.columns
    return note


def _records_of(content: dict[str, Any], path: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the records that an object holds, and how."""
    if is_inspect_log(content):
        return rows_of_json(content, path)
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    if content.keys() == {"columns", "index", "data"} == lists.keys():  # pandas, orient="split"
        return _split(content, path), ("The rows of the table were read.",)
    records = [name for name, value in lists.items() if name not in PARTS and _are_records(value)]
    if len(records) > 1:
        raise InputError(
            f"{path} holds several lists of records: {', '.join(map(repr, records))}",
            allowed=FORMS,
            todo=f"Take one with: jq -c '.{records[0]}[]' FILE > NEW.jsonl",
        )
    if records:
        return lists[records[0]], (f"The records are those of the list {records[0]!r}.",)
    inner = list(content.values())
    if lists and len(lists) == len(content) and not any(_are_parts(value) for value in inner):
        return _columns(lists, path), (f"The fields are columns of {len(inner[0])} values each.",)
    if inner and all(isinstance(value, dict) and value for value in inner) and len(inner) > 1:
        if all(value.keys() == inner[0].keys() for value in inner) and all(map(INDEX_KEY.fullmatch, inner[0])):
            columns = {name: list(value.values()) for name, value in content.items()}
            return _columns(columns, path), (f"The fields are columns of {len(inner[0])} values each.",)
        return [{"key": key, **value} for key, value in content.items()], ("Each key of the object has one record.",)
    return [content] if content else [], ()


def _are_records(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(entry, dict) for entry in value) and not is_message(value[-1])


def _are_parts(value: Any) -> bool:
    return not isinstance(value, list) or not value or any(isinstance(entry, dict) for entry in value)


def _columns(columns: dict[str, list[Any]], path: Path) -> list[dict[str, Any]]:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{path} is an object whose columns are not equally long",
            allowed=FORMS,
            received=", ".join(f"{name}: {length}" for name, length in lengths.items()),
        )
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _split(content: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    names = [str(name) for name in content["columns"]]
    if len(set(names)) < len(names) or any(
        not isinstance(row, list) or len(row) != len(names) for row in content["data"]
    ):
        raise InputError(f"{path} has rows that do not fit its columns", allowed=f"{len(names)} values in each row")
    return [dict(zip(names, row, strict=True)) for row in content["data"]]
