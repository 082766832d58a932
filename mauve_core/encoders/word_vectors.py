"""A file of word vectors as an encoder, with features, keys, lengths and notes like any other.

A feature is the average of a text's word vectors (JMLR 2023, section 7.5.3; see :mod:`mauve_core.encoders.glove`).
Words, including punctuation, are the tokens. Needs neither torch nor transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.features import Features, kept_features
from mauve_core.encoders.glove import WordTable, words_of
from mauve_core.encoders.tokenizing import CHUNK, WORD_STAGE, Tokenized

# Part of every key; raise it when splitting or averaging of words changes.
FORMAT = 1

# Averages always use the CPU.
DEVICE = "cpu"

# Allowed settings of language models; anything else would have no effect.
_MEANT = {"pooling": ("auto", "mean"), "layer": (-1,), "dtype": ("float32",), "revision": (None,)}


def key_settings(identity: ModelIdentity, config: EncoderConfig) -> list[str | int | bool]:
    """Return everything besides the texts that decides the numbers.

    Raises
    ------
    InputError
        A setting does not apply to word vectors.
    """
    for name, allowed in _MEANT.items():
        value = getattr(config, name)
        if value not in allowed:
            raise InputError(
                f"The setting {name} does not apply to word vectors ({config.model}), which are averaged as they are",
                allowed=" or ".join("none" if item is None else str(item) for item in allowed),
                received=str(value),
                todo="Leave it out, or choose a language model as the encoder",
            )
    return [identity.kind, FORMAT, identity.digest, "words", True, config.max_tokens]  # split into words, in lower case


class WordEncoder:
    """Averages for any number of lists of texts; the file is read again only for new words."""

    def __init__(self, identity: ModelIdentity) -> None:
        self.identity = identity
        self._table = WordTable(Path(identity.location))

    def encode(
        self,
        texts: Sequence[str],
        config: EncoderConfig,
        key: str,
        store: FeatureStore | None = None,
        progress: Progress = silent,
    ) -> Features:
        """Return features of ``texts``, stored under ``key`` if there is a store.

        Raises
        ------
        InputError
            The file cannot be read to its end, it has changed meanwhile, or no word of some text has a vector.
        StorageError
            The store's disk is full or refuses.
        """
        rows: list[NDArray[np.int32]] = []
        limit, cut = config.max_tokens, np.zeros(len(texts), dtype=np.bool_)
        for index, text in enumerate(texts):
            if index % CHUNK == 0:
                progress(WORD_STAGE, index, len(texts))
            found = words_of(text)
            cut[index] = len(found) > limit
            rows.append(self._table.numbered(found[:limit]))
        progress(WORD_STAGE, len(texts), len(texts))
        self._table.read(progress)
        averages = self._table.averages(rows)
        if identify(config.model).digest != self.identity.digest:
            raise InputError(
                f"{self.identity.location} changed while it was being read", todo="Run the same command again"
            )
        tokens = Tokenized(
            ids=tuple(rows),
            lengths=averages.words.astype(np.int32),
            cut=cut,
            limit=limit,
            notes=("Tokens are words and punctuation marks here; their order is ignored", *averages.notes),
        )
        return kept_features(averages.array, tokens, config, key, DEVICE, store)
