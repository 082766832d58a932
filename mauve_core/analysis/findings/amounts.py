"""How much a text has of something: length, sentences, articles, rare words and the like.

A statement needs a limit, which the texts suggest that are not tested: the one that tells the two sides apart best.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.findings.marks import sentences
from mauve_core.analysis.findings.statements import Statement
from mauve_core.base.formatting import as_percent
from mauve_core.texts.properties import TOKEN, WORD, stop_words, text_properties

# Quantiles of the amounts that may be limits.
LIMITS = np.arange(1, 10) / 10

# Letters of a long word.
LONG = 8

PAST = frozenset({"was", "were", "had", "did", "went", "said", "made", "took", "came", "became", "saw", "got", "gave"})
# Forms of the same verbs that are no infinitives.
PRESENT = frozenset(
    {"is", "are", "am", "has", "does", "goes", "says", "makes", "takes", "comes", "becomes", "sees", "gets", "gives"}
)

_SYLLABLE = re.compile(r"[aeiouy]+")

_Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Amount:
    """An amount of single texts; ``unit`` follows its limit, which is a percentage if it is a share.

    ``has`` says what texts do, around ``{}``, where that is not to have so many units: ``are {} pixels wide``.
    """

    kind: str
    more: str
    less: str
    unit: str
    is_share: bool = True
    has: str = ""

    def conditions(self, limit: float) -> tuple[str, str]:
        """What texts beyond the limit do, and what the others do."""
        if limit == 0 and self.is_share and not self.has and not self.unit.startswith("of "):
            return f"have {self.unit}", f"have no {self.unit}"
        shown = as_percent(limit, 1) if self.is_share else f"{limit:,.4g}"
        has = self.has or f"have {{}} {self.unit}"
        return has.format(f"more than {shown}"), has.format(f"at most {shown}")


AMOUNTS = {
    "words": Amount("length", "writes longer texts", "writes shorter texts", "words", is_share=False),
    "sentence": Amount(
        "sentence length", "writes longer sentences", "writes shorter sentences", "words in a sentence", is_share=False
    ),
    "ease": Amount(
        "readability", "is easier to read", "is harder to read", "points of Flesch's reading ease", is_share=False
    ),
    "stop_words": Amount("stop words", "uses more stop words", "uses fewer stop words", "stop words"),
    "punctuation": Amount("punctuation", "uses more punctuation", "uses less punctuation", "punctuation marks"),
    "distinct": Amount("repetition", "repeats itself less", "repeats itself more", "distinct 4-grams"),
    "articles": Amount("articles", "uses more articles", "leaves articles out", "articles among their words"),
    "digits": Amount("numbers", "gives more numbers", "gives fewer numbers", "numbers among their words"),
    "names": Amount("capitalized words", "names more", "names less", "capitalized words after another word"),
    "long": Amount("long words", "uses longer words", "uses shorter words", f"words of {LONG} or more letters"),
    "rare": Amount(
        "rare words",
        "writes more words that no other text has",
        "writes fewer words that no other text has",
        "words that no other text has",
    ),
    "space": Amount("white space", "writes more white space", "writes less white space", "white space"),
    "commas": Amount("commas", "uses more commas", "uses fewer commas", "commas among their tokens"),
    "positive": Amount("positive words", "uses more positive words", "uses fewer positive words", "positive words"),
    "negative": Amount("negative words", "uses more negative words", "uses fewer negative words", "negative words"),
    "past": Amount(
        "past tense",
        "writes more in the past tense",
        "writes less in the past tense",
        "of words such as was, is, had and has in the past tense",
    ),
    "adverbs": Amount("adverbs", "uses more adverbs in -ly", "uses fewer adverbs in -ly", "words in -ly"),
    "contractions": Amount("contractions", "contracts more words", "contracts fewer words", "contracted words"),
}


def amounts_of(texts: Sequence[str]) -> dict[str, _Amounts]:
    """Every amount of every text, (n,) by key of :data:`AMOUNTS`; nan where a text has nothing to measure."""
    known = text_properties(texts)
    plain = [WORD.findall(text) for text in texts]
    low = [[word.lower() for word in each] for each in plain]
    distinct = dict(zip(texts, low, strict=True)).values()  # a copy is no other text
    texts_with = Counter(word for each in distinct for word in set(each))
    stop, tones = stop_words(), valences()
    lengths = _means([[len(each.split()) for each in sentences(text)] for text in texts])
    return {
        "words": known["length"],
        "sentence": lengths,
        "ease": reading_ease(low, lengths),
        "stop_words": known["stop_words"],
        "punctuation": known["punctuation"],
        "distinct": known["distinct"],
        "articles": _means([[word in ("a", "an", "the") for word in each] for each in low]),
        "digits": _means([[word[0].isdigit() for word in each] for each in low]),
        "names": _means([[word[0].isupper() for word in each[1:]] for each in plain]),
        "long": _means([[len(word) >= LONG for word in each] for each in low]),
        "rare": _means([[texts_with[word] == 1 and word not in stop for word in each] for each in low]),
        "space": _means([list(map(str.isspace, text)) for text in texts]),
        "commas": _means([[token == "," for token in TOKEN.findall(text)] for text in texts]),
        "positive": _means([[tones.get(word, 0) > 0 for word in each] for each in low]),
        "negative": _means([[tones.get(word, 0) < 0 for word in each] for each in low]),
        "past": _means([[word in PAST for word in each if word in PAST or word in PRESENT] for each in low]),
        "adverbs": _means([[len(word) > 4 and word.endswith("ly") for word in each] for each in low]),
        "contractions": _means([["'" in word or "’" in word for word in each] for each in low]),
    }


@functools.cache
def valences() -> Mapping[str, float]:
    """How positive each word of VADER's lexicon is to raters, from -4 to 4 (Hutto and Gilbert, ICWSM 2014).

    It is the file of the package vaderSentiment. Emoticons and other entries that are no words are left out.
    """
    path = importlib.resources.files("vaderSentiment") / "vader_lexicon.txt"
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {row[0]: float(row[1]) for row in rows if row[0].isalpha()}


def reading_ease(words: Sequence[Sequence[str]], lengths: _Amounts) -> _Amounts:
    """Flesch's reading ease (1948): 206.835 - 1.015 words a sentence - 84.6 syllables a word; 60 to 70 is plain.

    Parameters
    ----------
    words : sequence of n sequences of str
        In lower case.
    lengths : (n,) float64 array
        Mean words of a sentence.

    Returns
    -------
    (n,) float64 array
        nan for texts without words.
    """
    known = {word: syllables(word) for word in {word for each in words for word in each}}
    return 206.835 - 1.015 * lengths - 84.6 * _means([[known[word] for word in each] for each in words])


def syllables(word: str) -> int:
    """Count groups of vowels, but for an *e* at the end; a word has one at least, and so has a number."""
    found = len(_SYLLABLE.findall(word))
    is_silent = word.endswith("e") and not word.endswith(("le", "ee", "ye"))
    return max(1, found - is_silent)


def _means(values: Sequence[Sequence[float]]) -> _Amounts:
    return np.array([sum(each) / len(each) if each else np.nan for each in values], dtype=np.float64)


def limited(texts: Sequence[str], of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]) -> Iterator[Statement]:
    """Yield a statement for each amount, with the limit that tells the sides of the suggesting texts apart best."""
    for key, values in amounts_of(texts).items():
        yield from at_best_limit(AMOUNTS[key], values, of_model, suggesting)


def at_best_limit(
    amount: Amount, values: _Amounts, of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]
) -> Iterator[Statement]:
    """Yield the statement with the limit that tells the suggesting texts apart best; none if a side lacks values."""
    usable = suggesting & ~np.isnan(values)
    own, other = values[usable & of_model], values[usable & ~of_model]
    if own.size and other.size:
        limits = np.unique(np.quantile(values[usable], LIMITS, method="lower"))
        gaps = [abs(float((own > limit).mean() - (other > limit).mean())) for limit in limits]
        limit = float(limits[int(np.argmax(gaps))])
        beyond, otherwise = amount.conditions(limit)
        yield Statement(amount.kind, amount.more, amount.less, beyond, values > limit, otherwise, is_amount=True)
