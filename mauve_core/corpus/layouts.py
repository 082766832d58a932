"""Where well-known tools keep the text that a model wrote, when it is inside of lists and objects.

Sources: the OpenAI interface (batch output, chat completions, completions, responses) and its servers (vLLM), the
message batches of Anthropic, the batches of Gemini, RequestOutput of vLLM, the logged samples of EleutherAI's
lm-evaluation-harness, the answers of MT-bench, conversations as OpenAI and ShareGPT write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mauve_core.corpus.formats import Table
from mauve_core.corpus.looks import hold_text, look_like_ids, look_like_labels
from mauve_core.corpus.paths import CHATS

_ENVELOPES = ("response.body.", "response.", "body.", "")
_OUTPUTS = ("response.body.output.-1.content.0.text", "output.-1.content.0.text")
_CANDIDATES = ("response.candidates.0.content.parts.0.text", "candidates.0.content.parts.0.text")

LAYOUTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("chat completions", tuple(f"{envelope}choices.0.message.content" for envelope in _ENVELOPES), ()),
    ("completions", tuple(f"{envelope}choices.0.text" for envelope in _ENVELOPES), ()),
    ("responses of OpenAI", _OUTPUTS, ()),
    ("message batches of Anthropic", ("result.message.content.0.text",), ()),
    ("responses of Gemini", _CANDIDATES, ()),
    ("outputs of vLLM", ("outputs.0.text",), ("prompt",)),
    (
        "samples of lm-evaluation-harness",
        ("resps.0.0", "resps.0", "filtered_resps.0"),
        ("arguments.0.0", "arguments.gen_args_0.arg_0", "arguments.gen_args_0.arg_0.0"),
    ),
    ("answers of MT-bench", ("choices.0.turns.0",), ()),
)
"""What each is called, and the paths of texts and of prompts, of which the first that holds text counts."""


@dataclass(frozen=True)
class Found:
    """A text inside of lists and objects.

    Attributes
    ----------
    text : str
        Its path.
    prompt : str or None
        Path of what the text answers or continues.
    reason : str
        How it was found, in words.
    """

    text: str
    prompt: str | None
    reason: str


@dataclass(frozen=True)
class Unfinished:
    """Conversations of a field that do not all end with words of the assistant.

    Attributes
    ----------
    field : str
    text : str
        Path of the last words all the same.
    places : tuple of str
        The rows that end otherwise; none where the words are no text.
    """

    field: str
    text: str
    places: tuple[str, ...]


def known_texts(table: Table) -> tuple[list[Found], list[Unfinished]]:
    """What the table holds in a well-known layout, and conversations whose text cannot be told."""
    found, unfinished = [], []
    for title, texts, prompts in LAYOUTS:
        text = _first(table, texts)
        if text is not None:
            found.append(Found(text, _first(table, prompts, labels=True), f"as in {title}"))
    for field in table.columns:
        chat = _conversation(table, field)
        if isinstance(chat, Found):
            found.append(chat)
        elif chat is not None:
            unfinished.append(chat)
    return found, unfinished


def several(table: Table, path: str) -> str:
    """A sentence where a list on the path has more entries than the one that is read; empty otherwise."""
    steps = path.split(".")
    for size in range(1, len(steps)):
        if steps[size] == "0":
            field = ".".join(steps[:size])
            count = sum(isinstance(value, list) and len(value) > 1 for value in table.values(field))
            if count:
                return f"{count} of {len(table.rows)} rows hold several texts in {field!r}; the first of each was read."
    return ""


def _first(table: Table, paths: Sequence[str], *, labels: bool = False) -> str | None:
    """The first of the paths that leads to texts."""
    for path in paths:
        values = table.find(path)
        if values and hold_text(values) and not look_like_ids(values) and (labels or not look_like_labels(values)):
            return path
    return None


def _conversation(table: Table, field: str) -> Found | Unfinished | None:
    """The last words of a field of conversations, when they are the assistant's in every row; else which are not."""
    values = table.values(field)
    held = [(index, value) for index, value in enumerate(values) if value is not None]
    for speaker, words, assistants, users in CHATS:
        if not held or not all(_are_messages(value, speaker, words) for _, value in held):
            continue
        wrong = [index for index, value in held if value[-1][speaker] not in assistants]
        text, prompt = f"{field}.-1.{words}", f"{field}.-2.{words}"
        if wrong or not hold_text(table.find(text) or []):
            return Unfinished(field, text, tuple(table.place(index) for index in wrong))
        asked = all(len(value) > 1 and value[-2].get(speaker) in users for _, value in held)
        asked = asked and hold_text(table.find(prompt) or [])
        return Found(text, prompt if asked else None, "as the last words of each conversation")
    return None


def _are_messages(value: Any, speaker: str, words: str) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
        return False
    return words in value[-1] and all(isinstance(entry.get(speaker), str) for entry in value)
