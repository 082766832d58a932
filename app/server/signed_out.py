"""Sign-ins by a provider that were ended: their signature alone would let a copy of the cookie in for a month."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from mauve_core.base.files import PRIVATE_FILE, home, make_folder, storage_errors

FOLDER = "signed-out"
"""In the home folder: an empty file for each ended part of a sign-in, so that they stay ended when the server stops."""

KEPT_S = 62 * 24 * 3600
"""Twice as long as Streamlit's cookie is taken at most."""

MAX_REMEMBERED = 10_000


class SignedOut:
    """What was ended, by digests; a disk that refuses lets them be forgotten when the server stops, not before."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def add(self, keys: Iterable[bytes]) -> None:
        """Refuse these from now on, in every server of this home.

        Raises
        ------
        StorageError
            They are refused as long as this server runs, and could not be written down.
        """
        added = tuple(keys)
        with self._lock:
            kept = list(self._keys)[-MAX_REMEMBERED:]
            self._keys = dict.fromkeys([*kept, *added])
        folder = home() / FOLDER
        with storage_errors(folder):
            make_folder(folder)
            for key in added:
                (folder / key.hex()).touch(PRIVATE_FILE)
            _forget_old(folder)

    def holds(self, keys: Iterable[bytes]) -> bool:
        """Whether one of these was ended."""
        asked = tuple(keys)
        return any(key in self._keys for key in asked) or (
            bool(asked) and any(map(os.path.exists, _paths(home() / FOLDER, asked)))
        )


def _paths(folder: Path, keys: Iterable[bytes]) -> Iterable[str]:
    return (str(folder / key.hex()) for key in keys)


def _forget_old(folder: Path) -> None:
    before = time.time() - KEPT_S
    for path in folder.iterdir():
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
