"""Turn features of several sides into partitions: one space for all sides, then k-means under each seed.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1. A partition's random stream depends only on the run's seed, the
candidate's place and the index of the k-means seed, so the same features and settings always give the same clusters.
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
from mauve_core.numerics.feature_space.reduction import Side, measure_side, reduce_sides
from mauve_core.numerics.feature_space.stacked import Stacked
from mauve_core.numerics.kmeans.clustering import default_k, kmeans
from mauve_core.numerics.threads import parallel_map
from mauve_core.scoring.result import OTHER_HALF, Partition
from mauve_core.scoring.streams import half_seeds, stream

Features = NDArray[np.float32] | Stacked
Pair = tuple[str, str]
"""Two candidates."""

MIN_TEXTS = 20
"""Fewest texts per side: with fewer, not even two clusters would have ten texts each."""

BYTES_TOGETHER = 2**30
"""Memory limit for the coordinates of candidates that are clustered at the same time."""

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
        Of one half of the human texts with the other, one per seed; empty if they cannot be halved.
    why_no_halves : str
        Why they cannot be halved; empty if they can.
    pairs : mapping of (str, str) to tuple of Partition
        From :func:`pair_partitions`.
    """

    sides: Mapping[str, Side]
    joint: tuple[Partition, ...]
    pairwise: Mapping[str, tuple[Partition, ...]]
    halves: tuple[Partition, ...]
    why_no_halves: str
    pairs: Mapping[Pair, tuple[Partition, ...]]


def partition_all(features: Mapping[str, Features], score: ScoreConfig, device: str, progress: Progress) -> Clusterings:
    """Cluster the human side with each candidate, each two, and all of them, and one half of it with the other.

    Parameters
    ----------
    features : mapping of str to (n, d) float32 array
        By source, the human side first.
    device : str
        See :func:`mauve_core.numerics.kmeans.clustering.kmeans`.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    InputError
        As :func:`partitions`, except for the halves.
    """
    sides = measured(features)
    candidates = list(sides)[1:]
    joint_seeds, pairwise_seeds = clustering_seeds(score, len(candidates))
    advance = counted(progress, "clustering", (1 + len(candidates)) * score.seeds)
    joint = _partitions_of("joint", sides, joint_seeds, score, advance, device)
    pairs = {name: {HUMAN: sides[HUMAN], name: sides[name]} for name in candidates}
    seeds = dict(zip(candidates, pairwise_seeds, strict=True))
    pairwise = grouped_partitions("pairwise", pairs, seeds, score, advance, device)
    halves, why_none = _halves(features[HUMAN], pairwise[candidates[0]][0].k, score, device, progress)
    return Clusterings(sides, joint, pairwise, halves, why_none, pair_partitions(sides, score, device, progress))


def pair_partitions(
    sides: Mapping[str, Side], score: ScoreConfig, device: str = "cpu", progress: Progress = silent
) -> dict[Pair, tuple[Partition, ...]]:
    """Cluster the human side with every two candidates, in their order; one joint partition per seed.

    ``sides`` are from :func:`measured`, the others as in :func:`partition_all`.
    """
    human, *candidates = sides
    groups = {str(pair): {name: sides[name] for name in (human, *pair)} for pair in combinations(candidates, 2)}
    if not groups:
        return {}
    children = stream(score.seed, "pairs").spawn(len(groups))
    seeds = {name: child.spawn(score.seeds) for name, child in zip(groups, children, strict=True)}
    advance = counted(progress, "clustering pairs of candidates", len(groups) * score.seeds)
    found = grouped_partitions("joint", groups, seeds, score, advance, device)
    return dict(zip(combinations(candidates, 2), found.values(), strict=True))


