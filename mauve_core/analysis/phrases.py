"""Phrases of one to three words that one set of texts uses more often than another, with intervals.

Log odds with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008;
``mauve_core.numerics.statistics.log_odds``); the background is both sets together. The unit is documents, so that a
text that repeats a phrase counts once, or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mauve_core.analysis.words import WordCounts, count_words
from mauve_core.base.errors import InputError
from mauve_core.base.text_lists import text_list
from mauve_core.corpus.text_properties import WORD
from mauve_core.numerics.statistics.log_odds import log_odds

PATTERN = rf"(?u)\b(?!(?<=['’])(?:s|t|m|d|ll|re|ve)\b){WORD.pattern}"
"""Words of one letter belong to phrases, and what follows an apostrophe to its word. English contractions that stand
apart from theirs, as in tokenized texts (*the city 's*), are no words.
"""

LONGEST = 3

PRIOR = 10.0
"""Weight of the prior in each set, in texts; by tokens, in texts of average length."""

UNITS = ("documents", "tokens")


@dataclass(frozen=True)
class Phrase:
    """One phrase of a set of texts.

    Attributes
    ----------
    text : str
        Its words in lower case, separated by single spaces.
    log_odds, low, high : float
        Difference of its log odds to the other set, and its interval, too narrow by tokens, which are not independent
        draws. Each interval covers one phrase: among many phrases that do not differ, some intervals exclude 0.
    z : float
        The difference over its standard deviation; ranks phrases.
    texts, other_texts : int
        Number of texts of this and of the other set with the phrase.
    tokens, other_tokens : int
        Occurrences.
    """

    text: str
    log_odds: float
    low: float
    high: float
    z: float
    texts: int
    other_texts: int
    tokens: int
    other_tokens: int


def distinctive_phrases(
    first: Sequence[str],
    second: Sequence[str],
    *,
    unit: str = "documents",
    top: int = 10,
    min_texts: int = 2,
    stop_words: frozenset[str] = frozenset(),
    confidence: float = 0.95,
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    """Return the phrases that tell each set from the other.

    Parameters
    ----------
    first, second : sequences of str
        Two sets of texts, neither empty.
    unit : {"documents", "tokens"}
        What is counted.
    top : int
        Most phrases per set.
    min_texts : int
        Fewest texts of its set that a phrase must be in.
    stop_words : frozenset of str
        A phrase of these words alone, or of their contractions (*it's*, *don't*), is left out.
    confidence : float in (0, 1)
        Of the intervals.

    Returns
    -------
    of_first, of_second : tuple of Phrase
        Only phrases whose interval lies above 0, the largest z first. A phrase that contains, or is part of, an
        earlier one is left out.

    Raises
    ------
    InputError
        An empty set, an unknown unit, or a confidence outside (0, 1).
    """
    first, second = text_list(first, "The first texts"), text_list(second, "The second texts")
    if not first or not second:
        raise InputError("There is nothing to compare", allowed="two sets with at least one text each")
    if unit not in UNITS:
        raise InputError("No unit of that name", allowed=", ".join(UNITS), received=repr(unit))
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    # In tokens, the totals count every phrase, however rare.
    least = max(min_texts, 1) if unit == "documents" else 1
    counted = count_words([*first, *second], stop_words=None, longest=LONGEST, pattern=PATTERN, min_texts=least)
    if not counted.vocabulary.size:
        return (), ()
    tokens, texts = _by_set(counted.matrix, len(first)), _by_set(counted.matrix.sign(), len(first))
    sizes = (float(len(first)), float(len(second)))
    counts, totals, prior = texts, sizes, PRIOR
    if unit == "tokens":
        single = np.array([" " not in word for word in counted.vocabulary])
        counts, totals = tokens, (float(tokens[0, single].sum()), float(tokens[1, single].sum()))
        prior = PRIOR * sum(totals) / sum(sizes)
    background = (counts.sum(axis=0) + 0.5) / (sum(totals) + 1)
    difference, sd = log_odds(counts[0], counts[1], totals, background, prior)
    reach = float(ndtri((1 + confidence) / 2))

    def phrases_of(own: int, difference: NDArray[np.float64]) -> tuple[Phrase, ...]:
        z = difference / sd
        usable = (texts[own] >= min_texts) & (z > reach)
        return tuple(
            Phrase(
                text=str(counted.vocabulary[column]),
                log_odds=float(difference[column]),
                low=float(difference[column] - reach * sd[column]),
                high=float(difference[column] + reach * sd[column]),
                z=float(z[column]),
                texts=int(texts[own, column]),
                other_texts=int(texts[1 - own, column]),
                tokens=int(tokens[own, column]),
                other_tokens=int(tokens[1 - own, column]),
            )
            for column in _chosen(counted, z, usable, top, stop_words)
        )

    return phrases_of(0, difference), phrases_of(1, -difference)


def _by_set(matrix: Any, n: int) -> NDArray[np.int64]:
    """Return (2, phrases) column sums of the first n rows and of the others."""
    return np.stack([np.asarray(part.sum(axis=0), dtype=np.int64).ravel() for part in (matrix[:n], matrix[n:])])


def _chosen(
    counted: WordCounts, z: NDArray[np.float64], usable: NDArray[np.bool_], top: int, stop_words: frozenset[str]
) -> list[int]:
    """Choose phrases by largest z without repetition; for equal z the longer one, then in alphabetical order."""
    indices = np.flatnonzero(usable)
    words = {int(column): str(counted.vocabulary[column]) for column in indices}
    chosen: list[int] = []
    # Rounding z makes phrases with equal counts tie.
    for column in sorted(words, key=lambda index: (-round(float(z[index]), 9), -words[index].count(" "), words[index])):
        if all(_is_stop_word(word, stop_words) for word in words[column].split()):
            continue
        padded = f" {words[column]} "
        if any(padded in f" {words[other]} " or f" {words[other]} " in padded for other in chosen):
            continue
        chosen.append(column)
        if len(chosen) == top:
            break
    return chosen


def _is_stop_word(word: str, stop_words: frozenset[str]) -> bool:
    """Whether the word, or what comes before its apostrophe, is a stop word; negated verbs are."""
    plain = word.replace("’", "'")
    return word in stop_words or (bool(stop_words) and (plain.endswith("n't") or plain.split("'")[0] in stop_words))
