"""k-means++ initialization in batches, with the best of a few draws for each center.

k-means++ (Arthur and Vassilvitskii, 2007) draws each next center with probability proportional to the squared distance
from the existing ones. Taking the best of several draws, which lowers the sum of squared distances most, leads to
better partitions. Center by center, this reads all rows once per center. Here the draws for a batch of centers use the
distances before the batch and are measured in one product. The batch grows with the number of existing centers, so
distances are never far out of date. A draw made useless by a center of the same batch lowers the sum least and loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.kmeans.nearest import Rows

DRAWS = 3
"""Draws per center. More of them lower the objective by less than they cost."""

BATCH = 32
"""Largest batch of centers."""


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
    chosen, labels, distances = _spread(rows, k, random)
    return Start(rows.to_host(labels), rows.to_host(distances), len(chosen))


def _spread(rows: Rows, k: int, random: np.random.Generator) -> tuple[list[int], Any, Any]:
    """Rows drawn as centers, and for each row the index of the nearest one and its squared distance."""
    xp = rows.xp
    chosen = [int(random.integers(len(rows)))]
    best = _lowered(rows, None, rows.distances(np.array(chosen))[0], chosen[0])
    labels = xp.zeros_like(best, dtype=xp.int64)
    while len(chosen) < k:
        batch = min(k - len(chosen), len(chosen), BATCH)
        candidates = _draw(rows, best, random.random(batch * DRAWS))
        if candidates is None:
            break
        measured = rows.distances(candidates)
        for step in range(batch):
            offered = measured[step * DRAWS : (step + 1) * DRAWS]
            taken = int(xp.minimum(offered, best).sum(1).argmin())
            row = int(candidates[step * DRAWS + taken])
            if float(best[row]) == 0:  # the draws of this step are copies of centres by now
                continue
            labels[offered[taken] < best] = len(chosen)
            best = _lowered(rows, best, offered[taken], row)
            chosen.append(row)
    return chosen, labels, best


def _lowered(rows: Rows, best: Any, measured: Any, row: int) -> Any:
    """Distances with ``row`` as an additional center, 0 for its copies."""
    lower = measured if best is None else rows.xp.minimum(best, measured)
    return rows.xp.where(measured <= rows.indistinct(row), rows.xp.zeros_like(lower), lower)


def _draw(rows: Rows, best: Any, random: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Draw rows in proportion to ``best``; None if all are 0."""
    xp = rows.xp
    cumulated = xp.cumsum(best, 0, dtype=xp.float64)
    total = float(cumulated[-1])
    if total <= 0:
        return None
    points = random * total if xp is np else xp.as_tensor(random * total, device=best.device)
    indices = rows.to_host(xp.searchsorted(cumulated, points, side="right"))
    return np.asarray(np.minimum(indices, len(rows) - 1))
