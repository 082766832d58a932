"""Phrases of a text: runs of one to three of its words, in lower case."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mauve_core.corpus.text_properties import WORD

if TYPE_CHECKING:
    from collections.abc import Callable

# Words of one letter belong to phrases, and what follows an apostrophe to its word. English contractions that stand
# apart from theirs, as in tokenized texts (*the city 's*), are no words.
PATTERN = rf"(?u)\b(?!(?<=['’])(?:s|t|m|d|ll|re|ve)\b){WORD.pattern}"

LONGEST = 3


def phrases_in(text: str) -> set[str]:
    """The phrases of a text, their words separated by single spaces."""
    return set(_analyzer()(text))


@cache
def _analyzer() -> Callable[[str], list[str]]:
    """scikit-learn's, so that phrases are those of :func:`mauve_core.analysis.words.count_words`."""
    from sklearn.feature_extraction.text import CountVectorizer

    analyze: Callable[[str], list[str]] = CountVectorizer(
        token_pattern=PATTERN, ngram_range=(1, LONGEST)
    ).build_analyzer()
    return analyze
