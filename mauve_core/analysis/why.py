"""Why texts share a cluster, and why the two sides differ in it: a card of phrases, properties and text pairs.

Phrases distinguish the two sides within the cluster, and the cluster from its neighbors. Properties, such as length or
a truncated end, are compared between the sides within the cluster, and between the cluster and all other texts. A
property that separates them by itself is flagged, since it explains most of the difference. A nearest pair is a human
text and a model text that the encoder finds alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.analysis.phrases import Phrase, distinctive_phrases
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.clusters.neighbours import nearest_pairs
from mauve_core.scoring.result import Partition
from mauve_core.stats.two_groups import Effect, effect
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.properties import stop_words

# A property separates two sets of texts by itself if the whole interval of its AUC lies beyond this.
SEPARATES = 0.8

Properties = Mapping[str, NDArray[np.float64]]

NEIGHBOURS = 5
PAIRS = 5


@dataclass(frozen=True, eq=False)
class WhySource:
    """Two sides under one partition, prepared for cards.

    Attributes
    ----------
    candidate : str
    texts : tuple of str
        The human side's, then the candidate's.
    humans : int
        Number of human texts.
    labels : (n,) int32 array
    k : int
    features : (n, d) float32 array or None
        In the encoder's own space.
    centres : (k, d) float64 array or None
        Mean features of each cluster; nan if it is empty.
    properties : dict of str to (n,) float64 array
    """

    candidate: str
    texts: tuple[str, ...]
    humans: int
    labels: NDArray[np.int32]
    k: int
    features: NDArray[np.float32] | None
    centres: NDArray[np.float64] | None
    properties: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class PropertyEffect:
    """One property in two sets of texts.

    Attributes
    ----------
    name : str
        A key of ``mauve_core.texts.kinds.Kind.properties``.
    effect : Effect or None
        First set against second; None if a set has no text with the property.
    separates : bool
        Whether it separates the two by itself.
    """

    name: str
    effect: Effect | None
    separates: bool


@dataclass(frozen=True)
class Pair:
    """A human text and a nearby model text: their rows on their sides, and their distance."""

    human: int
    model: int
    distance: float


@dataclass(frozen=True)
class WhyCard:
    """What distinguishes one cluster.

    Attributes
    ----------
    cluster : int
    human, model : int
        Number of texts of each side.
    unit : {"documents", "tokens"}
        Unit in which phrases are counted.
    human_phrases, model_phrases : tuple of Phrase
        Of each side within the cluster, against the other side's texts in it.
    neighbours : tuple of int
        The clusters with the nearest centers, the nearest first; empty without features.
    cluster_phrases : tuple of Phrase
        Of both sides' texts in the cluster, against those in its neighbors.
    sides : tuple of PropertyEffect
        The human side against the model's within the cluster.
    rest : tuple of PropertyEffect
        The cluster against all other texts, both sides together.
    pairs : tuple of Pair
        The closest first; no text is in two pairs.
    notes : tuple of str
        What is missing, and why.
    """

    cluster: int
    human: int
    model: int
    unit: str
    human_phrases: tuple[Phrase, ...]
    model_phrases: tuple[Phrase, ...]
    neighbours: tuple[int, ...]
    cluster_phrases: tuple[Phrase, ...]
    sides: tuple[PropertyEffect, ...]
    rest: tuple[PropertyEffect, ...]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


def why_source(
    partition: Partition,
    human: Corpus,
    candidate: Corpus,
    name: str,
    features: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
    properties: tuple[Properties, Properties] | None = None,
) -> WhySource:
    """Read the texts of both sides once; keep the result between calls of :func:`why_card`.

    Parameters
    ----------
    partition : Partition
    human, candidate : Corpus
    name : str
        The candidate's name in the partition.
    features : ((n, d) array, (m, d) array), optional
        Of both sides, as the encoder gave them; without them there are neither neighbors nor pairs.
    properties : (dict, dict), optional
        Of each side as their kind measures them, if known.

    Raises
    ------
    InputError
        Corpora or features that do not belong to the partition.
    """
    sides = {HUMAN: human, name: candidate}
    for source, corpus in sides.items():
        if len(partition.labels.get(source, ())) != len(corpus):
            raise InputError(f"The partition does not belong to the {len(corpus)} texts of {source!r}")
    labels = np.concatenate([partition.labels[source] for source in sides])
    texts = tuple(words for corpus in (human, candidate) for words in kind_of(corpus.kind).described(corpus))
    stacked = centres = None
    if features is not None:
        if [len(part) for part in features] != [len(human), len(candidate)]:
            raise InputError("The features do not match the texts", allowed="one row for each text of each side")
        stacked = np.concatenate(features)
        centres = _centres(stacked, labels, partition.k)
    if properties is None:
        properties = kind_of(human.kind).measure(human), kind_of(candidate.kind).measure(candidate)
    found = {key: np.concatenate([side[key] for side in properties]) for key in properties[0]}
    return WhySource(name, texts, len(human), labels, partition.k, stacked, centres, found)


def why_card(
    source: WhySource,
    cluster: int,
    *,
    unit: str = "documents",
    top: int = 10,
    neighbours: int = NEIGHBOURS,
    confidence: float = 0.95,
) -> WhyCard:
    """Return the card of one cluster.

    Parameters
    ----------
    cluster : int
    unit : {"documents", "tokens"}
        Unit in which phrases are counted.
    top : int
        Most phrases of each kind.
    neighbours : int
        Number of neighbor clusters to compare with.
    confidence : float in (0, 1)
        Of all intervals.

    Raises
    ------
    InputError
        An unknown cluster, or unusable settings.
    """
    if not 0 <= cluster < source.k:
        raise InputError("No cluster has that number", allowed=f"0 to {source.k - 1}", received=str(cluster))
    inside = source.labels == cluster
    chosen = np.flatnonzero(inside)
    human, model = chosen[chosen < source.humans], chosen[chosen >= source.humans]
    notes = []
    if not human.size or not model.size:
        sizes = f"{human.size} texts of one side and {model.size} of the other"
        notes.append(f"The cluster has {sizes}: its sides cannot be compared")
    near = _neighbours(source, cluster, neighbours)
    around = np.flatnonzero(np.isin(source.labels, near))
    if source.features is None:
        notes.append("Without features, there are no neighboring clusters or nearest pairs")
    of_sides = _phrases(source, human, model, unit, top, confidence)
    of_cluster, _ = _phrases(source, np.flatnonzero(inside), around, unit, top, confidence)
    return WhyCard(
        cluster=cluster,
        human=int(human.size),
        model=int(model.size),
        unit=unit,
        human_phrases=of_sides[0],
        model_phrases=of_sides[1],
        neighbours=tuple(near),
        cluster_phrases=of_cluster,
        sides=property_effects(source, human, model, confidence),
        rest=property_effects(source, np.flatnonzero(inside), np.flatnonzero(~inside), confidence),
        pairs=_pairs(source, human, model),
        notes=tuple(notes),
    )


def property_effects(
    source: WhySource, first: NDArray[np.intp], second: NDArray[np.intp], confidence: float = 0.95
) -> tuple[PropertyEffect, ...]:
    """Compare every property of the source between two sets of its texts, given by their positions."""
    found = []
    for name, values in source.properties.items():
        left, right = (part[~np.isnan(part)] for part in (values[first], values[second]))
        one = effect(left, right, confidence) if left.size and right.size else None
        found.append(PropertyEffect(name, one, one is not None and one.separates(SEPARATES)))
    return tuple(found)


def _centres(features: NDArray[np.float32], labels: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    member = csr_array((np.ones(labels.size), (labels, np.arange(labels.size))), shape=(k, labels.size))
    sizes = np.bincount(labels, minlength=k)[:, None]
    sums = np.asarray(member @ features.astype(np.float64))
    return np.asarray(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))


def _neighbours(source: WhySource, cluster: int, most: int) -> list[int]:
    if source.centres is None:
        return []
    away = ((source.centres - source.centres[cluster]) ** 2).sum(axis=1)
    order = [int(other) for other in np.argsort(away, kind="stable") if other != cluster and np.isfinite(away[other])]
    return order[:most]


def _phrases(
    source: WhySource, first: NDArray[np.intp], second: NDArray[np.intp], unit: str, top: int, confidence: float
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    if not first.size or not second.size:
        return (), ()
    left, right = ([source.texts[index] for index in part] for part in (first, second))
    return distinctive_phrases(left, right, unit=unit, top=top, stop_words=stop_words(), confidence=confidence)


def _pairs(source: WhySource, human: NDArray[np.intp], model: NDArray[np.intp]) -> tuple[Pair, ...]:
    if source.features is None or not human.size or not model.size:
        return ()
    return tuple(
        Pair(int(human[i]), int(model[j]) - source.humans, distance)
        for i, j, distance in nearest_pairs(source.features[human], source.features[model], PAIRS)
    )
