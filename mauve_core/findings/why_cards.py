"""Why texts share a cluster and why the sides differ in it: card, texts to read, name, and main reason of a gap.

A card has phrases that distinguish the sides within the cluster and the cluster from its neighbors, properties with
effect sizes, and nearest pairs of a human and a model text. A property is flagged if it separates them by itself: its
AUC's whole interval lies beyond ``SEPARATES``. A cluster is named by such a property, else by its distinctive words,
from the texts of all sides, so that its name does not depend on the candidate in focus. Names repeat untrusted words.

The main reason is, in this order: a property that separates the sides within the costliest cluster (largest part of
the frontier integral, pairwise partition, median seed), one that separates them over all texts, one that separates the
cluster from all other texts, its distinctive words. All but the second need a stable cluster. The second is shown by
the costliest cluster that the candidate writes more of and whose texts have the property at least as much as its texts
on average. There is no reason for a gap that human texts could have among themselves.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import as_percent, percent_with_interval
from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.base.words import Words
from mauve_core.clusters.neighbours import nearest_pairs
from mauve_core.findings.clusters import ADDS
from mauve_core.findings.distinctive_words import DistinctiveWord, Phrase, WordCounts, distinctive_phrases
from mauve_core.scoring.result import Partition
from mauve_core.stats.two_groups import Effect, auc_interval, effect
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of, property_named
from mauve_core.texts.properties import apart, stop_words

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


@dataclass(frozen=True)
class Row:
    """Two texts beside each other, by their rows on their sides; None where there is no text."""

    human: int | None
    model: int | None


def central_texts(source: WhySource, cluster: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the cluster's texts on each side, the nearest to the cluster's center first.

    Distances are Euclidean, in the encoder's own space, to the mean of both sides' texts of the cluster. Ties, and all
    texts of a run without features, stay in the order of the file.

    Returns
    -------
    human, model : arrays of int
        Rows on their sides.

    Raises
    ------
    InputError
        An unknown cluster.
    """
    if not 0 <= cluster < source.k:
        raise InputError("No cluster has that number", allowed=f"0 to {source.k - 1}", received=str(cluster))
    chosen = np.flatnonzero(source.labels == cluster)
    if source.features is not None and source.centres is not None:
        away = ((source.features[chosen] - source.centres[cluster]) ** 2).sum(axis=1)
        chosen = chosen[np.argsort(away, kind="stable")]
    return chosen[chosen < source.humans], chosen[chosen >= source.humans] - source.humans


def side_by_side(human: NDArray[np.intp], model: NDArray[np.intp], most: int) -> list[Row]:
    """The first ``most`` texts of each side in rows; a shorter side leaves places empty."""
    rows = range(min(max(human.size, model.size), most))
    return [Row(*(int(side[row]) if row < side.size else None for side in (human, model))) for row in rows]


def paired(
    human: NDArray[np.intp],
    model: NDArray[np.intp],
    codes: tuple[NDArray[np.int32], NDArray[np.int32]],
    most: int,
) -> list[Row]:
    """Pair the first texts of a cluster with the other side's text of the same prompt, whichever its cluster.

    Parameters
    ----------
    human, model : arrays of int
        Rows of the cluster's texts, in the order in which they are taken: the human ones first, then the model's whose
        prompt is not there yet.
    codes : ((n,) array, (m,) array) of int
        Number of each text's prompt, on both sides.
    most : int

    Returns
    -------
    list of Row
        At most ``most`` pairs, both places filled. Of several texts of the prompt, one in the cluster is taken before
        the others, then the first; a text without a partner is left out.
    """
    pairs: list[Row] = []
    seen: set[int] = set()
    for own, (rows, others) in enumerate(((human, model), (model, human))):
        for row in rows.tolist():
            code = int(codes[own][row])
            partners = np.flatnonzero(codes[1 - own] == code)
            if code in seen or not partners.size or len(pairs) == most:
                continue
            seen.add(code)
            inside = [each for each in others.tolist() if codes[1 - own][each] == code]
            partner = inside[0] if inside else int(partners[0])
            pairs.append(Row(row, partner) if own == 0 else Row(partner, row))
    return pairs


# Words in a name, unless it takes more to tell two clusters apart.
MOST_WORDS = 3

# Characters of a word in a name; what has more is a link or a run of letters without spaces, and is cut.
LONGEST_WORD = 24

