"""Runs on disk: a comparison with its texts, labels, map and features, saved atomically and restored bit for bit.

A run is one folder below ``<home>/runs`` (``folder.py``), written under a hidden name and renamed when complete
(``runs.py``). ``about.py`` holds its name, tags and notes; ``trash.py`` keeps deleted runs until a person purges them;
``archive.py`` and ``unpacking.py`` move a run as one file. An SQLite file indexes the folders and is updated whenever
runs are listed (``index.py``). Nothing is pickled, and loading imports neither torch nor transformers.
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
