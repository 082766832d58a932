"""How much a text has of something: length, sentences, articles, rare words and the like.

A statement needs a limit, which the texts suggest that are not tested: the one that tells the two sides apart best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.findings.marks import sentences
from mauve_core.analysis.findings.statements import Statement
from mauve_core.analysis.properties import TOKEN, WORD, stop_words, text_properties
from mauve_core.base.formatting import as_percent

LIMITS = np.arange(1, 10) / 10
"""Quantiles of the amounts that may be limits."""

LONG = 8
"""Letters of a long word."""

_Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Amount:
    """An amount of single texts; ``unit`` follows its limit, which is a percentage if it is a share."""

    kind: str
    more: str
    less: str
    unit: str
    is_share: bool = True

    def conditions(self, limit: float) -> tuple[str, str]:
        """What texts beyond the limit do, and what the others do."""
        shown = as_percent(limit, 1) if self.is_share else f"{limit:,.4g}"
        return f"have more than {shown} {self.unit}", f"have at most {shown} {self.unit}"


AMOUNTS = {
    "words": Amount("length", "writes longer texts", "writes shorter texts", "words", is_share=False),
    "sentence": Amount(
        "sentence length", "writes longer sentences", "writes shorter sentences", "words in a sentence", is_share=False
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
    "contractions": Amount("contractions", "contracts more words", "contracts fewer words", "contracted words"),
}


def amounts_of(texts: Sequence[str]) -> dict[str, _Amounts]:
    """Every amount of every text, (n,) by key of :data:`AMOUNTS`; nan where a text has nothing to measure."""
    known = text_properties(texts)
    plain = [WORD.findall(text) for text in texts]
    low = [[word.lower() for word in each] for each in plain]
    texts_with = Counter(word for each in low for word in set(each))
    stop = stop_words()
    return {
        "words": known["length"],
        "sentence": _means([[len(each.split()) for each in sentences(text)] for text in texts]),
        "stop_words": known["stop_words"],
        "punctuation": known["punctuation"],
        "distinct": known["distinct"],
        "articles": _means([[word in ("a", "an", "the") for word in each] for each in low]),
        "digits": _means([[word[0].isdigit() for word in each] for each in low]),
        "names": _means([[word[0].isupper() for word in each[1:]] for each in plain]),
        "long": _means([[len(word) >= LONG for word in each] for each in low]),
        "rare": _means([[texts_with[word] == 1 and word not in stop for word in each] for each in low]),
        "space": _means([[character.isspace() for character in text] for text in texts]),
        "commas": _means([[token == "," for token in TOKEN.findall(text)] for text in texts]),
        "contractions": _means([[bool(re.search(r"['’]\w", word)) for word in each] for each in low]),
    }


def _means(values: Sequence[Sequence[float]]) -> _Amounts:
    return np.array([np.mean(each) if each else np.nan for each in values], dtype=np.float64)


def limited(texts: Sequence[str], of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]) -> Iterator[Statement]:
    """Yield a statement for each amount, with the limit that tells the sides of the suggesting texts apart best."""
    for key, values in amounts_of(texts).items():
        usable = suggesting & ~np.isnan(values)
        own, other = values[usable & of_model], values[usable & ~of_model]
        if not own.size or not other.size:
            continue
        limits = np.unique(np.quantile(values[usable], LIMITS, method="lower"))
        gaps = [abs(float((own > limit).mean() - (other > limit).mean())) for limit in limits]
        limit = float(limits[int(np.argmax(gaps))])
        amount = AMOUNTS[key]
        beyond, otherwise = amount.conditions(limit)
        yield Statement(amount.kind, amount.more, amount.less, beyond, values > limit, otherwise)
