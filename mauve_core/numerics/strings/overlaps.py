"""n-gram statistics of BLEU for each sequence, with all other sequences as references.

BLEU clips the count of an n-gram at its largest count in any reference (Papineni et al. 2002). With all other texts as
references, this is the largest count of all or, if the text itself holds that, the second largest. Two numbers per
n-gram serve every text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics.strings.ngrams import NGrams, ngrams


@dataclass(frozen=True, eq=False)
class Overlaps:
    """BLEU statistics of some sequences.

    Attributes
    ----------
    correct : (m, highest) int64 array
        n-grams of each order that another sequence also has, clipped.
    total : (m, highest) int64 array
        All n-grams of each order.
    length, closest : (m,) int64 arrays
        Length of the sequence, and closest length of another one; of two equally close, the shorter.
    """

    correct: NDArray[np.int64]
    total: NDArray[np.int64]
    length: NDArray[np.int64]
    closest: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Counts:
    """Count of each n-gram of one order in each sequence, sorted by n-gram, the largest count first."""

    gram: NDArray[np.int64]
    owner: NDArray[np.int64]
    count: NDArray[np.int64]


class Overlap:
    """Sequences to compare with each other, all of them or a subset.

    Parameters
    ----------
    tokens : (t,) array of int
        All sequences, concatenated.
    lengths : (n,) array of int
        Length of each; their sum is t.
    highest : int
        Longest n-grams.
    """

    def __init__(self, tokens: ArrayLike, lengths: ArrayLike, highest: int = 4) -> None:
        self._lengths = np.asarray(lengths).astype(np.int64)
        self._orders = [_counts(found, len(self._lengths)) for found in ngrams(tokens, self._lengths, highest)]

    def statistics(self, rows: NDArray[np.int64], among: NDArray[np.int64] | None = None) -> Overlaps:
        """Statistics of the sequences at ``rows`` against all others.

        Parameters
        ----------
        rows : (m,) int array
            Without repetition.
        among : (k,) int array or None
            The sequences to consider, including ``rows``; None takes all.

        Raises
        ------
        InputError
            There is no other sequence, or ``rows`` lie outside ``among``.
        """
        considered = np.zeros(len(self._lengths), dtype=np.bool_)
        considered[slice(None) if among is None else among] = True
        if considered.sum() < 2 or not considered[rows].all():
            raise InputError("There is nothing to compare", allowed="rows among two or more sequences")
        requested = np.zeros_like(considered)
        requested[rows] = True
        correct = np.stack([_correct(order, considered, requested)[rows] for order in self._orders], axis=1)
        length = self._lengths[rows]
        orders = np.arange(1, len(self._orders) + 1)
        total = np.maximum(length[:, None] - orders + 1, 0)
        return Overlaps(correct, total, length, _closest(length, self._lengths[considered]))


def _counts(found: NGrams, n: int) -> _Counts:
    pairs, count = np.unique(found.ids * n + found.owner, return_counts=True)
    gram, owner = pairs // n, pairs % n
    order = np.lexsort((-count, gram))
    return _Counts(gram[order], owner[order], count[order])


def _correct(order: _Counts, considered: NDArray[np.bool_], requested: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) clipped matches of the ``requested`` sequences among the ``considered`` ones; 0 elsewhere."""
    chosen = considered[order.owner]
    gram, owner, count = order.gram[chosen], order.owner[chosen], order.count[chosen]
    opens = np.ones(gram.size, dtype=np.bool_)
    opens[1:] = gram[1:] != gram[:-1]
    first = np.flatnonzero(opens)
    alone = np.append(first[1:], gram.size) - first == 1
    second = np.where(alone, 0, count[np.minimum(first + 1, gram.size - 1)]) if gram.size else np.zeros(0, np.int64)
    index = np.cumsum(opens) - 1
    wanted = np.flatnonzero(requested[owner])
    gram_index = index[wanted]
    others = np.where(owner[wanted] == owner[first[gram_index]], second[gram_index], count[first[gram_index]])
    clipped = np.minimum(count[wanted], others)
    return np.bincount(owner[wanted], weights=clipped, minlength=len(considered)).astype(np.int64)


def _closest(length: NDArray[np.int64], all_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value of ``all_lengths`` closest to each of ``length``, leaving out that sequence itself once."""
    values, many = np.unique(all_lengths, return_counts=True)
    index = np.searchsorted(values, length)
    far = np.iinfo(np.int64).max // 4
    padded = np.concatenate([[-far], values, [far]])
    below, above = padded[index], padded[index + 2]
    nearest = np.where(length - below <= above - length, below, above)
    return np.where(many[index] > 1, length, nearest)
