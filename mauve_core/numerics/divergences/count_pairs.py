"""Sum a function of a bin's two counts over the bins of many pairs of histograms.

The counts of resamples form few different pairs. The function is therefore computed once per pair, and a sparse
product sums it. The pairs do not depend on the function, so they serve any number of functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.base.errors import InputError

# Look codes up in a table instead of sorting if the table is at most this many times as long as the cells.
_DENSE = 4


@dataclass(frozen=True, eq=False)
class CountPairs:
    """The distinct pairs of counts of many pairs of histograms, and the bins that have them.

    Attributes
    ----------
    p, q : (u,) int64 arrays
        The pairs.
    n, m : (u,) int64 arrays
        Total counts of the histograms that have the pair: histograms of unequal totals share no pair.
    k : int
    shape : tuple of int
        Shape of the array of histograms, without its last axis.
    member : (rows, u) sparse matrix
        Number of bins of each row with each pair.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    n: NDArray[np.int64]
    m: NDArray[np.int64]
    k: int
    shape: tuple[int, ...]
    member: Any

    def probabilities(self, added: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(u,) probabilities of a bin with each pair, with ``added`` texts added to every bin."""
        p, q = self.p.astype(np.float64), self.q.astype(np.float64)
        return (p + added) / (self.n + added * self.k), (q + added) / (self.m + added * self.k)

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., columns) sums over the bins of each row; ``table`` is (u, columns), one row per pair."""
        return np.asarray(self.member @ table).reshape(*self.shape, table.shape[1])


def count_pairs(p_counts: NDArray[np.integer], q_counts: NDArray[np.integer]) -> CountPairs:
    """Find the distinct pairs of counts of histograms.

    Parameters
    ----------
    p_counts, q_counts : (..., k) int arrays
        Not negative.

    Raises
    ------
    InputError
        The arrays differ in shape.
    """
    if p_counts.shape != q_counts.shape or p_counts.size == 0:
        received = f"{p_counts.shape} and {q_counts.shape}"
        raise InputError("The histograms do not match", allowed="two arrays of the same shape", received=received)
    shape, k = p_counts.shape[:-1], p_counts.shape[-1]
    totals, of_row = np.unique(
        [counts.reshape(-1, k).sum(axis=1) for counts in (p_counts, q_counts)], axis=1, return_inverse=True
    )
    radix, span = int(q_counts.max()) + 1, (int(p_counts.max()) + 1) * (int(q_counts.max()) + 1)
    codes = p_counts.astype(np.int64).ravel()
    codes *= radix
    codes += q_counts.ravel()
    if totals.shape[1] > 1:
        codes += np.repeat(of_row.ravel() * span, k)
    pairs, index = _unique(codes)
    rows = codes.size // k
    ends = np.arange(0, codes.size + 1, k, dtype=np.int32 if codes.size < 2**31 else np.int64)
    member = csr_array((np.ones(codes.size), index, ends), shape=(rows, pairs.size))
    n, m = totals[:, pairs // span]
    return CountPairs(pairs % span // radix, pairs % radix, n, m, k, shape, member)


def _unique(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """np.unique with the inverse, without sorting if the codes are small."""
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
