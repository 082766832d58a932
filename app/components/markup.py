"""Names and messages that come from files, made safe to stand in Markdown."""

from __future__ import annotations

import re

_ACTIVE = re.compile(r"([!-/:-@\[-`{-~])")


def escaped(text: str) -> str:
    """``text`` on one line, with every character that Markdown could act on made plain."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))
