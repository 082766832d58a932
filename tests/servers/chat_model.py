"""A chat model for the stub server: it proposes conditions and judges texts by them, honestly or not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.servers.stub import Handler, Reply

# Conditions, and the words of which a text that meets one has any.
TRUE = {
    "mention a fruit": {"lemon", "peach", "cherry", "mango", "plum", "fig"},
    "mention an instrument": {"violin", "oboe", "cello", "harp", "flute", "trumpet"},
    "mention a metal": {"zinc", "nickel", "cobalt", "tin", "iron", "lead"},
    "mention a bird": {"heron", "wren", "finch", "raven", "stork", "crane"},
    "mention a spice": {"saffron", "cumin", "ginger", "nutmeg", "clove", "anise"},
}

# Conditions that have nothing to do with the side.
FALSE = tuple(f"have the hidden quality {number}" for number in range(15))

PROPOSED = (*TRUE, *FALSE)

# Whether a text meets a condition; the last argument is all that was asked.
Judging = Callable[[str, str, str], bool]


def chance(*parts: str) -> float:
    """A number in [0, 1) decided by the parts."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "little") / 2**64


def by_text(text: str, condition: str, asked: str) -> bool:
    """What the condition names, else by chance; wrong once in 20 texts, and moody once in 50 answers."""
    met = (
        not TRUE[condition].isdisjoint(text.split())
        if condition in TRUE
        else chance(text, condition) < 0.1 + 0.6 * chance(condition)
    )
    return met ^ (chance(text, condition, "wrong") < 0.05) ^ (chance(asked, condition) < 0.02)


def by_chance(text: str, condition: str, asked: str) -> bool:
    """Another answer each time."""
    return chance(asked, condition) < 0.5


def chat(content: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}


def data_of(body: dict[str, Any]) -> dict[str, Any]:
    """What a question is about: the message of the user."""
    found: dict[str, Any] = json.loads(body["messages"][-1]["content"])
    return found


def chat_model(judging: Judging = by_text, proposed: Sequence[str] = PROPOSED) -> Reply:
    def reply(handler: Handler, body: dict[str, Any]) -> None:
        asked, data = json.dumps(body), data_of(body)
        if "conditions" in data:
            met = {number: judging(data["text"], each, asked) for number, each in data["conditions"].items()}
            content = json.dumps({number: "yes" if each else "no" for number, each in met.items()})
        else:
            content = json.dumps(list(proposed))
        handler.send_json(chat(content))

    return reply


def saying(content: str | None) -> Reply:
    return lambda handler, body: handler.send_json(chat(content))
