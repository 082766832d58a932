"""The report block on corpora in shards: scores and clusters over all texts, of which the run holds a sample."""

from __future__ import annotations

from mauve_core.experiments.cluster_shares import ABOUT as ABOUT_CLUSTERS
from mauve_core.experiments.cluster_shares import cluster_rows, columns_of, sentence, share_table
from mauve_core.experiments.clusters_over_shards import CandidateOverAll, stored_clusters_over_all
from mauve_core.experiments.over_shards import (
    ABOUT,
    answers_over_all,
    missing_sentence,
    over_all_rows,
    sample_sentence,
    stored_over_shards,
)
from mauve_core.reporting.blocks import Block, Remarks, Table
from mauve_core.shards.result import ShardedComparison
from mauve_core.store import Run

TITLE = "Over all texts"


def over_shards_blocks(run: Run) -> tuple[Block, ...]:
    """Sentences, the scores and the clusters, if the run is a sample; StorageError or InputError if damaged."""
    found = stored_over_shards(run)
    if found is None:
        return ()
    columns, rows = over_all_rows(found)
    said = [*map(str, answers_over_all(found, run)), sample_sentence(run, found)]
    said += filter(None, [missing_sentence(found)])
    scores = Remarks(tuple(said)), Table("Scores over all texts", columns, tuple(rows), ABOUT)
    clusters = stored_clusters_over_all(run)
    if clusters is None:
        return scores
    return *scores, *(block for each in clusters.candidates for block in _clusters(found, each))


def _clusters(found: ShardedComparison, candidate: CandidateOverAll) -> tuple[Block, ...]:
    said = sentence(share_table(found, candidate), candidate.name)
    if not said:
        return ()
    rows = tuple(cluster_rows(found, candidate, len(candidate.clusters)))
    title = f"Clusters over all texts: {candidate.name}"
    return Remarks((said,)), Table(title, columns_of(candidate.name), rows, ABOUT_CLUSTERS, folded=True)
