"""How much of a file is read: beyond these it is refused while it is being read, so that no file can fill the memory.

Each limit can be set by a variable of the environment.
"""

from __future__ import annotations

import os
from pathlib import Path

from mauve_core.base.errors import InputError

ROWS_VARIABLE, ROWS = "MAUVE_LENS_MAX_ROWS", 2_000_000
"""Rows of a file."""

CHARACTERS_VARIABLE, CHARACTERS = "MAUVE_LENS_MAX_CHARACTERS", 1_000_000
"""Characters of one text, prompt or any other value: a thick book."""

UNPACKED_VARIABLE, UNPACKED_MB = "MAUVE_LENS_MAX_UNPACKED_MB", 2048
"""Megabytes (of 1,024 x 1,024 bytes) that a file or a folder may hold, unpacked and decoded where it is packed."""

CELLS_VARIABLE, CELLS = "MAUVE_LENS_MAX_CELLS", 30_000_000
"""Values of a file: rows times fields, and what lists and objects hold. A hundred bytes each in memory."""

RESAMPLES_VARIABLE, RESAMPLES = "MAUVE_LENS_MAX_RESAMPLES", 1_000_000
"""Pairs of histograms that the bootstrap of a comparison draws: resamples x seeds x candidates. A kilobyte each."""

LABELS_VARIABLE, LABELS = "MAUVE_LENS_MAX_LABELS", 500_000_000
"""Clusters of texts that a comparison finds: seeds x texts x partitions that they are in. Four bytes each, kept."""

UPLOAD_VARIABLE, UPLOAD_MB = "MAUVE_LENS_MAX_UPLOAD_MB", 500
"""Megabytes of a file that a browser sends."""

UPLOAD_DAYS_VARIABLE, UPLOAD_DAYS = "MAUVE_LENS_UPLOAD_DAYS", 14
"""Days for which an uploaded file is kept after it was last used."""

CACHE_VARIABLE, CACHE_MB = "MAUVE_LENS_CACHE_MB", 1000
"""Megabytes of what the app keeps in memory between what its readers do."""

VALUES_VARIABLE, VALUES = "MAUVE_LENS_MAX_VALUES", 5_000_000
"""Values of one JSON file of a run; each takes up to a hundred bytes once it is read."""

LINES_A_ROW = 10
"""Lines, blank ones and those inside of cells included, that a row may take on average at the limit of rows."""

BYTES_A_CHARACTER = 16
"""Bytes of a line for each character that a value may have: a line holds several values, and escapes are long."""


def rows() -> int:
    """Rows that a file may have."""
    return _number(ROWS_VARIABLE, ROWS)


def characters() -> int:
    """Characters that a value may have."""
    return _number(CHARACTERS_VARIABLE, CHARACTERS)


def unpacked_bytes() -> int:
    """Bytes that a file may hold once it is unpacked and decoded."""
    return _number(UNPACKED_VARIABLE, UNPACKED_MB) << 20


def cells() -> int:
    """Values that a file may hold."""
    return _number(CELLS_VARIABLE, CELLS)


def resamples() -> int:
    """Pairs of histograms that the bootstrap of a comparison may draw."""
    return _number(RESAMPLES_VARIABLE, RESAMPLES)


def labels() -> int:
    """Clusters of texts that a comparison may find."""
    return _number(LABELS_VARIABLE, LABELS)


def upload_mb() -> int:
    """Megabytes that an uploaded file may have."""
    return _number(UPLOAD_VARIABLE, UPLOAD_MB)


def upload_days() -> int:
    """Days for which an uploaded file is kept after it was last used."""
    return _number(UPLOAD_DAYS_VARIABLE, UPLOAD_DAYS)


def cache_mb() -> int:
    """Megabytes of what the app keeps in memory between what its readers do."""
    return _number(CACHE_VARIABLE, CACHE_MB)


def values() -> int:
    """Values that one JSON file of a run may have."""
    return _number(VALUES_VARIABLE, VALUES)


def in_words() -> str:
    """All of them, for whoever is about to choose a file."""
    return f"{upload_mb():,} MB a file, {rows():,} rows, {characters():,} characters a text."


def too_many_rows(path: Path, most: int) -> InputError:
    """The error for a file with more rows, or lines, than that."""
    return InputError(
        f"{path} has too many rows",
        allowed=f"at most {most:,}",
        todo=f"Draw a sample of them; 10,000 texts a side tell fine differences. Or set {ROWS_VARIABLE}",
    )


def too_large(path: Path, most: int) -> InputError:
    """The error for a file or folder that holds more bytes than that, or unpacks to more."""
    return InputError(
        f"{path} holds or unpacks to more than {most:,} bytes",
        allowed=f"at most {unpacked_bytes():,} bytes, and fewer where few bytes unpack to many",
        todo=f"Draw a sample of it, unpack it yourself, or set {UNPACKED_VARIABLE}",
    )


def too_many_cells(path: Path, most: int) -> InputError:
    """The error for a file that holds more values than that."""
    return InputError(
        f"{path} holds too many values",
        allowed=f"at most {most:,}, those in lists and objects included",
        todo=f"Leave out fields that are not needed, or set {CELLS_VARIABLE}",
    )


def too_long(path: Path, place: str, most: int) -> InputError:
    """The error for a value, or the line that holds it, that is longer than the limit."""
    return InputError(
        f"{place} of {path} holds a text that is too long",
        allowed=f"at most {most:,} characters a text",
        todo=f"Cut it, or set {CHARACTERS_VARIABLE}",
    )


def too_many_values(most: int) -> InputError:
    """The error for a JSON file with more values than that."""
    return InputError(
        "It holds too many values", allowed=f"at most {most:,}", todo=f"If it is to be so large, set {VALUES_VARIABLE}"
    )


def _number(variable: str, usual: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(f"{variable} is no limit", allowed="a whole number above 0", received=repr(text))
    return int(text)
