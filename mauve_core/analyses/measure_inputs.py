"""What text measures read: one side's texts, features and scored tokens; a scoring model is loaded on first use.

Numbers for every token of every text are cached on disk by content, so that the model reads each text once. An entry
is one ``.npy`` file in ``<home>/likelihoods``: a (total, 2 + c) float64 array; each row holds the text's index,
whether that text was truncated, and c numbers of one token. Its name is a digest of texts, prompts, weights and
computation, so entries never become stale. Collections cut to their first tokens are cut from what was read of the
whole texts; features are those of texts that are cut before the encoder reads them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.arguments import text_list
from mauve_core.base.config import DEFAULT_MODEL, HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import home, remove, storage_errors, write_array
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.texts.pairing import Column, Keys, unit_names

if TYPE_CHECKING:
    import torch

    from mauve_core.encoders.models import LoadedModel


@dataclass(frozen=True, eq=False)
class Collection:
    """One side as measures see it.

    Attributes
    ----------
    ids, texts : tuple of str
        One per text; of the collections of :func:`by_unit`, equal ids mean one unit.
    features : (n, d) array or None
    decoder : str or None
        Decoder spec for :func:`mauve_core.decoding.decoders.parse_decoder`; None if unknown.
    generations : tuple of int or None
        Generation of each text, from 0; None without repeats.
    numbered : bool
        Whether ids are numbers of lines or positions, as texts without ids have them.
    column : (str, str) or None
        Where numbered texts come from, as in :class:`mauve_core.texts.pairing.Keys`.
    groups : tuple of str or None
        Values of a field that groups texts in place of the prompt.
    """

    name: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    prompts: tuple[str, ...] | None = None
    features: NDArray[np.floating] | None = None
    decoder: str | None = None
    generations: tuple[int, ...] | None = None
    numbered: bool = False
    column: Column | None = None
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for part in ("ids", "texts", "prompts"):
            if getattr(self, part) is not None:
                found = text_list(getattr(self, part), f"The {part} of the collection {self.name!r}")
                object.__setattr__(self, part, tuple(found))
        parts: dict[str, Any] = {"ids": self.ids, "prompts": self.prompts, "rows of features": self.features}
        parts["generations"] = self.generations
        for what, part in parts.items():
            if part is not None and len(part) != len(self.texts):
                raise InputError(f"The collection {self.name!r} has {len(self.texts)} texts and {len(part)} {what}")
        if not self.texts:
            raise InputError(f"The collection {self.name!r} holds no text", allowed="at least one text")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The texts at those indices, in that order."""
        return dataclasses.replace(
            self,
            ids=tuple(self.ids[i] for i in rows),
            texts=tuple(self.texts[i] for i in rows),
            prompts=None if self.prompts is None else tuple(self.prompts[i] for i in rows),
            features=None if self.features is None else self.features[rows],
            generations=None if self.generations is None else tuple(self.generations[i] for i in rows),
            groups=None if self.groups is None else tuple(self.groups[i] for i in rows),
        )

    def by_generation(self) -> tuple[Self, ...]:
        """The texts of each generation; the whole collection without repeats."""
        return tuple(
            self if rows is None else dataclasses.replace(self.take(rows), generations=None)
            for rows in self.rows_by_generation()
        )

    def rows_by_generation(self) -> list[NDArray[np.int64] | None]:
        """Rows of each generation; None, which is all, without repeats."""
        if self.generations is None:
            return [None]
        codes = np.array(self.generations)
        return [np.flatnonzero(codes == number) for number in np.unique(codes)]


def by_unit(human: Collection, candidates: Mapping[str, Collection]) -> tuple[Collection, dict[str, Collection]]:
    """The same collections with equal ids for texts of one unit (:func:`mauve_core.texts.pairing.unit_names`)."""
    sides = {HUMAN: human, **candidates}
    names = unit_names(
        {
            name: Keys(
                side.ids, side.prompts, side.generations or (), side.numbered, side.column, side.texts, side.groups
            )
            for name, side in sides.items()
        }
    )
    found = {name: dataclasses.replace(side, ids=names[name]) for name, side in sides.items()}
    return found.pop(HUMAN), found


# Numbers for the tokens of each text, and which texts were truncated.
Computed = tuple[Sequence[NDArray[np.float64]], NDArray[np.bool_]]

Computation = Callable[[], Computed]

