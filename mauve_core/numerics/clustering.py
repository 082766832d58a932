"""Features to clusters: k-means with k-means++ starts, the best of several restarts.

NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1: 5 restarts, at most 500 iterations, the best objective, and a tenth
as many clusters as there are texts on a side.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.errors import InputError
from mauve_core.numerics import _checks


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
        The objective of each restart, in order; ``objective`` is the smallest.
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


def kmeans(
    x: ArrayLike,
    k: int,
    *,
    restarts: int = 5,
    max_iterations: int = 500,
    seed: int | np.random.SeedSequence,
) -> Clustering:
    """Cluster rows by k-means, run until nothing moves or ``max_iterations``; the best restart wins.

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

    Returns
    -------
    Clustering

    Raises
    ------
    InputError
        Fewer distinct rows than clusters, values that are not finite, or a setting out of its range.
    """
    rows = np.ascontiguousarray(_checks.features(x))
    k = _checks.whole("The number of clusters", k, low=2)
    restarts = _checks.whole("The number of restarts", restarts, low=1)
    max_iterations = _checks.whole("The number of iterations", max_iterations, low=1)
    _require_distinct(_distinct_rows(rows), k)
    seeds = _checks.seed_sequence(seed).spawn(restarts)
    runs = [_one_run(rows, k, max_iterations, child) for child in seeds]
    objectives = tuple(run.objective for run in runs)
    best = runs[int(np.argmin(objectives))]
    return Clustering(best.labels, best.centers, best.objective, objectives, best.iterations)


def _one_run(rows: NDArray[np.float32], k: int, max_iterations: int, seed: np.random.SeedSequence) -> Clustering:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    estimator = KMeans(
        k, init="k-means++", n_init=1, max_iter=max_iterations, tol=0.0, random_state=int(seed.generate_state(1)[0])
    )
    with warnings.catch_warnings():
        # Empty clusters are an error below, with a message of ours.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(rows)
    labels = np.asarray(estimator.labels_, dtype=np.int32)
    sizes = np.bincount(labels, minlength=k)
    _require_distinct(int((sizes > 0).sum()), k)
    centers = np.empty((k, rows.shape[1]))
    for column in range(rows.shape[1]):
        centers[:, column] = np.bincount(labels, weights=rows[:, column], minlength=k) / sizes
    objective = sum(float(((rows[at] - centers[labels[at]]) ** 2).sum()) for at in _checks.row_blocks(len(rows)))
    return Clustering(labels, centers, objective, (objective,), int(estimator.n_iter_))


def _require_distinct(distinct: int, k: int) -> None:
    if distinct < k:
        raise InputError(
            "Too few different texts for so many clusters",
            allowed=f"at least {k} texts with different features for k = {k}",
            received=f"{distinct} that can be told apart",
            todo="Choose a smaller k, or give more different texts",
        )


def _distinct_rows(rows: NDArray[np.float32]) -> int:
    positive_zero = rows + np.float32(0)
    return int(np.unique(positive_zero.view(np.dtype((np.void, positive_zero.itemsize * rows.shape[1])))).size)
