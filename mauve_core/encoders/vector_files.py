"""Read the vectors of chosen words from a file of many, in one pass.

Each line holds a word and its numbers, separated by single spaces. A first line in the word2vec format, with the
number of words and of dimensions, is optional. Files ending in ``.gz`` are unpacked. Such files hold hundreds of
thousands of words, so they are read line by line, and only the chosen words are kept.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.files import require_plain_file
from mauve_core.base.progress import Progress, silent
from mauve_core.texts.streams import CHUNK, refusals

# Stage name for progress; counts bytes of the file on disk.
STAGE = "Reading word vectors"

# Maximum bytes of a line; a longer one is not a vector.
LINE_LIMIT = 1 << 20

# Lines between two reports of progress.
REPORT = 4096

# Lines of a file, ten times those of the largest that are published, and how far a packed one may unpack: numbers
# written out unpack to three times their size.
MOST_LINES, MOST_RATIO = 20_000_000, 20

# Maximum dimension of a vector.
MOST_NUMBERS = 10_000

# Maximum numbers in all chosen vectors: 4 GiB.
MOST_CELLS = 2**30

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18})")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors of some words.

    Attributes
    ----------
    array : (w, d) float32 array
        Zeros for a word without a vector.
    found : (w,) bool array
    repeated : (w,) int64 array
        Further vectors of each word, which were skipped.
    phrases : int
        Entries of several words in the whole file, which were skipped.
    """

    array: NDArray[np.float32]
    found: NDArray[np.bool_]
    repeated: NDArray[np.int64]
    phrases: int

    def followed_by(self, other: WordVectors) -> WordVectors:
        """Return these words followed by those of another pass over the same file."""
        return WordVectors(
            np.concatenate([self.array, other.array]),
            np.concatenate([self.found, other.found]),
            np.concatenate([self.repeated, other.repeated]),
            other.phrases,
        )


def check_beginning(path: Path) -> None:
    """Refuse a file whose first two lines are not those of a vector file; InputError as :func:`read_vectors`."""
    with _opened(path) as (_, stream):
        lines = [line for line in (stream.readline(LINE_LIMIT + 1), stream.readline(LINE_LIMIT + 1)) if line]
    reading = _Reading(path, {_without_marks(line).partition(b" ")[0]: 0 for line in lines})
    for line in lines:
        reading.take(line)
    if not lines:
        reading.finished()


def read_vectors(path: Path, ids: Mapping[bytes, int], progress: Progress = silent) -> WordVectors:
    """Return the vectors of chosen words from a file of many.

    ``ids`` maps each word, in UTF-8, to its row, from 0 without gaps. Every line must have as many fields as the
    first; numbers are parsed only for chosen words. Entries of several words (some files have a few) and second
    vectors of a word are skipped and counted.

    Raises
    ------
    InputError
        The file cannot be read, a line is not a word with finite numbers (names file and line), or lines are missing.
    """
    reading = _Reading(path, ids)
    with _opened(path) as (raw, stream):
        size, taken = path.stat().st_size, 0
        while line := stream.readline(LINE_LIMIT + 1):
            if reading.lines % REPORT == 0:
                progress(STAGE, min(raw.tell(), size), size)
            reading.take(line)
            taken += len(line)
            if reading.lines > MOST_LINES or taken > max(CHUNK, MOST_RATIO * size):
                raise InputError(
                    f"{path} holds or unpacks to more than word vectors do",
                    allowed=f"at most {MOST_LINES:,} lines, and {MOST_RATIO} times the bytes of the file",
                )
        progress(STAGE, size, size)
    return reading.finished()


def _without_marks(line: bytes) -> bytes:
    while line.startswith(_BOM):
        line = line.removeprefix(_BOM)
    return line


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Yield the file on disk, and its unpacked bytes."""
    require_plain_file(path, "file of word vectors")
    with refusals(path), path.open("rb") as raw:
        yield raw, gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw  # type: ignore[misc]


class _Reading:
    """Reader of a vector file, line by line."""

    def __init__(self, path: Path, ids: Mapping[bytes, int]) -> None:
        self.lines = 0
        self._path, self._ids = path, ids
        self._declared: int | None = None
        self._numbers = 0
        self._vectors: dict[int, NDArray[np.float32]] = {}
        self._phrases, self._repeated = 0, np.zeros(len(ids), dtype=np.int64)

    def take(self, line: bytes) -> None:
        """Read the next line; InputError if it does not belong in a vector file."""
        self.lines += 1
        if len(line) > LINE_LIMIT:
            raise self._refused(f"more than {LINE_LIMIT:,} bytes")
        line = line.rstrip(b" \r\n")
        if self.lines == 1:
            line = _without_marks(line)
            header = _HEADER.fullmatch(line)
            if header:
                self._declared, self._numbers = (int(field) for field in header.groups())
            else:
                self._numbers = line.count(b" ")
            if not 0 < self._numbers <= MOST_NUMBERS:
                raise self._refused(repr(line[:40].decode(errors="replace")))
            if len(self._ids) * self._numbers > MOST_CELLS:
                raise InputError(
                    f"The vectors of {len(self._ids):,} words would take too much memory",
                    allowed=f"at most {MOST_CELLS:,} numbers",
                    received=f"{self._numbers:,} per word, as in the first line of {self._path}",
                    todo="Use a sample of the texts, or shorter vectors",
                )
            if header:
                return
        fields = line.count(b" ")
        if fields > self._numbers:
            # Several words or something else: the numbers decide.
            self._parsed(line.split(b" ")[-self._numbers :])
            self._phrases += 1
        elif fields < self._numbers:
            raise self._refused(f"{fields + 1 if line else 0} fields")
        elif (row := self._ids.get(line[: line.index(b" ")])) is not None:
            vector = self._parsed(line.split(b" ")[1:])
            self._repeated[row] += row in self._vectors
            self._vectors.setdefault(row, vector)

    def finished(self) -> WordVectors:
        """Return the result; InputError if the file holds fewer or more lines than it declares."""
        count = self.lines - (self._declared is not None)
        if count < 1 or (self._declared is not None and count != self._declared):
            allowed = (
                f"{self._declared:,} lines, as declared in its first line"
                if self._declared
                else "one word vector per line"
            )
            raise InputError(
                f"{self._path} is incomplete or not a file of word vectors", allowed=allowed, received=f"{count:,}"
            )
        array = np.zeros((len(self._ids), self._numbers), dtype=np.float32)
        for row, vector in self._vectors.items():
            array[row] = vector
        found = np.zeros(len(self._ids), dtype=np.bool_)
        found[list(self._vectors)] = True
        return WordVectors(array, found, self._repeated, self._phrases)

    def _parsed(self, fields: list[bytes]) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                vector = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise self._refused("something else among the numbers") from error
        if not np.isfinite(vector).all() or b"_" in b" ".join(fields):
            raise self._refused("numbers that are not finite in float32")
        return vector

    def _refused(self, received: str) -> InputError:
        allowed = (
            f"a word and {self._numbers} numbers" if self.lines > 1 else f"a word and 1 to {MOST_NUMBERS:,} numbers"
        )
        return InputError(
            f"Line {self.lines} of {self._path} is not a word vector",
            allowed=f"{allowed}, separated by single spaces",
            received=received,
        )
