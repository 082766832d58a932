"""Texts as HTML in which something is marked, with every character of the texts escaped.

Marked are phrases and repeated 4-grams, found words, or the differences between two versions of a text.
"""

from __future__ import annotations

import difflib
import html
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mauve_core.texts.properties import LONGEST_PHRASE, NGRAM, WORD

_SPACED = re.compile(r"\S+")

_PHRASE, _REPEATED, _FOUND = 1, 2, 4
_STYLES = {
    _PHRASE: "background:rgba(128,135,146,0.28);border-radius:3px",
    _REPEATED: "text-decoration:underline wavy;text-decoration-color:#808792;text-underline-offset:3px",
    _FOUND: "background:light-dark(#ffe08a,#6b5200);border-radius:3px",
}
_BOX = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.5"


def marked_text(text: str, phrases: Collection[str], found: Collection[tuple[int, int]] = ()) -> str:
    """Mark phrases with a ground, and the words of 4-grams that the text has twice or more with a line below.

    Parameters
    ----------
    text : str
        Untrusted.
    phrases : collection of str
        As in ``mauve_core.findings.distinctive_words``: up to three words in lower case, separated by single spaces.
    found : collection of (int, int)
        Start and end of what a search found, which has a ground of its own.

    Returns
    -------
    str
        HTML of one box: the text, escaped, with ``<mark>`` around what is marked and nothing else in it.
    """
    flags = np.zeros(len(text), dtype=np.uint8)
    for start, end in _phrase_spans(text, frozenset(phrases)):
        flags[start:end] |= _PHRASE
    for start, end in repeated_spans(text):
        flags[start:end] |= _REPEATED
    return _boxed(text, flags, found)


def found_text(text: str, found: Collection[tuple[int, int]]) -> str:
    """As :func:`marked_text`, with what a search found and nothing else."""
    return _boxed(text, np.zeros(len(text), dtype=np.uint8), found)


def _boxed(text: str, flags: NDArray[np.uint8], found: Collection[tuple[int, int]]) -> str:
    for start, end in found:
        flags[start:end] |= _FOUND
    return f'<div style="{_BOX}">{_segments(text, flags)}</div>'


def repeated_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each 4-gram that occurs more than once, in the words of the property distinct-4."""
    words = list(_SPACED.finditer(text))
    grams = [tuple(word.group() for word in words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)]
    count = Counter(grams)
    return [(words[i].start(), words[i + NGRAM - 1].end()) for i, gram in enumerate(grams) if count[gram] > 1]


def _phrase_spans(text: str, phrases: frozenset[str]) -> list[tuple[int, int]]:
    words = [(found.group().lower(), *found.span()) for found in WORD.finditer(text)]
    spans = []
    for first in range(len(words)):
        for length in range(1, LONGEST_PHRASE + 1):
            part = words[first : first + length]
            if len(part) == length and " ".join(word for word, _, _ in part) in phrases:
                spans.append((part[0][1], part[-1][2]))
    return spans


def _segments(text: str, flags: NDArray[np.uint8]) -> str:
    borders = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), len(text)]
    return "".join(_segment(text[start:end], int(flags[start])) for start, end in pairwise(borders) if end > start)


def _segment(part: str, flag: int) -> str:
    escaped = html.escape(part)
    if not flag:
        return escaped
    styles: Sequence[str] = [style for which, style in _STYLES.items() if flag & which]
    ground = "" if flag & (_PHRASE | _FOUND) else "background:none;"
    return f'<mark style="color:inherit;{ground}{";".join(styles)}">{escaped}</mark>'


# Versions with more words and marks are not compared: the time grows with the product of their lengths.
MOST_WORDS = 1200

_PIECES = re.compile(r"\s*(?:\w+(?:['’]\w+)*|[^\w\s])|\s+")

_DIFF_STYLES = {
    "del": "text-decoration:line-through;background:rgba(128,135,146,0.28);border-radius:3px",
    "ins": "text-decoration:underline;background:rgba(138,99,210,0.24);border-radius:3px",
}
_DIFF_BOX = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;line-height:1.55"


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
    marked_text = f'<{tag} style="{_DIFF_STYLES[tag]}">{html.escape(inner)}</{tag}>'
    return f"{html.escape(lead)}{marked_text}{html.escape(tail)}"


def _box(inner: str) -> str:
    return f'<div style="{_DIFF_BOX}">{inner}</div>'
