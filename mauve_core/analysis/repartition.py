"""Cluster a stored run again into fewer and more clusters: differences that persist do not depend on k."""

from __future__ import annotations

import dataclasses

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import clustering_seeds, partition, reduced_together
from mauve_core.scoring.result import Partition

# Multiples of the run's own k at which it is clustered again.
FACTORS = (0.5, 2.0)


def repartition(run: Run, candidate: str, kind: PartitionKind = "joint") -> tuple[Partition, ...]:
    """Return one partition for each of ``FACTORS`` times the run's own k, of the same texts in the same space.

    Uses the first k-means seed of the run's own partitions and one start: enough to tell whether a cluster's texts
    still differ. A k equal to the run's own, or larger than half of the texts, is left out.

    Raises
    ------
    InputError
        An unknown candidate, features that were not kept, or fewer distinct features than clusters.
    """
    comparison = run.comparison
    comparison.candidate(candidate)  # raises InputError if unknown
    own, score = comparison.partition(kind, candidate, 0), comparison.config.score
    features = stored_features(run)
    sides = {name: features[name] for name in ((HUMAN, candidate) if kind == "pairwise" else features)}
    seed = clustering_seeds(score)[kind][0]
    reduced, sizes = reduced_together(sides, score), {name: len(array) for name, array in sides.items()}
    numbers = [max(2, round(own.k * factor)) for factor in FACTORS]
    usable = [k for k in dict.fromkeys(numbers) if k != own.k and k <= len(reduced) // 2]
    settings = [dataclasses.replace(score, k=k, restarts=1) for k in usable]
    return tuple(partition(kind, reduced, sizes, seed_index=0, seed=seed, score=each) for each in settings)
