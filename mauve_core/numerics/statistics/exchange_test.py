"""Exact test of whether a yes-or-no property of texts has to do with the side that they are on.

If it has not, who is on which side is an accident within a block, such as a prompt. The number of P's texts with the
property is then a sum of independent hypergeometric numbers, one per block, whose distribution is computed, not drawn.
For pairs it is the sign test (McNemar 1947), for one block Fisher's exact test, otherwise the exact form of Mantel and
Haenszel's (1959).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve
from scipy.stats import hypergeom

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

TIE = 1e-7
"""Outcomes whose probabilities differ by less, relatively, are equally likely: they are sums of many products."""

DIRECT = 4096
"""Products of distributions of more terms go by Fourier transforms, whose rounding hides probabilities below 1e-16."""


def exchange_test(has: ArrayLike, of_p: ArrayLike, blocks: ArrayLike) -> NDArray[np.float64]:
    """Two-sided p-values of properties.

    Parameters
    ----------
    has : (s, n) array of bool
        Whether each text has each property.
    of_p : (n,) array of bool
        Whether a text is on side P.
    blocks : (n,) array of int
        Texts of one block may be exchanged.

    Returns
    -------
    (s,) float64 array
        Probability of all outcomes that are at most as likely as the observed one, in (0, 1].

    Raises
    ------
    InputError
        The shapes do not fit together.
    """
    table, sides, codes = np.atleast_2d(np.asarray(has, dtype=np.bool_)), np.asarray(of_p, dtype=np.bool_), blocks
    _, codes = np.unique(np.asarray(blocks), return_inverse=True)
    if sides.ndim != 1 or table.shape[1:] != sides.shape or codes.shape != sides.shape:
        received = f"shapes {table.shape}, {sides.shape} and {np.shape(blocks)}"
        raise InputError("The texts do not match", allowed="one side and block per text", received=received)
    _checks.require_rows(sides.size, 1, "texts")
    count = int(codes.max()) + 1
    sizes, first = np.bincount(codes, minlength=count), np.bincount(codes[sides], minlength=count)
    found = np.empty(len(table))
    for index, row in enumerate(table):
        having = np.bincount(codes[row], minlength=count)
        low, chances = _distribution(Counter(zip(sizes.tolist(), first.tolist(), having.tolist(), strict=True)))
        own = chances[int((row & sides).sum()) - low]
        found[index] = chances[chances <= own * (1 + TIE)].sum()
    return np.clip(found, np.finfo(np.float64).tiny, 1.0)


def _distribution(kinds: Counter[tuple[int, int, int]]) -> tuple[int, NDArray[np.float64]]:
    """Least number of P's texts with the property, and the chances of this number and the following ones.

    ``kinds`` counts blocks by their texts, those of P, and those with the property.
    """
    low, chances = 0, np.ones(1)
    for (size, first, having), times in sorted(kinds.items()):
        least, most = max(0, having - (size - first)), min(having, first)
        low += times * least
        if least < most:
            one = hypergeom.pmf(np.arange(least, most + 1), size, having, first)
            chances = _convolved(chances, _power(one, times))
    return low, chances


def _power(chances: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """The distribution of a sum of so many independent numbers."""
    if times == 1:
        return chances
    half = _power(chances, times // 2)
    whole = _convolved(half, half)
    return _convolved(whole, chances) if times % 2 else whole


def _convolved(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    if min(one.size, other.size) <= DIRECT:
        return np.convolve(one, other)
    product: NDArray[np.float64] = np.maximum(fftconvolve(one, other), 0.0)
    return product
