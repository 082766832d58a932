"""List the complete runs below a root, each with a fingerprint that changes with its folder.

The fingerprint combines the last write times of the folder, its parts and the comparison with the identities of these
files. It is cheap enough to check on every rerun of a page. Files that grow in place (ratings) do not change it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from mauve_core.store.about import ABOUT
from mauve_core.store.folder import ATTACHED, COMPARISON, is_id

# Parts of a run's folder that its fingerprint covers.
_PARTS = ("", COMPARISON, ABOUT, ATTACHED, "derived")

# Errors of asking for what is not there; a link to itself leads nowhere.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

# Parts that pages show and other programs change; neither ratings nor precomputed results.
_SHOWN_PARTS = (COMPARISON, ABOUT, ATTACHED)


def folder_fingerprints(root: Path) -> dict[str, str]:
    """Return the fingerprint of each complete run, by id."""
    return _fingerprints(root, _PARTS)


def shown_fingerprints(root: Path) -> dict[str, str]:
    """As :func:`folder_fingerprints`, for what pages show; unchanged by ratings and precomputed results."""
    return _fingerprints(root, _SHOWN_PARTS)


def _fingerprints(root: Path, parts: tuple[str, ...]) -> dict[str, str]:
    with os.scandir(root) as entries:
        folders = [entry.path for entry in entries if is_id(entry.name)]
    found = {os.path.basename(folder): _fingerprint(folder, parts) for folder in folders}  # noqa: PTH119 (as quick as can be)
    return {run_id: each for run_id, each in found.items() if each}


def _fingerprint(folder: str, parts: tuple[str, ...]) -> str:
    """Return the folder's fingerprint; empty if it holds no complete run."""
    found = []
    for part in parts:
        try:
            status = os.stat(f"{folder}/{part}")  # noqa: PTH116
        except OSError as error:
            if error.errno not in _NOTHING:
                raise
            if part == COMPARISON:
                return ""
            found.append("")
        else:
            found.append(f"{status.st_mtime_ns}.{status.st_ino}")  # two files may be written within one tick
    return " ".join(found)
