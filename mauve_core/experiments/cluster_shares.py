"""Shares of both sides in clusters over all texts, with intervals, and what they say in a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from mauve_core.analysis.cluster_table import ADDS, CONFIDENCE, MISSES, wilson_interval
from mauve_core.base.formatting import NONE, percent_with_interval, with_plain_spaces
from mauve_core.experiments.clusters_over_shards import CandidateOverAll, ClusterOverAll, SideOverAll
from mauve_core.shards.cluster_texts import LEAST_PROPOSING, MOST_CHARACTERS, RANDOM
from mauve_core.shards.plan import ShardedComparison

ABOUT = (
    "Clusters of all texts with the largest parts of the frontier integral, under the k-means seed whose MAUVE is the "
    f"median. {CONFIDENCE:.0%} intervals of shares by Wilson, as wide as the likeness of texts of one prompt makes "
    "them, for all clusters of both sides at once, clusters held fixed. Names are words of up to "
    f"{RANDOM} random texts of each side of a cluster."
)

ABOUT_PHRASES = (
    f"Phrases of at least {LEAST_PROPOSING} prompts in the first {MOST_CHARACTERS:,} characters of up to {RANDOM} "
    "random texts of a side, which it uses more often than the other. Shares are of all its texts in the cluster. "
    f"{CONFIDENCE:.0%} intervals are for one phrase at a time, and as wide as the likeness of texts of one prompt "
    "makes them for the cluster's share."
)


def share_table(found: ShardedComparison, candidate: CandidateOverAll) -> pd.DataFrame:
    """One row per cluster, in their order.

    Returns
    -------
    DataFrame
        cluster, name, human, model (counts), p, q (shares), p_low, p_high, q_low, q_high (intervals that hold for all
        clusters of the partition at once), direction (``ADDS``, ``MISSES``).
    """
    sizes = {side.name: side.n for side in found.sides}
    confidence = 1 - (1 - CONFIDENCE) / (2 * found[candidate.name].k)
    columns: dict[str, object] = {
        "cluster": np.array([each.number for each in candidate.clusters], dtype=np.int64),
        "name": [each.name for each in candidate.clusters],
    }
    for share, name, n in (("p", "human", found.sides[0].n), ("q", "model", sizes[candidate.name])):
        sides: list[SideOverAll] = [getattr(each, name) for each in candidate.clusters]
        counts = np.array([side.n for side in sides], dtype=np.int64)
        effects = np.array([side.effect for side in sides], dtype=np.float64)
        low, high = wilson_interval(counts / effects, n / effects, confidence)
        columns |= {name: counts, share: counts / n, f"{share}_low": low, f"{share}_high": high}
    table = pd.DataFrame(columns)
    return table.assign(direction=np.where(table["q"] > table["p"], ADDS, MISSES))


def share_label(row: pd.Series, share: str) -> str:
    """A cluster's share of one side, ``p`` or ``q``, with its interval."""
    return percent_with_interval(row[share], row[f"{share}_low"], row[f"{share}_high"])


def sentence(table: pd.DataFrame, candidate: str, said: Callable[[str], str] = str) -> str:
    """Say which clusters the candidate over- and under-produces most; "" without clusters.

    ``candidate`` is written as it is; ``said`` writes the names of clusters, which are untrusted.
    """
    parts: list[str] = []
    for direction, verb in ((ADDS, "over-produces"), (MISSES, "under-produces")):
        rows = table[table["direction"] == direction]
        if rows.empty:
            continue
        row = rows.iloc[0]
        shares = f"{share_label(row, 'q')} of its texts against {share_label(row, 'p')} of the human texts"
        if row["p_low"] <= row["q_high"] and row["q_low"] <= row["p_high"]:
            shares += " (these intervals overlap)"
        parts.append(f"{'it' if parts else candidate} {verb} “{said(row['name'])}” most: {shares}")
    return f"{'; '.join(parts)}." if parts else ""


def cluster_rows(
    found: ShardedComparison, candidate: CandidateOverAll, most: int, phrases: int | None = None
) -> list[tuple[str, ...]]:
    """Cells of the first clusters: name, number, both shares, both sides' first phrases, all untrusted."""
    table = share_table(found, candidate).head(most)
    rows = [row for _, row in table.iterrows()]
    return [
        (
            cluster.name,
            f"{cluster.number}",
            *(with_plain_spaces(share_label(row, share)) for share in ("p", "q")),
            *(phrases_in_words(side, phrases) for side in (cluster.human, cluster.model)),
        )
        for row, cluster in zip(rows, candidate.clusters, strict=False)
    ]


def columns_of(candidate: str) -> tuple[str, ...]:
    """Titles of the cells of :func:`cluster_rows`."""
    return "Cluster", "No.", "Human", candidate, "Human phrases", f"Phrases of {candidate}"


def phrases_in_words(side: SideOverAll, most: int | None = None) -> str:
    """The first phrases of a side of a cluster; None means all."""
    return ", ".join(each.text for each in side.phrases[:most]) or NONE


def phrase_shares(cluster: ClusterOverAll, side: SideOverAll) -> list[tuple[str, str, str]]:
    """The phrases of a side, untrusted, with the shares of its own texts and of the other side's that have them."""
    if not side.phrases:
        return []
    sides = [(name, getattr(cluster, name)) for name in ("human", "model")]
    cells = []
    for name, each in sorted(sides, key=lambda pair: pair[1] is not side):
        counts = np.array([getattr(phrase, name) for phrase in side.phrases], dtype=np.float64)
        ends = zip(counts / each.n, *wilson_interval(counts / each.effect, each.n / each.effect), strict=True)
        cells.append([percent_with_interval(*end) for end in ends])
    return list(zip([phrase.text for phrase in side.phrases], *cells, strict=True))


def cluster_of(candidate: CandidateOverAll, number: int | None) -> ClusterOverAll | None:
    """The cluster of that number; the first for None or another number, None without clusters."""
    by_number = {each.number: each for each in candidate.clusters}
    return by_number.get(-1 if number is None else number, next(iter(candidate.clusters), None))
