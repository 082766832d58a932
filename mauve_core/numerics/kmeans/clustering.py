"""Cluster features by k-means with k-means++ starts, keeping the best of several restarts.

NeurIPS 2021: 5 restarts, at most 500 iterations, the best objective (appendix C.3), and a tenth as many clusters as
there are texts on a side (appendix D.3). See :mod:`mauve_core.numerics.kmeans.starts` for the starts and
:mod:`mauve_core.numerics.kmeans.lloyd` for the iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.kmeans.lloyd import Lloyd, means_by_label
from mauve_core.numerics.kmeans.nearest import Rows
from mauve_core.numerics.kmeans.starts import first_partition
from mauve_core.numerics.threads import parallel_map, single_threaded_blas, usable_cores

# Default upper limit on k: the most clusters for which scores rank models as the usual 500 do (NeurIPS 2021, appendix
# D.3, from 100 to 5,000). The cost of clustering into a tenth as many clusters as texts grows with their square.
MOST_CLUSTERS = 5000

RESTARTS_AT_ONCE = 16

# Iterations of every restart before all but the best are dropped.
WARM_UP = 2

# Restarts run on a random sample of rows, of the largest of these sizes; the best continues on all rows.
TRIAL_ROWS, TRIAL_ROWS_A_CENTER, TRIAL_SHARE = 4096, 12, 1 / 8

# Replaces ``TRIAL_ROWS`` for a single start, which has no competitor.
START_ROWS = 65_536


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
        Sum of squared distances of the rows to their center.
    objectives : tuple of float
        Objective of each restart after ``WARM_UP`` iterations, in order, in float32 accuracy and on the trial rows;
        the restart with the smallest one continued.
    iterations : int
        Lloyd iterations of the best restart.
    """

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    objective: float
    objectives: tuple[float, ...]
    iterations: int


def tenth_of_texts(n: int, m: int) -> int:
    """Clusters for n human and m candidate texts: a tenth of the smaller number, rounded, at least 2."""
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    return max(2, round(min(n, m) / 10))


def default_k(n: int, m: int) -> int:
    """:func:`tenth_of_texts`, at most ``MOST_CLUSTERS``."""
    return min(tenth_of_texts(n, m), MOST_CLUSTERS)


def kmeans(
    x: ArrayLike,
    k: int,
    *,
    restarts: int = 5,
    max_iterations: int = 500,
    seed: int | np.random.SeedSequence,
    device: str = "cpu",
) -> Clustering:
    """Cluster rows by k-means, until nothing moves or for ``max_iterations``.

    All restarts run ``WARM_UP`` iterations, on a sample if there are many rows. Only the best continues, on all rows.
    Running every restart to its end would improve the objective by a tenth of a percent.

    Parameters
    ----------
    x : (n, d) array, or a tensor on the device
        Rows, usually ``reduce_features(...).array``.
    k : int
        Clusters, at least 2 and at most the number of distinct rows.
    restarts, max_iterations : int
        Independent k-means++ starts, and the limit on Lloyd iterations of each.
    seed : int or numpy.random.SeedSequence
        Each restart gets its own seed, spawned from this one; a given sequence is not changed.
    device : str
        "cpu", or a torch device such as "cuda" (:mod:`mauve_core.numerics.device`). Distances round differently there,
        so a text half-way between two clusters may change its cluster.

    Returns
    -------
    Clustering
        The same on any number of cores.

    Raises
    ------
    InputError
        There are fewer distinct rows than clusters, values are not finite, or a setting is out of range.
    """
    k, restarts, max_iterations = _checked(k, restarts, max_iterations)
    own = _checks.seed_sequence(seed)
    if device != "cpu":
        from mauve_core.numerics.device.clustering import cluster_on

        return cluster_on(device, x, k, [own], restarts=restarts, max_iterations=max_iterations)[0]
    points = np.ascontiguousarray(_checks.features(x))
    if len(points) < k:
        raise too_few(len(points), k)
    with single_threaded_blas():
        best, objectives = _best_run(Rows(_centred(points)), k, own.spawn(1 + restarts), max_iterations)
        return _described(points, k, best, objectives)


