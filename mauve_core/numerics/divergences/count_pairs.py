"""Sums over the bins of many pairs of histograms of a function of the bin's two counts.

Of the counts of resamples there are few different pairs, so the function is taken once a pair and summed by a sparse
product; and the pairs, which do not depend on the function, serve every one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.base.errors import InputError

_DENSE = 4
"""A table of all codes is looked up instead of sorting where it is at most so many times as long as the cells."""


@dataclass(frozen=True, eq=False)
class CountPairs:
    """The different pairs of counts of many pairs of histograms, and which bins have them.

    Attributes
    ----------
    p, q : (u,) int64 arrays
        The pairs.
    n, m : int
        Sums of a histogram of either side.
    k : int
    shape : tuple of int
        Of the array of histograms, without its last axis.
    member : (rows, u) sparse matrix
        How many bins of each row have each pair.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    n: int
    m: int
    k: int
    shape: tuple[int, ...]
    member: Any

    def probabilities(self, added: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(u,) probabilities of a bin with each pair, with so many texts added to every bin."""
        p, q = self.p.astype(np.float64), self.q.astype(np.float64)
        return (p + added) / (self.n + added * self.k), (q + added) / (self.m + added * self.k)

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., columns) sums over the bins of each row; ``table`` is (u, columns), a row a pair."""
        return np.asarray(self.member @ table).reshape(*self.shape, table.shape[1])


def count_pairs(p_counts: NDArray[np.integer], q_counts: NDArray[np.integer]) -> CountPairs:
    """The pairs of histograms of equal totals.

    Parameters
    ----------
    p_counts, q_counts : (..., k) int arrays
        Not negative; every row of ``p_counts`` has one sum, and so has every row of ``q_counts``.

    Raises
    ------
    InputError
        Arrays of different shape.
    """
    if p_counts.shape != q_counts.shape or p_counts.size == 0:
        received = f"{p_counts.shape} and {q_counts.shape}"
        raise InputError("The histograms do not fit each other", allowed="two arrays of one shape", received=received)
    shape, k = p_counts.shape[:-1], p_counts.shape[-1]
    radix = int(q_counts.max()) + 1
    codes = p_counts.astype(np.int64).ravel()
    codes *= radix
    codes += q_counts.ravel()
    pairs, index = _unique(codes)
    rows = codes.size // k
    ends = np.arange(0, codes.size + 1, k, dtype=np.int32 if codes.size < 2**31 else np.int64)
    member = csr_array((np.ones(codes.size), index, ends), shape=(rows, pairs.size))
    n, m = (int(counts.reshape(-1, k)[0].sum()) for counts in (p_counts, q_counts))
    return CountPairs(pairs // radix, pairs % radix, n, m, k, shape, member)


def _unique(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """As np.unique with the inverse, without sorting where the codes are small."""
    largest = int(codes.max())
    if largest >= _DENSE * codes.size:
        pairs, index = np.unique(codes, return_inverse=True)
        return pairs, index.astype(np.int32)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[codes] = True
    pairs = np.flatnonzero(present)
    number = np.empty(largest + 1, dtype=np.int32)
    number[pairs] = np.arange(pairs.size, dtype=np.int32)
    return pairs, number[codes]
