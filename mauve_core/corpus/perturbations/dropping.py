"""Perturbations that delete or rewrite parts of a text (text -> text) and keep the order of words.

ICLR 2023, section 6.2: first third, articles, stop words. The others are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import regex

from mauve_core.base.errors import InputError
from mauve_core.base.patterns import LONGEST, compiled_pattern, unusable
from mauve_core.corpus.perturbations.perturbation import Values
from mauve_core.corpus.perturbations.wording import is_article, is_stop_word, pieces_of, stands_alone, text_without

# Time limit of a pattern on one text; texts of ordinary length take milliseconds.
SECONDS = 2.0


def first_third(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Keep the first third of the words, rounded up; white space separates words."""
    words = list(re.finditer(r"\S+", text))
    return text[: words[math.ceil(len(words) / 3) - 1].end()] if words else text


def drop_articles(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop a, an and the in any case, including names such as A in vitamin A."""
    return _drop_words(text, is_article, values, rng)


def drop_stop_words(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop English stop words."""
    return _drop_words(text, is_stop_word, values, rng)


def drop_punctuation(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop punctuation (Unicode category P), except inside words: don't, well-known, 3.5, U.S."""
    pieces = pieces_of(text)
    marks = [piece.kind == "mark" and regex.match(r"\p{P}", piece.text) is not None for piece in pieces]
    return text_without(pieces, _some(marks, values, rng), parted=True)


def lowercase(text: str, values: Values, rng: np.random.Generator) -> str:
    """Convert to lower case."""
    share = float(values["words"])
    return re.sub(r"\S+", lambda word: word[0].lower() if rng.random() < share else word[0], text)


def replace_matches(text: str, values: Values, rng: np.random.Generator) -> str:
    """Replace every match of a regular expression.

    The expression is untrusted. The ``regex`` module can limit matching time, unlike the standard library. A
    linear-time engine (RE2) needs no limit but lacks look-around and back-references.

    Raises
    ------
    TimeoutError
        The pattern exceeds ``SECONDS`` on the text.
    InputError
        The replacement names a group that the pattern lacks.
    """
    share = float(values["words"])
    pattern, replacement = regex.compile(str(values["pattern"])), str(values["with"])
    try:
        return str(
            pattern.sub(lambda m: m.expand(replacement) if rng.random() < share else m[0], text, timeout=SECONDS)
        )
    except (regex.error, IndexError) as error:
        raise unusable("replacement", replacement, error) from error


def require_pattern(values: Values) -> None:
    """Reject a pattern or replacement that is invalid or could exhaust memory."""
    pattern, replacement = str(values["pattern"]), str(values["with"])
    compiled = compiled_pattern(pattern)
    if len(replacement) > LONGEST:
        raise InputError(
            "The replacement is too long",
            allowed=f"up to {LONGEST} characters",
            received=f"{len(replacement)} characters",
        )
    try:
        compiled.sub(replacement, "", timeout=SECONDS)
    except (regex.error, IndexError) as error:
        raise unusable("replacement", replacement, error) from error


def _drop_words(text: str, wanted: Callable[[str], bool], values: Values, rng: np.random.Generator) -> str:
    pieces = pieces_of(text)
    words = [p.kind == "word" and wanted(p.text) and stands_alone(pieces, i) for i, p in enumerate(pieces)]
    return text_without(pieces, _some(words, values, rng))


def _some(candidates: list[bool], values: Values, rng: np.random.Generator) -> list[bool]:
    """Select with probability ``words``, one random number each, so that a larger share includes a smaller."""
    share = float(values["words"])
    return [candidate and rng.random() < share for candidate in candidates]
