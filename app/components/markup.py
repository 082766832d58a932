"""Names and messages that come from files, made safe to stand in Markdown."""

from __future__ import annotations

import re

_MINUS = re.compile(r"(?<![\w.)])-(?=[\d.])")
_ACTIVE = re.compile(r"([!-/:-@\[-`{-~])")


def with_minus(text: str) -> str:
    """``text`` with the sign of its negative numbers as a minus; hyphens and ranges stay."""
    return _MINUS.sub("−", text)


def escaped(text: str) -> str:
    """``text`` on one line, with every character that Markdown could act on made plain."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))
