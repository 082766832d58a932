"""Runs on disk: a comparison with its texts, labels, map and features, saved atomically and restored bit for bit.

A run is one folder below ``<home>/runs`` (``folder.py``), filled under a hidden name and renamed when it is complete
(``placing.py``); deleted runs stay in the trash until a person purges them. ``store.py`` is the store of all runs,
``index.py`` lists them by an SQLite file that follows the folders, ``archive.py`` moves a run as one file. Nothing is
pickled, and loading imports neither torch nor transformers.
"""

from __future__ import annotations

from mauve_core.runs.folder import (
    ATTACHED,
    COMPARISON,
    ID_PATTERN,
    About,
    ChangedMeanwhileError,
    Run,
    RunSummary,
    run_id,
)
from mauve_core.runs.index import DiskUse
from mauve_core.runs.placing import PARTIAL, DeletedRun
from mauve_core.runs.store import RunStore

__all__ = [
    "ATTACHED",
    "COMPARISON",
    "ID_PATTERN",
    "PARTIAL",
    "About",
    "ChangedMeanwhileError",
    "DeletedRun",
    "DiskUse",
    "Run",
    "RunStore",
    "RunSummary",
    "run_id",
]
