"""Finished parts of unfinished work, kept until all of it is done, so that work resumes after a kill.

A part is a small JSON object ``<home>/unfinished/<key>/<name>.json``. The key is a digest of everything that decides
the parts, including this program's version. Features and texts have stores of their own, which outlast the work.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mauve_core.base.errors import StorageError
from mauve_core.base.files import home, read_stored, write_atomically
from mauve_core.texts import limits

# Parts of work that nobody has continued for this long are removed.
ABANDONED_AFTER_S = 14 * 24 * 3600.0


class FinishedParts:
    """Finished parts of one piece of work; ``decides`` holds everything that they depend on, as plain JSON."""

    def __init__(self, decides: Mapping[str, Any]) -> None:
        content = json.dumps({"version": version("mauve-lens"), **decides}, sort_keys=True)
        self._folder = home() / "unfinished" / hashlib.sha256(content.encode()).hexdigest()[:32]

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the part of that name; None if it is missing or damaged and must be made again."""
        with suppress(OSError, ValueError, RecursionError):
            values = json.loads(read_stored(self._path(name), limits.document_bytes()))
            if isinstance(values, dict):
                return values
        return None

    def keep(self, name: str, values: Mapping[str, Any]) -> None:
        """Keep a part; if the disk refuses, the work continues without it."""
        text = json.dumps(dict(values), allow_nan=False)
        with suppress(StorageError):
            write_atomically(self._path(name), lambda stream: stream.write(text.encode()))

    def discard(self) -> None:
        """Remove all parts of this work, now done, and those of abandoned work."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for folder in self._folder.parent.glob("*"):
            with suppress(OSError):
                if folder.stat().st_mtime < time.time() - ABANDONED_AFTER_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