# Share of a cluster's items that must have a tag that names it.
LEAST_TAGGED = 0.1

# Names of an empty cluster, and of one that neither a property nor a word distinguishes.
NO_TEXTS, NO_WORDS = "no texts", "no distinctive words"

# Words of a cluster among which its name is found.
_CONSIDERED = 24


def cluster_names(
    counts: WordCounts,
    properties: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.int32],
    k: int,
    *,
    tags: bool = False,
) -> tuple[str, ...]:
    """Name the clusters of a partition.

    A property of the items names a cluster if it separates the cluster's texts
    from all others by itself: the whole interval of its AUC (``stats.two_groups``) lies beyond
    :data:`mauve_core.findings.why_cards.SEPARATES`. Of several, the one with the interval farthest from 1/2 does. Other
    clusters take their words with the largest class-based TF-IDF (Grootendorst 2022, equation 2), of those in two texts
    or more where there are any. Equal names are told apart by further words, at last by the clusters' numbers.

    Parameters
    ----------
    counts : WordCounts
        Of all n texts, in the order of ``labels``.
    properties : mapping of str to (n,) float64 array
        As the items' kind measures them; nan where an item lacks one.
    labels : (n,) array of int
        Cluster of each text, 0 to ``k`` - 1.
    k : int
    tags : bool
        Whether the words are tags of items that are no texts: then numbers are names, such as those of folders, and a
        tag names a cluster only if a tenth of its items have it.

    Returns
    -------
    tuple of str
        (k,) names on one line each: words of the texts in lower case, separated by commas, or words of ours.

    Raises
    ------
    InputError
        The properties or the labels do not match the texts.
    """
    n = counts.matrix.shape[0]
    if any(values.shape != (n,) for values in properties.values()):
        raise InputError("The properties do not match the texts", allowed=f"one value for each of the {n} texts")
    sizes = np.bincount(labels, minlength=k)
    words = _tags(counts, labels, sizes) if tags else _words(counts, labels, k)
    separating = _separating(properties, labels, sizes)
    titles = [
        separating.get(cluster, "") if sizes[cluster] else NO_TEXTS for cluster in range(k)
    ]  # what is said before any word
    taken = [0 if titles[cluster] or not words[cluster] else MOST_WORDS for cluster in range(k)]
    return _unique(titles, words, taken)


def labelled(names: Sequence[str] | Mapping[int, str], cluster: int) -> str:
    """Write a cluster's name with its number, for places where people look for either; untrusted as the name is."""
    name = names[cluster]
    return name if name.endswith(_numbered(cluster)) else f"{name} · {cluster}"


def _words(counts: WordCounts, labels: NDArray[np.int32], k: int) -> list[list[str]]:
    """For each cluster, the words that may stand in its name, the most distinctive first."""
    common = counts.by_group(labels, k, top=_CONSIDERED, min_texts=2)
    rare = counts.by_group(labels, k, top=_CONSIDERED)
    found = []
    for cluster in range(k):
        offered = [each.word for each in common[cluster]] + [each.word for each in rare[cluster]]
        found.append(_readable(dict.fromkeys(offered)))
    return found


def _tags(counts: WordCounts, labels: NDArray[np.int32], sizes: NDArray[np.int64]) -> list[list[str]]:
    """The same of tags."""
    offered = counts.by_group(labels, sizes.size, top=_CONSIDERED)
    return [
        [_cut(each.word) for each in usual_tags(found, size)]
        for found, size in zip(offered, sizes.tolist(), strict=True)
    ]


def usual_tags(found: Sequence[DistinctiveWord], size: int) -> tuple[DistinctiveWord, ...]:
    """Those of a cluster's tags that may name it, which has so many items."""
    return tuple(each for each in found if each.texts >= LEAST_TAGGED * size)


