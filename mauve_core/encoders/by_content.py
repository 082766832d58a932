"""Encode items that are not text: one feature per item, computed once and stored by the items' content.

Keys cover the model's weights, the recipe of preparing and pooling, the digest of each item, and the perturbation, if
any. Batches are planned over all items, so that resumed work yields the same bits.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import Words
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.devices import checked_precision, resolve_device
from mauve_core.encoders.features import Features, FeatureStore, Rows, from_store, kept_features
from mauve_core.encoders.tokenizing import Tokenized
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.kinds import kind_of

# Part of every key; raise it when the same settings give other numbers.
FORMAT = 1

# Threads that prepare items while the model runs.
READERS = 4

# Batches prepared ahead of the one that runs.
AHEAD = 3

# Settings of text encoders; any other value would have no effect on other items.
_MEANT = {"layer": -1, "with_prompt": False, "max_tokens": EncoderConfig.max_tokens}

# An item as the model takes it.
Prepared = TypeVar("Prepared")


@dataclass(frozen=True, eq=False)
class ItemModel(Generic[Prepared]):
    """A model of items that is ready to run.

    Attributes
    ----------
    reader : callable
        Corpus -> function that prepares the item at a position. Threads may call that function at once.
    run : callable
        b prepared items -> (b, d) float32 features on the host.
    device : str
    batch : int
        Items that run at once, at least 1.
    notes : tuple of str
        What a reader must know of the features.
    """

    reader: Callable[[Corpus], Callable[[int], Prepared]]
    run: Callable[[Sequence[Prepared]], NDArray[np.float32]]
    device: str
    batch: int
    notes: tuple[str, ...] = ()


class ContentEncoder(ABC, Generic[Prepared]):
    """One configuration for the items of any number of corpora; loads the model on first use.

    A subclass names its kind of item, and says what ``identify`` and ``open`` return.

    Parameters
    ----------
    config : EncoderConfig
    device : str
        As for :func:`mauve_core.encoders.encoder.encode`; of several devices, the first is used.

    Raises
    ------
    InputError
        A setting does not apply to such items, or the model does not take them.
    ModelUnavailableError
        The model is unknown or cannot be reached.
    """

    kind: ClassVar[str]
    # Further settings that have one value.
    fixed: ClassVar[Mapping[str, object]] = {}

    def __init__(self, config: EncoderConfig, device: str = "auto") -> None:
        for name, allowed in {**_MEANT, **self.fixed}.items():
            if getattr(config, name) != allowed:
                raise InputError(
                    f"The setting {name} does not apply to {kind_of(self.kind).words.items}",
                    allowed=str(allowed),
                    received=str(getattr(config, name)),
                    todo="Leave it out",
                )
        self.config, self._device = config, device
        self.stage = encoding_stage(kind_of(self.kind).words)
        self._identity, self._recipe = self.identify()
        self._model: ItemModel[Prepared] | None = None

    @abstractmethod
    def identify(self) -> tuple[ModelIdentity, str]:
        """Return the model, and in words how items are prepared and its output pooled; loads no weights."""

    @abstractmethod
    def open(self, identity: ModelIdentity, device: str) -> ItemModel[Prepared]:
        """Load the model on a torch device of this machine; ModelUnavailableError if its files are damaged."""

    def key(self, corpus: Corpus) -> str:
        """Return the store's key of the features: SHA-256, hexadecimal."""
        digests = self.digests(corpus)
        dtype = checked_precision(self.config.dtype)
        settings = [FORMAT, corpus.kind, self._identity.digest, self._recipe, dtype, len(digests)]
        total = hashlib.sha256(json.dumps(settings).encode())
        for digest in digests:
            total.update(bytes.fromhex(digest))
        if corpus.media is not None and corpus.media.alteration is not None:
            total.update(corpus.media.alteration.key.encode())
        return total.hexdigest()

    def encode(self, corpus: Corpus, *, store: FeatureStore | None = None, progress: Progress = silent) -> Features:
        """Return the (n, d) features of a corpus, from the store if available.

        Raises
        ------
        InputError
            The corpus has other items, one has gone or changed since it was read, or a feature is not finite.
        ModelUnavailableError
            The model's files are damaged or cannot be reached.
        StorageError
            The store's disk is full or refuses; finished rows stay.
        """
        key = self.key(corpus)
        stored = None if store is None else store.get(key)
        if store is not None and stored is not None:
            store.discard_parts(key)
            return from_store(key, stored)
        model = self._opened()
        n = len(corpus)
        # Every item is one token to what counts tokens.
        one_each = Tokenized((), np.ones(n, np.int32), np.zeros(n, np.bool_), 1, model.notes)
        rows = Rows(one_each, key, store)
        try:
            self._run(model, corpus, rows, progress)
        except BaseException:
            with suppress(StorageError):  # the first error is the one to report
                rows.keep()
            raise
        progress(self.stage, n, n)
        array, device = rows.finished()
        return kept_features(array, one_each, self.config, key, device, store)

    def digests(self, corpus: Corpus) -> tuple[str, ...]:
        """Return the digest of each item; InputError if the corpus has items of another kind."""
        if corpus.media is None or corpus.kind != self.kind:
            raise InputError(
                f"The corpus {corpus.name!r} has no {kind_of(self.kind).words.items} to encode", received=corpus.kind
            )
        return corpus.media.digests

    def _opened(self) -> ItemModel[Prepared]:
        if self._model is None:
            self._model = self.open(self._identity, resolve_device(self._device.split(",")[0].strip()))
        return self._model

    def _run(self, model: ItemModel[Prepared], corpus: Corpus, rows: Rows, progress: Progress) -> None:
        progress(self.stage, rows.tokens_done, len(corpus))
        planned = _batches(len(corpus), model.batch, rows.missing())
        with _prepared(planned, model.reader(corpus)) as batches:
            for indices, items in batches:
                rows.add(indices, model.run(items), model.device)
                progress(self.stage, rows.tokens_done, len(corpus))


def encoding_stage(words: Words) -> str:
    """Return the stage of progress while items of a kind are encoded."""
    return f"Encoding {words.items}"


def _batches(n: int, size: int, missing: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the batches of all items that have a missing one; they do not depend on what is missing."""
    return [batch for batch in np.split(np.arange(n), range(size, n, size)) if np.isin(batch, missing).any()]


@contextmanager
def _prepared(
    batches: Sequence[NDArray[np.int64]], prepare: Callable[[int], Prepared]
) -> Iterator[Iterator[tuple[NDArray[np.int64], list[Prepared]]]]:
    """Yield an iterator of batches, positions and items, that several threads prepare a few batches ahead."""
    with ThreadPoolExecutor(READERS) as pool:

        def submitted(batch: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Future[Prepared]]]:
            return batch, [pool.submit(prepare, int(index)) for index in batch]

        def walk() -> Iterator[tuple[NDArray[np.int64], list[Prepared]]]:
            waiting = iter(batches)
            begun = deque(submitted(batch) for batch in islice(waiting, AHEAD))
            while begun:
                batch, items = begun.popleft()
                found = [item.result() for item in items]
                begun.extend(submitted(each) for each in islice(waiting, 1))
                yield batch, found

        try:
            yield walk()
        finally:
            pool.shutdown(cancel_futures=True)
