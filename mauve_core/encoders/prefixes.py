"""Features of the same texts cut at several lengths (NeurIPS 2021, figure 4; JMLR 2023, figure 8).

In a causal model, a token's hidden state depends only on the tokens up to it. One forward pass over the longest prefix
therefore holds the hidden states of every shorter one, and their pooled vectors are those of an encoder with a smaller
``max_tokens``. This fails if a shorter text is not a prefix in tokens (a special token at the end), if the model's
positions depend on the length of the sequence, or in a masked model. Then each length is encoded by itself, as with
word vectors and models behind servers. Either way, every length is stored under the key of a plain encoder with that
``max_tokens``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import has_no_tokenizer
from mauve_core.encoders.encoder import STAGE, Encoder
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.features import Features, from_store, kept_features
from mauve_core.encoders.keys import checked_texts, feature_key
from mauve_core.encoders.models import LoadedModel
from mauve_core.encoders.pooling import TokenPooling, pool_jointly
from mauve_core.encoders.rows import Rows
from mauve_core.encoders.tokenizing import Tokenized
from mauve_core.encoders.weights import has_length_dependent_positions

if TYPE_CHECKING:
    from torch import Tensor


class PrefixEncoder(Encoder):
    """An :class:`Encoder` that can also pool every batch at several lengths."""

    def encode_prefixes(
        self,
        texts: Sequence[str],
        lengths: Sequence[int],
        *,
        store: FeatureStore | None = None,
        progress: Progress = silent,
    ) -> dict[int, Features]:
        """Return features of ``texts`` cut at each of ``lengths``; the configured ``max_tokens`` is ignored.

        Parameters
        ----------
        texts : sequence of n >= 1 str
        lengths : sequence of int
            Tokens, special ones included, as ``max_tokens`` counts them.
        store, progress : see :func:`mauve_core.encoders.encode`
            Stored lengths are not recomputed; if ``progress`` raises, the finished rows of every length stay in the
            store.

        Returns
        -------
        dict of int to Features
            For each length, what ``encode`` gives for that ``max_tokens``, up to rounding in the forward pass.

        Raises
        ------
        InputError, ModelUnavailableError, StorageError
            As ``encode``; also if there are no lengths, or one leaves no room for text.
        """
        texts, wanted = checked_texts(texts), sorted(set(lengths))
        if not wanted:
            raise InputError("No length to cut texts at was given", allowed="at least one")
        keys = {length: feature_key(texts, replace(self.config, max_tokens=length)) for length in wanted}
        features: dict[int, Features] = {}
        for length, key in keys.items():
            stored = None if store is None else store.get(key)
            if stored is not None:
                features[length] = from_store(key, stored)
        keys = {length: key for length, key in keys.items() if length not in features}
        if keys and has_no_tokenizer(self.config.model):
            for length in reversed(keys):  # the longest first: it contains all words
                features[length] = self.with_max_tokens(length).encode(texts, store=store, progress=progress)
        elif keys:
            tokens = {length: self._tokenize(texts, length, progress) for length in keys}
            if _one_pass_will_do(self._model(), list(tokens.values())):
                features |= self._in_one_pass(tokens, keys, store, progress)
            else:
                for length in keys:
                    features[length] = self.with_max_tokens(length).encode(texts, store=store, progress=progress)
        return {length: features[length] for length in wanted}

    def token_lengths(
        self, texts: Sequence[str], *, store: FeatureStore | None = None, progress: Progress = silent
    ) -> NDArray[np.int32]:
        """Return (n,) tokens of each text cut at the configured ``max_tokens``; from the store if available."""
        texts = checked_texts(texts)
        stored = None if store is None else store.get(feature_key(texts, self.config))
        if stored is not None:
            return stored.lengths
        if has_no_tokenizer(self.config.model):
            return self.encode(texts, store=store, progress=progress).lengths
        return self._tokenize(texts, self.config.max_tokens, progress).lengths

    def _in_one_pass(
        self,
        tokens: Mapping[int, Tokenized],
        keys: Mapping[int, str],
        store: FeatureStore | None,
        progress: Progress,
    ) -> dict[int, Features]:
        """Encode every length of every text in one pass over its longest prefix, saving parts along the way."""
        longest = tokens[max(tokens)]
        rows = {length: Rows(tokens[length], key, store) for length, key in keys.items()}
        missing = np.unique(np.concatenate([part.missing() for part in rows.values()]))
        total = int(longest.lengths.sum())
        done = total - int(longest.lengths[missing].sum())
        self._prefixes = tuple(keys)

        def add(indices: NDArray[np.int64], array: NDArray[np.float32], device: str) -> None:
            nonlocal done
            for part, own in zip(rows.values(), np.split(array, len(keys), axis=1), strict=True):
                part.add(indices, np.ascontiguousarray(own), device)
            done += int(longest.lengths[indices].sum())

        try:
            self._run(longest, missing, lambda: progress(STAGE, done, total), add)
        except BaseException:
            for part in rows.values():
                with suppress(StorageError):  # the first error is the one to report
                    part.keep()
            raise
        finally:
            self._prefixes = ()
        progress(STAGE, total, total)
        return {length: self._finished(tokens[length], length, keys[length], rows[length], store) for length in keys}

    def _finished(self, tokens: Tokenized, length: int, key: str, rows: Rows, store: FeatureStore | None) -> Features:
        array, device = rows.finished()
        return kept_features(array, tokens, replace(self.config, max_tokens=length), key, device, store)

    def _pool(self, hidden: Tensor, mask: Tensor, poolings: Sequence[TokenPooling]) -> Tensor:
        """Return the vectors of all prefixes side by side, (rows, lengths * d), while encoding prefixes."""
        import torch

        if not self._prefixes:
            return super()._pool(hidden, mask, poolings)
        positions = torch.arange(mask.shape[1], device=mask.device)
        masks = [mask * (positions < length) for length in self._prefixes]
        return torch.cat([pool_jointly(hidden, part, poolings) for part in masks], dim=1)


def _one_pass_will_do(loaded: LoadedModel, tokens: Sequence[Tokenized]) -> bool:
    """Return whether the hidden states of the longest prefixes contain those of the shorter ones.

    ``tokens`` holds the same texts at growing lengths.
    """
    config = loaded.model.config.get_text_config()
    if loaded.kind != "causal" or has_length_dependent_positions(config):
        return False
    return all(
        np.array_equal(row, longest[: len(row)])
        for shorter in tokens[:-1]
        for row, longest in zip(shorter.ids, tokens[-1].ids, strict=True)
    )
