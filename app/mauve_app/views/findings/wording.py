"""Findings in the page's sentences, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_app.components.markup import escaped
from mauve_core.analysis.findings.finding import Finding
from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import short_name


def sentence(found: Sequence[Finding], candidate: str, reference: str, words: Words = TEXTS) -> str:
    """How many differences there are, and the clearest one."""
    name = f"**{escaped(short_name(candidate))}**"
    other, items = words.reference_items if reference == HUMAN else escaped(reference), words.items
    if not found:
        return f"No difference between {name} and {other} was found that holds for {items} that did not suggest it."
    first = found[0]
    ways = "one way" if len(found) == 1 else f"{len(found)} ways"
    return (
        f"{name} differs from {other} in **{ways}**, each confirmed on {items} that did not suggest it. Most clearly, "
        f"it **{escaped(first.does)}** ({escaped(first.numbers)})."
    )
