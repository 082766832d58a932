"""A file of word vectors as an encoder, such as GloVe's (Pennington, Socher and Manning, EMNLP 2014).

The features of JMLR 2023, section 7.5.3: the sum of the vectors of a text's words over the number of all its words. A
word without a vector counts as zero. (The divisor no longer matters once the pipeline scales rows to unit length.)
Word order does not count. Needs neither torch nor transformers.

Words, which are the tokens, are runs of letters, digits and underscores of any script, and single punctuation marks.
English endings are split off as in GloVe's own vocabulary (do n't, it 's). Words are looked up in lower case, as in the
common files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.features import Features, FeatureStore, kept_features
from mauve_core.encoders.tokenizing import CHUNK, WORD_STAGE, Tokenized, refuse_texts
from mauve_core.encoders.vector_files import WordVectors, read_vectors

_WORD = re.compile(r"\w+?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class WordFeatures:
    """Averages of word vectors.

    Attributes
    ----------
    array : (n, d) float32 array
        One row per text, in order; what ``compare(..., features=...)`` takes for a side.
    words : (n,) int64 array
        Words of each text.
    unknown : (n,) int64 array
        Words of each text without a vector.
    notes : tuple of str
        What a reader must know: the share of words without a vector, and entries of the file other than vectors.
    """

    array: NDArray[np.float32]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]
    notes: tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Return the words of a text to look up, in order."""
    return _WORD.findall(text.replace("\u2019", "'").lower())


def word_ends(text: str) -> list[int]:
    """Return where each of these words ends in the text, in order."""
    return [found.end() for found in _WORD.finditer(text.replace("\u2019", "'"))]


class WordTable:
    """Numbered words of texts, and their vectors from the file ``path``.

    The table may grow: the file is read again only for new words.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: dict[bytes, int] = {}
        self._vectors: WordVectors | None = None

    def numbered(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the (t,) numbers of a text's words, in order; a new word gets the next number."""
        ids, encoded = self._ids, (word.encode(errors="surrogatepass") for word in words)
        return np.array([ids.setdefault(word, len(ids)) for word in encoded], dtype=np.int32)

    def read(self, progress: Progress = silent) -> None:
        """Look up the new words in the file.

        Raises
        ------
        InputError
            The file cannot be read, a line is not a word with finite numbers (names the line), or no line is.
        """
        known = 0 if self._vectors is None else len(self._vectors.found)
        new = {word: number - known for word, number in self._ids.items() if number >= known}
        if new or self._vectors is None:
            read = read_vectors(self._path, new, progress)
            self._vectors = read if self._vectors is None else self._vectors.followed_by(read)

    def averages(self, rows: Sequence[NDArray[np.int32]]) -> WordFeatures:
        """Average the vectors of each text's words; call ``read`` after numbering the texts.

        Parameters
        ----------
        rows : sequence of n >= 1 (t,) int arrays
            As ``numbered`` gave them.

        Raises
        ------
        InputError
            No word of some text has a vector.
        """
        if self._vectors is None or len(self._vectors.found) < len(self._ids):
            raise InputError("Words cannot be averaged before their vectors are read", todo="Call read() first")
        vectors = self._vectors
        words = np.array([row.size for row in rows], dtype=np.int64)
        flat = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
        ends = np.append(0, np.cumsum(words))
        counts = csr_array((np.ones(flat.size), flat, ends), shape=(len(rows), len(vectors.found)))
        unknown = np.asarray(counts @ (~vectors.found).astype(np.float64)).astype(np.int64)
        refuse_texts(np.flatnonzero(unknown == words), f"{self._path} has no vector for any word in")
        array = np.asarray((counts @ vectors.array) / words[:, None], dtype=np.float32)
        repeated = int(vectors.repeated[np.unique(flat)].sum())
        return WordFeatures(array, words, unknown, _notes(self._path.name, words, unknown, vectors.phrases, repeated))


def _notes(
    name: str, words: NDArray[np.int64], unknown: NDArray[np.int64], phrases: int, repeated: int
) -> tuple[str, ...]:
    share = f"{unknown.sum():,} of {words.sum():,} words ({unknown.sum() / words.sum():.1%})"
    passed_over = {
        f"multi-word entries in {name} were skipped": phrases,
        f"repeated vectors of words in {name} were skipped": repeated,
    }
    return (
        f"{share} have no vector in {name} and count as zero",
        *(f"{count} {what}" for what, count in passed_over.items() if count),
    )


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
