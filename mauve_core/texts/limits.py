"""Limits on what is read: larger files are refused during reading, so that no file can fill the memory.

An environment variable can set each limit.
"""

from __future__ import annotations

import os
from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import whole_number

ROWS_VARIABLE, ROWS = "MAUVE_LENS_MAX_ROWS", 2_000_000
CHARACTERS_VARIABLE, CHARACTERS = "MAUVE_LENS_MAX_CHARACTERS", 1_000_000
# Megabytes of 1,024 x 1,024 bytes.
UNPACKED_VARIABLE, UNPACKED_MB = "MAUVE_LENS_MAX_UNPACKED_MB", 2048

CELLS_VARIABLE, CELLS = "MAUVE_LENS_MAX_CELLS", 30_000_000
RESAMPLES_VARIABLE, RESAMPLES = "MAUVE_LENS_MAX_RESAMPLES", 1_000_000
LABELS_VARIABLE, LABELS = "MAUVE_LENS_MAX_LABELS", 500_000_000
UPLOAD_VARIABLE, UPLOAD_MB = "MAUVE_LENS_MAX_UPLOAD_MB", 500
UPLOAD_DAYS_VARIABLE, UPLOAD_DAYS = "MAUVE_LENS_UPLOAD_DAYS", 14
CACHE_VARIABLE, CACHE_MB = "MAUVE_LENS_CACHE_MB", 1000
VALUES_VARIABLE, VALUES = "MAUVE_LENS_MAX_VALUES", 5_000_000

MEMORY_VARIABLE = "MAUVE_LENS_MAX_MEMORY_MB"

# Average lines per row, including blank lines and lines inside cells, at the limit of rows.
LINES_A_ROW = 10

# Maximum bytes of a JSON document per allowed value: tables of results hold numbers, a few names and sentences.
BYTES_A_VALUE = 50

# Maximum bytes of a line per allowed character of a value: a line holds several values, and escapes are long.
BYTES_A_CHARACTER = 16


def rows() -> int:
    """Maximum rows of a file."""
    return _number(ROWS_VARIABLE, ROWS)


def characters() -> int:
    """Maximum characters of one text, prompt or other value: a thick book."""
    return _number(CHARACTERS_VARIABLE, CHARACTERS)


def unpacked_bytes() -> int:
    """Maximum bytes of a file or folder, unpacked and decoded."""
    return _number(UNPACKED_VARIABLE, UNPACKED_MB) << 20


def cells() -> int:
    """Maximum values of a file: rows times fields, plus nested values. Each takes about a hundred bytes in memory."""
    return _number(CELLS_VARIABLE, CELLS)


def resamples() -> int:
    """Maximum histogram pairs of a comparison's bootstrap: resamples x seeds x candidates, a kilobyte each."""
    return _number(RESAMPLES_VARIABLE, RESAMPLES)


def labels() -> int:
    """Maximum cluster labels of a comparison: seeds x texts x partitions of each text, four bytes each in memory."""
    return _number(LABELS_VARIABLE, LABELS)


def upload_mb() -> int:
    """Maximum megabytes of an uploaded file."""
    return _number(UPLOAD_VARIABLE, UPLOAD_MB)


def upload_days() -> int:
    """Days to keep an uploaded file after its last use."""
    return _number(UPLOAD_DAYS_VARIABLE, UPLOAD_DAYS)


def cache_mb() -> int:
    """Megabytes that the app caches in memory between user actions."""
    return _number(CACHE_VARIABLE, CACHE_MB)


def values() -> int:
    """Maximum values of one JSON file of a run; each takes up to a hundred bytes in memory."""
    return _number(VALUES_VARIABLE, VALUES)


def document_bytes() -> int:
    """Maximum bytes of one JSON file of a run, checked before it is read."""
    return values() * BYTES_A_VALUE


def memory_mb() -> int | None:
    """Maximum megabytes of memory of a job; None if nobody set it."""
    return _number(MEMORY_VARIABLE, 0) or None


def check() -> None:
    """Raise InputError if a variable of the environment sets a limit that cannot be used."""
    for limit in (
        rows,
        characters,
        unpacked_bytes,
        cells,
        resamples,
        labels,
        upload_mb,
        upload_days,
        cache_mb,
        values,
        memory_mb,
    ):
        limit()


def in_words() -> str:
    """Describe all limits, for users who are about to choose a file."""
    return f"{upload_mb():,} MB per file, {rows():,} rows, {characters():,} characters per text."


def too_many_rows(path: Path, most: int) -> InputError:
    """Return the error for a file with more than ``most`` rows or lines."""
    return InputError(
        f"{path} has too many rows",
        allowed=f"at most {most:,}",
        todo=f"Draw a sample (10,000 texts per side resolve fine differences), or set {ROWS_VARIABLE}",
    )


def too_large(path: Path, most: int) -> InputError:
    """Return the error for a file or folder that holds, or unpacks to, more than ``most`` bytes."""
    return InputError(
        f"{path} holds or unpacks to more than {most:,} bytes",
        allowed=f"at most {unpacked_bytes():,} bytes, and fewer for highly compressed files",
        todo=f"Draw a sample, decompress the file yourself, or set {UNPACKED_VARIABLE}",
    )


def too_many_cells(path: Path, most: int) -> InputError:
    """Return the error for a file with more than ``most`` values."""
    return InputError(
        f"{path} holds too many values",
        allowed=f"at most {most:,}, including those in lists and objects",
        todo=f"Leave out unneeded fields, or set {CELLS_VARIABLE}",
    )


def too_long(path: Path, location: str, most: int) -> InputError:
    """Return the error for a value, or its line, that is too long."""
    return InputError(
        f"{location} of {path} is too long",
        allowed=f"at most {most:,} characters per text",
        todo=f"Shorten it, or set {CHARACTERS_VARIABLE}",
    )


def too_many_values(most: int) -> InputError:
    """Return the error for a JSON file with more than ``most`` values."""
    return InputError(
        "It holds too many values", allowed=f"at most {most:,}", todo=f"To allow more, set {VALUES_VARIABLE}"
    )


def _number(variable: str, usual: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return usual
    number = whole_number(text)
    if not number:
        raise InputError(f"{variable} is not a valid limit", allowed="a whole number above 0", received=repr(text))
    return number
