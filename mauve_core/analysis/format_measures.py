"""Format of single texts as numbers: white space, length, ends, line breaks, quotes, casing, characters, language.

A number is nan where a text has nothing to measure: no quotes, no letters, no prompt, too few words for a language.
White space, marks and echoed prompts are looked for in the text as it is. The others first take away what a tokenizer
left (``<|endoftext|>``, the ``Ġ`` of byte-level tokens), so that one difference does not look like several.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mauve_core.texts import Corpus
from mauve_core.texts.entries import EMPTY
from mauve_core.texts.normalizing import count_marks, without_tokens
from mauve_core.texts.normalizing_steps import steps_of
from mauve_core.texts.properties import ENDS

_Floats = NDArray[np.float64]

# Characters at the end of a text that is not cut off: sentence punctuation, closing quotes and brackets.
_CLOSED = tuple(ENDS + "\"'”’»›)]}」』）")

_LONE_SIGNS = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")
_FIRST = re.compile(r"[^\W_]")
_QUOTES = re.compile("[\"'“”„‘’‚«»]")
_STRAIGHT = "\"'"

# Characters of a text in which its language is looked for.
_LOOKED_AT = 2000

# Function words that must be seen before a text has a language, and letters of a script.
_LEAST_WORDS = 3

_FUNCTION_WORDS = {
    "English": "the of and to in is that was for with it as are this be on by from have not they which you he his",
    "German": "der die und das ist nicht mit den von ein eine zu auf dem sich für auch es wird sind im des wurde",
    "French": "le la les et des est une dans que qui pour pas du au sur il elle ce sont avec plus par cette ont",
    "Spanish": "el la los las y de que en un una es por con para del se no su al lo como más pero fue son",
    "Portuguese": "o os as e de que em um uma é por com para do da no na se não ao dos mais como foi são",
    "Italian": "il la le gli e di che in un una è per con del della si non al dei sono più come anche nel alla",
    "Dutch": "de het een en van in is dat op te zijn met voor niet aan er die om ook als maar door naar werd",
}
_SCRIPTS = {
    "Greek": "\u0370-\u03ff",
    "Cyrillic": "\u0400-\u052f",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Japanese": "\u3040-\u30ff",
    "Korean": "\u1100-\u11ff\uac00-\ud7af",
    "Han": "\u4e00-\u9fff",
}
_SCRIPT_LETTERS = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
_OTHER_SCRIPT = re.compile(f"[{''.join(_SCRIPTS.values())}]")

# Line breaks and marks are counted per so many words.
PER_WORDS = 100

# Code points from here on are taken for letters without case: rare Chinese characters.
PLANE = 0x20000


@dataclass(frozen=True)
class FormatMeasures:
    """What is measured of each of n texts.

    Attributes
    ----------
    numbers : mapping of str to (n,) float64 array
        By name.
    languages : tuple of str
        Guesses; empty where there is nothing to guess from.
    """

    numbers: Mapping[str, _Floats]
    languages: tuple[str, ...]


def format_measures(texts: Sequence[str], prompts: Sequence[str] | None = None) -> FormatMeasures:
    """Measure every text; ``prompts`` has one per text, blank where there is none."""
    plain = [without_tokens(text) for text in texts]
    words = np.array([len(text.split()) - len(_LONE_SIGNS.findall(text)) for text in plain], dtype=np.float64)
    letters = np.array([_letters(text) for text in plain], dtype=np.float64).reshape(-1, 3)
    breaks = [max(len(text.strip().splitlines()) - 1, 0) for text in plain]
    numbers = {
        "leading_space": _floats([text[:1].isspace() for text in texts]),
        "trailing_space": _floats([text[-1:].isspace() for text in texts]),
        "words": words,
        "cut_off": _floats([not text.rstrip().endswith(_CLOSED) for text in plain]),
        "line_breaks": _per(PER_WORDS * _floats(breaks), words),
        "curly_quotes": _floats([_curly(text) for text in plain]),
        "upper_case": _per(letters[:, 1], letters[:, 0]),
        "lower_start": _floats([_starts_low(text) for text in plain]),
        "non_ascii": _per(letters[:, 2], letters[:, 0]),
        "marks": _per(PER_WORDS * _floats([count_marks(text) for text in texts]), words),
        "echo": _floats([_echoes(*pair) for pair in zip(texts, prompts or [""] * len(texts), strict=True)]),
    }
    return FormatMeasures(numbers, tuple(map(_language, plain)))


def repeats(corpus: Corpus, size: int, rng: np.random.Generator) -> _Floats:
    """Return 1 for every text that is empty or repeats an earlier one, for ``size`` texts drawn from the side.

    Texts that were excluded because they were empty count too. More texts hold more repetitions, so both sides are
    judged by as many.
    """
    texts = [*corpus.texts, *[""] * excluded_empty(corpus)]
    chosen = range(len(texts)) if size >= len(texts) else np.sort(rng.permutation(len(texts))[:size]).tolist()
    seen: set[str] = set()
    found = np.zeros(len(chosen))
    for place, index in enumerate(chosen):
        text = texts[index]
        found[place] = not text.strip() or text in seen
        seen.add(text)
    return found


def excluded_empty(corpus: Corpus) -> int:
    """Return how many texts were left out because they were empty; none if someone asked to leave repetitions out.

    Of texts that were drawn, as many in proportion: exclusions are those of all.
    """
    empty = _all_empty(corpus)
    return empty if corpus.whole is None else round(empty * len(corpus) / corpus.whole.n)


def repeated_of_all(corpus: Corpus) -> tuple[int, int]:
    """Return how many texts of a whole file are empty or repeat an earlier one, and of how many."""
    empty, counted = _all_empty(corpus), corpus.counted
    return empty + counted.repeated, empty + counted.n


def _all_empty(corpus: Corpus) -> int:
    if "duplicates" in steps_of(corpus.normalized):
        return 0
    return sum(exclusion.count for exclusion in corpus.exclusions if exclusion.reason == EMPTY)


def _floats(values: Sequence[float]) -> _Floats:
    return np.array(values, dtype=np.float64)


def _per(counts: _Floats, totals: _Floats) -> _Floats:
    """Return counts / totals; nan where the total is 0."""
    return np.asarray(np.divide(counts, totals, out=np.full(totals.size, np.nan), where=totals > 0))


@cache
def _letter_table() -> NDArray[np.uint8]:
    """Return, for each code point, 1 for a letter, plus 2 for an upper-case one."""
    characters = [chr(point) for point in range(PLANE)]
    return np.array([each.isalpha() + 2 * each.isupper() for each in characters], dtype=np.uint8)


def _letters(text: str) -> tuple[int, int, int]:
    """Return the numbers of letters, of upper-case letters and of letters that are not ASCII."""
    if not text:
        return 0, 0, 0
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _letter_table()[np.minimum(points, PLANE - 1)]
    letters = ((kinds & 1) > 0) | (points >= PLANE)
    return int(letters.sum()), int(((kinds & 2) > 0).sum()), int((letters & (points > 127)).sum())


def _curly(text: str) -> float:
    quotes = Counter(_QUOTES.findall(text))
    total = quotes.total()
    return 1 - sum(quotes[sign] for sign in _STRAIGHT) / total if total else np.nan


def _starts_low(text: str) -> float:
    """Return whether the first letter or digit is a lower-case letter; nan without one that has a case."""
    first = _FIRST.search(text)
    if first is None or first[0].lower() == first[0].upper():
        return np.nan
    return float(first[0].islower())


def _echoes(text: str, prompt: str) -> float:
    """Return whether the text begins with its prompt, whatever the white space; nan without a prompt."""
    wanted = prompt.split()
    if not wanted:
        return np.nan
    # White space of the prompt may be wider in the text, but hardly more than twice as wide.
    return float(" ".join(text.lstrip()[: 2 * len(prompt) + PER_WORDS].split()).startswith(" ".join(wanted)))


def _language(text: str) -> str:
    text = text.lstrip()[:_LOOKED_AT]
    others = 0 if text.isascii() else len(_OTHER_SCRIPT.findall(text))
    if others >= _LEAST_WORDS and 2 * others > len(re.findall(r"[^\W\d_]", text)):
        counts = {name: len(letters.findall(text)) for name, letters in _SCRIPT_LETTERS.items()}
        # Japanese mixes its own letters with Chinese ones.
        japanese = counts["Japanese"] * 10 >= others
        return "Japanese" if japanese else max(counts, key=lambda name: counts[name])
    languages = _function_words()
    found = Counter(name for word in re.findall(r"[^\W\d_]+", text.lower()) for name in languages.get(word, ()))
    # The first of those that are equally frequent, in the order of the table.
    best = max(_FUNCTION_WORDS, key=lambda name: found[name])
    return best if found[best] >= _LEAST_WORDS else ""


@cache
def _function_words() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word."""
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _FUNCTION_WORDS.items():
        for word in words.split():
            found[word] = (*found.get(word, ()), name)
    return found
