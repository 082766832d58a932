"""Caches over all texts of a run: what a search found, findings, and which texts answer one prompt."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_core.analysis.findings.finding import Finding, masks
from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.analysis.text_search import Shown, TextSearch, found_texts
from mauve_core.base.config import HUMAN
from mauve_core.corpus.pairing import shared_prompts
from mauve_core.experiments.diversity import RunDiversity, diversity_of_run


@kept_by_run(max_entries=16, show_spinner="Searching the texts")
def found(run_id: str, search: TextSearch) -> dict[str, NDArray[np.bool_]]:
    """As ``mauve_core.analysis.text_search.found_texts``, of the sources in the order of the map."""
    run = cache.load_run(run_id)
    corpora = {source.name: run.corpora[source.name] for source in run.comparison.sources}
    return found_texts(corpora, search, shown=None if search.shown is None else _shown(run_id, search.shown))


def _shown(run_id: str, shown: Shown) -> dict[str, NDArray[np.bool_]]:
    (finding,) = (each for each in findings(run_id, shown.candidate, shown.reference) if each.key == shown.key)
    names, run = (shown.reference, shown.candidate), cache.load_run(run_id)
    return dict(zip(names, masks(finding, *(len(run.corpora[name]) for name in names)), strict=True))


@kept_by_run(max_entries=32, show_spinner="Testing statements about the texts")
def findings(run_id: str, candidate: str, reference: str = HUMAN) -> tuple[Finding, ...]:
    """As ``mauve_core.analysis.findings.of_run.run_findings``."""
    return run_findings(cache.load_run(run_id), candidate, reference=reference)


@kept_by_run(max_entries=8, show_spinner="Comparing the answers to each prompt")
def diversity(run_id: str) -> RunDiversity:
    """As ``mauve_core.experiments.diversity.diversity_of_run``."""
    return diversity_of_run(cache.load_run(run_id))


@kept_by_run(max_entries=32, show_spinner=False)
def answers(run_id: str, candidate: str) -> list[list[int]]:
    """The texts of each prompt with several answers, by place; prompts with the fewest different ones first."""
    run = cache.load_run(run_id)
    codes, corpus = (run.comparison.prompts or {})[candidate], run.corpora[candidate].texts
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    several = [group.tolist() for group in groups if len(group) > 1]
    return sorted(several, key=lambda rows: len({corpus[row] for row in rows}) / len(rows))


@kept_by_run(max_entries=8, show_spinner=False)
def prompts(run_id: str) -> dict[str, NDArray[np.int32]] | None:
    """The number of each text's prompt by source; None if the sources share none."""
    run = cache.load_run(run_id)
    shared = shared_prompts({source.name: run.corpora[source.name] for source in run.comparison.sources})
    return None if shared is None else dict(shared.codes)