def _checked(k: int, restarts: int, max_iterations: int) -> tuple[int, int, int]:
    return (
        _checks.whole("The number of clusters", k, low=2),
        _checks.whole("The number of restarts", restarts, low=1),
        _checks.whole("The number of iterations", max_iterations, low=1),
    )


def _best_run(
    rows: Rows, k: int, seeds: Sequence[np.random.SeedSequence], max_iterations: int
) -> tuple[Lloyd, tuple[float, ...]]:
    """The best restart, run to its end, and the objectives of all when they were compared."""
    sampling, *children = seeds
    size = sample_size(len(rows), k, len(children))
    tried = rows if size == len(rows) else rows.some(sampled_rows(len(rows), size, np.random.default_rng(sampling)))
    runs = _warmed_up(tried, k, children, min(WARM_UP, max_iterations))
    if runs is None and tried is not rows:  # the sample missed rows that differ
        tried = rows
        runs = _warmed_up(tried, k, children, min(WARM_UP, max_iterations))
    if runs is None:
        raise too_few(first_partition(rows, k, np.random.default_rng(children[0])).centers, k)
    best, objectives = runs
    if tried is not rows:
        best = Lloyd(rows, k, *rows.nearest(best.centers().astype(np.float32)))
    best.run(max_iterations - best.iterations)
    return best, objectives


def _warmed_up(
    rows: Rows, k: int, seeds: Sequence[np.random.SeedSequence], iterations: int
) -> tuple[Lloyd, tuple[float, ...]] | None:
    """The best restart after the warm-up, one per seed, and the objective of each.

    None if one finds fewer than k distinguishable rows. Few run at once, because each holds its own centers.
    """

    def warm_up(child: np.random.SeedSequence) -> Lloyd | None:
        start = first_partition(rows, k, np.random.default_rng(child))
        if start.centers < k:
            return None
        run = Lloyd(rows, k, start.labels, start.distances)
        run.run(iterations)
        return run

    best: Lloyd | None = None
    objectives: list[float] = []
    for start in range(0, len(seeds), RESTARTS_AT_ONCE):
        group = seeds[start : start + RESTARTS_AT_ONCE]
        # The cores share the blocks of a last restart that would keep but one of them busy.
        together = len(group) - (len(group) % usable_cores() == 1)
        for run in [*parallel_map(warm_up, group[:together]), *map(warm_up, group[together:])]:
            if run is None:
                return None
            reached = run.objective()
            if best is None or reached < min(objectives):
                best = run
            objectives.append(reached)
    return None if best is None else (best, tuple(objectives))


def sample_size(n: int, k: int, restarts: int) -> int:
    """Of n rows, those on which the restarts are tried: n if there are few."""
    least = TRIAL_ROWS if restarts > 1 else START_ROWS
    return min(n, max(least, TRIAL_ROWS_A_CENTER * k, round(TRIAL_SHARE * n)))


def sampled_rows(n: int, size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """``size`` of n rows, in order."""
    return np.sort(random.choice(n, size=size, replace=False))


def _described(points: NDArray[np.float32], k: int, best: Lloyd, objectives: tuple[float, ...]) -> Clustering:
    """Centers and objective of the original rows, in float64."""
    labels = best.labels.astype(np.int32)
    if np.unique(labels).size < k:
        raise too_few(int(np.unique(labels).size), k)
    centers = means_by_label(points, labels, k)
    objective = sum(
        float(((points[part] - centers[labels[part]]) ** 2).sum()) for part in _checks.row_blocks(len(points))
    )
    return Clustering(labels, centers, objective, objectives, best.iterations)


def _centred(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows minus their mean if they lie far from the origin, where distances would lose digits."""
    mean = rows.mean(axis=0, dtype=np.float64)
    spread = float(np.mean([rows[part].var(axis=0, dtype=np.float64).sum() for part in _checks.row_blocks(len(rows))]))
    return rows if float(mean @ mean) <= spread else rows - mean.astype(np.float32)


def too_few(distinct: int, k: int, *, at_most: bool = False) -> InputError:
    """The error for fewer rows that can be told apart than clusters; ``at_most`` if there may be fewer still."""
    return InputError(
        "Too few different texts for this many clusters",
        allowed=f"at least {k} texts with different features for k = {k}",
        received=f"{'at most ' if at_most else ''}{distinct} that can be told apart",
        todo="Choose a smaller k, or give more different texts",
    )
