"""Beginnings of sentences with slots for years, numbers and names, such as *in YEAR, NAME*.

They are taken from the suggesting texts of either side, those first whose shares of texts differ most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.findings.statements import Statement
from mauve_core.texts.properties import CLOSERS, ENDS, WORD, stop_words

# Words and slots of a beginning.
WORDS = (2, 3, 4)

# Beginnings that are suggested, at most.
TEMPLATES = 12

# Suggesting texts of one side that must have a beginning.
LEAST_TEXTS = 4

YEAR, NUMBER, NAME = "YEAR", "NUMBER", "NAME"

_BETWEEN = re.compile(rf"[{re.escape(ENDS)}][{re.escape(CLOSERS)}]*\s+|\n+")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
# Characters of a sentence that are looked at.
_LONGEST = 120

_Chosen = NDArray[np.bool_]


def templated(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each beginning of sentences that the suggesting texts of one side have more often."""
    starts = sentence_starts(texts)
    sides = suggesting & of_model, suggesting & ~of_model
    counts = [Counter(start for each, use in zip(starts, side, strict=True) if use for start in each) for side in sides]
    shares = [
        {start: count / side.sum() for start, count in of.items()} for of, side in zip(counts, sides, strict=True)
    ]
    gaps = {
        start: abs(shares[0].get(start, 0.0) - shares[1].get(start, 0.0))
        for start in {**shares[0], **shares[1]}
        if max(count[start] for count in counts) >= LEAST_TEXTS
    }
    chosen: list[str] = []
    for start in sorted(gaps, key=lambda start: (-gaps[start], start)):
        if len(chosen) < TEMPLATES and not any(_is_part(start, other) or _is_part(other, start) for other in chosen):
            chosen.append(start)
    for start in chosen:
        has = np.array([start in each for each in starts], dtype=np.bool_)
        does, quoted = "begins sentences with", f"“{start}”"
        condition = f"have a sentence that begins with {quoted}"
        yield Statement("template", f"{does} {quoted} more often", f"{does} {quoted} less often", condition, has)


def sentence_starts(texts: Sequence[str]) -> list[set[str]]:
    """The beginnings of each text's sentences, in lower case but for the slots.

    A capitalized word is a name if no text has it in lower case; names in a row are one.
    """
    parts = [[WORD.findall(part[:_LONGEST])[: 2 * WORDS[-1]] for part in _BETWEEN.split(text)] for text in texts]
    known = stop_words() | {word for text in texts for word in WORD.findall(text) if word[0].islower()}
    found = []
    for sentences in parts:
        slotted = [_slotted(words, known) for words in sentences]
        found.append({" ".join(each[:length]) for each in slotted for length in WORDS if len(each) >= length})
    return found


def _slotted(words: Sequence[str], known: frozenset[str]) -> list[str]:
    slotted: list[str] = []
    for word in words:
        plain = word.lower()
        if word[0].isdigit():
            slotted.append(YEAR if _YEAR.fullmatch(word) else NUMBER)
        elif not word[0].isupper() or plain in known:
            slotted.append(plain)
        elif slotted[-1:] != [NAME]:
            slotted.append(NAME)
    return slotted


def _is_part(part: str, whole: str) -> bool:
    return f" {part} " in f" {whole} "
