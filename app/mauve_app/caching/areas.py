"""Caches of the map: excerpts of its texts, and phrases that tell the texts of two areas apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_core.analysis.phrases import Phrase, distinctive_phrases
from mauve_core.corpus.text_properties import stop_words


def excerpts(run_id: str, length: int, places: NDArray[np.intp]) -> dict[int, str] | None:
    """The first ``length`` characters of the texts at these places in map order, by place; None without any."""
    if not length:
        return None
    known = _excerpts(run_id, length)
    return {place: known[place] for place in places.tolist()}


@kept_by_run(max_entries=4, show_spinner=False)
def _excerpts(run_id: str, length: int) -> list[str]:
    run = cache.load_run(run_id)
    texts = (text for source in run.comparison.sources for text in run.corpora[source.name].texts)
    return [text if len(text) <= length else f"{text[:length]}…" for text in texts]


@kept_by_run(max_entries=16, show_spinner="Counting phrases")
def area_phrases(
    run_id: str, first: tuple[int, ...], second: tuple[int, ...], top: int
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    """Phrases that tell two sets of texts apart, given by their places in map order."""
    run, order = cache.load_run(run_id), cache.stack(run_id)
    sets = [
        [run.corpora[order.names[order.source[place]]].texts[order.position[place]] for place in places]
        for places in (first, second)
    ]
    return distinctive_phrases(*sets, top=top, stop_words=stop_words())
