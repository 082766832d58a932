"""Mark the differences between two versions of a text, as HTML with every character of the texts escaped."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Versions with more words and marks are not compared: the time grows with the product of their lengths.
MOST_WORDS = 1200

_PIECES = re.compile(r"\s*(?:\w+(?:['’]\w+)*|[^\w\s])|\s+")

_STYLES = {
    "del": "text-decoration:line-through;background:rgba(128,135,146,0.28);border-radius:3px",
    "ins": "text-decoration:underline;background:rgba(138,99,210,0.24);border-radius:3px",
}
_BOX = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.55"


@dataclass(frozen=True)
class Marked:
    """A text and its other version.

    Attributes
    ----------
    before, after : str
        HTML: ``before`` marks deletions with ``<del>``, ``after`` marks insertions with ``<ins>``.
    compared : bool
        False if a version has more than ``MOST_WORDS`` words, so that nothing is marked.
    """

    before: str
    after: str
    compared: bool


def marked(before: str, after: str) -> Marked:
    """Mark the words in each version that the other lacks; white space alone is never marked."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return Marked(_box(html.escape(before)), _box(html.escape(after)), compared=False)
    gone, come = [False] * len(old), [False] * len(new)
    matcher = difflib.SequenceMatcher(None, [p.strip() for p in old], [p.strip() for p in new], autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "equal":
            gone[start:end] = [True] * (end - start)
            come[other_start:other_end] = [True] * (other_end - other_start)
    return Marked(_box(_joined(old, gone, "del")), _box(_joined(new, come, "ins")), compared=True)


def _joined(pieces: Sequence[str], differs: Sequence[bool], tag: str) -> str:
    """Escape and join the pieces; adjacent differences share one mark, without the white space around them."""
    parts: list[str] = []
    run: list[str] = []
    for piece, other in [*zip(pieces, differs, strict=True), ("", False)]:
        if other:
            run.append(piece)
            continue
        parts.append(_mark("".join(run), tag))
        run = []
        parts.append(html.escape(piece))
    return "".join(parts)


def _mark(text: str, tag: str) -> str:
    inner = text.strip()
    if not inner:
        return html.escape(text)
    lead = text[: len(text) - len(text.lstrip())]
    tail = text[len(text.rstrip()) :]
    marked_text = f'<{tag} style="{_STYLES[tag]}">{html.escape(inner)}</{tag}>'
    return f"{html.escape(lead)}{marked_text}{html.escape(tail)}"


def _box(inner: str) -> str:
    return f'<div style="{_BOX}">{inner}</div>'
