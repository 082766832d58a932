"""Layouts of well-known tools that keep the model's text inside lists and objects.

Sources: the OpenAI interface (batch output, chat completions, completions, responses) and compatible servers (vLLM),
Anthropic message batches, Gemini batches, vLLM's RequestOutput, the logged samples of EleutherAI's
lm-evaluation-harness, samples of Inspect, MT-bench answers, and conversations in the OpenAI and ShareGPT formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mauve_core.base.formatting import verb
from mauve_core.corpus.generations import lengths_of, usual_number
from mauve_core.corpus.looks import hold_text, look_like_ids, look_like_labels
from mauve_core.corpus.paths import ANSWERED, ASSISTANTS, CHATS, EVERY
from mauve_core.corpus.table import Table

_ENVELOPES = ("response.body.", "response.", "body.", "")
_OUTPUTS = ("response.body.output.-1.content", "output.-1.content")
_CANDIDATES = ("response.candidates.0.content", "candidates.0.content")


# Words in the names of what a model wrote before its answer.
REASONING = frozenset({"reasoning", "thinking", "thought", "thoughts"})

# Names of the text, if the content of a message is an object of several entries.
ANSWERS = frozenset({"answer", "text", "content", "response", "output"})


# Lists whose entries belong to one answer.
TURNS = frozenset({"turns", "content", "messages"})


class Layout(NamedTuple):
    """Where a tool puts texts.

    Attributes
    ----------
    title : str
    texts, prompts : tuple of str
        Paths; the first that holds text counts.
    """

    title: str
    texts: tuple[str, ...]
    prompts: tuple[str, ...] = ()


LAYOUTS = (
    Layout("chat completions", tuple(f"{envelope}choices.0.message.content" for envelope in _ENVELOPES)),
    Layout("completions", tuple(f"{envelope}choices.0.text" for envelope in _ENVELOPES)),
    Layout("OpenAI responses", _OUTPUTS),
    Layout("Anthropic message batches", ("result.message.content",)),
    Layout("Gemini responses", _CANDIDATES),
    Layout("vLLM outputs", ("outputs.0.text",), ("prompt",)),
    Layout(
        "lm-evaluation-harness samples",
        ("resps.0.0", "resps.0", "filtered_resps.0"),
        ("arguments.0.0", "arguments.gen_args_0.arg_0", "arguments.gen_args_0.arg_0.0"),
    ),
    Layout(
        "samples of Inspect",
        ("output.choices.0.message.content", "output.completion"),
        ("input", "input.user.-1.content"),
    ),
    Layout("MT-bench answers", ("choices.0.turns.0",)),
)


@dataclass(frozen=True)
class Found:
    """A text inside lists and objects.

    Attributes
    ----------
    text : str
        Path of the text.
    prompt : str or None
        Path of what the text answers or continues.
    reason, asked : str
        How the text and the prompt were found, in words.
    """

    text: str
    prompt: str | None
    reason: str
    asked: str


@dataclass(frozen=True)
class Unfinished:
    """A field of conversations that do not all end with a message of the assistant.

    Attributes
    ----------
    field : str
    text : str or None
        Path of the last message's content; None if that is no text.
    found : Found or None
        The assistant's last message in each; None if there is none, or none with text.
    """

    field: str
    text: str | None
    found: Found | None


def known_texts(table: Table) -> tuple[list[Found], list[Unfinished]]:
    """Return texts in well-known layouts, and conversations without an unambiguous text."""
    found, unfinished = [], []
    for layout in LAYOUTS:
        text = _first(table, layout.texts)
        if text is not None:
            prompt = _first(table, layout.prompts, labels=True)
            found.append(Found(every_answer(table, text), prompt, *[f"as in {layout.title}"] * 2))
    asked = {path.prompt.partition(".")[0] for path in found if path.prompt}
    for field in (name for name in table.columns if name not in asked):
        chat = _conversation(table, field)
        if isinstance(chat, Found):
            found.append(chat)
        elif chat is not None:
            unfinished.append(chat)
    return found, unfinished


def every_answer(table: Table, path: str) -> str:
    """Return the path to every answer instead of the first of each list, where most rows hold several; else the path.

    Turns of a conversation are no answers to one prompt.
    """
    steps = path.split(".")
    for size in range(1, len(steps)):
        if steps[size] == "0" and steps[size - 1] not in TURNS:
            counts = lengths_of(table.values(".".join(steps[:size])))
            if usual_number(counts) > 1:
                return ".".join([*steps[:size], EVERY, *steps[size + 1 :]])
    return path


def several(table: Table, path: str) -> str:
    """Return a sentence if a list on the path has more entries than the one that is read; else empty."""
    steps = path.split(".")
    for size in range(1, len(steps)):
        if steps[size] == "0" and EVERY not in steps[:size]:
            field = ".".join(steps[:size])
            count = sum(length > 1 for length in lengths_of(table.values(field)))
            if count:
                of = f"{count:,} of {len(table.rows):,} rows"
                return f"{of} {verb(count, 'holds', 'hold')} several texts in {field!r}; the first of each was read."
    return ""


def _first(table: Table, paths: Sequence[str], *, labels: bool = False) -> str | None:
    """Return the first path that leads to texts."""
    for path in paths:
        values = table.find(path)
        if values and hold_text(values) and not look_like_ids(values) and (labels or not look_like_labels(values)):
            return path
    return None


def _conversation(table: Table, field: str) -> Found | Unfinished | None:
    """Return the assistant's last messages in a field of conversations, and the user's before them."""
    present = [value for value in table.values(field) if value is not None]
    for speaker, words in CHATS:
        if not any(present) or not all(_are_messages(value, speaker, words) for value in present):
            continue
        text, answered, user = (_said(table, f"{field}.{who}.-1.{words}") for who in ("assistant", ANSWERED, "user"))
        found = None
        if text is not None:
            same = user is not None and answered is not None and table.find(answered) == table.find(user)
            before = "" if same else " before the assistant's last"
            found = Found(
                text,
                user if same else answered,
                "as the assistant's last message in each conversation",
                f"as the user's last message{before} in each conversation",
            )
        if found is None or any(not value or value[-1][speaker] not in ASSISTANTS for value in present):
            return Unfinished(field, _said(table, f"{field}.-1.{words}"), found)
        return found
    return None


def _said(table: Table, path: str) -> str | None:
    """Return the path of what messages say: the one given, or that of the answer in their content if it is an object.

    None if there is no text, if only some contents are objects, or if several entries may be the text.
    """
    values = table.find(path) or []
    if hold_text(values):
        return path
    if any(isinstance(value, str) for value in values):
        return None
    names = dict.fromkeys(name for value in values if isinstance(value, dict) for name in value)
    inner = {name: table.find(f"{path}.{name}") or [] for name in names if REASONING.isdisjoint(name.split("_"))}
    texts = [name for name, said in inner.items() if hold_text(said) and not look_like_ids(said)]
    meant = [name for name in texts if name in ANSWERS] or texts
    return f"{path}.{meant[0]}" if len(meant) == 1 else None


def _are_messages(value: Any, speaker: str, words: str) -> bool:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return False
    return all(isinstance(entry.get(speaker), str) for entry in value) and (not value or words in value[-1])
