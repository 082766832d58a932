"""Texts -> averages of fixed word vectors, such as GloVe's (Pennington, Socher and Manning, EMNLP 2014).

The features of JMLR 2023, section 7.5.3: the sum of the vectors of a text's words over the number of all its words, so
that a word without a vector counts as zero (after the pipeline has brought rows to unit length, that divisor no longer
matters). Word order does not count.

A vector file has a word and its numbers on each line, separated by single spaces, with or without the first line of the
word2vec format, which tells how many words and how many numbers there are; one that ends in ``.gz`` is unpacked. Such
files hold hundreds of thousands of words, so one pass reads them line by line and keeps what occurs in the texts.

Tokenisation, ``"words"``: runs of letters, digits and underscores of any script, punctuation marks one by one, and
English endings split off as in GloVe's own vocabulary (do n't, it 's); ``"whitespace"``, as the paper has it: whatever
stands between white space, punctuation included. Words are looked up in lower case, as the common files have them;
``lowercase=False`` is for files that keep capitals.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.corpus.streams import refusals
from mauve_core.encoders.tokenizing import refuse_texts
from mauve_core.errors import InputError
from mauve_core.progress import Progress, silent

STAGE = "Reading word vectors"
"""Stage name of the progress; counts bytes of the file as it lies on disk."""

LINE_LIMIT = 1 << 20
"""Bytes of the longest line that is read; a longer one is no vector."""

REPORT = 4096
"""Lines between two reports of progress."""

MOST_NUMBERS = 10_000
"""Numbers of the longest vector."""

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18})")

_PATTERNS = {
    "words": re.compile(r"\w+?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]", re.IGNORECASE),
    "whitespace": re.compile(r"\S+"),
}
TOKENISATIONS = tuple(_PATTERNS)


@dataclass(frozen=True, eq=False)
class WordFeatures:
    """Averages of word vectors.

    Attributes
    ----------
    array : (n, d) float32 array
        A row for each text, in order; what ``compare(..., features=...)`` takes for a side.
    words : (n,) int64 array
        Words of each text.
    unknown : (n,) int64 array
        Those of them without a vector.
    notes : tuple of str
        What a reader must know: the share of words without a vector, and what the file has besides vectors.
    """

    array: NDArray[np.float32]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]
    notes: tuple[str, ...]


def word_features(
    texts: Mapping[str, Sequence[str]],
    path: str | Path,
    *,
    tokenisation: str = "words",
    lowercase: bool = True,
    progress: Progress = silent,
) -> dict[str, WordFeatures]:
    """Average the vectors of each text's words, for all sides in one pass over the vector file.

    Parameters
    ----------
    texts : mapping of str to sequence of str
        The texts of each side.
    path : str or Path
        The vector file.
    tokenisation : {"words", "whitespace"}
    lowercase : bool
    progress : callable
        Called with (stage, bytes read, bytes).

    Returns
    -------
    dict of str to WordFeatures
        By side, in the given order.

    Raises
    ------
    InputError
        The file cannot be read, a line is no word with finite numbers (the file and the line are named), no line is, or
        no word of some text has a vector (those texts are named by their place).
    """
    if tokenisation not in _PATTERNS:
        raise InputError("No tokenisation of that name", allowed=", ".join(_PATTERNS), received=repr(tokenisation))
    empty = [side for side, rows in texts.items() if not rows]
    if empty:
        raise InputError(f"There are no texts of {', '.join(map(repr, empty))}", allowed="at least one a side")
    ids: dict[bytes, int] = {}
    sides = {side: [_word_ids(text, tokenisation, lowercase, ids) for text in rows] for side, rows in texts.items()}
    vectors = read_vectors(Path(path), ids, progress)
    return {side: _averages(side, rows, vectors, Path(path)) for side, rows in sides.items()}


def words_of(text: str, tokenisation: str = "words", *, lowercase: bool = True) -> list[str]:
    """The words that :func:`word_features` looks up, in order."""
    text = text.replace("\u2019", "'")
    return _PATTERNS[tokenisation].findall(text.lower() if lowercase else text)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors of some words.

    Attributes
    ----------
    array : (w, d) float32 array
        Zeros for a word without a vector.
    found : (w,) bool array
    notes : tuple of str
        Which lines were passed over, and why.
    """

    array: NDArray[np.float32]
    found: NDArray[np.bool_]
    notes: tuple[str, ...]


def read_vectors(path: Path, ids: Mapping[bytes, int], progress: Progress = silent) -> WordVectors:
    """The vectors of chosen words from a file of many.

    Every line must have as many fields as the first; numbers are read on the lines of chosen words alone. An entry of
    several words (some files have a few) and a second vector of one word are passed over and counted.

    Parameters
    ----------
    path : Path
    ids : mapping of bytes to int
        Row of each word, in UTF-8, from 0 without gaps.
    progress : callable

    Raises
    ------
    InputError
        As :func:`word_features`.
    """
    if not path.is_file():
        raise InputError(
            f"{path} is not a file", allowed="a file of word vectors", todo="Check the name and the folder"
        )
    reading = _Reading(path, ids)
    with refusals(path), path.open("rb") as raw:
        size = path.stat().st_size
        stream = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
        while line := stream.readline(LINE_LIMIT + 1):
            if reading.lines % REPORT == 0:
                progress(STAGE, min(raw.tell(), size), size)
            reading.take(line)
        progress(STAGE, size, size)
    return reading.finished()


