"""Typing errors: letters swapped, dropped, doubled, or replaced by an adjacent key."""

from __future__ import annotations

import numpy as np
import regex

from mauve_core.corpus.perturbations.perturbation import Values
from mauve_core.corpus.perturbations.wording import pieces_of

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Keys to the left and right of each letter on an English keyboard.
NEIGHBOURS = {
    key: "".join(row[max(0, index - 1) : index] + row[index + 1 : index + 2])
    for row in _ROWS
    for index, key in enumerate(row)
}


def typos(text: str, values: Values, rng: np.random.Generator) -> str:
    """Insert typing errors: each letter gets one with probability ``rate``, with four equally likely kinds.

    The letter is swapped with the next letter of its word, dropped, doubled, or replaced by an adjacent key. If that
    is impossible (no next letter, a one-letter word, no known key), it is doubled. The same random numbers are drawn
    at every rate, so a higher rate includes the errors of a lower one.
    """
    return "".join(
        _misspelt(piece.text, float(values["rate"]), rng) if piece.kind == "word" else piece.text
        for piece in pieces_of(text)
    )


def _misspelt(word: str, rate: float, rng: np.random.Generator) -> str:
    letters = regex.findall(r"\X", word)
    draws = rng.random((len(letters), 3))
    written: list[str] = []
    index = 0
    while index < len(letters):
        letter, (hit, kind, side) = letters[index], draws[index]
        after = letters[index + 1] if index + 1 < len(letters) else letter
        keys = NEIGHBOURS.get(letter.lower(), "")
        index += 1
        if hit >= rate or not letter[0].isalpha():
            written.append(letter)
        elif kind < 0.25 and after != letter and after[0].isalpha():
            written += [after, letter]
            index += 1
        elif 0.25 <= kind < 0.5 and len(letters) > 1:
            continue
        elif kind >= 0.75 and keys:
            key = keys[int(side * len(keys))]
            written.append(key.upper() if letter.isupper() else key)
        else:
            written += [letter, letter]
    return "".join(written) or word
