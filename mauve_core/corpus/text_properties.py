"""Cheap properties of single texts: length, stop words, punctuation, repetition, truncation. No model is needed.

A token is a word, with its inner apostrophes, or one character that is neither part of a word nor white space. Shares
of stop words and punctuation are shares of tokens, as in figure 13 of Pimentel, Meister and Cotterell, ICLR 2023.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.text_lists import text_list
from mauve_core.corpus.properties import Property
from mauve_core.numerics.strings.ngrams import ngrams
from mauve_core.numerics.strings.repetition import ends_in_copies

_WORD = r"\w+(?:['’]\w+)*"
WORD = re.compile(_WORD)
TOKEN = re.compile(_WORD + r"|[^\w\s]")

# Words of an n-gram of distinct-n.
NGRAM = 4

# Characters that end a finished sentence, before closing quotes and brackets.
ENDS = ".!?…。！？｡؟۔।"

CLOSERS = "\"'”’»›)]}*_」』）"


# By name, in display order.
PROPERTIES = {
    each.name: each
    for each in (
        Property(
            "length",
            "Length",
            "words",
            "Words separated by white space.",
            more="writes longer texts",
            less="writes shorter texts",
            texts_more="are longer",
            texts_less="are shorter",
            counted="{} words",
        ),
        Property(
            "stop_words",
            "Stop words",
            "",
            "Share of tokens that are English stop words.",
            more="uses more stop words",
            less="uses fewer stop words",
            texts_more="use more stop words",
            texts_less="use fewer stop words",
            counted="{} of tokens",
        ),
        Property(
            "punctuation",
            "Punctuation",
            "",
            "Share of tokens that are punctuation marks or symbols.",
            more="uses more punctuation",
            less="uses less punctuation",
            texts_more="use more punctuation",
            texts_less="use less punctuation",
            counted="{} of tokens",
        ),
        Property(
            "distinct",
            f"Distinct-{NGRAM}",
            "",
            f"Share of the text's word {NGRAM}-grams that are distinct.",
            more="repeats itself less",
            less="repeats itself",
            texts_more="repeat themselves less",
            texts_less="repeat themselves",
            counted=f"distinct-{NGRAM} {{}} per text",
        ),
        Property(
            "repetition",
            "Ends in a loop",
            "",
            "Ends in two copies of the same words.",
            more="ends in a loop",
            less="ends in a loop less often",
            texts_more="end in a loop",
            texts_less="end in a loop less often",
            counted="{} of texts",
            binary=True,
        ),
        Property(
            "truncated",
            "Truncated end",
            "",
            "Does not end like a finished sentence.",
            more="ends mid-sentence",
            less="ends with a full sentence",
            texts_more="end mid-sentence",
            texts_less="end with a full sentence",
            counted="{} of texts",
            binary=True,
        ),
    )
}


@cache
def stop_words() -> frozenset[str]:
    """Return scikit-learn's English stop words, in lower case."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def text_properties(texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Compute every property of every text.

    Returns
    -------
    dict of str to (n,) float64 array
        By name of :data:`PROPERTIES`; 0 or 1 if binary, nan if a text is too short to have it.
    """
    texts, stop = text_list(texts, "The texts"), stop_words()
    lowered = [text.lower() for text in texts]
    tokens = [TOKEN.findall(text) for text in lowered]
    many = np.array([len(each) for each in tokens], dtype=np.int64)
    of_words = np.array([len(WORD.findall(text)) for text in lowered], dtype=np.int64)
    of_stop = np.array([sum(map(stop.__contains__, each)) for each in tokens], dtype=np.int64)
    words = [text.split() for text in texts]
    known: dict[str, int] = {}
    ids = [np.array([known.setdefault(word, len(known)) for word in each], dtype=np.int64) for each in words]
    return {
        "length": np.array([len(each) for each in words], dtype=np.float64),
        "stop_words": _shares(of_stop, many),
        "punctuation": _shares(many - of_words, many),
        "distinct": _distinct(ids),
        "repetition": np.array([ends_in_copies(each) for each in ids], dtype=np.float64),
        "truncated": np.array([_is_truncated(text) for text in texts], dtype=np.float64),
    }


def _shares(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n,) counts / totals; nan where the total is 0."""
    return np.asarray(np.divide(counts, totals, out=np.full(totals.size, np.nan), where=totals > 0))


def _distinct(ids: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return the (n,) shares of distinct n-grams in each text; nan if it has none."""
    n = len(ids)
    flat = np.concatenate([*ids, np.zeros(0, dtype=np.int64)])
    found = ngrams(flat, np.array([each.size for each in ids], dtype=np.int64), NGRAM)[-1]
    kinds = max(found.distinct, 1)
    keys = np.sort(found.owner * kinds + found.ids)
    first = np.append(True, keys[1:] != keys[:-1])[: keys.size]
    return _shares(np.bincount(keys[first] // kinds, minlength=n), np.bincount(found.owner, minlength=n))


def _is_truncated(text: str) -> bool:
    end = text.rstrip().rstrip(CLOSERS).rstrip()
    return not end.endswith(tuple(ENDS))
