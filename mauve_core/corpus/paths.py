"""Address nested fields by dotted paths such as ``response.body.choices.0.message.content``.

A step is an object key or a list index, from 0 or negative from the end: ``messages.-1.content`` is the content of the
last message. A column whose own name contains dots takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from mauve_core.corpus.looks import look_like_prose
from mauve_core.corpus.metadata import plain

INDEX = re.compile(r"-?[0-9]{1,9}")

SAMPLED, DEEPEST, WIDEST, MOST = 100, 12, 100, 100
"""Limits on listing the paths of a table: rows, levels, entries of an object, and paths in all."""

CHATS = (
    ("role", "content", frozenset({"assistant", "model"}), frozenset({"user", "human"})),
    ("from", "value", frozenset({"gpt", "assistant", "chatgpt", "model", "bot"}), frozenset({"human", "user"})),
)
"""Keys of a message's speaker and content, and names of assistants and users: OpenAI's, ShareGPT's."""


def at_path(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], path: str) -> list[Any] | None:
    """Return the value at the path in every row, None where a row lacks it; None if no column starts the path."""
    head = max((column for column in columns if path.startswith(f"{column}.")), key=len, default=None)
    if head is None:
        return None
    steps = path[len(head) + 1 :].split(".")
    return [plain(_followed(row.get(head), steps)) for row in rows]


def _followed(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_paths(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> tuple[str, ...]:
    """Return paths to texts inside lists and objects of the first rows, with ids, labels and the like last.

    Lists contribute their first entry; conversations, their last two.
    """
    found: dict[str, list[str]] = {}
    for row in rows[:SAMPLED]:
        for column in columns:
            if isinstance(row.get(column), (dict, list)):
                for path, text in islice(_below(row[column], column, DEEPEST), MOST):
                    found.setdefault(path, []).append(text)
    return tuple(sorted(islice(found, MOST), key=lambda path: not look_like_prose(found[path])))


def _below(value: Any, path: str, levels: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif levels and isinstance(value, dict):
        for name in islice(value, WIDEST):
            if isinstance(name, str) and name and "." not in name:
                yield from _below(value[name], f"{path}.{name}", levels - 1)
    elif levels and isinstance(value, list) and value:
        for index in (-1, -2)[: len(value)] if is_message(value[-1]) else (0,):
            yield from _below(value[index], f"{path}.{index}", levels - 1)


def is_message(value: Any) -> bool:
    """Return whether the value is a message of a conversation."""
    return isinstance(value, dict) and any(speaker in value and words in value for speaker, words, _, _ in CHATS)
