"""Compact letter display of all pairwise comparisons: two items share a letter if and only if they are not told apart.

Piepho, *An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons*, Journal of Computational and
Graphical Statistics 2004, defines the display. Its insert-and-absorb algorithm may need exponentially many letters on
the way, so letters are grown one by one instead (clique growing: Gramm, Guo, Hüffner, Niedermeier, Piepho and Schmid,
*Algorithms for compact letter displays: Comparison and evaluation*, Computational Statistics & Data Analysis 2007).
A last pass removes letters that the others make superfluous, as Piepho's sweeping does. Letters are few, but not always
the fewest, which are as hard to find as the smallest clique cover.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError

_Bools = NDArray[np.bool_]


def shared_letters(apart: ArrayLike) -> _Bools:
    """Give items letters such that two share one if and only if they are not told apart.

    Parameters
    ----------
    apart : (m, m) array of bool
        Symmetric; whether two items are told apart. The diagonal is ignored.

    Returns
    -------
    (m, letters) array of bool
        Which item has which letter. Every item has one. A letter comes before another if its first item does; if both
        have the same, the next items decide. No letter can be left out, and no item could be given a letter that it
        lacks.

    Raises
    ------
    InputError
        The array is not a symmetric square of truth values.
    """
    told = np.asarray(apart)
    count = len(told) if told.ndim else 0
    if told.ndim != 2 or told.dtype != np.bool_ or told.shape[1] != count or (told != told.T).any():
        raise InputError(
            "The comparisons are not usable",
            allowed="a symmetric square array of truth values",
            received=f"an array of {told.dtype} of shape {told.shape}",
        )
    together = ~told
    np.fill_diagonal(together, True)
    letters = _swept(_grown(together), count)
    letters.sort(key=lambda letter: np.flatnonzero(letter).tolist())
    return np.array(letters, dtype=np.bool_).reshape(len(letters), count).T


def _grown(together: _Bools) -> list[_Bools]:
    """Letters that cover all pairs: each starts from a pair without one and takes in whom it can.

    Whoever has the most pairs without a letter with those in it comes first; of equals, the first item.
    """
    missing = together.copy()
    letters: list[_Bools] = []
    alone = together.sum(axis=1) == 1
    for one, other in np.argwhere(np.triu(together, 1) | np.diag(alone)):
        if not missing[one, other]:
            continue
        letter = np.zeros(len(together), dtype=np.bool_)
        letter[[one, other]] = True
        open_to = together[one] & together[other] & ~letter
        while open_to.any():
            added = int(np.where(open_to, missing[letter].sum(axis=0), -1).argmax())
            letter[added] = True
            open_to &= together[added] & ~letter
        missing &= ~np.outer(letter, letter)
        letters.append(letter)
    return letters


def _swept(letters: list[_Bools], count: int) -> list[_Bools]:
    """Without each letter whose every pair of items shares another one; the last ones are tried first."""
    shared = sum((np.outer(letter, letter).astype(np.intp) for letter in letters), np.zeros((count, count), np.intp))
    kept = []
    for letter in reversed(letters):
        pairs = np.outer(letter, letter)
        if (shared[pairs] > 1).all():
            shared -= pairs
        else:
            kept.append(letter)
    return kept
