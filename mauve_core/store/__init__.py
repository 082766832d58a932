"""Runs on disk: a comparison with its texts, labels, map and features, saved whole or not at all, reopened bit for bit.

A run is one folder below ``<home>/runs`` (``folder.py``), written under a hidden name and renamed when complete
(``runs.py``). ``catalogue.sqlite`` is an index of those folders and is brought up to date from them whenever runs are
listed (``catalogue.py``). Nothing is pickled, and loading imports neither torch nor transformers.
"""

from mauve_core.store.catalogue import CATALOGUE
from mauve_core.store.folder import ATTACHED, COMPARISON, ID_PATTERN, Run, RunSummary
from mauve_core.store.runs import PARTIAL, RunStore, run_id

__all__ = ["ATTACHED", "CATALOGUE", "COMPARISON", "ID_PATTERN", "PARTIAL", "Run", "RunStore", "RunSummary", "run_id"]
