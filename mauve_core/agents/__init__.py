"""Stored runs for language-model agents: a server of the Model Context Protocol (https://modelcontextprotocol.io).

An agent reads what it is given, so two things are kept apart in all answers. Sentences are the program's own. What
comes from people or files (texts, names, notes, words of clusters) stands in fields of its own, which the schemas mark
as quotations (``answers.py``); a sentence refers to a candidate as ``[candidate 2]``. Every answer gives scores with
their spread, n and the encoder, and ranks only what was tested.

The server needs the package ``mcp``, an optional extra; the pages that tell an agent how to use the tools need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_FOLDER = Path(__file__).resolve().parent / "texts"

# File and description of each page, by the end of its address ``mauve-lens://NAME``.
PAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "methods": ("methods.md", "How the scores are made, what spread, interval, rank and cost mean."),
        "caveats": ("caveats.md", "When scores must not be compared, and what no score shows."),
        "skill": ("SKILL.md", "How to answer questions with these tools honestly."),
    }
)


def page_text(name: str) -> str:
    """The text of a page of :data:`PAGES`."""
    return (_FOLDER / PAGES[name][0]).read_text(encoding="utf-8")
