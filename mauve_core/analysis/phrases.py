"""Phrases of one to three words that one set of texts uses more often than another, with intervals.

Log odds with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008;
``mauve_core.stats.two_groups``); the background is both sets together. The unit is documents, so that a
text that repeats a phrase counts once, or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mauve_core.analysis.words import count_words
from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.stats.two_groups import log_odds
from mauve_core.texts.properties import LONGEST_PHRASE, PHRASE_PATTERN

# Weight of the prior in each set, in texts; by tokens, in texts of average length.
PRIOR = 10.0

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
    reach = _reach(confidence)
    # In tokens, the totals count every phrase, however rare.
    least = max(min_texts, 1) if unit == "documents" else 1
    counted = count_words(
        [*first, *second], stop_words=None, longest=LONGEST_PHRASE, pattern=PHRASE_PATTERN, min_texts=least
    )
    if not counted.vocabulary.size:
        return (), ()
    tokens, texts = _by_set(counted.matrix, len(first)), _by_set(counted.matrix.sign(), len(first))
    sizes = (float(len(first)), float(len(second)))
    counts, totals, prior = texts, sizes, PRIOR
    if unit == "tokens":
        single = np.array([" " not in word for word in counted.vocabulary])
        counts, totals = tokens, (float(tokens[0, single].sum()), float(tokens[1, single].sum()))
        prior = PRIOR * sum(totals) / sum(sizes)
    found = _Contrast.of(counted.vocabulary.tolist(), texts, counts, totals, prior)

    def phrases_of(own: int) -> tuple[Phrase, ...]:
        sign = 1 - 2 * own
        return tuple(
            Phrase(
                text=found.phrases[column],
                log_odds=float(sign * found.difference[column]),
                low=float(sign * found.difference[column] - reach * found.sd[column]),
                high=float(sign * found.difference[column] + reach * found.sd[column]),
                z=float(sign * found.difference[column] / found.sd[column]),
                texts=int(texts[own, column]),
                other_texts=int(texts[1 - own, column]),
                tokens=int(tokens[own, column]),
                other_tokens=int(tokens[1 - own, column]),
            )
            for column in found.chosen(own, reach, top, min_texts, stop_words)
        )

    return phrases_of(0), phrases_of(1)


def distinctive_of_counts(
    phrases: Sequence[str],
    texts: NDArray[np.int64],
    sizes: tuple[int, int],
    *,
    effects: tuple[float, float] = (1.0, 1.0),
    top: int = 10,
    min_texts: int = 2,
    stop_words: frozenset[str] = frozenset(),
    confidence: float = 0.95,
) -> tuple[list[int], list[int]]:
    """Return which of some counted phrases tell each set from the other, as :func:`distinctive_phrases` by documents.

    Parameters
    ----------
    phrases : sequence of str
        m phrases.
    texts : (2, m) int64 array
        Texts of either set that have them.
    sizes : (int, int)
        Texts of either set; at least 1.
    effects : (float, float)
        Design effects, at least 1: how many texts of each set count as one, because texts of one prompt are alike.
    top, min_texts, stop_words, confidence : see :func:`distinctive_phrases`

    Returns
    -------
    of_first, of_second : list of int
        Indices of phrases, the largest z first.
    """
    if not phrases:
        return [], []
    each = np.array(effects)
    counts, totals = texts / each[:, np.newaxis], np.array(sizes) / each
    found = _Contrast.of(phrases, texts, counts, (float(totals[0]), float(totals[1])), PRIOR)
    of_first, of_second = (found.chosen(own, _reach(confidence), top, min_texts, stop_words) for own in (0, 1))
    return of_first, of_second


class _Contrast(NamedTuple):
    """Log odds of m phrases: differences between the first set and the second, (m,), and their standard deviations."""

    phrases: Sequence[str]
    texts: NDArray[np.int64]
    difference: NDArray[np.float64]
    sd: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        phrases: Sequence[str],
        texts: NDArray[np.int64],
        counts: NDArray[Any],
        totals: tuple[float, float],
        prior: float,
    ) -> _Contrast:
        """``texts`` and ``counts``, in the unit of ``totals`` and ``prior``, are (2, m)."""
        background = (counts.sum(axis=0) + 0.5) / (sum(totals) + 1)
        return cls(phrases, texts, *log_odds(counts[0], counts[1], totals, background, prior))

    def chosen(self, own: int, reach: float, top: int, min_texts: int, stop_words: frozenset[str]) -> list[int]:
        """Phrases of set 0 or 1 by largest z without repetition; for equal z the longer one, then by alphabet."""
        z = (1 - 2 * own) * self.difference / self.sd
        usable = np.flatnonzero((self.texts[own] >= min_texts) & (z > reach))
        words = {column: self.phrases[column] for column in usable.tolist()}
        chosen: list[int] = []
        # Rounding z makes phrases with equal counts tie.
        for column in sorted(words, key=lambda at: (-round(float(z[at]), 9), -words[at].count(" "), words[at])):
            if all(_is_stop_word(word, stop_words) for word in words[column].split()):
                continue
            padded = f" {words[column]} "
            if any(padded in f" {words[other]} " or f" {words[other]} " in padded for other in chosen):
                continue
            chosen.append(column)
            if len(chosen) == top:
                break
        return chosen


def _reach(confidence: float) -> float:
    """Standard deviations that an interval reaches to either side."""
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    return float(ndtri((1 + confidence) / 2))


def _by_set(matrix: Any, n: int) -> NDArray[np.int64]:
    """Return (2, phrases) column sums of the first n rows and of the others."""
    return np.stack([np.asarray(part.sum(axis=0), dtype=np.int64).ravel() for part in (matrix[:n], matrix[n:])])


def _is_stop_word(word: str, stop_words: frozenset[str]) -> bool:
    """Whether the word, or what comes before its apostrophe, is a stop word; negated verbs are."""
    plain = word.replace("’", "'")
    return word in stop_words or (bool(stop_words) and (plain.endswith("n't") or plain.split("'")[0] in stop_words))
