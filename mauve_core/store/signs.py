"""Which complete runs lie below a root, and for each a sign that changes when something is written into its folder.

The sign is the times at which the folder, its parts and the comparison were last written: cheap enough to be looked at
on every rerun of a page. Files that grow in place (ratings) do not change it.
"""

from __future__ import annotations

import os
from pathlib import Path

from mauve_core.store.folder import ATTACHED, COMPARISON, is_id

_PARTS = ("", COMPARISON, ATTACHED, "derived")
"""What of a run's folder its sign is made of."""


def folder_signs(root: Path) -> dict[str, str]:
    """The sign of each complete run by its id."""
    with os.scandir(root) as entries:
        folders = [entry.path for entry in entries if is_id(entry.name)]
    signs = {os.path.basename(folder): _sign(folder) for folder in folders}  # noqa: PTH119 (as quick as can be)
    return {run_id: sign for run_id, sign in signs.items() if sign}


def _sign(folder: str) -> str:
    """Empty when no complete run is there."""
    times = []
    for part in _PARTS:
        try:
            times.append(str(os.stat(f"{folder}/{part}").st_mtime_ns))  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            if part == COMPARISON:
                return ""
            times.append("")
    return " ".join(times)
