"""What-if scores: texts or clusters dropped, thinned or weighted, with the partition kept.

A weight is the number of texts that a text counts for: 0 drops it, 2 counts it twice. Weighted counts replace counts
in every score; MAUVE* adds its half text to each. The partition is that of all texts, so nothing is clustered again;
clustering the remaining texts would give other clusters.

``mauve_core.numerics.divergences.greedy`` finds the clusters that close most of the gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier
from mauve_core.numerics.divergences.smoothing import probabilities

# Numbers whose logarithms are taken at once, so that they stay in a core's cache.
_BLOCK = 1 << 15


def weighted_counts(labels: ArrayLike, k: int, weights: ArrayLike) -> NDArray[np.float64]:
    """Weighted number of texts in each cluster.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    weights : (..., n) array
        Weight of each text, finite and at least 0; a boolean mask keeps the texts where it is true.

    Returns
    -------
    (..., k) float64 array

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, or the weights are not usable or not one per text.
    """
    k = _checks.whole("The number of clusters", k, low=1)
    clusters = np.asarray(labels)
    if (
        clusters.ndim != 1
        or clusters.dtype.kind not in "iu"
        or (clusters.size and not 0 <= clusters.min() <= clusters.max() < k)
    ):
        raise InputError("Labels are not usable", allowed=f"one row of whole numbers from 0 to {k - 1}")
    table = _weights(weights, clusters.size, "texts")
    if table.ndim == 1:
        return np.bincount(clusters, weights=table, minlength=k).astype(np.float64)
    member = csr_array((np.ones(clusters.size), (clusters, np.arange(clusters.size))), shape=(k, clusters.size))
    return np.ascontiguousarray((member @ table.reshape(-1, clusters.size).T).T).reshape(*table.shape[:-1], k)


def dropped(k: int, clusters: Sequence[int]) -> NDArray[np.float64]:
    """(k,) weights that drop the texts of these clusters."""
    weights = np.ones(_checks.whole("The number of clusters", k, low=1))
    weights[_chosen(clusters, k)] = 0.0
    return weights


def capped(p_counts: ArrayLike, q_counts: ArrayLike, ratio: float = 1.0) -> NDArray[np.float64]:
    """(k,) weights of the candidate that thin every cluster to at most ``ratio`` times its human share.

    A cluster with share q counts min(q, ratio p) before normalization; no cluster is raised. At ratio 1 the part that
    the two histograms have in common remains.
    """
    ratio = _checks.positive("The ratio", ratio)
    p, q = paired_shares(p_counts, q_counts)
    return np.minimum(np.divide(ratio * p, q, out=np.ones_like(q), where=q > 0), 1.0)


def matched(p_counts: ArrayLike, q_counts: ArrayLike, clusters: Sequence[int]) -> NDArray[np.float64]:
    """(k,) weights of the candidate that give these clusters their human shares and scale the others by one factor.

    The weights keep the total number of texts.

    Raises
    ------
    InputError
        The candidate has no text in a cluster where humans write, or none in the other clusters.
    """
    p, q = paired_shares(p_counts, q_counts)
    chosen = np.zeros(p.size, dtype=np.bool_)
    chosen[_chosen(clusters, p.size)] = True
    rest, own = float(p[~chosen].sum()), float(q[~chosen].sum())
    empty = chosen & (q == 0) & (p > 0)
    if empty.any() or (rest > 0 and own == 0):
        where = ", ".join(str(cluster) for cluster in np.flatnonzero(empty)) or "the unmatched clusters"
        raise InputError(f"The candidate has no text in {where}, so weights cannot give it any")
    weights = np.full(p.size, rest / own if own > 0 else 1.0)
    return np.where(chosen, np.divide(p, q, out=np.ones_like(q), where=q > 0), weights)


def frontier_by_logs(p: NDArray[np.float64], q: NDArray[np.float64]) -> Frontier:
    """Frontiers of many pairs on the reference grid, unchecked, several times as fast as ``divergence_frontier``.

    KL(Q || R) = sum q log q - sum q log r, and KL(P || R) likewise, so both errors take one logarithm, log r. Being
    differences of sums, they are accurate to about 1e-14 nats in absolute, not relative, terms. Enough for rankings.

    Parameters
    ----------
    p, q : (..., k) float64 arrays
        Probability vectors; leading axes broadcast.
    """
    errors = np.maximum(error_sums(p, q), 0.0)
    return Frontier(REFERENCE_WEIGHTS, errors[..., 0, :], errors[..., 1, :])


def error_sums(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 2, m) sums over the bins of q log(q / r) and of p log(p / r) at each weight of the grid, unchecked.

    p and q (..., k) are at least 0 and need not sum to 1: they may be a subset of the bins.
    """
    p, q = np.broadcast_arrays(p, q)
    shape, k = p.shape[:-1], p.shape[-1]
    left, right = p.reshape(-1, k), q.reshape(-1, k)
    errors = np.empty((len(left), 2, REFERENCE_WEIGHTS.size))
    for part in _checks.row_blocks(len(left), max(1, _BLOCK // k)):
        sides = right[part], left[part]
        own = [xlogy(side, side).sum(axis=-1) for side in sides]
        for column, weight in enumerate(REFERENCE_WEIGHTS):
            mixture = weight * left[part] + (1 - weight) * right[part]
            mixture[mixture == 0] = 1.0  # empty on both sides, where 0 log 0 = 0
            np.log(mixture, out=mixture)
            for kind, side in enumerate(sides):
                errors[part, kind, column] = own[kind] - np.einsum("ij,ij->i", side, mixture)
    return errors.reshape(*shape, 2, REFERENCE_WEIGHTS.size)


def paired_shares(p_counts: ArrayLike, q_counts: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of one pair of histograms, each (k,); InputError if the counts are not such a pair."""
    p, q = probabilities(p_counts), probabilities(q_counts)
    if p.ndim != 1 or p.shape != q.shape:
        received = f"shapes {p.shape} and {q.shape}"
        raise InputError("The counts are not one pair of histograms", allowed="two of shape (k,)", received=received)
    return p, q


def _weights(weights: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    array = _checks.numbers(weights, "The array of weights").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        allowed, received = f"one weight for each of the {size} {what}", f"shape {array.shape}"
        raise InputError(f"The weights do not match the {what}", allowed=allowed, received=received)
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("The weights are not usable", allowed="finite numbers that are not negative")
    return array


def _chosen(clusters: Sequence[int], k: int) -> NDArray[np.intp]:
    chosen = np.asarray(clusters, dtype=np.intp)
    if chosen.ndim != 1 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < k):
        raise InputError("No cluster has that number", allowed=f"0 to {k - 1}", received=str(list(clusters)))
    return chosen
