"""What ``compare --engine`` and ``shard-merge`` print of the clusters over all texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from mauve_core.analysis.sentences import Sentence
from mauve_core.base.formatting import printable
from mauve_core.base.json_codec import Count, Share
from mauve_core.cli.options import sentences_text
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

    from mauve_core.experiments.clusters_over_shards import CandidateOverAll, SideOverAll
    from mauve_core.shards.result import ShardedComparison

# Clusters of a candidate.
MOST = 5

# Phrases of a side in a table.
MOST_PHRASES = 2


class CountedPhraseJson(TypedDict):
    """A phrase that one side of a cluster uses more often than the other.

    Attributes
    ----------
    text : str
        Its words in lower case.
    human, model : int
        Number of texts of either side of the cluster that have it, counted in all texts.
    """

    text: str
    human: Count
    model: Count


class SideOverAllJson(TypedDict):
    """One side of a cluster of all texts.

    Attributes
    ----------
    n : int
        Number of texts of the side in the cluster, of all its texts.
    share : float
        Part of all texts of the side that are in the cluster, 0 to 1.
    low, high : float
        Ends of the 95 % interval of the share, 0 to 1, which holds for all clusters and both sides at once.
    phrases : list of CountedPhraseJson
        Phrases that the side uses more often than the other in this cluster, proposed by random texts.
    """

    n: Count
    share: Share
    low: Share
    high: Share
    phrases: list[CountedPhraseJson]


class ClusterOverAllJson(TypedDict):
    """One cluster of all texts.

    Attributes
    ----------
    number : int
        Number of the cluster in the partition, from 0 to k - 1; not a rank.
    name : str
        Words that distinguish its texts.
    human, model : SideOverAllJson
        Both sides.
    """

    number: Count
    name: str
    human: SideOverAllJson
    model: SideOverAllJson


def clusters_json(found: ShardedComparison, candidate: CandidateOverAll) -> list[ClusterOverAllJson]:
    """The first clusters of a candidate."""
    from mauve_core.experiments.cluster_shares import share_table

    rows = [row for _, row in share_table(found, candidate).head(MOST).iterrows()]
    return [
        {
            "number": cluster.number,
            "name": cluster.name,
            "human": _side(cluster.human, row, "p"),
            "model": _side(cluster.model, row, "q"),
        }
        for cluster, row in zip(candidate.clusters, rows, strict=False)
    ]


def _side(side: SideOverAll, row: pd.Series, share: str) -> SideOverAllJson:
    return {
        "n": side.n,
        "share": float(row[share]),
        "low": float(row[f"{share}_low"]),
        "high": float(row[f"{share}_high"]),
        "phrases": [{"text": phrase.text, "human": phrase.human, "model": phrase.model} for phrase in side.phrases],
    }


def cluster_lines(found: ShardedComparison, candidate: CandidateOverAll) -> list[str]:
    """A sentence and a table of the first clusters of a candidate, after an empty line; nothing without clusters."""
    from mauve_core.experiments.cluster_shares import cluster_rows, columns_of, sentence, share_table

    said = sentence(share_table(found, candidate), candidate.name)
    if not said:
        return []
    rows = [columns_of(candidate.name), *cluster_rows(found, candidate, MOST, MOST_PHRASES)]
    shown = (
        f" {len(rows) - 1} of {found[candidate.name].k:,} clusters, with the largest parts of the frontier integral:"
    )
    return ["", sentences_text([Sentence((said, shown))]), "", aligned([tuple(map(printable, row)) for row in rows])]
