"""What sequences share word for word with others: the share of their n-grams, and the longest run.

A window of tokens is told by a 64-bit hash, a polynomial of its hashed tokens modulo 2^64, from two sums over all
tokens: windows of any length cost the same. Of w windows, two different ones have equal hashes with a chance of about
w^2 / 2^65, a few in a million for ten million windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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


def shared_ngrams(
    own: Sequences, others: Sequences | None, n: int, without: Sequences | None = None
) -> NDArray[np.float64]:
    """Share of each sequence's distinct n-grams that some sequence of ``others`` has, too.

    Parameters
    ----------
    own : Sequences
    others : Sequences or None
        None looks for the n-grams of each sequence in the other ones of ``own``; an equal one counts.
    n : int >= 2
    without : Sequences, optional
        One for each of ``own``, whose n-grams do not count in it.

    Returns
    -------
    (len(own.lengths),) float64 array
        nan for a sequence without n-grams.
    """
    places = _places(own, n, without)
    _, first = np.unique(_of_owner(places.codes, places.owner), return_index=True)
    codes, owner = places.codes[first], places.owner[first]
    if others is None:
        _, same, times = np.unique(codes, return_inverse=True, return_counts=True)
        known = times[same] > 1
    else:
        known = np.isin(codes, _places(others, n).codes)
    counts, found = (np.bincount(owner, weights, own.lengths.size) for weights in (np.ones(owner.size), known))
    return np.asarray(np.divide(found, counts, out=np.full(counts.size, np.nan), where=counts > 0))


def longest_run(own: Sequences, others: Sequences, n: int, without: Sequences | None = None) -> Run | None:
    """Longest run of at least n >= 2 tokens that a sequence shares with one of ``others``; None if there is none.

    Runs consist of n-grams that count; see :func:`shared_ngrams`. Of several, the first.
    """
    first, second = _places(own, n, without), _places(others, n)
    first, second = first.only(np.isin(first.codes, second.codes)), second.only(np.isin(second.codes, first.codes))
    if not first.start.size:
        return None
    least, most = n, min(int(side.reach(n).max()) for side in (first, second))
    while least < most:  # a run holds all shorter ones
        middle = (least + most + 1) // 2
        least, most = (least, middle - 1) if _common(first, second, n, middle) is None else (middle, most)
    found = _common(first, second, n, least)
    return None if found is None else Run(least, *found)


@dataclass(frozen=True, eq=False)
class _Places:
    """Windows: (w,) arrays of their hashes, sequences and first tokens, in order, and sums for other lengths."""

    codes: _Codes
    owner: NDArray[np.int64]
    start: NDArray[np.int64]
    sums: _Codes
    powers: _Codes

    def only(self, kept: NDArray[np.bool_]) -> _Places:
        return replace(self, codes=self.codes[kept], owner=self.owner[kept], start=self.start[kept])

    def of(self, start: NDArray[np.int64], length: int) -> _Codes:
        """Hashes of the windows of that length from each start on."""
        codes: _Codes = (self.sums[start + length] - self.sums[start]) * self.powers[start]
        return codes

    def reach(self, n: int) -> NDArray[np.int64]:
        """Tokens from each start on that consecutive windows of n tokens cover."""
        last = np.append(np.diff(self.start) > 1, True)
        ends = np.flatnonzero(last)
        return np.asarray(self.start[ends][np.searchsorted(ends, np.arange(last.size))] - self.start + n)


def _places(rows: Sequences, n: int, without: Sequences | None = None) -> _Places:
    """Every window of n tokens that lies within a sequence, but for those that the same one of ``without`` has."""
    start = np.flatnonzero(rows.position + n <= np.repeat(rows.lengths, rows.lengths))
    inverse, base = (np.full(rows.tokens.size, each, np.uint64) for each in (pow(_BASE, -1, 2**64), _BASE))
    sums = np.append(np.uint64(0), np.cumsum(_mixed(rows.tokens) * np.cumprod(inverse)))
    found = _Places(sums, rows.owner[start], start, sums, np.cumprod(base))
    found = replace(found, codes=found.of(start, n))
    if without is None:
        return found
    excluded = _places(without, n)
    return found.only(~np.isin(_of_owner(found.codes, found.owner), _of_owner(excluded.codes, excluded.owner)))


def _common(own: _Places, others: _Places, n: int, length: int) -> tuple[int, int] | None:
    """The first two sequences that share a run of that length, if any do."""
    long = [side.only(side.reach(n) >= length) for side in (own, others)]
    codes = [side.of(side.start, length) for side in long]
    found = np.isin(codes[0], codes[1])
    if not found.any():
        return None
    place = int(found.argmax())
    return int(long[0].owner[place]), int(long[1].owner[(codes[1] == codes[0][place]).argmax()])


def _of_owner(codes: _Codes, owner: NDArray[np.int64]) -> _Codes:
    """Hashes that also differ between sequences."""
    return codes + _mixed(~owner)


def _mixed(numbers: NDArray[np.int64]) -> _Codes:
    """Splitmix64 (Steele, Lea and Flood 2014)."""
    codes = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        codes = (codes ^ (codes >> np.uint64(shift))) * np.uint64(factor)
    return codes ^ (codes >> np.uint64(31))
