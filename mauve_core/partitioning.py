"""Features of several sides to partitions: one space for all of them, then k-means under each seed.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1. Which random stream a partition gets depends on the run's seed, the
candidate's place and the index of the k-means seed alone, so that whoever clusters the same features again under the
same settings gets the same clusters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.config import HUMAN, PartitionKind, ScoreConfig
from mauve_core.estimates import half_seeds, stream
from mauve_core.numerics.clustering import default_k, kmeans
from mauve_core.numerics.reduction import reduce_features
from mauve_core.result import OTHER_HALF, Partition


def clustering_seeds(score: ScoreConfig, candidates: int) -> tuple[list[SeedSequence], list[list[SeedSequence]]]:
    """The k-means seeds of the joint partitions, and those of each candidate's pairwise ones, in their order."""
    joint, *pairwise = (child.spawn(score.seeds) for child in stream(score.seed, "clustering").spawn(1 + candidates))
    return joint, pairwise


def partitions(
    kind: PartitionKind,
    features: Mapping[str, NDArray[np.float32]],
    seeds: Sequence[SeedSequence],
    score: ScoreConfig,
    advance: Callable[[], None],
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

    Raises
    ------
    InputError
        All features are equal, or fewer can be told apart than there are clusters.
    """
    sizes = {name: len(array) for name, array in features.items()}
    reduced = reduced_together(features, score)
    made = []
    for index, seed in enumerate(seeds):
        made.append(partition(kind, reduced, sizes, index, seed, score))
        advance()
    return tuple(made)


def human_halves(
    features: NDArray[np.float32], k: int, score: ScoreConfig, advance: Callable[[], None]
) -> tuple[Partition, ...]:
    """One random half of the human texts clustered with the other, under each seed.

    Parameters
    ----------
    features : (n, d) float32 array
        Of the human texts; one of an odd number is left out.
    k : int
        Clusters of the candidates' partitions. The halves get half as many, so that a cluster holds as many texts.
    advance : callable
        Called after each partition.

    Raises
    ------
    InputError
        As :func:`partitions`.
    """
    seeds, half = half_seeds(score), len(features) // 2
    order = np.random.default_rng(seeds.cut).permutation(len(features))
    sides = {HUMAN: features[np.sort(order[:half])], OTHER_HALF: features[np.sort(order[half : 2 * half])]}
    settings = dataclasses.replace(score, k=max(2, round(k / 2)))
    return partitions("pairwise", sides, seeds.clustering, settings, advance)


def reduced_together(features: Mapping[str, NDArray[np.float32]], score: ScoreConfig) -> NDArray[np.float32]:
    """(n_total, components) coordinates of all sides, in the order of the mapping, in one space."""
    stacked = np.concatenate(list(features.values()))
    return reduce_features(stacked, explained_variance=score.explained_variance).array


def partition(
    kind: PartitionKind,
    reduced: NDArray[np.float32],
    sizes: Mapping[str, int],
    index: int,
    seed: SeedSequence,
    score: ScoreConfig,
) -> Partition:
    """The clustering of the rows of :func:`reduced_together` under one seed; ``sizes`` are those of the sides."""
    human, *others = sizes.values()
    k = score.k or default_k(human, min(others))
    found = kmeans(reduced, k, restarts=score.restarts, max_iterations=score.max_iterations, seed=seed)
    pieces = np.split(found.labels, np.cumsum(list(sizes.values()))[:-1])
    return Partition(kind, index, k, found.objective, dict(zip(sizes, pieces, strict=True)))
