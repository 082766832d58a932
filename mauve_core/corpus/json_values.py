"""Checks on JSON values that every reader of texts makes."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from mauve_core.base.errors import InputError

HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object; ValueError if a name occurs twice."""
    row = dict(pairs)
    if len(row) != len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {repeated!r} occurs twice in one object")
    return row


def require_whole_characters(source: str, value: Any, location: str) -> None:
    """Raise InputError if the JSON source of a value holds half of a surrogate pair."""
    if HALF_PAIR.search(source):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{location} holds half of a surrogate pair, which is not a character",
                todo="Rewrite the text with errors='replace'",
            ) from error
