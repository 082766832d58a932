"""A model behind an OpenAI-compatible server as an encoder, with features, keys, lengths and notes like any other.

The server's tokens are not known here, so words and punctuation marks are the tokens, as for word vectors: texts are
cut at ``max_tokens`` of them before they are sent. Equal texts are asked for once, and each answer is saved before the
next request is sent, so that nothing that was answered is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig, ServerName, parse_server_name
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.features import Features, FeatureStore, Rows, kept_features
from mauve_core.encoders.servers import (
    EMBEDDINGS,
    Encoding,
    RefusedRequestError,
    Server,
    embeddings_request,
    read_embeddings,
)
from mauve_core.encoders.tokenizing import WORD_STAGE, Tokenized, refuse_texts
from mauve_core.encoders.word_vectors import word_ends

# Part of every key; raise it when texts are cut or sent in another way.
FORMAT = 1

DEVICE = "server"

# Most texts and bytes of one request; a longer text is sent alone.
BATCH_TEXTS, BATCH_BYTES = 64, 2**17

# Most requests on their way at a time.
PARALLEL = 4

# Width of the first vectors, and their time, by the digest of a model's identity, where no store keeps them.
_first_widths: dict[str, tuple[int, str]] = {}

# Settings that only the server decides; anything else would have no effect.
_MEANT = {"pooling": ("auto",), "layer": (-1,), "dtype": ("float32",), "revision": (None,)}


def key_settings(identity: ModelIdentity, config: EncoderConfig) -> list[str | int]:
    """Return everything besides the texts that decides the numbers.

    Raises
    ------
    InputError
        A setting does not apply to a server, or the name is that of a chat model.
    """
    if parse_server_name(config.model).chat:
        raise InputError(
            "A model that is asked by chat gives no features", allowed="openai:URL#model", received=config.model
        )
    for name, allowed in _MEANT.items():
        if getattr(config, name) not in allowed:
            raise InputError(
                f"The setting {name} does not apply to a model behind a server, which decides it itself",
                allowed="none" if allowed[0] is None else str(allowed[0]),
                received=str(getattr(config, name)),
                todo="Leave it out",
            )
    return [identity.kind, FORMAT, identity.digest, "words", config.max_tokens]


def encode_served(
    texts: Sequence[str],
    config: EncoderConfig,
    key: str,
    store: FeatureStore | None = None,
    progress: Progress = silent,
) -> Features:
    """Return features of ``texts`` from the server, stored under ``key`` if there is a store.

    Raises
    ------
    InputError
        A text has no word.
    ModelUnavailableError
        The server cannot be reached, refuses, or its answer cannot be used.
    StorageError
        The store's disk is full or refuses.
    """
    name = parse_server_name(config.model)
    shown, tokens = _cut(texts, config.max_tokens, name)
    rows = Rows(tokens, key, store)
    if rows.missing().size:
        _Asking(identify(config.model), name.model, shown, rows, store, progress).run()
    progress(WORD_STAGE, rows.tokens_total, rows.tokens_total)
    array, device = rows.finished()
    return kept_features(array, tokens, config, key, device, store)


def require_width(identity: ModelIdentity, width: int, store: FeatureStore | None) -> None:
    """Refuse vectors of another width than the model behind a server gave at first: it has been replaced.

    What it gave first is known to the feature store; without one, to this process.

    Raises
    ------
    ModelUnavailableError
        Names the server, the model and both widths.
    """
    if store is None:
        now = datetime.now(UTC).isoformat(timespec="minutes")
        first, since = _first_widths.setdefault(identity.digest, (width, now))
        way_out = "start anew"
    else:
        first, since = store.server_width(identity.digest, width)
        way_out = f"move {store.root} away, so that all features are made anew"
    if width != first:
        raise ModelUnavailableError(
            f"The model {parse_server_name(identity.name).model} of the server {identity.location} is another one now",
            allowed=f"vectors of {first:,} numbers, as on {since}",
            received=f"vectors of {width:,} numbers",
            todo=f"Let the server have the new model under a name of its own, or {way_out}",
        )


class _Asking:
    """Ask for the rows that are missing, the first batch alone: it settles the encoding and the dimension."""

    def __init__(
        self,
        identity: ModelIdentity,
        model: str,
        texts: Sequence[str],
        rows: Rows,
        store: FeatureStore | None,
        progress: Progress,
    ) -> None:
        self._identity, self._model, self._rows, self._store, self._progress = identity, model, rows, store, progress
        self._server = Server(identity.location)
        self._rows_of: dict[str, list[int]] = {}
        for index in rows.missing().tolist():
            self._rows_of.setdefault(texts[index], []).append(index)
        self._encoding: Encoding = "base64"

    def run(self) -> None:
        first, *others = _batches(list(self._rows_of))
        try:
            self._ask([first])
        except RefusedRequestError as error:
            if error.status not in (400, 422) or not any(word in error.said for word in ("encoding", "base64")):
                raise
            self._encoding = "float"
            self._ask([first])
        self._ask(others)

    def _ask(self, batches: Sequence[Sequence[str]]) -> None:
        bodies = (embeddings_request(self._model, batch, self._encoding) for batch in batches)
        self._server.ask(
            EMBEDDINGS,
            bodies,
            lambda index, answer: self._keep(batches[index], answer),
            parallel=PARALLEL,
            waiting=lambda: self._progress(WORD_STAGE, self._rows.tokens_done, self._rows.tokens_total),
        )

    def _keep(self, batch: Sequence[str], answer: object) -> None:
        array = read_embeddings(answer, len(batch))
        require_width(self._identity, array.shape[1], self._store)
        indices = [self._rows_of[text] for text in batch]
        repeated = np.repeat(np.arange(len(batch)), [len(each) for each in indices])
        self._rows.add(np.concatenate(indices).astype(np.int64), array[repeated], DEVICE)
        self._rows.keep()


def _cut(texts: Sequence[str], limit: int, name: ServerName) -> tuple[list[str], Tokenized]:
    """Return the texts as they are sent, and their lengths in words."""
    ends = [word_ends(text) for text in texts]
    refuse_texts((index for index, found in enumerate(ends) if not found), "There is no word in")
    cut = np.array([len(found) > limit for found in ends], dtype=np.bool_)
    shown = [text[: found[limit - 1]] if len(found) > limit else text for text, found in zip(texts, ends, strict=True)]
    lengths: NDArray[np.int32] = np.array([min(len(found), limit) for found in ends], dtype=np.int32)
    notes = (
        f"Features are those of the model {name.model} at {name.url}; which weights that server has under this name, "
        "and whether it cuts texts at a limit of its own, cannot be checked",
        "Tokens are words and punctuation marks here, because the server's own tokens are not known",
    )
    return shown, Tokenized(ids=(), lengths=lengths, cut=cut, limit=limit, notes=notes)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        own = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS or size + own > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += own
    if batch:
        yield batch
