"""Turn features of several sides into partitions: one space for all sides, then k-means under each seed.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1. A partition's random stream depends only on the run's seed and the
index of the k-means seed, so the same features and settings always give the same clusters, whoever else is compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import default_k, kmeans
from mauve_core.clusters.reduction import Side, common_length_of, measure_side, reduce_sides
from mauve_core.scoring.result import OTHER_HALF, Partition
from mauve_core.scoring.settings import OwnClustering, labels_by, sum_of_squares
from mauve_core.scoring.streams import Split, half_seeds, stream
from mauve_core.stats.threads import one_by_one, parallel_map

Features = NDArray[np.float32] | Stacked
# Two candidates.
Pair = tuple[str, str]

# Fewest texts per side: with fewer, not even two clusters would have ten texts each.
MIN_TEXTS = 20

# Memory limit for the coordinates of candidates that are clustered at the same time.
BYTES_TOGETHER = 2**30

_COORDINATE_BYTES = np.dtype(np.float32).itemsize
_ONLY_GROUP = ""


@dataclass(frozen=True)
class Clusterings:
    """All partitions of a comparison.

    Attributes
    ----------
    sides : mapping of str to Side
        From :func:`measured`, the human side first.
    joint : tuple of Partition
        Of all sides, one per seed.
    pairwise : mapping of str to tuple of Partition
        By candidate, one per seed.
    halves : tuple of Partition
        Of one part of the human texts with another, one per seed, each with a split of its own (see
        ``mauve_core.scoring.streams``); empty if there are none.
    why_no_halves : str
        Why there are none; empty if there are.
    like_for_like : mapping of str to tuple of Partition
        By candidate, the same with its texts in the place of the second part. Candidates may be missing.
    """

    sides: Mapping[str, Side]
    joint: tuple[Partition, ...]
    pairwise: Mapping[str, tuple[Partition, ...]]
    halves: tuple[Partition, ...]
    why_no_halves: str
    like_for_like: Mapping[str, tuple[Partition, ...]]


def partition_all(
    features: Mapping[str, Features],
    drawn: Sequence[Split],
    score: ScoreConfig,
    device: str,
    progress: Progress,
    texts: Mapping[str, int] | None = None,
    generations: Mapping[str, NDArray[np.int32]] | None = None,
    own: OwnClustering | None = None,
) -> Clusterings:
    """Cluster the human side with each candidate, and with all of them; and parts of it like for like.

    Parameters
    ----------
    features : mapping of str to (n, d) float32 array
        By source, the human side first.
    drawn : sequence of Split
        From :func:`mauve_core.scoring.streams.splits_of`.
    device : str
        See :func:`mauve_core.clusters.k_means.kmeans`.
    progress : callable
        Called with (stage, done, total).
    texts : mapping of str to int, optional
        Texts of each side that one score takes, which decide k: those of one generation. Default: all.
    generations : mapping of str to (n,) int32 array, optional
        As in ``Comparison.generations``.
    own : function or object, optional
        Clusters in place of k-means (:mod:`mauve_core.scoring.settings`).

    Raises
    ------
    InputError
        As :func:`partitions`, except for the parts.
    """
    sides = measured(features, score, device)
    candidates = list(sides)[1:]
    seeds = clustering_seeds(score)
    advance = counted(progress, "clustering", (1 + len(candidates)) * score.seeds)
    joint = _partitions_of("joint", sides, seeds["joint"], score, advance, device, texts, own)
    pairs = {name: {HUMAN: sides[HUMAN], name: sides[name]} for name in candidates}
    of_each = dict.fromkeys(candidates, seeds["pairwise"])
    pairwise = grouped_partitions("pairwise", pairs, of_each, score, advance, device, texts, own)
    rows = {name: np.arange(len(table)) for name, table in features.items()}
    rows |= {name: np.flatnonzero(codes == 0) for name, codes in (generations or {}).items()}
    parts = _like_for_like(features, rows, drawn, score, device, progress, own)
    return Clusterings(sides, joint, pairwise, *parts)


def pair_partitions(
    sides: Mapping[str, Side],
    score: ScoreConfig,
    device: str = "cpu",
    progress: Progress = silent,
    texts: Mapping[str, int] | None = None,
    own: OwnClustering | None = None,
) -> dict[Pair, tuple[Partition, ...]]:
    """Cluster the human side with every two candidates, in their order; one joint partition per seed.

    ``sides`` are from :func:`measured`, the others as in :func:`partition_all`.
    """
    human, *candidates = sides
    groups = {str(pair): {name: sides[name] for name in (human, *pair)} for pair in combinations(candidates, 2)}
    if not groups:
        return {}
    seeds = dict.fromkeys(groups, stream(score.seed, "pairs").spawn(score.seeds))
    advance = counted(progress, "clustering pairs of candidates", len(groups) * score.seeds)
    found = grouped_partitions("joint", groups, seeds, score, advance, device, texts, own)
    return dict(zip(combinations(candidates, 2), found.values(), strict=True))


def _like_for_like(
    features: Mapping[str, Features],
    first: Mapping[str, NDArray[np.intp]],
    drawn: Sequence[Split],
    score: ScoreConfig,
    device: str,
    progress: Progress,
    own: OwnClustering | None,
) -> tuple[tuple[Partition, ...], str, dict[str, tuple[Partition, ...]]]:
    """Cluster part of the human texts with another part, and with each candidate's texts in the place of that.

    Every seed has a split of its own, because scores differ between splits as much as between seeds. Clusters have as
    many texts as with a candidate of as many texts as the human side. Of several generations, only the first counts,
    whose texts are at the rows ``first``.

    Returns
    -------
    tuple of Partition, str, dict of str to tuple of Partition
        ``halves``, ``why_no_halves`` and ``like_for_like`` of :class:`Clusterings`.
    """
    sizes = {name: rows.size for name, rows in first.items()}
    n = drawn[0].one.size
    if n < MIN_TEXTS:
        return (), f"{sizes[HUMAN]} are too few, or too alike, to compare one half with the other.", {}
    whole = score.k or default_k(sizes[HUMAN], sizes[HUMAN])
    settings = dataclasses.replace(score, k=max(2, round(n * whole / sizes[HUMAN])))
    names = [name for name in features if name != HUMAN and all(name in split.candidates for split in drawn)]
    advance = counted(progress, "clustering human halves", score.seeds * (1 + len(names)))
    found: dict[str, list[Partition]] = {name: [] for name in (OTHER_HALF, *names)}
    try:
        for index, (split, seed) in enumerate(zip(drawn, half_seeds(score).clustering, strict=True)):
            rows = {OTHER_HALF: (HUMAN, split.other)} | {name: (name, split.candidates[name]) for name in names}
            tables = {
                name: Stacked([features[source]], rows=first[source][own]) for name, (source, own) in rows.items()
            }
            sides = measured({HUMAN: Stacked([features[HUMAN]], rows=split.one), **tables}, score, device)
            groups = {name: {HUMAN: sides[HUMAN], name: sides[name]} for name in found}
            seeds = {name: [seed] for name in found}
            parts = grouped_partitions("pairwise", groups, seeds, settings, advance, device, own=own)
            for name, (part,) in parts.items():
                found[name].append(dataclasses.replace(part, seed=index))
    except InputError as error:
        return (), f"the two halves cannot be compared: {error}", {}
    partitions_of = {name: tuple(parts) for name, parts in found.items()}
    return partitions_of.pop(OTHER_HALF), "", partitions_of


def clustering_seeds(score: ScoreConfig) -> dict[PartitionKind, list[SeedSequence]]:
    """Return the k-means seeds of the joint partitions, and of the pairwise ones of every candidate."""
    joint, pairwise = stream(score.seed, "clustering").spawn(2)
    return {"joint": joint.spawn(score.seeds), "pairwise": pairwise.spawn(score.seeds)}


def measured(features: Mapping[str, Features], score: ScoreConfig, device: str = "cpu") -> dict[str, Side]:
    """Prepare every side for reduction with any others, centered on the mean of the human side, which comes first.

    On another device than "cpu", rows stay there for clustering if they fit.
    """
    human, *others = features
    length = common_length_of(features[human], score.unit_rows)
    measure = measure_side
    if device != "cpu":
        from mauve_core.clusters.reduction import measure_side_on

        measure = partial(measure_side_on, device)
    sides = {human: measure(features[human], common_length=length)}
    for name in others:
        sides[name] = measure(features[name], reference=sides[human].reference, common_length=length)
    return sides


def partitions(
    kind: PartitionKind,
    features: Mapping[str, Features],
    seeds: Sequence[SeedSequence],
    score: ScoreConfig,
    advance: Callable[[], None],
    device: str = "cpu",
) -> tuple[Partition, ...]:
    """Reduce the stacked features once, then cluster them under each seed.

    Parameters
    ----------
    features : mapping of str to (n, d) float32 array
        By source, the human side first.
    seeds : sequence of SeedSequence
        From :func:`clustering_seeds`.
    advance : callable
        Called after each partition.
    device : str
        See :func:`mauve_core.clusters.k_means.kmeans`.

    Raises
    ------
    InputError
        All features are equal, or there are fewer distinct ones than clusters.
    """
    return _partitions_of(kind, measured(features, score, device), seeds, score, advance, device)


def _partitions_of(
    kind: PartitionKind,
    sides: Mapping[str, Side],
    seeds: Sequence[SeedSequence],
    score: ScoreConfig,
    advance: Callable[[], None],
    device: str,
    texts: Mapping[str, int] | None = None,
    own: OwnClustering | None = None,
) -> tuple[Partition, ...]:
    """:func:`grouped_partitions` of a single group of sides."""
    found = grouped_partitions(kind, {_ONLY_GROUP: sides}, {_ONLY_GROUP: seeds}, score, advance, device, texts, own)
    return found[_ONLY_GROUP]


def grouped_partitions(
    kind: PartitionKind,
    groups: Mapping[str, Mapping[str, Side]],
    seeds: Mapping[str, Sequence[SeedSequence]],
    score: ScoreConfig,
    advance: Callable[[], None],
    device: str = "cpu",
    texts: Mapping[str, int] | None = None,
    own: OwnClustering | None = None,
) -> dict[str, tuple[Partition, ...]]:
    """As :func:`partitions` for many groups of sides, such as the pairs of all candidates.

    The groups are spread over all cores; a device takes them one by one, each under all of its seeds at once.

    Parameters
    ----------
    groups : mapping of str to mapping of str to Side
        Sides from :func:`measured`; a side may be in many groups.
    seeds : mapping of str to sequence of SeedSequence
        Seeds of each group; the result has one partition per seed.
    texts : mapping of str to int, optional
        As in :func:`partition_all`.
    own : function or object, optional
        Clusters in place of k-means, on one core: nothing says that it may run on several.
    """
    if device != "cpu" and own is None:
        return {
            name: _partitioned_on(device, kind, sides, seeds[name], score, advance, texts)
            for name, sides in groups.items()
        }
    partitions_of_group: dict[str, list[Partition]] = {name: [] for name in groups}
    reduce = partial(reduce_sides, explained_variance=score.explained_variance)
    for batch in _batches(groups):
        reduced = parallel_map(reduce, [list(groups[name].values()) for name in batch])
        tasks = [
            (name, space.array, seed_index, seed)
            for name, space in zip(batch, reduced, strict=True)
            for seed_index, seed in enumerate(seeds[name])
        ]

        def cluster(task: tuple[str, NDArray[np.float32], int, SeedSequence]) -> tuple[str, Partition]:
            name, array, seed_index, seed = task
            sizes = {source: len(side.table) for source, side in groups[name].items()}
            found = partition(
                kind, array, sizes, seed_index=seed_index, seed=seed, score=score, device=device, texts=texts, own=own
            )
            return name, found

        spread = parallel_map if own is None else one_by_one
        for name, found in spread(cluster, tasks, advance):
            partitions_of_group[name].append(found)
    return {name: tuple(found) for name, found in partitions_of_group.items()}


def _partitioned_on(
    device: str,
    kind: PartitionKind,
    sides: Mapping[str, Side],
    seeds: Sequence[SeedSequence],
    score: ScoreConfig,
    advance: Callable[[], None],
    texts: Mapping[str, int] | None,
) -> tuple[Partition, ...]:
    """Reduce and cluster one group of sides on a device, under all seeds together."""
    from mauve_core.clusters.k_means import cluster_on

    sizes = {source: len(side.table) for source, side in sides.items()}
    k = _clusters_for(sizes, score, texts)
    reduced = reduce_sides(list(sides.values()), explained_variance=score.explained_variance, device=device)
    found = cluster_on(device, reduced.array, k, seeds, restarts=score.restarts, max_iterations=score.max_iterations)
    made = []
    for index, one in enumerate(found):
        made.append(_partition_of(kind, index, k, one.objective, one.labels, sizes))
        advance()
    return tuple(made)


def _batches(groups: Mapping[str, Mapping[str, Side]]) -> list[list[str]]:
    """Return batches of groups whose coordinates are in memory together; at least one group each."""
    batches: list[list[str]] = [[]]
    batch_bytes = 0
    for name, sides in groups.items():
        size = sum(_COORDINATE_BYTES * len(side.table) * len(side.reference) for side in sides.values())
        if batches[-1] and batch_bytes + size > BYTES_TOGETHER:
            batches.append([])
            batch_bytes = 0
        batches[-1].append(name)
        batch_bytes += size
    return batches


def reduced_together(features: Mapping[str, Features], score: ScoreConfig) -> NDArray[np.float32]:
    """Return the (n_total, components) coordinates of all sides in one space, in the order of the mapping."""
    return reduce_sides(list(measured(features, score).values()), explained_variance=score.explained_variance).array


def partition(
    kind: PartitionKind,
    reduced: NDArray[np.float32],
    sizes: Mapping[str, int],
    *,
    seed_index: int,
    seed: SeedSequence,
    score: ScoreConfig,
    device: str = "cpu",
    texts: Mapping[str, int] | None = None,
    own: OwnClustering | None = None,
) -> Partition:
    """Cluster the rows of :func:`reduced_together` under one seed.

    ``sizes`` are the sides' numbers of texts; ``seed_index`` is kept with the partition as its seed; ``texts`` and
    ``own`` are as in :func:`partition_all`.
    """
    k = _clusters_for(sizes, score, texts)
    if own is None:
        found = kmeans(
            reduced, k, restarts=score.restarts, max_iterations=score.max_iterations, seed=seed, device=device
        )
        all_labels, objective = found.labels, found.objective
    else:
        all_labels = labels_by(own, reduced, k, seed)
        objective = sum_of_squares(reduced, all_labels, k)
    return _partition_of(kind, seed_index, k, objective, all_labels, sizes)


def _clusters_for(sizes: Mapping[str, int], score: ScoreConfig, texts: Mapping[str, int] | None) -> int:
    """The number of clusters for sides of these sizes, the human one first."""
    human, *others = (size if texts is None else texts[source] for source, size in sizes.items())
    return score.k or default_k(human, min(others))


def _partition_of(
    kind: PartitionKind, seed: int, k: int, objective: float, labels: NDArray[np.int32], sizes: Mapping[str, int]
) -> Partition:
    """The partition with these labels of all sides' texts, in their order."""
    pieces = np.split(labels, np.cumsum(list(sizes.values()))[:-1])
    return Partition(kind=kind, seed=seed, k=k, objective=objective, labels=dict(zip(sizes, pieces, strict=True)))
