"""The pages that tell an agent how to use the tools; reading them needs no further package."""

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
