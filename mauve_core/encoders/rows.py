"""Collect the rows of one entry from batches in any order, and save them in the store during the work."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.encoders.feature_store import FeatureStore, Part
from mauve_core.encoders.tokenizing import Tokenized

# Interval between saved parts, and thus the maximum loss when the process is killed.
PART_SECONDS = 1.0

# On a slow disk, parts are less frequent: saving takes at most about this share of the time.
PART_SHARE = 0.02


class Rows:
    """Incoming rows of one entry, saved in the store as parts."""

    def __init__(self, tokens: Tokenized, key: str, store: FeatureStore | None) -> None:
        self._lengths = tokens.lengths.astype(np.int64)
        self._key, self._store = key, store
        self._done = np.zeros(len(tokens.lengths), dtype=np.bool_)
        self._array: NDArray[np.float32] | None = None
        self._devices: set[str] = set()
        self._pending: list[Part] = []
        self._saved, self._wait = time.monotonic(), PART_SECONDS
        self.tokens_total = int(self._lengths.sum())
        for part in [] if store is None else store.parts(key, len(self._done)):
            self._insert(part)

    @property
    def tokens_done(self) -> int:
        return int(self._lengths[self._done].sum())

    @property
    def width(self) -> int | None:
        """Numbers of a row; None before the first."""
        return None if self._array is None else self._array.shape[1]

    def missing(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self._done)

    def add(self, indices: NDArray[np.int64], array: NDArray[np.float32], device: str) -> None:
        part = Part(indices=indices, array=array, device=device)
        self._insert(part)
        if self._store is not None:
            self._pending.append(part)
            if time.monotonic() - self._saved >= self._wait:
                self.keep()

    def keep(self) -> None:
        """Save what came in since the last time."""
        if self._store is None or not self._pending:
            return
        part = Part(
            indices=np.concatenate([part.indices for part in self._pending]),
            array=np.concatenate([part.array for part in self._pending]),
            device=self._pending[0].device,
        )
        begun = time.monotonic()
        self._store.save_part(self._key, part)
        self._pending = []
        self._saved = time.monotonic()
        self._wait = max(PART_SECONDS, (self._saved - begun) / PART_SHARE)

    def finished(self) -> tuple[NDArray[np.float32], str]:
        if self._array is None or not self._done.all():
            raise InputError("There are no texts to encode")
        return self._array, "+".join(sorted(self._devices))

    def _insert(self, part: Part) -> None:
        if self._array is None:
            self._array = np.empty((len(self._done), part.array.shape[1]), dtype=np.float32)
        self._array[part.indices] = part.array
        self._done[part.indices] = True
        self._devices.add(part.device)