# Part of every name; increase it if the same inputs would give different numbers.
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Positions:
    """c numbers for each token that the model scored.

    Attributes
    ----------
    owner : (total,) int64 array
        Index of the token's text; ascending.
    values : (total, c) float64 array
    cut : (n,) bool array
        Whether the text exceeded the model's limit.
    """

    owner: NDArray[np.int64]
    values: NDArray[np.float64]
    cut: NDArray[np.bool_]

    @property
    def note(self) -> str:
        """A note if texts were truncated, else empty."""
        count = int(self.cut.sum())
        return (
            f"{count:,} of {len(self.cut):,} texts {verb(count, 'was', 'were')} cut at the scorer's limit"
            if count
            else ""
        )

    def of_texts(self, rows: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Numbers for the tokens of the texts at ``rows``; None takes all."""
        return self.values if rows is None else self.values[np.isin(self.owner, rows)]

    def first(self, length: int) -> Positions:
        """The numbers of each text's first ``length`` tokens; ``cut`` marks the texts that end before at the limit."""
        counts = np.bincount(self.owner, minlength=len(self.cut))
        kept = np.arange(len(self.owner)) - np.repeat(np.cumsum(counts) - counts, counts) < length
        return Positions(self.owner[kept], self.values[kept], self.cut & (counts < length))


def entry_path(model: str, what: str, texts: Sequence[str], prompts: Sequence[str] | None, **settings: Any) -> Path:
    """Path of the numbers ``what`` for these texts under the weights with digest ``model``."""
    content = [FORMAT, model, what, settings, list(texts), None if prompts is None else list(prompts)]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return home() / "likelihoods" / f"{digest}.npy"


def stored_or(path: Path, n: int, columns: int, compute: Computation) -> Positions:
    """The entry at ``path``; computes and stores it if it is missing, or damaged (DamagedEntryWarning).

    Parameters
    ----------
    n, columns : int
        Texts, and numbers per token.
    compute : callable
        Returns (t_i,) or (t_i, c) for each text, and (n,) whether each was truncated.

    Raises
    ------
    StorageError
        Writing to disk fails.
    """
    try:
        return _read(path, n, columns)
    except FileNotFoundError:
        pass
    except (ValueError, OSError) as error:
        message = f"The stored likelihoods {path} were damaged ({error}); they are recomputed"
        warnings.warn(message, DamagedEntryWarning, stacklevel=2)
        with storage_errors(path):
            remove(path)
    found, cut = compute()
    owner = np.repeat(np.arange(n), [len(numbers) for numbers in found])
    values = np.concatenate([np.asarray(numbers, dtype=np.float64).reshape(-1, columns) for numbers in found])
    write_array(path, np.column_stack([owner, cut[owner], values]))
    return Positions(owner, values, cut)


def _read(path: Path, n: int, columns: int) -> Positions:
    array = load_array(path)
    if array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != 2 + columns or not np.isfinite(array).all():
        raise ValueError(f"{array.dtype} array of shape {array.shape}")
    owner = array[:, 0].astype(np.int64)
    indices, first = np.unique(owner, return_index=True)
    if not np.array_equal(indices, np.arange(n)) or (np.diff(array[:, 0]) < 0).any():
        raise ValueError(f"not the tokens of {n} texts")
    return Positions(owner, array[:, 2:], array[first, 1] == 1)


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


class CutContext(MeasureContext):
    """The context ``whole`` for collections whose texts end after ``length`` tokens; see :meth:`cut`."""

    def __init__(self, whole: MeasureContext, length: int) -> None:
        super().__init__(
            whole.scorer,
            tokenizer=whole.tokenizer,
            revision=whole.revision,
            tokenizer_revision=whole.tokenizer_revision,
            device=whole.device,
            max_tokens=whole.max_tokens,
            seed=whole.seed,
        )
        self._whole, self._length = whole, length
        self._whole_of: WeakKeyDictionary[Collection, Collection] = WeakKeyDictionary()

    def cut(self, texts: Collection, beginnings: Sequence[str], features: NDArray[np.floating] | None) -> Collection:
        """The collection with its texts cut.

        Parameters
        ----------
        texts : Collection
            The same object at every length: what is read of it is kept.
        beginnings, features : (n,) sequence of str, (n, d) array or None
            What is left of each text, and its features.
        """
        made = dataclasses.replace(texts, texts=tuple(beginnings), features=features)
        self._whole_of[made] = texts
        return made

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:
        whole = self._whole.tokens(self._whole_of[texts], progress)
        ids = [own[: self._length] for own in whole.by_text()]
        return Tokens(np.concatenate(ids), np.minimum(whole.lengths, self._length))

    def likelihoods(self, texts: Collection, progress: Progress = silent) -> Positions:
        return self._whole.likelihoods(self._whole_of[texts], progress).first(self._length)

    def truncated_by_all(
        self, texts: Collection, decoders: Sequence[Decoder], progress: Progress = silent
    ) -> list[Positions]:
        found = self._whole.truncated_by_all(self._whole_of[texts], decoders, progress)
        return [positions.first(self._length) for positions in found]