def _cut(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"


def _readable(words: Sequence[str] | Mapping[str, None]) -> list[str]:
    """Leave out what is no word to a reader: numbers, and other forms of a word that is there already."""
    kept: list[str] = []
    for word in words:
        cut = _cut(word)
        if any(letter.isalpha() for letter in word) and not any(_same_stem(cut, other) for other in kept):
            kept.append(cut)
    return kept


def _same_stem(first: str, second: str) -> bool:
    """Whether one is the other with a short ending: *species* and *specie*, *robot* and *robots*."""
    short, long = sorted((first, second), key=len)
    return first == second or (len(short) >= _STEM and len(long) - len(short) <= 2 and long.startswith(short))


# Letters that two forms of a word share at least.
_STEM = 4


def _separating(
    properties: Mapping[str, NDArray[np.float64]], labels: NDArray[np.int32], sizes: NDArray[np.int64]
) -> dict[int, str]:
    """What each cluster does that all others do not, in the words of the property; clusters without one are left out.

    All clusters of a property are ranked together: the AUC of a cluster follows from the sum of its texts' ranks.
    """
    best: dict[int, tuple[float, str]] = {}
    for name, values in properties.items():
        kind, known = property_named(name), ~np.isnan(values)
        ranks, own = rankdata(values[known]), labels[known]
        inside = np.bincount(own, minlength=sizes.size)
        rank_sums = np.bincount(own, weights=ranks, minlength=sizes.size)
        for cluster in np.flatnonzero((inside > 0) & (inside < own.size)).tolist():
            n, m = int(inside[cluster]), int(own.size - inside[cluster])
            auc = (float(rank_sums[cluster]) - n * (n + 1) / 2) / (n * m)
            if 1 - SEPARATES < auc < SEPARATES:  # the interval holds the AUC
                continue
            low, high = auc_interval(auc, n, m)
            if low >= SEPARATES or high <= 1 - SEPARATES:
                margin = max(low, 1 - high)
                if cluster not in best or margin > best[cluster][0]:
                    best[cluster] = margin, kind.cluster_name(more=low >= SEPARATES)
    return {cluster: words for cluster, (_, words) in best.items()}


def _unique(titles: Sequence[str], words: Sequence[Sequence[str]], taken: list[int]) -> tuple[str, ...]:
    """Give clusters of equal names one word more each, as long as they have any; then their numbers."""
    while True:
        names = [_written(*each) for each in zip(titles, words, taken, strict=True)]
        count = Counter(names)
        again = [i for i, name in enumerate(names) if count[name] > 1 and taken[i] < len(words[i])]
        if not again:
            break
        for index in again:
            taken[index] += 1
    return tuple(name if count[name] == 1 else f"{name}{_numbered(index)}" for index, name in enumerate(names))


def _numbered(cluster: int) -> str:
    """What a cluster's name ends with if no word tells it from another's."""
    return f" ({cluster})"


def _written(title: str, words: Sequence[str], taken: int) -> str:
    shown = ", ".join(words[:taken])
    return f"{title}: {shown}" if title and shown else title or shown or NO_WORDS


# Which of the findings above it is.
Where = Literal["cluster", "all", "rest", "words"]

# Label of a cluster whose difference is beyond chance, and the same in the other partitions.
STABLE = "stable"

_COSTLIEST = "the costliest cluster"


@dataclass(frozen=True)
class Reason:
    """The main reason of one candidate.

    Attributes
    ----------
    candidate : str
    cluster : int
        The cluster, pairwise, under the candidate's median seed.
    share, low, high : float
        Its share of the frontier integral with the interval that holds for all clusters at once, in [0, 1].
    p, q : float
        Share of the human texts, and of the candidate's, that are in the cluster.
    direction : {"adds", "misses"}
        Whether the candidate writes more of the cluster than people do, or less.
    where : {"cluster", "all", "rest", "words"}
        What is compared: the two sides in the cluster, or all their texts; the cluster with all other texts; or
        nothing, and words stand for the cluster.
    property_name : str
        Of a property of the items; empty if words stand for the cluster.
    first, second : float
        Means of the property: the candidate and the human texts, or the cluster and all other texts; 0 for words.
    words : tuple of str
        Distinctive words of the cluster, which come from texts; empty if a property is named.
    """

    candidate: str
    cluster: Count
    share: Share
    low: Share
    high: Share
    p: Share
    q: Share
    direction: str
    where: Where
    property_name: str = ""
    first: NotNegative = 0.0
    second: NotNegative = 0.0
    words: tuple[str, ...] = ()

    def finding(self, words: Words) -> str:
        """What the candidate does, without numbers: ``repeats itself``; plain text that may hold words of texts."""
        more = self.first > self.second
        if self.where in ("cluster", "all"):
            return property_named(self.property_name).more if more else property_named(self.property_name).less
        if self.where == "rest":
            found = property_named(self.property_name)
            return f"{self._has} {words.items} that {found.texts_more if more else found.texts_less}"
        return f"{self._has} {words.items} like {', '.join(f'“{word}”' for word in self.words)}"

    @property
    def detail(self) -> str:
        """The numbers of both sides: ``distinct-4 46% per text against 95% in the costliest cluster``."""
        if self.where == "words":
            own, human = apart(self.q, self.p, as_percent)
            return f"{own} of its texts against {human} in {_COSTLIEST}"
        means = property_named(self.property_name).means(self.first, self.second)
        return (
            means if self.where == "all" else f"{means} {'in' if self.where == 'cluster' else 'outside'} {_COSTLIEST}"
        )

    def sentence(self, words: Words) -> str:
        """Finding and numbers: ``repeats itself: distinct-4 46% per text against 95%``; plain text."""
        return f"{self.finding(words)}: {self.detail}"

    @property
    def cost(self) -> str:
        """The cluster's share of the gap: ``25% (18% to 33%) of the gap``."""
        return f"{percent_with_interval(self.share, self.low, self.high)} of the gap"

    @property
    def _has(self) -> str:
        return "has more" if self.direction == ADDS else "has fewer"


def main_reason(
    table: pd.DataFrame, source: WhySource, labels: Sequence[str] | None, words: Sequence[Sequence[str]] | None
) -> Reason | None:
    """Find the main reason of a candidate whose gap the gap test shows; None if nothing is found.

    Parameters
    ----------
    table : DataFrame
        From ``mauve_core.findings.clusters.costed_table``, of the partition shown by default.
    source : WhySource
        Of the same partition; features are not needed.
    labels : sequence of str or None
        Each cluster's label of stability; None if it could not be determined.
    words : sequence of sequences of str, or None
        Each cluster's distinctive words, the most distinctive first.
    """
    costliest = int(table["cost"].to_numpy().argmax())
    reason = _about(table, source.candidate, costliest)
    cluster = reason.cluster
    human = np.arange(source.labels.size) < source.humans
    inside = source.labels == cluster
    stable = labels is not None and labels[cluster] == STABLE
    sides: tuple[tuple[Where, NDArray[np.bool_], NDArray[np.bool_]], ...] = (
        ("cluster", inside & ~human, inside & human),
        ("all", ~human, human),
        ("rest", inside, ~inside),
    )
    for where, first, second in sides:
        if where != "all" and not stable:
            continue
        found = _clearest(property_effects(source, np.flatnonzero(first), np.flatnonzero(second)))
        if found is not None:
            name, effect = found
            if where == "all":
                reason = _about(table, source.candidate, _showing(table, source, name, effect, costliest))
            return dataclasses.replace(
                reason, where=where, property_name=name, first=effect.first, second=effect.second
            )
    if stable and words is not None and words[cluster]:
        return dataclasses.replace(reason, words=tuple(words[cluster][:MOST_WORDS]))
    return None


def _about(table: pd.DataFrame, candidate: str, place: int) -> Reason:
    """What that row of the table says of its cluster; nothing is found yet but its words."""
    row = table.iloc[place]
    return Reason(
        candidate=candidate,
        cluster=int(row["cluster"]),
        share=float(row["cost_share"]),
        low=float(row["low"]),
        high=float(row["high"]),
        p=float(row["p"]),
        q=float(row["q"]),
        direction=str(row["direction"]),
        where="words",
    )


def _showing(table: pd.DataFrame, source: WhySource, name: str, effect: Effect, costliest: int) -> int:
    """The row of the cluster that shows a property of all of the candidate's texts; the costliest if none does."""
    sign = 1 if effect.first > effect.second else -1
    model = np.arange(source.labels.size) >= source.humans
    values = source.properties[name]
    for place in np.argsort(-table["cost"].to_numpy(), kind="stable").tolist():
        cluster, direction = table["cluster"].iloc[place], table["direction"].iloc[place]
        own = values[model & (source.labels == cluster)]
        own = own[~np.isnan(own)]
        if direction == ADDS and own.size and sign * (float(own.mean()) - effect.first) >= 0:
            return int(place)
    return costliest


def _clearest(effects: Sequence[PropertyEffect]) -> tuple[str, Effect] | None:
    """Return the property that separates best; only one whose means differ in the direction in which it separates."""
    found = [(each.name, each.effect) for each in effects if each.separates and each.effect is not None]
    found = [(name, one) for name, one in found if (one.first - one.second) * one.delta > 0]
    return max(found, key=lambda each: abs(each[1].delta), default=None)
