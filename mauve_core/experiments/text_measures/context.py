"""Shared resources of measures: a tokenizer, a scoring model loaded on first use, and a seed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import DEFAULT_MODEL
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import identify
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.positions import Computed, Positions, entry_path, stored_or

if TYPE_CHECKING:
    import torch

    from mauve_core.decoding.decoders import Decoder
    from mauve_core.encoders.models import LoadedModel

TOKENIZING = "Tokenizing texts"
# Number of texts tokenized between two progress reports.
CHUNK = 512

# Number of positions whose distributions are truncated at once; sorting a vocabulary needs several copies of it.
LOGIT_ROWS = 128


@dataclass(frozen=True, eq=False)
class Tokens:
    """Token ids of all texts, concatenated.

    Attributes
    ----------
    ids : (total,) int64 array
        Without special tokens.
    lengths : (n,) int64 array
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def owner(self) -> NDArray[np.int64]:
        """(total,) index of each token's text."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def by_text(self) -> list[NDArray[np.int64]]:
        """The ids of each text."""
        return np.split(self.ids, np.cumsum(self.lengths)[:-1])


class MeasureContext:
    """Tokenizer, scoring model and random streams for measures.

    Parameters
    ----------
    scorer : str or None
        A causal model (catalog name, hub id, folder, GGUF file); None leaves out the measures that need one.
    tokenizer : str or None
        Model whose tokenizer splits texts; None takes the scorer's, or else the packaged model's.
    revision, tokenizer_revision : str or None
        Commit, tag or branch of a hub model.
    device : str
        Device of the scorer.
    max_tokens : int or None
        Maximum number of tokens of prompt and text for the scorer; None takes the scorer's limit.
    seed : int
        Seed of all random choices.
    has_words : bool
        Whether the items are texts; False leaves out the measures that read them.
    """

    def __init__(
        self,
        scorer: str | None = None,
        *,
        tokenizer: str | None = None,
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        device: str = "auto",
        max_tokens: int | None = None,
        seed: int = 0,
        has_words: bool = True,
    ) -> None:
        self.scorer = scorer
        self.tokenizer = tokenizer or scorer or DEFAULT_MODEL
        self.revision = revision
        self.tokenizer_revision = tokenizer_revision if tokenizer else revision
        self.device = device
        self.max_tokens = max_tokens
        self.seed = seed
        self.has_words = has_words
        self._tokens: WeakKeyDictionary[Collection, Tokens] = WeakKeyDictionary()
        self._loaded: LoadedModel | None = None

    def rng(self, purpose: str) -> np.random.Generator:
        """The random stream for that purpose, spawned from the seed; the same on every call."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(purpose.encode()),)))

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:
        """Tokens of the texts without their prompts; no model limit truncates them."""
        if texts not in self._tokens:
            self._tokens[texts] = self._tokenize(texts.texts, progress)
        return self._tokens[texts]

    def beginnings(
        self, texts: Collection, lengths: Sequence[int], progress: Progress = silent
    ) -> dict[int, tuple[str, ...]]:
        """The texts up to the end of their first tokens, at each of ``lengths``; a shorter text stays as it is."""
        from mauve_core.encoders.models import load_tokenizer
        from mauve_core.encoders.tokenizing import read_texts

        tokenizer = load_tokenizer(self.tokenizer, self.tokenizer_revision)
        found: dict[int, list[str]] = {length: [] for length in lengths}
        for start in range(0, len(texts), CHUNK):
            progress(TOKENIZING, start, len(texts))
            chunk = list(texts.texts[start : start + CHUNK])
            read = read_texts(tokenizer, chunk, add_special_tokens=False, return_offsets_mapping=True)
            for text, places in zip(chunk, read["offset_mapping"], strict=True):
                for length, beginnings in found.items():
                    beginnings.append(text[: places[length - 1][1]] if length < len(places) else text)
        progress(TOKENIZING, len(texts), len(texts))
        return {length: tuple(beginnings) for length, beginnings in found.items()}

    def words(self, texts: Collection) -> Tokens:
        """White-space words of the texts as numbers, independent of the model."""
        numbers: dict[str, int] = {}
        split = [text.split() for text in texts.texts]
        ids = np.array([numbers.setdefault(word, len(numbers)) for words in split for word in words], dtype=np.int64)
        return Tokens(ids, np.array([len(words) for words in split], dtype=np.int64))

    def likelihoods(self, texts: Collection, progress: Progress = silent) -> Positions:
        """-log Q(token | prompt and preceding text) of each token, in nats, under the scorer; one column.

        Raises
        ------
        InputError
            There is no scorer, or a text has no token that it can score.
        StorageError
            Writing to disk fails.
        """
        from mauve_core.encoders.likelihood import cut_texts, negative_log_likelihoods

        def compute() -> tuple[Sequence[NDArray[np.float64]], NDArray[np.bool_]]:
            inputs = (self.model(), texts.texts, texts.prompts)
            losses = negative_log_likelihoods(*inputs, max_tokens=self.max_tokens, progress=progress)
            return losses, cut_texts(*inputs, max_tokens=self.max_tokens)

        return stored_or(self._path("negative log-likelihood", texts), len(texts), 1, compute)

    def truncated(self, texts: Collection, decoder: Decoder, progress: Progress = silent) -> Positions:
        """Statistics of the scorer's distribution p, truncated as ``decoder`` does, at each token x of the texts.

        Returns
        -------
        Positions
            Three columns: p(x), the sum of p squared, and the vocabulary size. Under greedy decoding, p has all mass
            on the most probable token.

        Raises
        ------
        InputError, StorageError
            As for :meth:`likelihoods`.
        """
        return self.truncated_by_all(texts, [decoder], progress)[0]

    def truncated_by_all(
        self, texts: Collection, decoders: Sequence[Decoder], progress: Progress = silent
    ) -> list[Positions]:
        """:meth:`truncated` for several decoders; the model reads the texts once for all missing results."""
        from mauve_core.encoders.likelihood import cut_texts, over_positions

        paths = [self._path(f"truncated {decoder.spec}", texts) for decoder in decoders]
        missing = [index for index, path in enumerate(paths) if not path.exists()]
        inputs = (texts.texts, texts.prompts)

        def compute(indices: Sequence[int]) -> dict[int, Computed]:
            chosen = [decoders[index] for index in indices]
            found = over_positions(
                self.model(), *inputs, partial(_of_decoders, chosen), max_tokens=self.max_tokens, progress=progress
            )
            cut = cut_texts(self.model(), *inputs, max_tokens=self.max_tokens)
            return {index: ([rows[:, column] for rows in found], cut) for column, index in enumerate(indices)}

        computed = compute(missing) if missing else {}

        def of(index: int) -> Computed:  # a damaged entry exists but must be recomputed
            return computed[index] if index in computed else compute([index])[index]

        return [stored_or(path, len(texts), 3, partial(of, index)) for index, path in enumerate(paths)]

    def model(self) -> LoadedModel:
        """The scorer with its head, loaded on first use; InputError if there is none."""
        if self._loaded is None:
            from mauve_core.encoders.models import load_model

            self._loaded = load_model(self._scorer_name(), self.revision, device=self.device, with_head=True)
        return self._loaded

    def _scorer_name(self) -> str:
        if self.scorer is None:
            raise InputError("A scoring model is needed", allowed="a causal language model", todo="Name a scorer")
        return self.scorer

    def _path(self, what: str, texts: Collection) -> Any:
        digest = identify(self._scorer_name(), self.revision).digest
        return entry_path(digest, what, texts.texts, texts.prompts, max_tokens=self.max_tokens)

    def _tokenize(self, texts: Sequence[str], progress: Progress) -> Tokens:
        from mauve_core.encoders.models import load_tokenizer
        from mauve_core.encoders.tokenizing import read_texts

        tokenizer = load_tokenizer(self.tokenizer, self.tokenizer_revision)
        ids: list[list[int]] = []
        for start in range(0, len(texts), CHUNK):
            progress(TOKENIZING, start, len(texts))
            chunk = list(texts[start : start + CHUNK])
            ids += read_texts(tokenizer, chunk, add_special_tokens=False, return_attention_mask=False)["input_ids"]
        progress(TOKENIZING, len(texts), len(texts))
        flat = np.fromiter((token for text in ids for token in text), dtype=np.int64)
        return Tokens(flat, np.array([len(text) for text in ids], dtype=np.int64))


