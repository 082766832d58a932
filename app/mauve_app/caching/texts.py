"""Caches over all texts of a run: what a search found, and which texts answer one prompt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_core.analysis.text_search import TextSearch, found_texts
from mauve_core.corpus.pairing import shared_prompts


@kept_by_run(max_entries=16, show_spinner="Searching the texts")
def found(run_id: str, search: TextSearch) -> dict[str, NDArray[np.bool_]]:
    """As ``mauve_core.analysis.text_search.found_texts``, of the sources in the order of the map."""
    run = cache.load_run(run_id)
    return found_texts({source.name: run.corpora[source.name] for source in run.comparison.sources}, search)


@kept_by_run(max_entries=8, show_spinner=False)
def prompts(run_id: str) -> dict[str, NDArray[np.int32]] | None:
    """The number of each text's prompt by source; None if the sources share none."""
    run = cache.load_run(run_id)
    shared = shared_prompts({source.name: run.corpora[source.name] for source in run.comparison.sources})
    return None if shared is None else dict(shared.codes)
