"""Regular expressions from outside: compiled if they are valid and cannot exhaust memory."""

from __future__ import annotations

import math
import re

import regex

from mauve_core.base.errors import InputError, library_errors, own_words_of, words_of

# Maximum number of characters of a pattern or a replacement.
LONGEST = 1000
# Maximum product of the counts in a pattern; nested counts multiply when compiled and could exhaust memory.
MOST_REPEATS = 10_000


def compiled_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Compile an untrusted pattern in the syntax of the package ``regex``; give each use of it a ``timeout``.

    Raises
    ------
    InputError
        The pattern is invalid, longer than ``LONGEST``, or repeats more than ``MOST_REPEATS`` times.
    """
    if len(pattern) > LONGEST:
        raise InputError(
            "The pattern is too long", allowed=f"up to {LONGEST} characters", received=f"{len(pattern)} characters"
        )
    counts = [int(count) for count in re.findall(r"\d+", " ".join(re.findall(r"\{([\d,\s]*)\}", pattern)))]
    if math.prod(max(count, 1) for count in counts) > MOST_REPEATS:
        raise InputError(
            "The pattern repeats too much",
            allowed=f"repeat counts with a product of at most {MOST_REPEATS}",
            received=pattern,
        )
    with library_errors(lambda error: unusable("pattern", pattern, error)):
        return regex.compile(pattern, flags)


def unusable(what: str, received: str, error: BaseException) -> InputError:
    """The error that says why a pattern or a replacement cannot be used."""
    words = own_words_of(error) if isinstance(error, IndexError) else words_of(error)  # which group is unknown
    return InputError(f"The {what} cannot be used: {words}", allowed="a regular expression", received=received)
