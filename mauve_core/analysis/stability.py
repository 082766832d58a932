"""Stability: which clusters differ between the human side and a candidate beyond chance, across seeds and k.

The reference is one stored partition. The partitions of the other k-means seeds, and any others given, such as those
of another k, show whether its clusters survive (``mauve_core.stats.stability``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.stability import Stability, cluster_stability


def assess_stability(
    comparison: Comparison,
    candidate: str,
    kind: PartitionKind = "pairwise",
    seed: int = 0,
    *,
    others: Sequence[Partition] = (),
    permutations: int | None = None,
) -> Stability:
    """Judge the clusters of one partition, from the stored labels and the run's seed alone, so results are
    reproducible.

    Parameters
    ----------
    candidate : str
    kind : {"pairwise", "joint"}
    seed : int
        Index of the k-means seed of the reference partition.
    others : sequence of Partition
        More partitions of the same texts, beside those of the other seeds.
    permutations : int, optional
        As in :func:`mauve_core.stats.stability.cluster_stability`.

    Raises
    ------
    InputError
        An unknown candidate or partition, or partitions of other texts.
    """
    reference = comparison.partition(kind, candidate, seed)
    stored = comparison.partitions(kind, candidate)
    chosen = [reference, *(part for index, part in enumerate(stored) if index != seed), *others]
    names = (HUMAN, candidate)
    sizes = {name: len(reference.labels[name]) for name in names}
    for part in chosen:
        if any(len(part.labels.get(name, ())) != sizes[name] for name in names):
            raise InputError("A partition does not belong to these texts", allowed=f"labels of {sizes}")
    return cluster_stability(
        [np.concatenate([part.labels[name] for name in names]) for part in chosen],
        sizes[HUMAN],
        k=reference.k,
        units=comparison.units_with(candidate).codes,
        permutations=permutations,
        seed=stream(comparison.config.score.seed, "permutations").spawn(1)[0],
    )
