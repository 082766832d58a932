"""Rows of a file, read within the limits on rows, values and lengths, and the values at dotted paths into them.

A path such as ``response.body.choices.0.message.content`` leads to a nested field. A step is an object key or a list
index, from 0 or negative from the end: ``messages.-1.content`` is the content of the last message. ``*`` is every entry
of a list: ``choices.*.text`` is a list of texts. In a conversation, a step may also name a speaker, and the next one
counts that speaker's messages alone: ``messages.assistant.-1.content`` is the assistant's last message. ``assistant``
and ``user`` stand for every name of these two, and ``answered`` for messages of the user that a message of the
assistant follows. Content in parts is read as the texts of its parts, on lines of their own, without those of the
reasoning. A column whose own name contains dots takes precedence.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.texts import limits
from mauve_core.texts.entries import look_like_prose
from mauve_core.texts.metadata import plain

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


INDEX = re.compile(r"-?[0-9]{1,9}")

# Step to every entry of a list.
EVERY = "*"

# Limits on listing the paths of a table: rows, levels, entries of an object, and paths in all.
SAMPLED, DEEPEST, WIDEST, MOST_PATHS = 100, 12, 100, 100

# Keys of a message's speaker and content: OpenAI's, ShareGPT's.
CHATS = (("role", "content"), ("from", "value"))

ASSISTANTS = frozenset({"assistant", "model", "gpt", "chatgpt", "bot"})
# Names of the two speakers.
USERS = frozenset({"user", "human"})

# Step to the user's messages that a message of the assistant follows.
ANSWERED = "answered"

# Types of the parts of a message's content that hold text.
TEXT_PARTS = frozenset({"text", "input_text", "output_text"})

# Types of the parts that hold what a model wrote before its answer.
REASONING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})


def at_path(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], path: str) -> list[Any] | None:
    """Return the value at the path in every row, None where a row lacks it; None if no column starts the path."""
    head = max((column for column in columns if path.startswith(f"{column}.")), key=len, default=None)
    if head is None:
        return None
    steps = path[len(head) + 1 :].split(".")
    return [plain(_followed(row.get(head), steps)) for row in rows]


def _followed(value: Any, steps: Sequence[str]) -> Any:
    for number, step in enumerate(steps, start=1):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and INDEX.fullmatch(step):
            value = value[int(step)] if -len(value) <= int(step) < len(value) else None
        elif isinstance(value, list) and step == EVERY:
            return [_followed(entry, steps[number:]) for entry in value]
        elif isinstance(value, list):
            value = _messages_of(value, step)
        else:
            return None
    return text_of_parts(value)


def _messages_of(messages: list[Any], step: str) -> list[Any] | None:
    """Return the messages of the speaker that the step names; None without any."""
    speakers = [_speaker(message) for message in messages]
    if step == ANSWERED:
        last = max((place for place, speaker in enumerate(speakers) if speaker in ASSISTANTS), default=0)
        return [
            message for message, speaker in zip(messages[:last], speakers, strict=False) if speaker in USERS
        ] or None
    names = ASSISTANTS if step == "assistant" else USERS if step == "user" else {step}
    return [message for message, speaker in zip(messages, speakers, strict=True) if speaker in names] or None


def _speaker(message: Any) -> str:
    if is_message(message):
        return next((name for key, _ in CHATS if isinstance(name := message.get(key), str)), "")
    return ""


def text_of_parts(value: Any) -> Any:
    """Return the texts of a message's content if it is in parts, each on a line of its own; else the value.

    Parts of reasoning are no texts; content of these alone is empty, and an empty list is None.
    """
    typed = not isinstance(value, dict)  # Gemini's content is an object that holds parts without types
    parts = value if typed else value.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return value
    if not parts:
        return None
    if not typed:
        spoken = [part for part in parts if isinstance(part.get("text"), str)]
        return "\n".join(part["text"] for part in spoken if not part.get("thought")) if spoken else value
    if not all(isinstance(part.get("type"), str) for part in parts):
        return value
    texts = [part["text"] for part in parts if part["type"] in TEXT_PARTS and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts or all(part["type"] in REASONING_PARTS for part in parts) else value


def text_paths(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> tuple[str, ...]:
    """Return paths to texts inside lists and objects of the first rows, with ids, labels and the like last.

    Lists contribute their first entry; conversations, the last message of the assistant and of the user, or their last
    two if neither speaks.
    """
    found: dict[str, list[str]] = {}
    for row in rows[:SAMPLED]:
        for column in columns:
            if isinstance(row.get(column), (dict, list)):
                for path, text in islice(_below(row[column], column, DEEPEST), MOST_PATHS):
                    found.setdefault(path, []).append(text)
    return tuple(sorted(islice(found, MOST_PATHS), key=lambda path: not look_like_prose(found[path])))


def _below(value: Any, path: str, levels: int) -> Iterator[tuple[str, str]]:
    value = text_of_parts(value)
    if isinstance(value, str):
        yield path, value
    elif levels and isinstance(value, dict):
        for name in islice(value, WIDEST):
            if isinstance(name, str) and name and "." not in name:
                yield from _below(value[name], f"{path}.{name}", levels - 1)
    elif levels and isinstance(value, list) and value:
        by_speaker = {who: said for who in ("assistant", "user") if (said := _messages_of(value, who))}
        for who, said in by_speaker.items():
            yield from _below(said[-1], f"{path}.{who}.-1", levels - 1)
        for index in () if by_speaker else (-1, -2)[: len(value)] if is_message(value[-1]) else (0,):
            yield from _below(value[index], f"{path}.{index}", levels - 1)


def is_message(value: Any) -> bool:
    """Return whether the value is a message of a conversation."""
    return isinstance(value, dict) and any(speaker in value and words in value for speaker, words in CHATS)


def as_row(turns: Any) -> Any:
    """Return a bare list of messages as a row with the field ``messages``; other values as they are."""
    if isinstance(turns, list) and turns and all(map(is_message, turns)):
        return {"messages": turns}
    return turns


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
