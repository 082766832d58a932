"""Encode images: one feature per image from a vision model, computed once and stored by content.

Keys cover the model's weights, the recipe of preparing and pooling, the digest of each image's file, and a perturbation
if there is one. Images are decoded anew from where they were read; one that changed since then is refused. Batches are
planned over all images, so that resumed work yields the same bits.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus.corpus import Corpus
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.features import Features, from_store, kept_features
from mauve_core.encoders.precision import checked_precision
from mauve_core.encoders.rows import Rows
from mauve_core.encoders.tokenizing import Tokenized
from mauve_core.encoders.vision import VisionModel, is_vision_model, open_vision_model, vision_recipe
from mauve_core.images.files import place_at
from mauve_core.images.originals import alteration_of, digests_of, original

FORMAT = 1
"""Part of every key; raise it when the same settings give other numbers."""

STAGE = "Encoding images"
"""Progress stage; counts images."""

BATCH_NUMBERS = {"cpu": 16 * 3 * 224 * 224, "cuda": 256 * 3 * 224 * 224}
"""Numbers of prepared images in a batch, by kind of device."""

READERS = 4
"""Threads that decode and prepare images while the model runs."""

AHEAD = 3
"""Batches prepared ahead of the one that runs."""

_MEANT = {"layer": -1, "with_prompt": False, "max_tokens": EncoderConfig.max_tokens}
"""Settings of text encoders; any other value would have no effect on images."""


class ImageEncoder:
    """One configuration for the images of any number of corpora; loads the model on first use.

    Parameters
    ----------
    config : EncoderConfig
    device : str
        As for :func:`mauve_core.encoders.encoder.encode`; of several devices, the first is used.

    Raises
    ------
    InputError
        A setting does not apply to images, the model takes none, or the machine lacks the device.
    ModelUnavailableError
        The model is unknown or cannot be reached.
    """

    def __init__(self, config: EncoderConfig, device: str = "auto") -> None:
        for name, allowed in _MEANT.items():
            if getattr(config, name) != allowed:
                raise InputError(
                    f"The setting {name} does not apply to images",
                    allowed=str(allowed),
                    received=str(getattr(config, name)),
                    todo="Leave it out",
                )
        self.config, self._device = config, device
        self._identity = identify(config.model, config.revision)
        if not is_vision_model(self._identity):
            raise ModelUnavailableError(
                f"The model {config.model} does not encode images",
                allowed="efficientnet-lite0, pixels, or a vision model's Hugging Face id or folder, such as "
                "facebook/dinov2-small or openai/clip-vit-base-patch32",
                todo="Name another encoder",
            )
        self._recipe = vision_recipe(self._identity, config.pooling)
        self._model: VisionModel | None = None

    def key(self, corpus: Corpus) -> str:
        """Return the store's key of the features: SHA-256, hexadecimal."""
        digests = digests_of(corpus)
        dtype = checked_precision(self.config.dtype)
        settings = [FORMAT, corpus.kind, self._identity.digest, self._recipe, dtype, len(digests)]
        total = hashlib.sha256(json.dumps(settings).encode())
        for digest in digests:
            total.update(bytes.fromhex(digest))
        alteration = alteration_of(corpus)
        if alteration is not None:
            total.update(alteration.key.encode())
        return total.hexdigest()

    def encode(self, corpus: Corpus, *, store: FeatureStore | None = None, progress: Progress = silent) -> Features:
        """Return the (n, d) features of a corpus of images, from the store if available.

        Raises
        ------
        InputError
            An image has gone or changed since it was read, or a feature is not finite.
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
        model = self._open()
        n = len(corpus)
        # Every image is one token to what counts tokens.
        one_each = Tokenized((), np.ones(n, np.int32), np.zeros(n, np.bool_), 1, model.notes)
        rows = Rows(one_each, key, store)
        try:
            self._run(model, corpus, rows, progress)
        except BaseException:
            with suppress(StorageError):  # the first error is the one to report
                rows.keep()
            raise
        progress(STAGE, n, n)
        array, device = rows.finished()
        return kept_features(array, one_each, self.config, key, device, store)

    def _open(self) -> VisionModel:
        if self._model is None:
            device = resolve_device(self._device.split(",")[0].strip())
            self._model = open_vision_model(self.config, self._identity, device)
        return self._model

    def _run(self, model: VisionModel, corpus: Corpus, rows: Rows, progress: Progress) -> None:
        place, digests, alteration = place_at(Path(corpus.origin)), digests_of(corpus), alteration_of(corpus)

        def prepare(index: int) -> NDArray[np.float32]:
            image = original(place, corpus.ids[index], digests[index])
            if alteration is not None:
                image = alteration(image, digests[index])
            prepared: NDArray[np.float32] = model.prepare(image)
            return prepared

        progress(STAGE, rows.tokens_done, len(corpus))
        with _prepared(_batches(len(corpus), model, rows.missing()), prepare) as batches:
            for indices, images in batches:
                rows.add(indices, model.run(np.stack(images)), model.device)
                progress(STAGE, rows.tokens_done, len(corpus))


def _batches(n: int, model: VisionModel, missing: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the batches of all images that have a missing one; they do not depend on what is missing."""
    size = max(1, BATCH_NUMBERS[model.device.split(":")[0] if "cuda" in model.device else "cpu"] // model.image_numbers)
    return [batch for batch in np.split(np.arange(n), range(size, n, size)) if np.isin(batch, missing).any()]


Prepared: TypeAlias = tuple[NDArray[np.int64], list[NDArray[np.float32]]]
"""Positions of the images of a batch, and the prepared images."""


@contextmanager
def _prepared(
    batches: Sequence[NDArray[np.int64]], prepare: Callable[[int], NDArray[np.float32]]
) -> Iterator[Iterator[Prepared]]:
    """Yield an iterator of batches whose images several threads prepare, a few batches ahead."""
    with ThreadPoolExecutor(READERS) as pool:

        def submitted(batch: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Future[NDArray[np.float32]]]]:
            return batch, [pool.submit(prepare, int(index)) for index in batch]

        def walk() -> Iterator[Prepared]:
            waiting = iter(batches)
            begun = deque(submitted(batch) for batch in islice(waiting, AHEAD))
            while begun:
                batch, images = begun.popleft()
                found = [image.result() for image in images]
                begun.extend(submitted(each) for each in islice(waiting, 1))
                yield batch, found

        try:
            yield walk()
        finally:
            pool.shutdown(cancel_futures=True)
