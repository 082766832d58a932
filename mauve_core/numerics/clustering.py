"""Features to clusters: k-means with k-means++ starts, the best of several restarts.

The starts are in :mod:`mauve_core.numerics.starts`, the iterations in :mod:`mauve_core.numerics.lloyd`.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1: 5 restarts, at most 500 iterations, the best objective, and a tenth
as many clusters as there are texts on a side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.lloyd import Lloyd, means_by_label
from mauve_core.numerics.nearest import Rows
from mauve_core.numerics.starts import first_partition
from mauve_core.numerics.threads import each, single_threaded_blas

MOST_CLUSTERS = 5000
"""Clusters at most where none are named: the most for which scores rank models as the usual 500 do (NeurIPS 2021,
appendix D.3, from 100 to 5,000), while the cost of clustering a tenth of the texts grows with their square."""

HEAT = 3
"""Iterations that every restart runs before all but the best are given up."""


@dataclass(frozen=True)
class Clustering:
    """A partition of rows.

    Attributes
    ----------
    labels : (n,) int32 array
        Cluster of each row, 0 to k - 1; no cluster is empty.
    centers : (k, d) float64 array
        Mean of the rows of each cluster.
    objective : float
        Sum of squared distances of the rows to their centre.
    objectives : tuple of float
        The objective of each restart after ``HEAT`` iterations, in order, in float32's accuracy; the smallest went on.
    iterations : int
        Lloyd iterations of the restart that won.
    """

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    objective: float
    objectives: tuple[float, ...]
    iterations: int


def default_k(n: int, m: int) -> int:
    """Clusters for n human and m candidate texts: a tenth of the smaller number, rounded, at least 2."""
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    return max(2, round(min(n, m) / 10))


def usual_k(n: int, m: int) -> int:
    """:func:`default_k`, but no more than ``MOST_CLUSTERS``."""
    return min(default_k(n, m), MOST_CLUSTERS)


def kmeans(
    x: ArrayLike,
    k: int,
    *,
    restarts: int = 5,
    max_iterations: int = 500,
    seed: int | np.random.SeedSequence,
    device: str = "cpu",
) -> Clustering:
    """Cluster rows by k-means, run until nothing moves or ``max_iterations``.

    All restarts run ``HEAT`` iterations, after which their order hardly changes; the best of them goes on alone.

    Parameters
    ----------
    x : (n, d) array
        Rows, usually ``reduce_features(...).array``.
    k : int
        Clusters, at least 2 and at most the number of distinct rows.
    restarts, max_iterations : int
        Independent k-means++ starts, and Lloyd iterations of each at most.
    seed : int or numpy.random.SeedSequence
        Each restart has its own seed, spawned from this one; a given sequence is left as it was.
    device : str
        "cpu", or a device that torch knows, such as "cuda". Distances are rounded differently there, so that a text
        half-way between two clusters may fall to the other.

    Returns
    -------
    Clustering
        The same on any number of cores.

    Raises
    ------
    InputError
        Fewer distinct rows than clusters, values that are not finite, or a setting out of its range.
    """
    given = np.ascontiguousarray(_checks.features(x))
    k = _checks.whole("The number of clusters", k, low=2)
    restarts = _checks.whole("The number of restarts", restarts, low=1)
    max_iterations = _checks.whole("The number of iterations", max_iterations, low=1)
    seeds = _checks.seed_sequence(seed).spawn(restarts)
    _require_distinct(len(given), k)
    rows = Rows(_centred(given), device)

    def heat(child: np.random.SeedSequence) -> Lloyd:
        start = first_partition(rows, k, np.random.default_rng(child))
        _require_distinct(start.centers, k)
        run = Lloyd(rows, k, start.labels, start.distances)
        run.run(min(HEAT, max_iterations))
        return run

    with single_threaded_blas():
        runs = each(heat, seeds)
        objectives = tuple(run.objective() for run in runs)
        best = runs[int(np.argmin(objectives))]
        best.run(max_iterations - best.iterations)
    return _described(given, k, best, objectives)


def _described(given: NDArray[np.float32], k: int, best: Lloyd, objectives: tuple[float, ...]) -> Clustering:
    """Centres and objective of the rows as they were given, in float64."""
    labels = best.labels.astype(np.int32)
    _require_distinct(int(np.unique(labels).size), k)
    centers = means_by_label(given, labels, k)
    objective = sum(
        float(((given[part] - centers[labels[part]]) ** 2).sum()) for part in _checks.row_blocks(len(given))
    )
    return Clustering(labels, centers, objective, objectives, best.iterations)


def _centred(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows about their mean where they lie far from the origin, which would cost distances their digits."""
    mean = rows.mean(axis=0, dtype=np.float64)
    spread = float(np.mean([rows[part].var(axis=0, dtype=np.float64).sum() for part in _checks.row_blocks(len(rows))]))
    return rows if float(mean @ mean) <= spread else rows - mean.astype(np.float32)


def _require_distinct(distinct: int, k: int) -> None:
    if distinct < k:
        raise InputError(
            "Too few different texts for so many clusters",
            allowed=f"at least {k} texts with different features for k = {k}",
            received=f"{distinct} that can be told apart",
            todo="Choose a smaller k, or give more different texts",
        )
