"""Properties: a number that each item has, and the words for having more or less of it; those of texts, and phrases.

Properties of texts are cheap and need no model: length, stop words, punctuation, repetition, truncation. A token is a
word, with its inner apostrophes, or one character that is neither part of a word nor white space. Shares of stop words
and punctuation are shares of tokens, as in figure 13 of Pimentel, Meister and Cotterell, ICLR 2023. A phrase is a run
of one to three words, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import text_list
from mauve_core.base.formatting import as_percent, written
from mauve_core.estimators.token_sequences import ends_in_copies, ngrams

# Decimals of two means that are written together.
MOST_DECIMALS = 2


@dataclass(frozen=True)
class Property:
    """Description of a property.

    Attributes
    ----------
    name, title, unit : str
    description : str
    more, less : str
        What is said of a writer whose texts have clearly more of it than others, and clearly less.
    texts_more, texts_less : str
        The same of the texts.
    counted : str
        What a mean is of, around ``{}``: ``{} words``, ``distinct-4 {} per text``.
    binary : bool
        Whether a text either has it or not.
    cluster_more, cluster_less : str
        What is said of a cluster whose items have more of it than all others, and less; as of a writer if empty.
    has : str
        What items with an amount of it do, around ``{}``: ``are {} pixels wide``; empty for texts.
    """

    name: str
    title: str
    unit: str
    description: str
    more: str
    less: str
    texts_more: str
    texts_less: str
    counted: str
    binary: bool = False
    cluster_more: str = ""
    cluster_less: str = ""
    has: str = ""

    def of_cluster(self, *, more: bool) -> str:
        """What a cluster does that has more, or less, of the property than all others: ``repeats itself``."""
        return (self.cluster_more or self.more) if more else (self.cluster_less or self.less)

    def cluster_name(self, *, more: bool) -> str:
        """The name of such a cluster: what it does, or what it is."""
        return self.of_cluster(more=more).removeprefix("is ")

    def means(self, first: float, second: float) -> str:
        """Write two means: ``distinct-4 46% per text against 95%``, with the decimals of :func:`apart`.

        Shares are percentages, lengths have their unit.
        """
        shown = apart(first, second, written if self.unit else as_percent)
        return f"{self.counted.format(shown[0])} against {shown[1]}"


def comparative(
    items: str,
    name: str,
    title: str,
    unit: str,
    description: str,
    more: str,
    less: str,
    counted: str = "",
    has: str = "",
) -> Property:
    """Return a property of items that nobody writes, whose comparatives are ``more`` and ``less``.

    Parameters
    ----------
    items : str
        "images".
    more, less : str
        "wider", "richer in contrast".
    counted : str
        As in :class:`Property`; the name before the mean if empty.
    has : str
        As in :class:`Property`; to have what is counted if empty.
    """
    makes_more, makes_less = (
        f"makes {items} {each}" if " " in each else f"makes {each} {items}" for each in (more, less)
    )
    return Property(
        name,
        title,
        unit,
        description,
        more=makes_more,
        less=makes_less,
        texts_more=f"are {more}",
        texts_less=f"are {less}",
        counted=counted or f"{name} {{}}",
        cluster_more=f"is {more}",
        cluster_less=f"is {less}",
        has=has or (f"have {counted}" if counted else f"have a {name} of {{}}"),
    )


def apart(first: float, second: float, write: Callable[[float, int], str]) -> tuple[str, str]:
    """Write two numbers without decimals, or with as many as show that they differ, at most two."""
    for decimals in range(MOST_DECIMALS + 1):
        shown = write(first, decimals), write(second, decimals)
        if shown[0] != shown[1]:
            break
    return shown


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


# Words of one letter belong to phrases, and what follows an apostrophe to its word. English contractions that stand
# apart from theirs, as in tokenized texts (*the city 's*), are no words.
PHRASE_PATTERN = rf"(?u)\b(?!(?<=['’])(?:s|t|m|d|ll|re|ve)\b){WORD.pattern}"

LONGEST_PHRASE = 3


def phrases_in(text: str) -> set[str]:
    """The phrases of a text, their words separated by single spaces."""
    return set(_analyzer()(text))


@cache
def _analyzer() -> Callable[[str], list[str]]:
    """scikit-learn's, so that phrases are those of :func:`mauve_core.findings.distinctive_words.count_words`."""
    from sklearn.feature_extraction.text import CountVectorizer

    analyze: Callable[[str], list[str]] = CountVectorizer(
        token_pattern=PHRASE_PATTERN, ngram_range=(1, LONGEST_PHRASE)
    ).build_analyzer()
    return analyze
