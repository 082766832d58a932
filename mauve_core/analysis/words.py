"""Words that distinguish one group of texts from the others: class-based TF-IDF over scikit-learn's word counts.

All texts of a group form one long document. A word weighs more if the group uses it often and the other groups rarely
(Grootendorst 2022, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure", equation 2):

    W[t, c] = tf[t, c] * log(1 + A / tf[t])

with tf[t, c] the share of word t among the words of group c, tf[t] its count over all groups, and A the mean number of
words of a group. Shares make weights comparable between groups of unequal size; counts would order a group's words
equally. Groups without a single word are left out of A.

For two sides of one cluster, :meth:`WordCounts.contrast` ranks words by the difference of the two sides' weights,
since a word that both use equally distinguishes neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError

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
