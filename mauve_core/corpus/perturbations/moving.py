"""Perturbations that move or repeat whole words and sentences; the text between them stays in place.

ICLR 2023, section 6.2: shuffled words, first halves swapped between texts. The others are ours. Shuffling the words of
one part alone shows which part of a text an encoder reads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from mauve_core.corpus.perturbations.perturbation import Values
from mauve_core.corpus.perturbations.wording import sentences_of


def shuffle_words(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle all words or a share of them; white space separates words, and words keep their punctuation."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, [span for span in spans if rng.random() < float(values["words"])], rng)


def shuffle_beginning(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle the first words, a share of all, rounded to a whole number (a half up); the others stay."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, spans[: _rounded(float(values["words"]) * len(spans))], rng)


def shuffle_end(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle the last words, a share of all, rounded to a whole number (a half up); the others stay."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, spans[len(spans) - _rounded(float(values["words"]) * len(spans)) :], rng)


def shuffle_sentences(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Shuffle the sentences."""
    return _reordered(text, sentences_of(text), rng)


def repeat_last_sentence(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Repeat the last sentence once or a given number of times, with the separator that precedes it."""
    spans = sentences_of(text)
    if not spans:
        return text
    start, end = spans[-1]
    between = text[spans[-2][1] : start] if len(spans) > 1 else " "
    return text[:end] + (between + text[start:end]) * int(values["times"]) + text[end:]


def first_half(text: str) -> tuple[int, int] | None:
    """Start and end of the first half of a text's sentences, rounded down; None for a single sentence."""
    spans = sentences_of(text)
    return (spans[0][0], spans[len(spans) // 2 - 1][1]) if len(spans) > 1 else None


def with_parts(text: str, spans: Sequence[tuple[int, int]], parts: Sequence[str]) -> str:
    """Replace the parts at those spans, which are in text order."""
    done, position = [], 0
    for (start, end), part in zip(spans, parts, strict=True):
        done += [text[position:start], part]
        position = end
    return "".join([*done, text[position:]])


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)


def _reordered(text: str, spans: Sequence[tuple[int, int]], rng: np.random.Generator) -> str:
    """Reorder the parts at those spans; every order that changes the text is equally likely."""
    parts = [text[start:end] for start, end in spans]
    moved = parts
    while len(set(parts)) > 1 and moved == parts:
        moved = [parts[i] for i in rng.permutation(len(parts))]
    return with_parts(text, spans, moved)
