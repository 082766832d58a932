"""Which complete runs lie below a root, and for each a sign that changes when something is written into its folder.

The sign is the times at which the folder, its parts and the comparison were last written, and which files those are:
cheap enough to be looked at on every rerun of a page. Files that grow in place (ratings) do not change it.
"""

from __future__ import annotations

import os
from pathlib import Path

from mauve_core.store.about import ABOUT
from mauve_core.store.folder import ATTACHED, COMPARISON, is_id

_PARTS = ("", COMPARISON, ABOUT, ATTACHED, "derived")
"""What of a run's folder its sign is made of."""

_SHOWN_PARTS = (COMPARISON, ABOUT, ATTACHED)
"""What of it a page shows that other programs change: not ratings, nor what follows from the rest."""


def folder_signs(root: Path) -> dict[str, str]:
    """The sign of each complete run by its id."""
    return _signs(root, _PARTS)


def shown_signs(root: Path) -> dict[str, str]:
    """The same, made of what pages show alone: it stays while people rate and while pages keep what they found out."""
    return _signs(root, _SHOWN_PARTS)


def _signs(root: Path, parts: tuple[str, ...]) -> dict[str, str]:
    with os.scandir(root) as entries:
        folders = [entry.path for entry in entries if is_id(entry.name)]
    signs = {os.path.basename(folder): _sign(folder, parts) for folder in folders}  # noqa: PTH119 (as quick as can be)
    return {run_id: sign for run_id, sign in signs.items() if sign}


def _sign(folder: str, parts: tuple[str, ...]) -> str:
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
