"""Clusters over all texts of corpora in shards: those that tell the sides apart most, with some texts and phrases.

A run keeps them beside the scores over all texts (:mod:`mauve_core.experiments.over_shards`). They belong to the
partition of all texts; the clusters that the run itself has are those of its sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mauve_core.analysis.cluster_names import cluster_names
from mauve_core.analysis.phrases import distinctive_of_counts
from mauve_core.analysis.words import count_words
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Count, Within, dataclass_to_json, from_json
from mauve_core.experiments.over_shards import stored_over_shards
from mauve_core.runs import Run
from mauve_core.shards.cluster_texts import RANDOM, KeptText
from mauve_core.shards.comparison import KeptCluster, KeptSide, kept_clusters
from mauve_core.shards.plan import Work
from mauve_core.texts.properties import stop_words

ATTACHMENT = "shards-clusters"

# Random texts of a cluster and side that a run keeps, of those that propose phrases.
MOST_READ = 20

MOST_PHRASES = 5


@dataclass(frozen=True)
class CountedPhrase:
    """A phrase that one side of a cluster uses more often than the other.

    Attributes
    ----------
    text : str
    human, model : int
        Texts of either side that have it, of all texts of the cluster.
    """

    text: str
    human: Count
    model: Count


@dataclass(frozen=True)
class SideOverAll:
    """One side of a cluster.

    Attributes
    ----------
    n : int
        Texts of the side in the cluster, of all shards.
    effect : float
        How many times as large the variance of its share is as if texts of one prompt were not alike.
    sampled : int
        Random texts that proposed phrases.
    nearest, random : tuple of KeptText
        The nearest to the cluster's center first, and the first of the random ones.
    phrases : tuple of CountedPhrase
        The most distinctive first.
    """

    n: Count
    effect: Annotated[float, Within(1)]
    sampled: Annotated[int, Within(0, RANDOM)]
    nearest: tuple[KeptText, ...]
    random: tuple[KeptText, ...]
    phrases: tuple[CountedPhrase, ...]


@dataclass(frozen=True)
class ClusterOverAll:
    """One cluster of all texts: its number, words that distinguish it from the others here, and both sides."""

    number: Count
    name: str
    human: SideOverAll
    model: SideOverAll


@dataclass(frozen=True)
class CandidateOverAll:
    """The clusters of one candidate's partition that have the largest terms of the frontier integral.

    Attributes
    ----------
    name : str
    seed : int
        Index of the k-means seed under which MAUVE is the candidate's median.
    clusters : tuple of ClusterOverAll
        The largest term first.
    """

    name: str
    seed: Count
    clusters: tuple[ClusterOverAll, ...]


@dataclass(frozen=True)
class ClustersOverAll:
    """The clusters of every candidate, in their order."""

    candidates: tuple[CandidateOverAll, ...]

    def __getitem__(self, name: str) -> CandidateOverAll:
        return {candidate.name: candidate for candidate in self.candidates}[name]

    def digest(self) -> str:
        """SHA-256 of all of it: equal on every engine."""
        return hashlib.sha256(json.dumps(dataclass_to_json(self), sort_keys=True).encode()).hexdigest()


def clusters_over_all(work: Work) -> ClustersOverAll:
    """Name the clusters of all candidates, and find their phrases; call it after ``compare_shards``."""
    return ClustersOverAll(tuple(_of_candidate(work, name) for name in work.plan.candidates))


def _of_candidate(work: Work, candidate: str) -> CandidateOverAll:
    seed, clusters = kept_clusters(work, candidate)
    found = tuple(
        ClusterOverAll(cluster.number, name, *_sides(cluster))
        for cluster, name in zip(clusters, _names(clusters), strict=True)
    )
    return CandidateOverAll(candidate, seed, found)


def _names(clusters: Sequence[KeptCluster]) -> tuple[str, ...]:
    """Words of each cluster's random texts that the others' have less often; its number where shards hold features."""
    texts = [
        (place, text.text)
        for place, cluster in enumerate(clusters)
        for text in (*cluster.human.random, *cluster.model.random)
    ]
    if not texts:
        return tuple(f"cluster {cluster.number}" for cluster in clusters)
    labels = np.array([place for place, _ in texts], dtype=np.int32)
    return cluster_names(count_words([text for _, text in texts]), {}, labels, len(clusters))


def _sides(cluster: KeptCluster) -> tuple[SideOverAll, SideOverAll]:
    sides, (phrases, texts) = (cluster.human, cluster.model), cluster.phrases
    chosen: tuple[list[int], list[int]] = [], []
    if all(side.n for side in sides):
        chosen = distinctive_of_counts(
            phrases,
            texts,
            (cluster.human.n, cluster.model.n),
            effects=(cluster.human.effect, cluster.model.effect),
            top=MOST_PHRASES,
            stop_words=stop_words(),
        )
    human, model = (
        _side(side, tuple(CountedPhrase(phrases[at], *texts[:, at].tolist()) for at in own))
        for side, own in zip(sides, chosen, strict=True)
    )
    return human, model


def _side(side: KeptSide, phrases: tuple[CountedPhrase, ...]) -> SideOverAll:
    return SideOverAll(side.n, side.effect, len(side.random), side.nearest, side.random[:MOST_READ], phrases)


def stored_clusters_over_all(run: Run) -> ClustersOverAll | None:
    """The clusters over all texts, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    found, of = from_json(ClustersOverAll, values), stored_over_shards(run)
    if of is None:
        raise InputError("There are clusters over all texts, and no scores", allowed="both or neither")
    names = [candidate.name for candidate in of.candidates]
    if [candidate.name for candidate in found.candidates] != names:
        raise InputError("The clusters over all texts do not belong to the run", allowed=", ".join(names))
    for each, size in zip(found.candidates, (side.n for side in of.sides[1:]), strict=True):
        for cluster in each.clusters:
            _require_shares(cluster, of.sides[0].n, size)
    return found


def _require_shares(cluster: ClusterOverAll, human: int, model: int) -> None:
    """Raise InputError unless no part is larger than its whole, and none with a phrase is of no texts."""
    phrases = (*cluster.human.phrases, *cluster.model.phrases)
    for side, of, counts in (
        (cluster.human, human, [phrase.human for phrase in phrases]),
        (cluster.model, model, [phrase.model for phrase in phrases]),
    ):
        if side.n > of or max(counts, default=0) > side.n or (counts and not side.n):
            raise InputError(
                f"The counts of cluster {cluster.number} over all texts do not fit together",
                allowed=f"at most {of:,} texts of the side, and no more with a phrase than in the cluster",
                received=f"{side.n:,}, and {max(counts, default=0):,} with a phrase",
            )
