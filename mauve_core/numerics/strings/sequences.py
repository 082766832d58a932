"""Texts as sequences of token ids, checked and concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


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
