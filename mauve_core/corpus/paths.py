"""Address nested fields by dotted paths such as ``response.body.choices.0.message.content``.

A step is an object key or a list index, from 0 or negative from the end: ``messages.-1.content`` is the content of the
last message. ``*`` is every entry of a list: ``choices.*.text`` is a list of texts. In a conversation, a step may also
name a speaker, and the next one counts that speaker's messages alone: ``messages.assistant.-1.content`` is the
assistant's last message. ``assistant`` and ``user`` stand for every name of these two, and ``answered`` for messages of
the user that a message of the assistant follows. Content in parts is read as the texts of its parts, on lines of their
own, without those of the reasoning. A column whose own name contains dots takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from mauve_core.corpus.looks import look_like_prose
from mauve_core.corpus.metadata import plain

INDEX = re.compile(r"-?[0-9]{1,9}")

# Step to every entry of a list.
EVERY = "*"

# Limits on listing the paths of a table: rows, levels, entries of an object, and paths in all.
SAMPLED, DEEPEST, WIDEST, MOST = 100, 12, 100, 100

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
                for path, text in islice(_below(row[column], column, DEEPEST), MOST):
                    found.setdefault(path, []).append(text)
    return tuple(sorted(islice(found, MOST), key=lambda path: not look_like_prose(found[path])))


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
