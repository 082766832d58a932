"""Runs on disk: a comparison with its texts, labels, map and features, saved whole or not at all, reopened bit for bit.

A run is one folder below ``<home>/runs`` (``folder.py``), written under a hidden name and renamed when complete
(``runs.py``), with what people say of it (``about.py``). Deleted ones stay in a bin until a person empties it
(``trash.py``); one travels as one file (``archive.py``, ``unpacking.py``). An SQLite file indexes those folders and is
brought up to date from them whenever runs are listed (``index.py``). Nothing is pickled, and loading imports neither
torch nor transformers.
"""

from mauve_core.store.about import About, ChangedMeanwhileError
from mauve_core.store.folder import ATTACHED, COMPARISON, ID_PATTERN, Run, RunSummary, run_id
from mauve_core.store.listing import DiskUse
from mauve_core.store.runs import RunStore
from mauve_core.store.trash import PARTIAL, DeletedRun

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
