"""What sequences share word for word with others: the share of their n-grams, and the longest run.

A window of tokens is told by a 64-bit hash, a polynomial of its hashed tokens modulo 2^64, from two sums over all
tokens: windows of any length cost the same. Of w windows, two different ones have equal hashes with a chance of about
w^2 / 2^65, a few in a million for ten million windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.strings.sequences import Sequences

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
