"""Encode texts: one feature per text from a pretrained model, computed once and stored by content.

The features are those of NeurIPS 2021 (section 4, appendix C.3) and JMLR 2023 (section 4.1): the hidden state that
stands for the whole text (:mod:`mauve_core.encoders.pooling`), by default from the last layer. A feature does not
depend on the other texts of its batch, nor on their order, up to rounding in the forward pass. For a file of word
vectors, :mod:`mauve_core.encoders.word_vectors` computes averages, and neither torch nor transformers is loaded.

Texts may be cut at several lengths (NeurIPS 2021, figure 4; JMLR 2023, figure 8). In a causal model, a token's hidden
state depends only on the tokens up to it, so one forward pass over the longest prefix holds the states of every shorter
one. This fails if a shorter text is not a prefix in tokens (a special token at the end), if positions depend on the
length of the sequence, or in a masked model. Then each length is encoded by itself, as with word vectors and servers.
Every length is stored under the key of a plain encoder with that ``max_tokens``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import entries_of, text_list
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.devices import matrix_products
from mauve_core.encoders.batching import (
    Worker,
    WorkerPool,
    pad,
    plan_batches,
    plan_packed,
    threads_kept,
    worker_threads,
)
from mauve_core.encoders.catalogue import ModelIdentity, has_no_tokenizer, identify
from mauve_core.encoders.devices import checked_precision, choose_precision, products_of, resolve_devices, to_device
from mauve_core.encoders.features import Features, FeatureStore, Rows, from_store, kept_features, of_tokens
from mauve_core.encoders.models import LoadedModel, OpenModel, open_model, replicas, with_pooling, with_weights
from mauve_core.encoders.packed import PackedModel, has_length_dependent_positions, read_weights
from mauve_core.encoders.pooling import SentenceRecipe, TokenPooling, pool_jointly, read_recipe
from mauve_core.encoders.tokenizing import (
    NoFeaturesError,
    Tokenized,
    from_token_ids,
    refuse_texts,
    tokenize,
    tokenizing_beside,
)

if TYPE_CHECKING:
    from torch import Tensor

    from mauve_core.encoders.word_vectors import WordEncoder


# Part of every key; raise it when the same settings give other numbers. The packed pass did not raise it: it computes
# the same functions, and differs from the padded pass as little as other batch sizes do (1e-6 of a row).
FORMAT = 1


def feature_key(texts: Sequence[str], config: EncoderConfig) -> str:
    """Return the store's key of these features: SHA-256 of the texts and everything that decides the numbers.

    Hexadecimal. Needs neither torch nor the weights in memory. ``with_prompt`` does not count (the texts already
    contain the prompts), nor do device and batch size (they only affect rounding).

    Raises
    ------
    InputError
        No texts, a text that is not a valid Unicode string, a setting that does not apply to word vectors, or the
        precision "auto", which is another one on another machine.
    ModelUnavailableError
        The model is unknown or cannot be reached.
    """
    texts = checked_texts(texts)
    return key_of(texts, config, identify(config.model, config.revision))


def key_of(texts: Sequence[str], config: EncoderConfig, identity: ModelIdentity) -> str:
    if identity.kind == "word-vectors":
        from mauve_core.encoders.word_vectors import key_settings

        settings: list[Any] = [*key_settings(identity, config), len(texts)]
    elif identity.kind == "server":
        from mauve_core.encoders import served

        settings = [*served.key_settings(identity, config), len(texts)]
    else:
        dtype = checked_precision(config.dtype)
        recipe = recipe_of(config, identity)
        pooling = config.pooling if recipe is None else f"as its files say: {recipe.digest}"
        settings = [FORMAT, identity.digest, pooling, config.layer, config.max_tokens, dtype, len(texts)]
    total = hashlib.sha256(json.dumps(settings).encode())
    for index, text in enumerate(texts):
        total.update(hashlib.sha256(_utf8(text, index)).digest())
    return total.hexdigest()


def recipe_of(config: EncoderConfig, identity: ModelIdentity) -> SentenceRecipe | None:
    """Return what pooling "auto" means in the model's files; None for another pooling, or if they do not say.

    Raises like :func:`mauve_core.encoders.pooling.read_recipe`.
    """
    return read_recipe(identity) if config.pooling == "auto" else None


def checked_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list; InputError if there is none or one is not a string."""
    found = text_list(texts, "The texts to encode")
    if not found:
        raise InputError("There are no texts to encode")
    refuse_texts((index for index, text in enumerate(found) if not isinstance(text, str)), "Not a string:")
    return found


def _utf8(text: str, index: int) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"Text {index} (counted from 0) is not valid Unicode: {error.reason}") from error


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