def _of_decoders(decoders: Sequence[Decoder], logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(t, decoders, 3) results of :func:`_of_distribution`, computed in chunks of positions."""
    import torch

    kinds = [(decoder.warpers(), not decoder.kind.draws) for decoder in decoders]
    parts = zip(torch.split(logits, LOGIT_ROWS), torch.split(targets, LOGIT_ROWS), strict=True)
    return torch.cat(
        [
            torch.stack([_of_distribution(rows, chosen, warpers, greedy=greedy) for warpers, greedy in kinds], dim=1)
            for rows, chosen in parts
        ]
    )


def _of_distribution(
    logits: torch.Tensor, targets: torch.Tensor, warpers: Sequence[Any], *, greedy: bool
) -> torch.Tensor:
    """(t, 3) float64: p(x), the sum of p squared, V; see :meth:`MeasureContext.truncated`."""
    import torch

    size = logits.new_full((len(logits),), logits.shape[-1], dtype=torch.float64)
    if greedy:
        hit = (logits.argmax(dim=-1) == targets).double()
        return torch.stack([hit, torch.ones_like(hit), size], dim=-1)
    for warper in warpers:
        logits = warper(targets[:, None], logits)
    p = torch.softmax(logits.double(), dim=-1)
    return torch.stack([p.gather(-1, targets[:, None])[:, 0], p.square().sum(dim=-1), size], dim=-1)
