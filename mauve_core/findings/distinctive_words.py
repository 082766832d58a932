"""Words and phrases that one group of texts uses more often than another.

Words: class-based TF-IDF (Grootendorst 2022, "BERTopic", equation 2), W[t, c] = tf[t, c] * log(1 + A / tf[t]), with
tf[t, c] the share of word t among the words of group c, tf[t] its count over all groups and A the mean number of words
of a group; shares make weights comparable between groups of unequal size, and groups without a word are left out of A.
For two sides of one cluster, words are ranked by the difference of the sides' weights. Items of other kinds have tags
in place of words; a tag that most items of a comparison have distinguishes none and is left out.

Phrases of one to three words: log odds with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008), with
intervals. The unit is documents, so that a text that repeats a phrase counts once, or tokens.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.stats.two_groups import log_odds
from mauve_core.texts.kinds import Kind
from mauve_core.texts.properties import LONGEST_PHRASE, PHRASE_PATTERN

# Runs of two or more word characters of any script, in lower case, without English contractions: *it's*, *they'll* and
# *don't* give *it* and *they*, of which no piece behind the apostrophe is a word.
TOKEN_PATTERN = r"(?u)\b(?!(?<=\w['’])(?:s|t|m|d|ll|re|ve)\b)\w\w+\b(?!['’]t\b)"

# Columns and values.
_Row = tuple[NDArray[Any], NDArray[Any]]

Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True)
class DistinctiveWord:
    """One word of a group.

    Attributes
    ----------
    word : str
    weight : float
        Class-based TF-IDF in the group, or its difference to the other side's; never negative.
    count : int
        Occurrences in the group.
    texts : int
        Number of texts of the group with the word; reveals a word that one text repeats a hundred times.
    """

    word: str
    weight: float
    count: int
    texts: int


@dataclass(frozen=True)
class WordCounts:
    """Word counts of a list of texts, made once and grouped as often as needed.

    Attributes
    ----------
    vocabulary : (words,) array of str
        In alphabetical order.
    matrix : (texts, words) scipy.sparse.csr_matrix of int32
        Occurrences of each word in each text.
    """

    vocabulary: NDArray[Any]
    matrix: Any

    def by_group(
        self, labels: ArrayLike, groups: int, *, top: int = 10, min_texts: int = 1
    ) -> list[tuple[DistinctiveWord, ...]]:
        """Return the most distinctive words of each group against all others.

        Parameters
        ----------
        labels : (texts,) array of int
            Group of each text, 0 to ``groups`` - 1; a negative label leaves the text out.
        groups : int
        top : int
            Most words per group.
        min_texts : int
            Fewest texts of the group that a word must be in; weights do not change.

        Returns
        -------
        list of tuple
            One tuple per group, heaviest word first, ties in alphabetical order; empty for a group without words.

        Raises
        ------
        InputError
            The labels are not one whole number below ``groups`` per text.
        """
        weights, counts, texts = self._grouped(labels, groups)
        weights = weights.multiply(texts >= min_texts).tocsr() if min_texts > 1 else weights
        return [
            self._top(_row(weights, group), _row(counts, group), _row(texts, group), top) for group in range(groups)
        ]

    def contrast(
        self, first: ArrayLike, second: ArrayLike, *, top: int = 10
    ) -> tuple[tuple[DistinctiveWord, ...], tuple[DistinctiveWord, ...]]:
        """Return the words that distinguish two sets of texts, by side.

        Parameters
        ----------
        first, second : arrays of int
            Indices of each side's texts; no text may be on both sides.
        top : int
            Most words per side; only words with a positive difference of class-based TF-IDF are given.

        Raises
        ------
        InputError
            A text is on both sides, or an index is out of range.
        """
        labels = np.full(self.matrix.shape[0], -1)
        sides = [np.asarray(side, dtype=np.intp) for side in (first, second)]
        if any(side.size and (side.min() < 0 or side.max() >= labels.size) for side in sides):
            raise InputError("A text index is out of range", allowed=f"0 to {labels.size - 1}")
        if np.intersect1d(sides[0], sides[1]).size:
            raise InputError("A text is on both sides of the contrast", todo="Give two sets without a text in common")
        for group, side in enumerate(sides):
            labels[side] = group
        weights, counts, texts = self._grouped(labels, 2)
        difference = weights[0] - weights[1]
        return (
            self._top(_row(difference, 0), _row(counts, 0), _row(texts, 0), top),
            self._top(_row(-difference, 0), _row(counts, 1), _row(texts, 1), top),
        )

    def _grouped(self, labels: ArrayLike, groups: int) -> tuple[Any, Any, Any]:
        """Return (groups, words) sparse tables: weights, occurrences, and texts with the word."""
        indicator = self._indicator(labels, groups)
        counts = (indicator @ self.matrix).tocsr()
        return class_based_tfidf(counts), counts, (indicator @ self.matrix.sign()).tocsr()

    def _indicator(self, labels: ArrayLike, groups: int) -> Any:
        """Return a (groups, texts) sparse matrix with a one where a text belongs to a group."""
        from scipy.sparse import csr_matrix

        values = np.asarray(labels)
        texts = self.matrix.shape[0]
        if values.shape != (texts,) or not np.issubdtype(values.dtype, np.integer):
            raise InputError(
                "The groups do not match the texts",
                allowed=f"one whole number for each of the {texts} texts",
                received=f"{values.dtype} array of shape {values.shape}",
            )
        if values.size and values.max() >= groups:
            raise InputError("A group number is too large", allowed=f"below {groups}", received=str(values.max()))
        labelled = np.flatnonzero(values >= 0)
        ones = np.ones(labelled.size, dtype=np.int64)
        return csr_matrix((ones, (values[labelled], labelled)), shape=(groups, texts))

    def _top(self, weights: _Row, counts: _Row, texts: _Row, top: int) -> tuple[DistinctiveWord, ...]:
        """Return the heaviest words of a group; words are in alphabetical order, so a stable sort breaks ties."""
        words, values = weights
        order = np.argsort(-values, kind="stable")[:top]
        order = order[values[order] > 0]
        chosen = words[order]
        columns = (self.vocabulary[chosen], values[order], _values_at(counts, chosen), _values_at(texts, chosen))
        return tuple(
            DistinctiveWord(str(word), float(weight), int(count), int(found))
            for word, weight, count, found in zip(*columns, strict=True)
        )


def _row(table: Any, row: int) -> _Row:
    """Return the columns, in order, and values of one row of a sparse table."""
    table.sort_indices()
    part = slice(table.indptr[row], table.indptr[row + 1])
    return table.indices[part], table.data[part]


def _values_at(row: _Row, columns: NDArray[Any]) -> NDArray[Any]:
    """Return the row's values in those columns, all of which it holds."""
    found, values = row
    return np.asarray(values[np.searchsorted(found, columns)])