def _halves(
    human: Features, k: int, score: ScoreConfig, device: str, progress: Progress
) -> tuple[tuple[Partition, ...], str]:
    """Cluster one random half of the human texts with the other under each seed, or return nothing and the reason.

    ``k`` is that of the first candidate. The halves get half as many clusters, so that a cluster holds as many texts as
    one of that candidate's. An odd text is left out.
    """
    if len(human) < 2 * MIN_TEXTS:
        return (), f"{len(human)} human texts are too few to compare one half with the other."
    seeds, half = half_seeds(score), len(human) // 2
    order = np.random.default_rng(seeds.cut).permutation(len(human))
    parts = {HUMAN: order[:half], OTHER_HALF: order[half : 2 * half]}
    sides = {name: Stacked([human], rows=np.sort(rows)) for name, rows in parts.items()}
    settings = dataclasses.replace(score, k=max(2, round(k / 2)))
    advance = counted(progress, "clustering human halves", score.seeds)
    try:
        return partitions("pairwise", sides, seeds.clustering, settings, advance, device), ""
    except InputError as error:
        return (), f"The two halves of the human texts cannot be compared: {error}"


def clustering_seeds(score: ScoreConfig, candidates: int) -> tuple[list[SeedSequence], list[list[SeedSequence]]]:
    """Return the k-means seeds of the joint partitions, and those of each candidate's pairwise partitions."""
    joint, *pairwise = (child.spawn(score.seeds) for child in stream(score.seed, "clustering").spawn(1 + candidates))
    return joint, pairwise


def measured(features: Mapping[str, Features]) -> dict[str, Side]:
    """Prepare every side for reduction with any others, centered on the mean of the human side, which comes first."""
    human, *others = features
    sides = {human: measure_side(features[human])}
    for name in others:
        sides[name] = measure_side(features[name], reference=sides[human].reference)
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
        See :func:`mauve_core.numerics.kmeans.clustering.kmeans`.

    Raises
    ------
    InputError
        All features are equal, or there are fewer distinct ones than clusters.
    """
    return _partitions_of(kind, measured(features), seeds, score, advance, device)


def _partitions_of(
    kind: PartitionKind,
    sides: Mapping[str, Side],
    seeds: Sequence[SeedSequence],
    score: ScoreConfig,
    advance: Callable[[], None],
    device: str,
) -> tuple[Partition, ...]:
    """:func:`grouped_partitions` of a single group of sides."""
    found = grouped_partitions(kind, {_ONLY_GROUP: sides}, {_ONLY_GROUP: seeds}, score, advance, device)
    return found[_ONLY_GROUP]


def grouped_partitions(
    kind: PartitionKind,
    groups: Mapping[str, Mapping[str, Side]],
    seeds: Mapping[str, Sequence[SeedSequence]],
    score: ScoreConfig,
    advance: Callable[[], None],
    device: str = "cpu",
) -> dict[str, tuple[Partition, ...]]:
    """As :func:`partitions` for many groups of sides, such as the pairs of all candidates, spread over all cores.

    Parameters
    ----------
    groups : mapping of str to mapping of str to Side
        Sides from :func:`measured`; a side may be in many groups.
    seeds : mapping of str to sequence of SeedSequence
        Seeds of each group; the result has one partition per seed.
    """
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
            return name, partition(kind, array, sizes, seed_index=seed_index, seed=seed, score=score, device=device)

        for name, found in parallel_map(cluster, tasks, advance):
            partitions_of_group[name].append(found)
    return {name: tuple(found) for name, found in partitions_of_group.items()}


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
    return reduce_sides(list(measured(features).values()), explained_variance=score.explained_variance).array


def partition(
    kind: PartitionKind,
    reduced: NDArray[np.float32],
    sizes: Mapping[str, int],
    *,
    seed_index: int,
    seed: SeedSequence,
    score: ScoreConfig,
    device: str = "cpu",
) -> Partition:
    """Cluster the rows of :func:`reduced_together` under one seed.

    ``sizes`` are the sides' numbers of texts; ``seed_index`` is kept with the partition as its seed.
    """
    human, *others = sizes.values()
    k = score.k or default_k(human, min(others))
    found = kmeans(reduced, k, restarts=score.restarts, max_iterations=score.max_iterations, seed=seed, device=device)
    pieces = np.split(found.labels, np.cumsum(list(sizes.values()))[:-1])
    labels = dict(zip(sizes, pieces, strict=True))
    return Partition(kind=kind, seed=seed_index, k=k, objective=found.objective, labels=labels)
