"""Texts as sequences of token ids: n-grams, loops, what some share word for word with others, and overlaps of BLEU.

Equal n-grams have equal ids. A sequence that ends in copies of one phrase loops (Holtzman et al. 2020; JMLR 2023,
section 6.3). A shared window of tokens has a 64-bit hash, a polynomial of its hashed tokens modulo 2^64, from two sums
over all tokens, so that any length costs the same; two different ones of w have equal hashes with a chance of about w^2
/ 2^65, a few in a million for ten million. BLEU clips the count of an n-gram at its largest in any reference (Papineni
et al. 2002); with all other texts as references that is the largest of all or, if the text itself holds it, the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks


@dataclass(frozen=True, eq=False)
class Sequences:
    """Many sequences in one row.

    Attributes
    ----------
    tokens : (t,) int64 array
        All sequences, concatenated.
    lengths : (n,) int64 array
        Length of each; their sum is t.
    """

    tokens: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """(n,) start of each sequence in ``tokens``."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def owner(self) -> NDArray[np.int64]:
        """(t,) sequence of each token."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    @property
    def position(self) -> NDArray[np.int64]:
        """(t,) position of each token in its sequence, from 0."""
        return np.arange(self.tokens.size) - np.repeat(self.starts, self.lengths)

    def beginnings(self, most: int) -> Sequences:
        """The first ``most`` tokens of each sequence, or fewer."""
        return Sequences(self.tokens[self.position < most], np.minimum(self.lengths, most))


def sequences(texts: Sequence[ArrayLike], name: str = "texts") -> Sequences:
    """Concatenate sequences of whole numbers; errors call them ``name``.

    Raises
    ------
    InputError
        There is no sequence, or one is not a row of non-negative whole numbers.
    """
    rows = [np.asarray(text) for text in texts]
    if not rows:
        raise InputError(f"There are no {name}", allowed="at least one sequence of token ids")
    usable = np.array([row.ndim == 1 and (row.dtype.kind in "iu" or not row.size) for row in rows])
    if not usable.all():
        wrong, allowed = f"Not all {name} are sequences of token ids", "rows of whole numbers"
        raise InputError(wrong, allowed=allowed, received=f"something else in {_checks.name_rows(~usable)}")
    tokens = np.concatenate(rows).astype(np.int64)
    if tokens.size and tokens.min() < 0:
        raise InputError(f"The {name} hold negative token ids", allowed="0 and above", received=str(tokens.min()))
    return Sequences(tokens, np.array([row.size for row in rows], dtype=np.int64))


@dataclass(frozen=True, eq=False)
class NGrams:
    """Every n-gram that lies within one sequence.

    Attributes
    ----------
    ids : (w,) int64 array
        0 to the number of distinct n-grams - 1.
    owner : (w,) int64 array
        Sequence of each n-gram.
    """

    ids: NDArray[np.int64]
    owner: NDArray[np.int64]

    @property
    def distinct(self) -> int:
        """Number of distinct n-grams."""
        return int(self.ids.max()) + 1 if self.ids.size else 0


def ngrams(tokens: ArrayLike, lengths: ArrayLike, highest: int) -> list[NGrams]:
    """n-grams of every order from 1 to ``highest``.

    Parameters
    ----------
    tokens : (t,) array of int
        All sequences, concatenated.
    lengths : (n,) array of int
        Length of each; their sum is t. A sequence shorter than the order has no n-gram of it.

    Returns
    -------
    list of NGrams
        One per order, from 1.

    Raises
    ------
    InputError
        The lengths do not sum to the number of tokens, or ``highest`` is below 1.
    """
    highest = _checks.whole("The highest order", highest, low=1)
    flat, sizes = np.asarray(tokens), np.asarray(lengths)
    if flat.ndim != 1 or sizes.ndim != 1 or int(sizes.sum()) != flat.size or (sizes < 0).any():
        raise InputError(
            "Tokens and lengths do not match",
            allowed="one length per sequence, summing to the number of tokens",
            received=f"{flat.size} tokens, lengths that sum to {int(sizes.sum())}",
        )
    owner = np.repeat(np.arange(sizes.size), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(flat.size)  # tokens from here to the end of the sequence
    words = np.unique(flat, return_inverse=True)[1].astype(np.int64)
    many = int(words.max()) + 1 if words.size else 0
    start, ids = np.arange(flat.size), words
    levels = [NGrams(ids, owner)]
    for order in range(2, highest + 1):
        fits = left[start] >= order
        start, ids = start[fits], ids[fits]
        ids = np.unique(ids * many + words[start + order - 1], return_inverse=True)[1].astype(np.int64)
        levels.append(NGrams(ids, owner[start]))
    return levels


def ends_in_copies(ids: NDArray[np.int64]) -> bool:
    """Whether the sequence ends in a phrase that occurs twice in a row."""
    half = len(ids) // 2
    if not half:
        return False
    lengths = half - np.flatnonzero(ids[-1 - half : -1] == ids[-1])  # the copy before must end in the same token
    return any(np.array_equal(ids[-length:], ids[-2 * length : -length]) for length in lengths)


_BASE = 0x9E3779B97F4A7C13  # ends in the bits 011, so that its powers less 1 have few factors of 2
_Codes = NDArray[np.uint64]


@dataclass(frozen=True)
class Run:
    """A run of tokens that two sequences share: its length, and the index of either sequence."""

    length: int
    own: int
    other: int


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of n tokens that lie within a sequence.

    Attributes
    ----------
    n, sequences : int
        Tokens of a window; sequences, also those without windows.
    codes : (w,) uint64 array
        Hashes.
    owner, start : (w,) int64 arrays
        Sequence and first token of each, in order.
    sums, powers : uint64 arrays
        For hashes of other lengths.
    """

    n: int
    sequences: int
    codes: _Codes
    owner: NDArray[np.int64]
    start: NDArray[np.int64]
    sums: _Codes
    powers: _Codes

    def only(self, kept: NDArray[np.bool_]) -> Windows:
        """Some of the windows."""
        return replace(self, codes=self.codes[kept], owner=self.owner[kept], start=self.start[kept])

    def without(self, others: Windows) -> Windows:
        """Those that the same sequence of ``others`` does not have."""
        return self.only(~_among(self.own_codes, np.sort(others.own_codes)))

    @property
    def own_codes(self) -> _Codes:
        """(w,) hashes that also differ between sequences."""
        return self.codes + _mixed(~self.owner)

    @cached_property
    def ordered(self) -> _Codes:
        """(w,) sorted hashes."""
        return np.sort(self.codes)

    def reach(self) -> NDArray[np.int64]:
        """(w,) tokens from each start on that consecutive windows cover."""
        ends = np.flatnonzero(np.append(np.diff(self.start) > 1, True)[: self.start.size])
        return np.asarray(self.start[ends][np.searchsorted(ends, np.arange(self.start.size))] - self.start + self.n)

    def longer(self, length: int) -> tuple[NDArray[np.int64], _Codes]:
        """Sequences and hashes of the runs of that length that consecutive windows cover."""
        kept = self.reach() >= length
        start = self.start[kept]
        return self.owner[kept], (self.sums[start + length] - self.sums[start]) * self.powers[start]