def count_words(
    texts: Sequence[str],
    *,
    stop_words: str | Sequence[str] | None = "english",
    longest: int = 1,
    pattern: str = TOKEN_PATTERN,
    min_texts: int = 1,
) -> WordCounts:
    """Count the words of each text, or phrases of several words (scikit-learn's CountVectorizer).

    Parameters
    ----------
    texts : sequence of str
    stop_words : "english", list of str or None
        Words left out: scikit-learn's English list, a custom list (in lower case), or none.
    longest : int
        Count phrases of 1 to this many words, joined by a space, after stop words are left out.
    pattern : str
        Regular expression of a word.
    min_texts : int
        Words of fewer texts are left out; those of one text are most of all phrases.

    Returns
    -------
    WordCounts
        With an empty vocabulary if no text has a countable word, or no word is in so many texts.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    texts = text_list(texts, "The texts")
    stop = list(stop_words) if stop_words is not None and not isinstance(stop_words, str) else stop_words
    vectorizer = CountVectorizer(
        token_pattern=pattern, stop_words=stop, ngram_range=(1, longest), min_df=min_texts, dtype=np.int32
    )
    nothing = WordCounts(np.array([], dtype=object), csr_matrix((len(texts), 0), dtype=np.int32))
    analyze = vectorizer.build_analyzer()
    if len(texts) < min_texts or not any(analyze(text) for text in texts):
        return nothing
    try:
        matrix = csr_matrix(vectorizer.fit_transform(texts))
    except ValueError as error:
        if "no terms remain" not in str(error):  # no word is in so many texts
            raise
        return nothing
    return WordCounts(vectorizer.get_feature_names_out(), matrix)


def joined(first: WordCounts, second: WordCounts) -> WordCounts:
    """Join the counts of both lists of texts, the first list's first, over the words of either."""
    from scipy.sparse import csr_matrix, vstack

    vocabulary = np.array(sorted({*first.vocabulary.tolist(), *second.vocabulary.tolist()}), dtype=object)
    column_of = {word: column for column, word in enumerate(vocabulary.tolist())}
    parts = []
    for counts in (first, second):
        columns = np.array([column_of[word] for word in counts.vocabulary.tolist()], dtype=np.int32)
        texts, matrix = counts.matrix.shape[0], counts.matrix
        parts.append(csr_matrix((matrix.data, columns[matrix.indices], matrix.indptr), shape=(texts, vocabulary.size)))
    return WordCounts(vocabulary, vstack(parts, format="csr"))


def class_based_tfidf(counts: Any) -> Any:
    """Compute class-based TF-IDF of a table of counts (Grootendorst 2022, equation 2; tf is a share, see the module).

    Parameters
    ----------
    counts : (groups, words) array or sparse matrix, not negative
        Occurrences of each word in each group.

    Returns
    -------
    (groups, words) scipy.sparse.csr_matrix of float64
        Weights, at least 0; a group without words has weight 0 everywhere.
    """
    from scipy.sparse import csr_matrix, diags

    table = csr_matrix(counts, dtype=np.float64)
    lengths = np.asarray(table.sum(axis=1)).ravel()
    totals = np.asarray(table.sum(axis=0)).ravel()
    used = lengths > 0
    if not used.any():
        return table
    average = lengths[used].mean()
    rarity = np.log1p(np.divide(average, totals, out=np.zeros_like(totals), where=totals > 0))
    share = diags(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=used))
    return csr_matrix(share @ table @ diags(rarity))


# A tag: what stands between two commas, numbers and several words too.
TAG = r"[^\s,][^,]*"

# Share of all items above which a tag is left out.
COMMON = 0.5


def item_words(kind: Kind, described: Sequence[str], everything: Sequence[str]) -> WordCounts:
    """Count the words of items.

    Parameters
    ----------
    described : sequence of str
        What stands for each item, as ``kind.described`` gives it.
    everything : sequence of str
        The same of all items that are compared, these included.
    """
    if kind.has_words:
        return count_words(described)
    of_all = count_words(everything, stop_words=None, pattern=TAG)
    shares = np.asarray(of_all.matrix.sign().sum(axis=0)).ravel() / max(1, len(everything))
    common = set(of_all.vocabulary[shares > COMMON].tolist())
    own = count_words(described, stop_words=None, pattern=TAG)
    kept = np.array([tag not in common for tag in own.vocabulary.tolist()], dtype=np.bool_)
    return WordCounts(own.vocabulary[kept], own.matrix[:, np.flatnonzero(kept)])


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
