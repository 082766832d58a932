"""k-means++ initialization in batches, with the best of a few draws for each center.

k-means++ (Arthur and Vassilvitskii, 2007) draws each next center with probability proportional to the squared distance
from the existing ones. Taking the best of several draws, which lowers the sum of squared distances most, leads to
better partitions. Center by center, this reads all rows once per center. Here the draws for a batch of centers use the
distances before the batch and are measured in one product. The batch grows with the number of existing centers, so
distances are never far out of date. A draw made useless by a center of the same batch lowers the sum least and loses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.kmeans.nearest import Rows

# Draws per center. More of them lower the objective by less than they cost.
DRAWS = 3

# Largest batch of centers.
BATCH = 32


@dataclass(frozen=True)
class Start:
    """A first partition.

    Attributes
    ----------
    labels : (n,) int64 array
        Nearest center of each row.
    distances : (n,) float32 array
        Squared distance to that center.
    centers : int
        Number of centers; fewer than requested if all other rows are copies of centers.
    """

    labels: NDArray[np.int64]
    distances: NDArray[np.float32]
    centers: int


def first_partition(rows: Rows, k: int, random: np.random.Generator) -> Start:
    """Assign the rows to k of them, at least 1, drawn as initial centers."""
    chosen = [int(random.integers(len(rows)))]
    best = _lowered(rows, None, rows.distances(np.array(chosen))[0], chosen[0])
    labels = np.zeros(len(rows), dtype=np.int64)
    while len(chosen) < k:
        batch = min(k - len(chosen), len(chosen), BATCH)
        candidates = _draw(best, random.random(batch * DRAWS))
        if candidates is None:
            break
        measured = rows.distances(candidates)
        for step in range(batch):
            offered = measured[step * DRAWS : (step + 1) * DRAWS]
            taken = int(np.minimum(offered, best).sum(1).argmin())
            row = int(candidates[step * DRAWS + taken])
            if float(best[row]) == 0:  # the draws of this step are copies of centres by now
                continue
            labels[offered[taken] < best] = len(chosen)
            best = _lowered(rows, best, offered[taken], row)
            chosen.append(row)
    return Start(labels, best, len(chosen))


def _lowered(
    rows: Rows, best: NDArray[np.float32] | None, measured: NDArray[np.float32], row: int
) -> NDArray[np.float32]:
    """Distances with ``row`` as an additional center, 0 for its copies."""
    lower = measured if best is None else np.minimum(best, measured)
    return np.where(measured <= rows.indistinct(row), np.float32(0), lower)


def _draw(best: NDArray[np.float32], random: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Draw rows in proportion to ``best``; None if all are 0."""
    cumulated = np.cumsum(best, dtype=np.float64)
    if cumulated[-1] <= 0:
        return None
    indices: NDArray[np.int64] = np.searchsorted(cumulated, random * cumulated[-1], side="right")
    return np.minimum(indices, len(best) - 1)
