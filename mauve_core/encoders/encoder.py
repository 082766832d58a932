"""Encode texts: one feature per text from a pretrained model, computed once and stored by content.

The features are those of NeurIPS 2021 (section 4, appendix C.3) and JMLR 2023 (section 4.1): the hidden state that
stands for the whole text (see :mod:`mauve_core.encoders.pooling`), by default from the last layer. A feature does not
depend on the other texts of its batch, nor on their order, up to rounding in the forward pass. For a file of word
vectors, :mod:`mauve_core.encoders.word_vectors` computes averages, and neither torch nor transformers is loaded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.text_lists import entries_of
from mauve_core.encoders.batching import pad, plan_batches, plan_packed
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.devices import resolve_devices, to_device
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.features import Features, from_store, kept_features, of_tokens
from mauve_core.encoders.keys import FORMAT, checked_texts, key_of, recipe_of
from mauve_core.encoders.models import LoadedModel, replicas, with_pooling, with_weights
from mauve_core.encoders.opening import OpenModel, open_model
from mauve_core.encoders.packed import PackedModel
from mauve_core.encoders.pooling import TokenPooling, pool_jointly
from mauve_core.encoders.precision import checked_precision, choose_precision, products_of
from mauve_core.encoders.rows import Rows
from mauve_core.encoders.tokenizing import NoFeaturesError, Tokenized, from_token_ids, tokenize, tokenizing_beside
from mauve_core.encoders.weights import read_weights
from mauve_core.encoders.worker_pool import Worker, WorkerPool, threads_kept, worker_threads
from mauve_core.numerics.device.products import matrix_products

if TYPE_CHECKING:
    from torch import Tensor

    from mauve_core.encoders.word_vectors import WordEncoder

AddRows = Callable[[NDArray[np.int64], NDArray[np.float32], str], None]

# Stage name for progress. It counts tokens, whose pace is steadier than that of texts sorted by length.
STAGE = "Encoding tokens"

# Default tokens per batch, padding included. A CPU gains nothing from larger batches. A CUDA device needs many rows to
# be busy; a batch too large for its memory is halved.
BATCH_TOKENS = {"cpu": 1024, "cuda": 32768}

# For small inputs, batches shrink so that each worker gets several, down to the smallest size worth its cost.
SMALLEST_BATCH, BATCHES_A_WORKER = {"cpu": 256, "cuda": 4096}, 4

# Share of a batch too large for a device's memory above which later batches there are taken for too large, too.
NEARLY = 0.75

# Maximum workers on a CPU, each with the memory of a batch; with more cores, workers use several.
MOST_LANES = 16


def encode(
    texts: Sequence[str],
    config: EncoderConfig,
    *,
    store: FeatureStore | None = None,
    device: str = "auto",
    batch_tokens: int | None = None,
    progress: Progress = silent,
) -> Features:
    """Return the features of ``texts``, from the store if available; use :class:`Encoder` for several lists.

    Parameters
    ----------
    texts : sequence of n >= 1 str
        Model input (prompt and text already joined).
    config : EncoderConfig
    store : FeatureStore, optional
        Where to look up and keep features; without it nothing is written.
    device : str
        "auto" takes every CUDA device, else the CPU. Commas separate several names; all devices take batches from one
        queue. Word vectors always use the CPU.
    batch_tokens : int, optional
        Maximum tokens per batch, padding included; see ``BATCH_TOKENS``. Affects memory and speed, not the features.
    progress : callable
        Called as ``progress("Tokenizing texts", texts done, texts)`` and ``progress("Encoding tokens", tokens done,
        tokens)``, or for word vectors ``progress("Reading word vectors", bytes done, bytes)``. If it raises, the
        finished rows stay in the store.

    Raises
    ------
    InputError
        No texts, a text that is empty or not valid Unicode, a layer the model lacks, a precision the device lacks, or
        features that are not finite.
        For word vectors: an invalid file, a setting that does not apply to them, or a text without any known word.
    ModelUnavailableError
        The model is unknown or cannot be reached.
    StorageError
        The store's disk is full or refuses.
    """
    return Encoder(config, device=device, batch_tokens=batch_tokens).encode(texts, store=store, progress=progress)


class Encoder:
    """One configuration for any number of lists of texts; loads the model on first use.

    Parameters
    ----------
    config, device, batch_tokens : see :func:`encode`
    packed : bool
        Encode known models without padding (:mod:`mauve_core.encoders.packed`). False runs every model as transformers
        does, for comparison.
    """

    _prefixes: tuple[int, ...] = ()

    def __init__(
        self, config: EncoderConfig, *, device: str = "auto", batch_tokens: int | None = None, packed: bool = True
    ) -> None:
        if batch_tokens is not None and batch_tokens < 1:
            raise InputError(
                "batch_tokens cannot be used", allowed="a whole number of at least 1", received=repr(batch_tokens)
            )
        chosen = choose_precision(config, device)
        self.config = chosen.config
        self._notes = (chosen.note,) if chosen.note else ()
        self._device = device
        self._batch_tokens = batch_tokens
        self._allow_packed = packed
        self._loaded: list[LoadedModel] = []
        self._packed: dict[int, PackedModel] = {}
        self._layer: int | None = None
        self._too_large: dict[str, int] = {}  # tokens of a batch, by device
        self._words: WordEncoder | None = None

    def encode(
        self, texts: Sequence[str], *, store: FeatureStore | None = None, progress: Progress = silent
    ) -> Features:
        """Return the features of ``texts``; as :func:`encode`."""
        found = self._encode(checked_texts(texts), store, progress)
        return replace(found, notes=(*found.notes, *self._notes)) if self._notes else found

    def _encode(self, texts: list[str], store: FeatureStore | None, progress: Progress) -> Features:
        identity = identify(self.config.model, self.config.revision)
        key = key_of(texts, self.config, identity)
        stored = None if store is None else store.get(key)
        if store is not None and stored is not None:
            store.discard_parts(key)  # left by a worker killed after its last part
            if identity.kind == "server":
                from mauve_core.encoders.served import require_width

                require_width(identity, stored.array.shape[1], store)
            return from_store(key, stored)
        if identity.kind == "word-vectors":
            return self._word_encoder(identity).encode(texts, self.config, key, store, progress)
        if identity.kind == "server":
            from mauve_core.encoders.served import encode_served

            return encode_served(texts, self.config, key, store, progress)
        tokens = self._tokenize(texts, self.config.max_tokens, progress)
        array, device = self._compute(tokens, key, store, progress)
        return kept_features(array, tokens, self.config, key, device, store)

    def encode_tokens(self, token_ids: Sequence[Sequence[int]], *, progress: Progress = silent) -> Features:
        """Return features of n >= 1 texts, each a sequence, array or CPU tensor of token ids; never stored.

        The ids are those of the model's own tokenizer, used as they are.
        """
        token_ids = entries_of(token_ids, "The token ids")
        if not token_ids:
            raise InputError("There are no texts to encode")
        tokens = from_token_ids(token_ids, self._model(progress), self.config.max_tokens)
        total = hashlib.sha256(json.dumps([FORMAT, "tokens", self.config.as_dict()]).encode())
        for row in tokens.ids:
            total.update(hashlib.sha256(row.tobytes()).digest())
        array, device = self._compute(tokens, "", None, progress)
        return of_tokens(array, tokens, total.hexdigest(), device)

    def with_max_tokens(self, max_tokens: int) -> Encoder:
        """Return this encoder with another ``max_tokens``; both share one model in memory."""
        other = Encoder(
            replace(self.config, max_tokens=max_tokens),
            device=self._device,
            batch_tokens=self._batch_tokens,
            packed=self._allow_packed,
        )
        other._notes = self._notes
        identity = identify(self.config.model, self.config.revision)
        if identity.kind == "word-vectors":
            other._words = self._word_encoder(identity)
        elif identity.kind != "server":
            self._model()
            other._loaded, other._packed, other._layer = self._loaded, self._packed, self._layer
        return other

    def _word_encoder(self, identity: ModelIdentity) -> WordEncoder:
        """Return the current encoder, or a new one if the file has changed."""
        from mauve_core.encoders.word_vectors import WordEncoder

        if self._words is None or self._words.identity != identity:
            self._words = WordEncoder(identity)
        return self._words

    def _tokenize(self, texts: Sequence[str], max_tokens: int, progress: Progress) -> Tokenized:
        """Return the tokens of ``texts``; a model that is not loaded yet loads meanwhile."""
        if self._loaded:
            return tokenize(texts, self._loaded[0], max_tokens, progress)
        opened = self._open(progress)
        with tokenizing_beside(texts, opened, max_tokens) as finish:
            return finish(self._load(opened), progress)

    def _model(self, progress: Progress = silent) -> LoadedModel:
        """Return the model on the first device."""
        return self._loaded[0] if self._loaded else self._load(self._open(progress))

    def _open(self, progress: Progress) -> OpenModel:
        devices = resolve_devices(self._device)
        dtype = checked_precision(self.config.dtype, devices)
        opened = open_model(self.config.model, self.config.revision, dtype, devices[0], progress=progress)
        return with_pooling(opened, self.config.pooling, recipe_of(self.config, opened.identity))

    def _load(self, opened: OpenModel) -> LoadedModel:
        """Return the model on the first device; also creates its replicas on the other devices."""
        loaded = with_weights(opened)
        self._layer = _resolve_layer(self.config.layer, loaded)
        self._loaded = replicas(loaded, resolve_devices(self._device))
        for index, replica in enumerate(self._loaded):
            self._pack(index, replica)
        return loaded

    def _pack(self, index: int, loaded: LoadedModel) -> None:
        """Prepare the packed pass if it supports the model and its pooling."""
        weights = read_weights(loaded.model.base_model) if self._allow_packed else None
        pooling = loaded.poolings[0] if len(loaded.poolings) == 1 else None
        if weights is not None and (pooling == "last" or pooling == "first" or pooling == "mean"):
            layer = len(weights.layers) if self._layer is None else self._layer
            self._packed[index] = PackedModel(weights, pooling, layer)

    def _compute(
        self, tokens: Tokenized, key: str, store: FeatureStore | None, progress: Progress
    ) -> tuple[NDArray[np.float32], str]:
        """Return all rows in order: stored parts, then the rest batch by batch, saved as parts along the way."""
        self._model()
        rows = Rows(tokens, key, store)
        try:
            self._run(tokens, rows.missing(), lambda: progress(STAGE, rows.tokens_done, rows.tokens_total), rows.add)
        except BaseException:
            with suppress(StorageError):  # the first error is the one to report
                rows.keep()
            raise
        progress(STAGE, rows.tokens_total, rows.tokens_total)
        return rows.finished()

    def _run(self, tokens: Tokenized, missing: NDArray[np.int64], report: Callable[[], None], add: AddRows) -> None:
        """Encode the missing texts batch by batch; if something raises, batches already started are added too.

        ``report`` is called before waiting for each batch, ``add`` with the indices, features and device of each
        batch.
        """
        workers = self._workers(tokens)
        batches = self._batches(tokens, missing, len(workers))
        work = WorkerPool(workers[: len(batches)] or workers, batches)
        with threads_kept():
            try:
                for _ in batches:
                    report()
                    indices, (array, device) = work.take()
                    add(indices, array, device)
            except BaseException:
                for indices, (array, device) in work.stop():
                    with suppress(StorageError):
                        add(indices, array, device)
                raise
            work.stop()

    def _workers(self, tokens: Tokenized) -> list[Worker[NDArray[np.int64], tuple[NDArray[np.float32], str]]]:
        """Return one worker per device; on a CPU alone, for a known model, one per torch thread."""

        def worker(index: int, threads: int | None) -> Worker[NDArray[np.int64], tuple[NDArray[np.float32], str]]:
            loaded = self._loaded[index]
            return Worker(
                start=lambda indices: (indices, self._start(loaded, tokens, indices)),
                finish=lambda started: (self._finish(*started), loaded.device),
                ahead=int(loaded.device.startswith("cuda")),
                threads=threads,
            )

        threads = worker_threads()
        if self._packed and [loaded.device for loaded in self._loaded] == ["cpu"]:
            count = min(threads, MOST_LANES)
            return [worker(0, threads // count) for _ in range(count)]
        on_cpu = sum(loaded.device == "cpu" for loaded in self._loaded)
        each = max(1, threads // on_cpu) if on_cpu > 1 else None
        return [worker(index, each) for index in range(len(self._loaded))]

    def _batches(self, tokens: Tokenized, missing: NDArray[np.int64], workers: int) -> list[NDArray[np.int64]]:
        """Return the indices of the missing texts by batch.

        Batches are planned over all texts, stored or not: the last digit of a feature depends on its batch, and
        resumed work must yield the same bits.
        """
        device = self._loaded[0].device.split(":")[0]
        device = device if device in BATCH_TOKENS else "cpu"
        most = self._batch_tokens or BATCH_TOKENS[device]
        if workers > 1:
            shared = int(tokens.lengths.sum(dtype=np.int64)) // (workers * BATCHES_A_WORKER)
            most = min(most, max(SMALLEST_BATCH[device], shared))
        plan = plan_packed if self._packed else plan_batches
        remaining = (batch[np.isin(batch, missing)] for batch in plan(tokens.lengths, most))
        return [batch for batch in remaining if batch.size]

    def _start(self, loaded: LoadedModel, tokens: Tokenized, indices: NDArray[np.int64]) -> list[Tensor]:
        """Start the forward pass and return features that may be in flight; halve a batch that exceeds the memory.

        Later batches that are nearly as large are halved before they are tried, so that not each of them fails first.
        """
        import torch

        size = int(tokens.lengths[indices].sum(dtype=np.int64))
        if len(indices) == 1 or size < self._too_large.get(loaded.device, size + 1):
            with suppress(torch.OutOfMemoryError), matrix_products(products_of(self.config.dtype), loaded.device):
                return [self._forward(loaded, tokens, indices)]
            self._too_large[loaded.device] = int(NEARLY * size)
        if len(indices) > 1:
            return [part for half in np.array_split(indices, 2) for part in self._start(loaded, tokens, half)]
        wrong = f"A text of {tokens.lengths[indices[0]]} tokens does not fit in the memory of {loaded.device}"
        raise InputError(wrong, todo="Lower max_tokens, choose a smaller model or dtype, or use --device cpu")

    def _finish(self, indices: NDArray[np.int64], parts: Sequence[Tensor]) -> NDArray[np.float32]:
        """Return (rows, d) finite features in main memory."""
        array: NDArray[np.float32] = np.concatenate([part.cpu().numpy() for part in parts])
        broken = indices[~np.isfinite(array).all(axis=1)]
        if broken.size == indices.size and self.config.dtype == "float32":
            raise InputError(
                f"The weights of the model {self.config.model} give no finite features",
                todo="Copy, download or save (save_pretrained) the model again",
            )
        precision = "" if self.config.dtype == "float32" else f" in {self.config.dtype} (try float32)"
        if broken.size:  # a fault of the model or of the device, not of the texts
            raise NoFeaturesError.of(sorted(broken.tolist()), f"The model's features are not finite{precision} for")
        return array

    def _forward(self, loaded: LoadedModel, tokens: Tokenized, indices: NDArray[np.int64]) -> Tensor:
        """Return (rows, d) vectors on the device, those of prefixes side by side."""
        import torch

        packed = self._packed.get(next(index for index, one in enumerate(self._loaded) if one is loaded))
        if packed is not None:
            vectors = packed.vectors([tokens.ids[index] for index in indices], self._prefixes)
        else:
            vectors = self._forward_padded(loaded, tokens, indices)
        if not loaded.steps:
            return vectors
        with torch.inference_mode():
            vectors = vectors.reshape(len(indices) * max(1, len(self._prefixes)), -1)
            for step in loaded.steps:
                vectors = step(vectors)
            return vectors.reshape(len(indices), -1)

    def _forward_padded(self, loaded: LoadedModel, tokens: Tokenized, indices: NDArray[np.int64]) -> Tensor:
        import torch

        ids, mask = pad([tokens.ids[index] for index in indices], loaded.tokenizer.pad_token_id or 0)
        model: Any = loaded.model.base_model
        options: dict[str, Any] = {"use_cache": False} if loaded.kind == "causal" else {}
        with torch.inference_mode():
            device = torch.device(loaded.device)
            device_mask = to_device(mask, device)
            output = model(
                input_ids=to_device(ids, device),
                attention_mask=device_mask,
                output_hidden_states=self._layer is not None,
                **options,
            )
            hidden = output.last_hidden_state if self._layer is None else output.hidden_states[self._layer]
            return self._pool(hidden, device_mask, loaded.poolings)

    def _pool(self, hidden: Tensor, mask: Tensor, poolings: Sequence[TokenPooling]) -> Tensor:
        """Return (rows, d) vectors from the (rows, longest, d) hidden states of one batch."""
        return pool_jointly(hidden, mask, poolings)


def _resolve_layer(layer: int, loaded: LoadedModel) -> int | None:
    """Return the index into the hidden states, or None for the last layer, which needs no others; InputError if
    absent.
    """
    layers = int(loaded.model.config.get_text_config().num_hidden_layers)
    if not -layers - 1 <= layer <= layers:
        allowed = f"0 (embeddings) to {layers} (last), or -1 (last) to {-layers - 1}"
        raise InputError(f"The model {loaded.identity.name} has no layer {layer}", allowed=allowed)
    index = layer % (layers + 1)
    return None if index == layers else index
