"""Features of the same texts cut at several lengths (NeurIPS 2021, figure 4; JMLR 2023, figure 8).

In a causal model a token's hidden state depends on the tokens up to it alone, so that one forward pass over the longest
prefix holds the hidden states of every shorter one, and their pooled vectors are what an encoder with a smaller
``max_tokens`` would compute. That fails where a shorter text is not a prefix in tokens (a special token at the end), or
where the model's positions depend on the length of the sequence, or in a masked model: then each length is encoded by
itself, as it is with word vectors. Either way every length is stored under the key that a plain encoder of that
``max_tokens`` looks up.
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
from mauve_core.encoders.catalogue import names_word_vectors
from mauve_core.encoders.encoder import STAGE, Encoder
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.features import Features, from_store, kept_features
from mauve_core.encoders.keys import checked_texts, feature_key
from mauve_core.encoders.models import LoadedModel
from mauve_core.encoders.pooling import TokenPooling, pool_jointly
from mauve_core.encoders.rows import Rows
from mauve_core.encoders.tokenizing import Tokenized, tokenize
from mauve_core.encoders.weights import LENGTH_DEPENDENT_POSITIONS

if TYPE_CHECKING:
    from torch import Tensor


class PrefixEncoder(Encoder):
    """An encoder that can also pool every batch at several lengths; the model is loaded when it is first needed.

    Parameters
    ----------
    config, device, batch_tokens : see :func:`mauve_core.encoders.encode`
    """

    def encode_prefixes(
        self,
        texts: Sequence[str],
        lengths: Sequence[int],
        *,
        store: FeatureStore | None = None,
        progress: Progress = silent,
    ) -> dict[int, Features]:
        """Features of ``texts`` cut at each of ``lengths``; ``max_tokens`` of the settings does not enter.

        Parameters
        ----------
        texts : sequence of n >= 1 str
        lengths : sequence of int
            Tokens, special ones included, as ``max_tokens`` counts them.
        store, progress : see :func:`mauve_core.encoders.encode`
            Lengths that are in the store are not computed again; if ``progress`` raises, the finished rows of every
            length stay there.

        Returns
        -------
        dict of int to Features
            For each length what ``encode`` gives for ``max_tokens`` of that length, to the rounding of the forward
            pass.

        Raises
        ------
        InputError, ModelUnavailableError, StorageError
            As ``encode``; also for no lengths, or one that leaves no room for text.
        """
        texts, wanted = checked_texts(texts), sorted(set(lengths))
        if not wanted:
            raise InputError("There is no length to cut texts at", allowed="at least one")
        keys = {length: feature_key(texts, replace(self.config, max_tokens=length)) for length in wanted}
        found: dict[int, Features] = {}
        for length, key in keys.items():
            stored = None if store is None else store.get(key)
            if stored is not None:
                found[length] = from_store(key, stored)
        keys = {length: key for length, key in keys.items() if length not in found}
        if keys and names_word_vectors(self.config.model):
            for length in reversed(keys):  # the longest first: it has the words of all
                found[length] = self.with_max_tokens(length).encode(texts, store=store, progress=progress)
        elif keys:
            tokens = {length: tokenize(texts, self._model(), length, progress) for length in keys}
            if _one_pass_will_do(self._model(), list(tokens.values())):
                found |= self._in_one_pass(tokens, keys, store, progress)
            else:
                for length in keys:
                    found[length] = self.with_max_tokens(length).encode(texts, store=store, progress=progress)
        return {length: found[length] for length in wanted}

    def token_lengths(
        self, texts: Sequence[str], *, store: FeatureStore | None = None, progress: Progress = silent
    ) -> NDArray[np.int32]:
        """(n,) tokens of each text cut at the configuration's own ``max_tokens``; from the store when it knows them."""
        texts = checked_texts(texts)
        stored = None if store is None else store.get(feature_key(texts, self.config))
        if stored is not None:
            return stored.lengths
        if names_word_vectors(self.config.model):
            return self.encode(texts, store=store, progress=progress).lengths
        return tokenize(texts, self._model(), self.config.max_tokens, progress).lengths

    def _in_one_pass(
        self,
        tokens: Mapping[int, Tokenized],
        keys: Mapping[int, str],
        store: FeatureStore | None,
        progress: Progress,
    ) -> dict[int, Features]:
        """Every length of every text from one pass over its longest prefix; parts of each are kept on the way."""
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
        return {length: self._kept(tokens[length], length, keys[length], rows[length], store) for length in keys}

    def _kept(self, tokens: Tokenized, length: int, key: str, rows: Rows, store: FeatureStore | None) -> Features:
        array, device = rows.finished()
        return kept_features(array, tokens, replace(self.config, max_tokens=length), key, device, store)

    def _pool(self, hidden: Tensor, mask: Tensor, poolings: Sequence[TokenPooling]) -> Tensor:
        """The vectors of all prefixes side by side, (rows, lengths * d), while prefixes are being encoded."""
        import torch

        if not self._prefixes:
            return super()._pool(hidden, mask, poolings)
        positions = torch.arange(mask.shape[1], device=mask.device)
        masks = [mask * (positions < length) for length in self._prefixes]
        return torch.cat([pool_jointly(hidden, part, poolings) for part in masks], dim=1)


def _one_pass_will_do(loaded: LoadedModel, tokens: Sequence[Tokenized]) -> bool:
    """Whether the hidden states of the longest prefixes hold those of the shorter ones.

    Parameters
    ----------
    loaded : LoadedModel
    tokens : sequence of Tokenized
        The same texts at growing lengths.
    """
    config = loaded.model.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if loaded.kind != "causal" or rope.get("rope_type") in LENGTH_DEPENDENT_POSITIONS:
        return False
    return all(
        np.array_equal(row, whole[: len(row)])
        for shorter in tokens[:-1]
        for row, whole in zip(shorter.ids, tokens[-1].ids, strict=True)
    )
