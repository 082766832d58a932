"""Turn texts into token ids, cut at the smaller of the requested and the model's maximum, and count every cut."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import CancelledError, InputError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.encoders.batching import TokenIds
from mauve_core.encoders.models import LoadedModel, OpenModel

# Stage name for progress; counts texts.
STAGE = "Tokenizing texts"

# The same of encoders whose tokens are words.
WORD_STAGE = "Encoding words"

# Texts tokenized between two reports of progress.
CHUNK = 512

# Kinds of devices whose weights are read while texts are tokenized. A CPU has no time to spare for both.
BESIDE = ("cuda",)

# Name of the thread that tokenizes while weights are read.
THREAD = "tokenizing"


class NoFeaturesError(InputError):
    """Some of the texts have no usable features (exit code 2).

    Attributes
    ----------
    indices : tuple of int
        Which of the texts.
    """

    indices: tuple[int, ...] = ()
    _about = ""

    @classmethod
    def of(cls, indices: Sequence[int], about: str) -> Self:
        """Name the first few texts by their index, after words that end in "in" or the like."""
        error = cls(_naming(indices, about), todo="Leave these texts out, or add content to them")
        error.indices, error._about = tuple(indices), about
        return error

    def wrong_after(self, before: int) -> str:
        """What was wrong, if there are so many texts before those that were encoded."""
        return _naming([before + index for index in self.indices], self._about)

    def of_side(self, name: str, label: Callable[[int], str], todo: str = "", words: Words = TEXTS) -> Self:
        """Return the error that names the texts, or other items, as those of a side, by what ``label`` says of each."""
        named = ", ".join(map(label, self.indices[:5])) + (", ..." if len(self.indices) > 5 else "")
        wrong = f"{self._about} {words.count(len(self.indices))} of {name}: {named}"
        error = type(self)(wrong, todo=todo or self.todo)
        error.indices, error._about = self.indices, self._about
        return error


class RefusedTextsError(NoFeaturesError):
    """Some of the texts cannot be encoded because of what they are; others can (exit code 2)."""


@dataclass(frozen=True, eq=False)
class Tokenized:
    """Texts as the model sees them.

    Attributes
    ----------
    ids : tuple of (t,) int32 arrays
        Special tokens included, and at least one other token.
    lengths : (n,) int32 array
        Tokens of each text after cutting.
    cut : (n,) bool array
        Whether the text was longer.
    limit : int
        Tokens at which texts were cut: the smaller of ``max_tokens`` and the model's maximum.
    notes : tuple of str
        How a sentence-transformers model was applied, and whether the model's limit cut texts that ``max_tokens``
        allowed.
    pooling : str
        What the model does to the vectors of the tokens (``OpenModel.pooled``); empty for no language model.
    """

    ids: tuple[TokenIds, ...]
    lengths: NDArray[np.int32]
    cut: NDArray[np.bool_]
    limit: int
    notes: tuple[str, ...]
    pooling: str = ""


def tokenize(texts: Sequence[str], loaded: LoadedModel, max_tokens: int, progress: Progress = silent) -> Tokenized:
    """Tokenize with the model's own tokenizer and special tokens; a longer text keeps its beginning.

    Raises
    ------
    InputError
        A text has no token, or ``max_tokens`` leaves no room beside the special tokens.
    """
    tokens = _read(texts, loaded, max_tokens, progress)
    refuse_unknown_tokens(tokens.ids, loaded.known_tokens)
    return tokens


@contextmanager
def tokenizing_beside(
    texts: Sequence[str], opened: OpenModel, max_tokens: int
) -> Iterator[Callable[[LoadedModel, Progress], Tokenized]]:
    """Tokenize in a thread while the caller reads the model's weights; on a CPU, after them.

    Yields a function that waits for the tokens and returns what :func:`tokenize` does, with its errors; only it reports
    progress. On the way out the thread ends, after the texts at hand.
    """
    is_fast = getattr(opened.tokenizer, "is_fast", False)  # one in Python would only take turns with the reading
    if not is_fast or not opened.device.startswith(BESIDE):
        yield lambda loaded, progress: tokenize(texts, loaded, max_tokens, progress)
        return
    reports: SimpleQueue[tuple[str, int, int] | None] = SimpleQueue()
    left = threading.Event()

    def report(*state: Any) -> None:
        if left.is_set():
            raise CancelledError("Nobody waits for the tokens")
        reports.put(state)

    def work() -> Tokenized:
        try:
            return _read(texts, opened, max_tokens, report)
        finally:
            reports.put(None)

    def finish(loaded: LoadedModel, progress: Progress) -> Tokenized:
        for state in iter(reports.get, None):
            progress(*state)
        tokens = found.result()
        refuse_unknown_tokens(tokens.ids, loaded.known_tokens)
        return tokens

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix=THREAD) as executor:
        found = executor.submit(work)
        try:
            yield finish
        finally:
            left.set()


def _read(texts: Sequence[str], opened: OpenModel, max_tokens: int, progress: Progress) -> Tokenized:
    """Tokenize; whether the model has an embedding for each token is still to be checked."""
    tokenizer = opened.tokenizer
    tokenizer.truncation_side = "right"
    limit = min(max_tokens, opened.max_positions)
    special = len(_token_ids(tokenizer, [opened.prompt])[0])
    if limit <= special:
        what = "special tokens" if not opened.prompt else "prompt and special tokens"
        if special >= opened.max_positions:
            raise ModelUnavailableError(
                f"The model {opened.identity.name} adds {special:,} {what} to each text, which leaves no room for text",
                allowed=f"fewer than {opened.max_positions:,}, the most tokens that it takes",
                todo="Copy the tokenizer's files from the source of the weights",
            )
        allowed = f"{special + 1} to {opened.max_positions}: the model adds {special} {what} to each text"
        raise InputError("The setting max_tokens leaves no room for text", allowed=allowed, received=str(max_tokens))
    ids: list[TokenIds] = []
    cut = np.zeros(len(texts), dtype=np.bool_)
    for start in range(0, len(texts), CHUNK):
        progress(STAGE, start, len(texts))
        inputs = [opened.prompt + text for text in texts[start : start + CHUNK]]
        rows = _token_ids(tokenizer, inputs)
        too_long = [index for index, row in enumerate(rows) if len(row) > limit]
        if too_long:
            shortened = _token_ids(tokenizer, [inputs[index] for index in too_long], limit)
            for index, row in zip(too_long, shortened, strict=True):
                rows[index] = row
                cut[start + index] = True
        ids += [np.asarray(row, dtype=np.int32) for row in rows]
    progress(STAGE, len(texts), len(texts))
    few = [index for index, row in enumerate(ids) if len(row) <= special]
    if opened.prompt and few:  # a text's first token may have joined the prompt's last
        bare = len(_token_ids(tokenizer, [""])[0])
        few = [index for index in few if len(_token_ids(tokenizer, [texts[index]])[0]) <= bare]
    refuse_texts(few, "The model's tokenizer finds no tokens in")
    return _tokenized(ids, cut, limit, opened, max_tokens)


def from_token_ids(token_ids: Sequence[Sequence[int]], loaded: LoadedModel, max_tokens: int) -> Tokenized:
    """Cut token ids from the caller like texts, without adding anything.

    Raises
    ------
    InputError
        A text has no token, or an id that the model does not know.
    """
    limit = min(max_tokens, loaded.max_positions)
    full = [np.asarray(row).reshape(-1) for row in token_ids]
    refuse_texts((index for index, row in enumerate(full) if not len(row)), "No tokens in")
    refuse_texts((index for index, row in enumerate(full) if row.dtype.kind not in "iu"), "Not whole numbers in")
    refuse_unknown_tokens(full, loaded.known_tokens)
    cut = np.array([len(row) > limit for row in full], dtype=np.bool_)
    return _tokenized([row[:limit].astype(np.int32) for row in full], cut, limit, loaded, max_tokens)


def refuse_unknown_tokens(rows: Iterable[NDArray[Any]], known: int) -> None:
    """Raise an InputError that names the texts with tokens beyond the ``known`` ones with an embedding, if any."""
    outside = (index for index, row in enumerate(rows) if row.size and (row.min() < 0 or row.max() >= known))
    refuse_texts(outside, f"Token ids outside 0 to {known - 1} in")


def refuse_texts(indices: Iterable[int], wrong: str) -> None:
    """Raise a RefusedTextsError that names the first few texts by their index, if any."""
    found = list(indices)
    if found:
        raise RefusedTextsError.of(found, wrong)


def _naming(indices: Sequence[int], about: str) -> str:
    named = ", ".join(map(str, indices[:5])) + (", ..." if len(indices) > 5 else "")
    what = f"{about} text {named}" if len(indices) == 1 else f"{about} {len(indices)} texts: {named}"
    return f"{what} (counted from 0)"


def _tokenized(
    ids: list[TokenIds], cut: NDArray[np.bool_], limit: int, opened: OpenModel, max_tokens: int
) -> Tokenized:
    notes = opened.notes
    if limit < max_tokens and cut.any():
        name = opened.identity.name
        notes += (
            f"{name} takes at most {limit} tokens: {int(cut.sum()):,} of {len(ids):,} texts "
            f"{verb(int(cut.sum()), 'was', 'were')} truncated, "
            f"although max_tokens = {max_tokens} allows more",
        )
    lengths = np.array([len(row) for row in ids], dtype=np.int32)
    return Tokenized(ids=tuple(ids), lengths=lengths, cut=cut, limit=limit, notes=notes, pooling=opened.pooled)


def read_texts(tokenizer: Any, texts: str | list[str], **options: Any) -> Any:
    """Call the tokenizer with these options of transformers.

    Raises
    ------
    ModelUnavailableError
        The tokenizer fails at a text, as one does that lacks a token for unknown words.
    """

    def ours(error: BaseException) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"The tokenizer in {tokenizer.name_or_path} cannot read the texts: {words_of(error)}",
            todo="Copy the tokenizer's files from the source of the weights",
        )

    with library_errors(ours):
        return tokenizer(texts, verbose=False, **options)


def _token_ids(tokenizer: Any, texts: list[str], limit: int | None = None) -> list[list[int]]:
    encoded = read_texts(
        tokenizer,
        texts,
        add_special_tokens=True,
        truncation=limit is not None,
        max_length=limit,
        padding=False,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
    return list(encoded["input_ids"])
