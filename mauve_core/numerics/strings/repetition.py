"""Loops: whether a token sequence ends in copies of one phrase (Holtzman et al. 2020; JMLR 2023, section 6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ends_in_copies(ids: NDArray[np.int64]) -> bool:
    """Whether the sequence ends in a phrase that occurs twice in a row."""
    half = len(ids) // 2
    if not half:
        return False
    lengths = half - np.flatnonzero(ids[-1 - half : -1] == ids[-1])  # the copy before must end in the same token
    return any(np.array_equal(ids[-length:], ids[-2 * length : -length]) for length in lengths)
