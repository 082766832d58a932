"""Which complete runs lie below a root, and for each a fingerprint that changes with its folder.

The fingerprint is the times at which the folder, its parts and the comparison were last written, and which files those
are: cheap enough to be looked at on every rerun of a page. Files that grow in place (ratings) do not change it.
"""

from __future__ import annotations

import os
from pathlib import Path

from mauve_core.store.about import ABOUT
from mauve_core.store.folder import ATTACHED, COMPARISON, is_id

_PARTS = ("", COMPARISON, ABOUT, ATTACHED, "derived")
"""What of a run's folder its fingerprint is made of."""

_SHOWN_PARTS = (COMPARISON, ABOUT, ATTACHED)
"""What of it a page shows that other programs change: not ratings, nor what follows from the rest."""


def folder_fingerprints(root: Path) -> dict[str, str]:
    """The fingerprint of each complete run by its id."""
    return _fingerprints(root, _PARTS)


def shown_fingerprints(root: Path) -> dict[str, str]:
    """The same, made of what pages show alone: it stays while people rate and while pages keep what they found out."""
    return _fingerprints(root, _SHOWN_PARTS)


def _fingerprints(root: Path, parts: tuple[str, ...]) -> dict[str, str]:
    with os.scandir(root) as entries:
        folders = [entry.path for entry in entries if is_id(entry.name)]
    found = {os.path.basename(folder): _fingerprint(folder, parts) for folder in folders}  # noqa: PTH119 (as quick as can be)
    return {run_id: each for run_id, each in found.items() if each}


def _fingerprint(folder: str, parts: tuple[str, ...]) -> str:
    """Empty when no complete run is there."""
    found = []
    for part in parts:
        try:
            status = os.stat(f"{folder}/{part}")  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            if part == COMPARISON:
                return ""
            found.append("")
        else:
            found.append(f"{status.st_mtime_ns}.{status.st_ino}")  # two files may be written within one tick
    return " ".join(found)
