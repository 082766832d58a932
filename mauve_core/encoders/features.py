"""The result of an encoder, and how it gets into and out of the store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.summaries import summary
from mauve_core.encoders.feature_store import FeatureStore, StoredFeatures
from mauve_core.encoders.tokenizing import Tokenized


@dataclass(frozen=True, eq=False)
class Features:
    """Features of texts, in the order of the texts.

    Attributes
    ----------
    array : (n, d) float32 array
        Read-only and finite; memory-mapped if it is in the store.
    lengths : (n,) int32 array
        Tokens of each text after cutting, special tokens included.
    cut : (n,) bool array
        Whether the text was longer than the limit.
    key : str
        Key of these features in the store.
    device : str
        Device that computed them; several are joined by "+".
    limit : int
        Tokens at which texts were cut: the smaller of ``max_tokens`` and the model's maximum.
    notes : tuple of str
        What a reader must know, such as a model that takes fewer tokens than requested.
    pooling : str
        As in ``Tokenized``; empty if it is not known.
    """

    array: NDArray[np.float32]
    lengths: NDArray[np.int32]
    cut: NDArray[np.bool_]
    key: str
    device: str
    limit: int
    notes: tuple[str, ...] = ()
    pooling: str = ""

    def __repr__(self) -> str:
        n, d = self.array.shape
        cut = f"{int(self.cut.sum()):,} cut at {self.limit:,} tokens"
        return summary(f"<Features of {n:,} texts: {d:,} dimensions, {self.array.dtype}, {cut}, {self.device}>")


def kept_features(
    array: NDArray[np.float32],
    tokens: Tokenized,
    config: EncoderConfig,
    key: str,
    device: str,
    store: FeatureStore | None,
) -> Features:
    """Return finished features, stored if there is a store."""
    if store is None:
        return of_tokens(array, tokens, key, device)
    meta = {"config": config.as_dict(), "device": device, "limit": tokens.limit, "notes": list(tokens.notes)}
    meta["pooling"] = tokens.pooling
    return from_store(key, store.put(key, array, tokens.lengths, tokens.cut, meta))


def of_tokens(array: NDArray[np.float32], tokens: Tokenized, key: str, device: str) -> Features:
    """Return features that no store keeps, with read-only arrays."""
    for values in (array, tokens.lengths, tokens.cut):
        values.flags.writeable = False
    return Features(array, tokens.lengths, tokens.cut, key, device, tokens.limit, tokens.notes, tokens.pooling)


def from_store(key: str, stored: StoredFeatures) -> Features:
    """Return stored features."""
    meta = stored.meta
    return Features(
        array=stored.array,
        lengths=stored.lengths,
        cut=stored.cut,
        key=key,
        device=str(meta["device"]),
        limit=int(meta["limit"]),
        notes=tuple(meta["notes"]),
        pooling=str(meta.get("pooling", "")),
    )
