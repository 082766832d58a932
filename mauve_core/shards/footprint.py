"""How many bytes the passes write into a work folder: all that grows with texts, shards or clusters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mauve_core.base.config import HUMAN
from mauve_core.shards.clustering import JOINT, MOST_SUMS
from mauve_core.shards.plan import GROUPS, SAMPLE_BYTES, Plan

# Of each row: its group and its order (``encoding.drawing``).
DRAWING_BYTES = 16

# Of each cell of a table of counts: which, and how many rows (``clustering.label_shard``).
CELL_BYTES = 16


def bytes_to_write(
    plan: Plan,
    texts: float,
    shards: int,
    partitions: Mapping[str, float],
    clusters: Mapping[str, int],
    width: int,
    components: int,
) -> float:
    """Return the most bytes that the work folder has at once, without what is in it already.

    Parameters
    ----------
    plan : Plan
    texts : float
        Texts that are not encoded yet, of all sides.
    shards : int
        Their shards.
    partitions, clusters : mappings of str to number
        Rows of each partition, and its clusters.
    width, components : int
        Columns of the features, and principal components.

    Returns
    -------
    float
        Features (of texts), moments, coordinates, labels and counts of all partitions, and the sums of one iteration of
        k-means, which are removed after it. Kept texts, centers and centers' starts are left out: they are small.
    """
    feature = 0 if plan.encoder is None else width * np.dtype(plan.stored_as).itemsize
    total = texts * (feature + DRAWING_BYTES) + shards * 8 * width * (width + 1)
    sums = 0.0
    for name, rows in partitions.items():
        k, seeds = clusters[name], plan.score.seeds
        own = sum(len(plan.sides[side]) for side in (plan.sources if name == JOINT else (HUMAN, name)))
        label = 2 if k <= 2**16 else 4
        sampled = min(rows, plan.sample_rows) * 4 * components
        total += rows * (4 * components + seeds * label) + min(sampled, SAMPLE_BYTES)
        total += seeds * CELL_BYTES * min(rows, own * GROUPS * k)
        sums = max(sums, min(own, MOST_SUMS) * seeds * k * 8 * (components + 1))
    return total + sums
