"""n-grams of many sequences at once, as integers: equal n-grams have equal ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


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
