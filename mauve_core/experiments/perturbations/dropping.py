"""Perturbations that take something out of a text or rewrite it in place: each text -> text, words in their order.

ICLR 2023, section 6.2: first third, articles, stop words. The others are ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import regex

from mauve_core.base.errors import InputError
from mauve_core.experiments.perturbations.perturbation import Values
from mauve_core.experiments.perturbations.wording import is_article, is_stop_word, pieces_of, stands_alone, without

SECONDS = 2.0
"""How long a pattern may work on one text; texts of ordinary length take milliseconds."""
LONGEST = 1000
"""Characters of a pattern or a replacement."""
MOST_REPEATS = 10_000
"""Product of the counts in a pattern: nested counts are compiled one by one and would fill the memory."""


def first_third(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """The first third of the words, rounded up; words are parted by white space."""
    words = list(re.finditer(r"\S+", text))
    return text[: words[math.ceil(len(words) / 3) - 1].end()] if words else text


def drop_articles(text: str, values: Values, rng: np.random.Generator) -> str:
    """Without a, an and the, in any case (an A that is a name, as in vitamin A, goes too)."""
    return _drop_words(text, is_article, values, rng)


def drop_stop_words(text: str, values: Values, rng: np.random.Generator) -> str:
    """Without English stop words."""
    return _drop_words(text, is_stop_word, values, rng)


def drop_punctuation(text: str, values: Values, rng: np.random.Generator) -> str:
    """Without punctuation (Unicode's category P), other than what stands inside a word: don't, well-known, 3.5, U.S."""
    pieces = pieces_of(text)
    marks = [piece.kind == "mark" and regex.match(r"\p{P}", piece.text) is not None for piece in pieces]
    return without(pieces, _some(marks, values, rng), parted=True)


def lowercase(text: str, values: Values, rng: np.random.Generator) -> str:
    """In lower case; words are parted by white space."""
    share = float(values["words"])
    return re.sub(r"\S+", lambda word: word[0].lower() if rng.random() < share else word[0], text)


def replace_matches(text: str, values: Values, rng: np.random.Generator) -> str:
    """With every match of a regular expression replaced.

    The expression is untrusted. It runs in the ``regex`` module, whose matching can be given a time limit, unlike the
    standard library's; a linear-time engine (RE2) needs no limit but knows neither look-around nor back-references.

    Raises
    ------
    TimeoutError
        The pattern works on the text for longer than ``SECONDS``.
    InputError
        The replacement names a group that the pattern does not have.
    """
    share = float(values["words"])
    pattern, replacement = regex.compile(str(values["pattern"])), str(values["with"])
    try:
        return str(
            pattern.sub(lambda m: m.expand(replacement) if rng.random() < share else m[0], text, timeout=SECONDS)
        )
    except (regex.error, IndexError) as error:
        raise _unusable("replacement", replacement, error) from error


def require_pattern(values: Values) -> None:
    """Refuse a pattern or replacement that cannot be read or could fill the memory."""
    pattern, replacement = str(values["pattern"]), str(values["with"])
    for what, text in (("pattern", pattern), ("replacement", replacement)):
        if len(text) > LONGEST:
            raise InputError(
                f"The {what} is too long", allowed=f"{LONGEST} characters", received=f"{len(text)} characters"
            )
    counts = [int(count) for count in re.findall(r"\d+", " ".join(re.findall(r"\{([\d,\s]*)\}", pattern)))]
    if math.prod(max(count, 1) for count in counts) > MOST_REPEATS:
        raise InputError(
            "The pattern repeats too much", allowed=f"counts with a product of at most {MOST_REPEATS}", received=pattern
        )
    try:
        compiled = regex.compile(pattern)
    except (regex.error, IndexError, OverflowError, RecursionError) as error:
        raise _unusable("pattern", pattern, error) from error
    try:
        compiled.sub(replacement, "", timeout=SECONDS)
    except (regex.error, IndexError) as error:
        raise _unusable("replacement", replacement, error) from error


def _unusable(what: str, received: str, error: Exception) -> InputError:
    return InputError(f"The {what} cannot be used: {error}", allowed="a regular expression", received=received)


def _drop_words(text: str, wanted: Callable[[str], bool], values: Values, rng: np.random.Generator) -> str:
    pieces = pieces_of(text)
    words = [p.kind == "word" and wanted(p.text) and stands_alone(pieces, i) for i, p in enumerate(pieces)]
    return without(pieces, _some(words, values, rng))


def _some(candidates: list[bool], values: Values, rng: np.random.Generator) -> list[bool]:
    """Each candidate with probability ``words``; one number is drawn for each, so a larger share holds a smaller."""
    share = float(values["words"])
    return [candidate and rng.random() < share for candidate in candidates]