def windows(rows: Sequences, n: int) -> Windows:
    """All windows of n >= 2 tokens."""
    start = np.flatnonzero(rows.position + n <= np.repeat(rows.lengths, rows.lengths))
    base, inverse = (np.full(rows.tokens.size, each, np.uint64) for each in (_BASE, pow(_BASE, -1, 2**64)))
    sums = np.append(np.uint64(0), np.cumsum(_mixed(rows.tokens) * np.cumprod(inverse)))
    powers = np.cumprod(base)
    codes = (sums[start + n] - sums[start]) * powers[start]
    return Windows(n, rows.lengths.size, codes, rows.owner[start], start, sums, powers)


def shared_ngrams(own: Windows, others: Windows | None) -> NDArray[np.float64]:
    """(n,) share of each sequence's distinct windows that some sequence of ``others`` has; nan without windows.

    None looks for the windows of each sequence in the other ones of ``own``; an equal one counts.
    """
    _, first = np.unique(own.own_codes, return_index=True)
    codes, owner = own.codes[first], own.owner[first]
    if others is None:
        _, same, times = np.unique(codes, return_inverse=True, return_counts=True)
        known = times[same] > 1
    else:
        known = _among(codes, others.ordered)
    counts, found = (np.bincount(owner, weights, own.sequences) for weights in (np.ones(owner.size), known))
    return np.asarray(np.divide(found, counts, out=np.full(counts.size, np.nan), where=counts > 0))


def longest_run(own: Windows, others: Windows) -> Run | None:
    """Longest run of windows that a sequence shares with one of ``others``, of several the first; None without any."""
    first, second = (one.only(_among(one.codes, other.ordered)) for one, other in ((own, others), (others, own)))
    if not first.start.size:
        return None
    least, most = own.n, min(int(side.reach().max()) for side in (first, second))
    while least < most:  # a run holds all shorter ones
        middle = (least + most + 1) // 2
        least, most = (least, middle - 1) if _common(first, second, middle) is None else (middle, most)
    return _common(first, second, least)


def _common(own: Windows, others: Windows, length: int) -> Run | None:
    (owner, codes), (other, known) = own.longer(length), others.longer(length)
    found = _among(codes, np.sort(known))
    if not found.any():
        return None
    place = int(found.argmax())
    return Run(length, int(owner[place]), int(other[(known == codes[place]).argmax()]))


def _among(codes: _Codes, ordered: _Codes) -> NDArray[np.bool_]:
    """Whether each is among sorted ones. ``numpy.isin`` makes a hash table, which takes longer."""
    places = np.searchsorted(ordered, codes)
    found = places < ordered.size
    found[found] = ordered[places[found]] == codes[found]
    return found


def _mixed(numbers: NDArray[np.int64]) -> _Codes:
    """Splitmix64 (Steele, Lea and Flood 2014)."""
    codes = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        codes = (codes ^ (codes >> np.uint64(shift))) * np.uint64(factor)
    return codes ^ (codes >> np.uint64(31))


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
class _SequenceCounts:
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


def _counts(found: NGrams, n: int) -> _SequenceCounts:
    pairs, count = np.unique(found.ids * n + found.owner, return_counts=True)
    gram, owner = pairs // n, pairs % n
    order = np.lexsort((-count, gram))
    return _SequenceCounts(gram[order], owner[order], count[order])


def _correct(order: _SequenceCounts, considered: NDArray[np.bool_], requested: NDArray[np.bool_]) -> NDArray[np.int64]:
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