class _Reading:
    """A vector file, line by line."""

    def __init__(self, path: Path, ids: Mapping[bytes, int]) -> None:
        self.lines = 0
        self._path, self._ids = path, ids
        self._declared: int | None = None
        self._numbers = 0
        self._vectors: dict[int, NDArray[np.float32]] = {}
        self._phrases = self._repeated = 0

    def take(self, line: bytes) -> None:
        """The next line; InputError unless it is one of a vector file."""
        self.lines += 1
        if len(line) > LINE_LIMIT:
            raise self._refused(f"more than {LINE_LIMIT:,} bytes")
        line = line.rstrip(b" \r\n")
        if self.lines == 1:
            line = line.removeprefix(_BOM)
            header = _HEADER.fullmatch(line)
            if header:
                self._declared, self._numbers = (int(field) for field in header.groups())
            else:
                self._numbers = line.count(b" ")
            if not 0 < self._numbers <= MOST_NUMBERS:
                raise self._refused(repr(line[:40].decode(errors="replace")))
            if header:
                return
        fields = line.count(b" ")
        if fields > self._numbers:
            # Either several words or something else: the numbers tell.
            self._parsed(line.split(b" ")[-self._numbers :])
            self._phrases += 1
        elif fields < self._numbers:
            raise self._refused(f"{fields + 1 if line else 0} fields")
        elif (row := self._ids.get(line[: line.index(b" ")])) is not None:
            vector = self._parsed(line.split(b" ")[1:])
            self._repeated += row in self._vectors
            self._vectors.setdefault(row, vector)

    def finished(self) -> WordVectors:
        """What was read; InputError if the file holds less, or more, than it says."""
        there = self.lines - (self._declared is not None)
        if there < 1 or (self._declared is not None and there != self._declared):
            allowed = f"{self._declared:,} lines, as its first line says" if self._declared else "a word vector a line"
            raise InputError(
                f"{self._path} is not complete, or is no file of word vectors", allowed=allowed, received=f"{there:,}"
            )
        array = np.zeros((len(self._ids), self._numbers), dtype=np.float32)
        for row, vector in self._vectors.items():
            array[row] = vector
        found = np.zeros(len(self._ids), dtype=np.bool_)
        found[list(self._vectors)] = True
        counts = {
            f"entries of several words in {self._path.name} were passed over": self._phrases,
            f"further vectors of words that {self._path.name} has before were passed over": self._repeated,
        }
        return WordVectors(array, found, tuple(f"{count} {what}" for what, count in counts.items() if count))

    def _parsed(self, fields: list[bytes]) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                vector = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise self._refused("something else among the numbers") from error
        if not np.isfinite(vector).all() or any(b"_" in field for field in fields):
            raise self._refused("numbers that are not finite in float32")
        return vector

    def _refused(self, received: str) -> InputError:
        allowed = (
            f"a word and {self._numbers} numbers" if self.lines > 1 else f"a word and 1 to {MOST_NUMBERS:,} numbers"
        )
        return InputError(
            f"Line {self.lines} of {self._path} is not that of a word vector",
            allowed=f"{allowed}, separated by single spaces",
            received=received,
        )


def _word_ids(text: str, tokenisation: str, lowercase: bool, ids: dict[bytes, int]) -> NDArray[np.int32]:
    """The text's words as rows of the table to come; new words are added to ``ids``."""
    words = (word.encode(errors="surrogatepass") for word in words_of(text, tokenisation, lowercase=lowercase))
    return np.array([ids.setdefault(word, len(ids)) for word in words], dtype=np.int32)


def _averages(side: str, rows: Sequence[NDArray[np.int32]], vectors: WordVectors, path: Path) -> WordFeatures:
    words = np.array([row.size for row in rows], dtype=np.int64)
    ends = np.append(0, np.cumsum(words))
    flat = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    counts = csr_array((np.ones(flat.size), flat, ends), shape=(len(rows), len(vectors.found)))
    unknown = np.asarray(counts @ (~vectors.found).astype(np.float64)).astype(np.int64)
    refuse_texts(np.flatnonzero(unknown == words), f"{path} has no vector for any word of {side!r} in")
    array = np.asarray((counts @ vectors.array) / words[:, None], dtype=np.float32)
    share = f"{unknown.sum():,} of {words.sum():,} words ({unknown.sum() / words.sum():.1%})"
    notes = (f"{share} have no vector in {path.name} and count as zero", *vectors.notes)
    return WordFeatures(array, words, unknown, notes)
