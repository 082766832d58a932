"""Revoked sign-ins by a provider: without this list, a copied cookie's signature would stay valid for a month."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from mauve_core.base.files import PRIVATE_FILE, home, make_folder, storage_errors, sync_folder

# In the home folder: an empty file per revoked part of a sign-in, so that revocation survives a restart.
FOLDER = "signed-out"

# Seconds: twice the maximum lifetime of Streamlit's cookie. The clock may jump, so age alone forgets nothing.
KEPT_S = 62 * 24 * 3600

MAX_REMEMBERED = 10_000


class SignedOut:
    """Digests of revoked sign-ins; if the disk fails, they are kept until the server stops."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def add(self, keys: Iterable[bytes]) -> None:
        """Revoke these keys in every server of this home folder.

        Raises
        ------
        StorageError
            They could not be stored, so they are revoked only while this server runs.
        """
        added = tuple(keys)
        with self._lock:
            remembered = list(self._keys)[-MAX_REMEMBERED:]
            self._keys = dict.fromkeys([*remembered, *added])
        folder = home() / FOLDER
        with storage_errors(folder):
            make_folder(folder)
            for key in added:
                (folder / key.hex()).touch(PRIVATE_FILE)
            sync_folder(folder)
            _forget_old(folder)

    def holds(self, keys: Iterable[bytes]) -> bool:
        """Whether any of these keys was revoked."""
        requested = tuple(keys)
        return any(key in self._keys for key in requested) or (
            bool(requested) and any(map(os.path.exists, _paths(home() / FOLDER, requested)))
        )


def _paths(folder: Path, keys: Iterable[bytes]) -> Iterable[str]:
    return (str(folder / key.hex()) for key in keys)


def _forget_old(folder: Path) -> None:
    before, paths = time.time() - KEPT_S, list(folder.iterdir())
    for path in paths if len(paths) > MAX_REMEMBERED else ():
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
