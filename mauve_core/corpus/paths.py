"""Fields inside of fields, by dotted paths such as ``response.body.choices.0.message.content``.

A step is the name of an entry of an object, or the place of an entry of a list: from 0, or from the end where negative,
so that ``messages.-1.content`` is what the last message says. A column whose own name has dots comes before a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from mauve_core.corpus.looks import look_like_prose
from mauve_core.corpus.metadata import plain

PLACE = re.compile(r"-?[0-9]{1,9}")

SAMPLED, DEEPEST, WIDEST, MOST = 100, 12, 100, 100
"""Rows, levels, entries of an object, and paths altogether that a list of the paths of a table is made from."""

CHATS = (
    ("role", "content", frozenset({"assistant", "model"}), frozenset({"user", "human"})),
    ("from", "value", frozenset({"gpt", "assistant", "chatgpt", "model", "bot"}), frozenset({"human", "user"})),
)
"""Names under which a message keeps its speaker and its words, and what speakers are called: OpenAI's, ShareGPT's."""


def at_path(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], path: str) -> list[Any] | None:
    """The value at the path in every row, None where a row ends before it; None when no column begins the path."""
    head = max((column for column in columns if path.startswith(f"{column}.")), key=len, default=None)
    if head is None:
        return None
    steps = path[len(head) + 1 :].split(".")
    return [plain(_followed(row.get(head), steps)) for row in rows]


def _followed(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and PLACE.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_paths(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> tuple[str, ...]:
    """Paths to texts inside of lists and objects of the first rows: those to ids, labels and the like at the end.

    Of a list the first entry is followed; of a conversation, the last two.
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
        for index in (-1, -2)[: len(value)] if _is_message(value[-1]) else (0,):
            yield from _below(value[index], f"{path}.{index}", levels - 1)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(speaker in value and words in value for speaker, words, _, _ in CHATS)
