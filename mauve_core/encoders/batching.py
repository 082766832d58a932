"""Plan batches: group texts of similar length, with no more padded tokens than memory allows.

A padded batch costs its number of rows times its longest row. Sorting by length keeps the padding small. Bounding
padded tokens, not rows, keeps the memory per batch constant. Packed texts (laid end to end) need no padding, but are
sorted by length too, because attention is faster over equal lengths. Nothing here depends on a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError

# (t,) token ids of one text.
TokenIds = NDArray[np.int32]


def plan_batches(lengths: NDArray[np.int32], batch_tokens: int) -> list[NDArray[np.int64]]:
    """Split texts into batches, the longest texts first, so that a lack of memory shows at once.

    Parameters
    ----------
    lengths : (n,) int array
        Tokens of each text, at least 1.
    batch_tokens : int
        Upper bound of rows times longest row. A text longer than that is a batch of its own.

    Returns
    -------
    list of (rows,) int64 arrays
        Indices of the texts, each from 0 to n - 1 exactly once. Texts of equal length keep their order.

    Raises
    ------
    InputError
        ``batch_tokens`` or a length is below 1.
    """
    lengths = np.asarray(lengths)
    if batch_tokens < 1:
        raise InputError(
            "batch_tokens cannot be used", allowed="a whole number of at least 1", received=repr(batch_tokens)
        )
    if lengths.size and lengths.min() < 1:
        raise InputError("A text without tokens cannot be put in a batch", received=f"text {int(lengths.argmin())}")
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    batches, start = [], 0
    while start < len(order):
        rows = max(1, batch_tokens // int(lengths[order[start]]))
        batches.append(order[start : start + rows].astype(np.int64))
        start += rows
    return batches


def plan_packed(lengths: NDArray[np.int32], batch_tokens: int) -> list[NDArray[np.int64]]:
    """Like :func:`plan_batches`, errors included, for packed texts: ``batch_tokens`` bounds their tokens."""
    order = np.concatenate([np.empty(0, dtype=np.int64), *plan_batches(lengths, batch_tokens)])
    batches, start, tokens = [], 0, 0
    for index, length in enumerate(np.asarray(lengths, dtype=np.int64)[order]):
        if index > start and tokens + length > batch_tokens:
            batches.append(order[start:index])
            start, tokens = index, 0
        tokens += length
    return [*batches, order[start:]] if len(order) else []


def padded_tokens(lengths: NDArray[np.int32], batches: Sequence[NDArray[np.int64]]) -> int:
    """Return the tokens that the model processes over all ``batches``, padding included."""
    return sum(len(batch) * int(lengths[batch].max()) for batch in batches)


def pad(token_ids: Sequence[TokenIds], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stack texts of unequal length, padded on the right.

    Parameters
    ----------
    token_ids : sequence of (t,) int arrays
    padding : int
        Padding token id; it is masked, so its value does not affect the features.

    Returns
    -------
    ids : (rows, longest) int64 array
    mask : (rows, longest) int64 array
        1 at real tokens, 0 at padding.
    """
    longest = max(len(row) for row in token_ids)
    ids = np.full((len(token_ids), longest), padding, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(token_ids):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
