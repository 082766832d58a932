"""Recommend the number of clusters that balances the two errors of a score (JMLR 2023, theorem 14 and equation 20).

The measured resampling error grows with k; the largest loss of the best partition into k parts (proposition 13) falls.
The advice is the k with the smallest sum. That loss is a worst case over all distributions, and an actual partition is
not the best one, so the sum shows where the two balance, not how large the error is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_spread
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.resampling.sampling_error import (
    FRONTIER,
    POPULATION,
    REPLICATES,
    PlugIn,
    SamplingError,
    counts_pair,
    measured_errors,
)
from mauve_core.numerics.resampling.sampling_texts import sizes_in_words

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]
# Counts of P and of Q over the same bins.
Histograms = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class ClusterAdvice:
    """Advice on the number of clusters.

    Parameters
    ----------
    k : int
        Number with the smallest ``total``.
    alike : tuple of int
        Every k whose total is within two standard errors of the difference from the smallest.
    loss, total : (s,) float64 arrays
        Largest loss of the best partition into k parts, and its sum with the measured error.
    curve : SamplingError
        The measurements, in ascending order of k.
    reason : str
        The advice in plain words.
    """

    k: int
    alike: tuple[int, ...]
    loss: _Floats
    total: _Floats
    curve: SamplingError
    reason: str


def merged(p_counts: ArrayLike, q_counts: ArrayLike, k: int) -> tuple[_Counts, _Counts]:
    """Merge the bins into k groups of about equal size, neighbors in the order of p / q.

    The best partition into k parts has such groups (JMLR 2023, proof of proposition 13), because merging bins of
    nearly equal p / q loses almost nothing.

    Parameters
    ----------
    p_counts, q_counts : (bins,) array of int
    k : int
        From 1 to the number of bins.

    Returns
    -------
    p_merged, q_merged : (k,) int64 arrays

    Raises
    ------
    InputError
        The counts are not usable, or there are more groups than bins.
    """
    own, other = counts_pair(p_counts, q_counts)
    k = _checks.whole("The number of groups", k, low=1)
    if k > own.size:
        raise InputError("More groups than bins", allowed=f"at most {own.size}", received=str(k))
    p, q = own / own.sum(), other / other.sum()
    share = np.divide(p, p + q, out=np.full(p.shape, 0.5), where=p + q > 0)
    groups = np.array_split(np.argsort(share, kind="stable"), k)
    return _group_sums(own, groups), _group_sums(other, groups)


def errors_against_k(
    histograms: Sequence[Histograms],
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """Measure the error at the given number of texts, for the same texts in several partitions.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        Both sides under each partition, such as k-means with several k, or :func:`merged`.
    population, estimator, replicates, seed
        See :func:`mauve_core.numerics.resampling.sampling_texts.errors_against_n`.

    Returns
    -------
    SamplingError
        Each error is relative to the truth of its own partition. Populations are smoothed one by one, so a finer
        partition may have the smaller truth.

    Raises
    ------
    InputError
        As ``errors_against_n``, or the partitions differ in their numbers of texts.
    """
    pairs = [counts_pair(*histogram) for histogram in histograms]
    totals = {(int(p.sum()), int(q.sum())) for p, q in pairs}
    if len(totals) > 1:
        received = ", ".join(f"{n} and {m} texts" for n, m in sorted(totals))
        raise InputError("The partitions do not cover the same texts", allowed="equal totals", received=received)
    settings = [
        (probabilities(p, population), probabilities(q, population), int(p.sum()), int(q.sum())) for p, q in pairs
    ]
    return measured_errors(settings, estimator=estimator, replicates=replicates, seed=seed)


def recommend_clusters(
    histograms: Sequence[Histograms],
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> ClusterAdvice:
    """Choose, among those given, the number of clusters with the smallest sum of measured error and partition loss.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        The same texts under partitions of different k.
    population, estimator, replicates, seed
        See :func:`errors_against_k`.

    Returns
    -------
    ClusterAdvice

    Raises
    ------
    InputError
        As :func:`errors_against_k`; or two partitions have the same k, or no theorem bounds the estimator's loss.
    """
    if estimator.largest is None:
        raise InputError(
            f"No bound on the loss from partitioning is known for the {estimator.title}",
            allowed="a bounded f-divergence, such as the frontier integral",
        )
    ordered = sorted(histograms, key=lambda pair: np.size(pair[0]))
    curve = errors_against_k(ordered, population=population, estimator=estimator, replicates=replicates, seed=seed)
    if (np.diff(curve.k) == 0).any():
        received = ", ".join(map(str, curve.k))
        raise InputError("Two partitions have the same number of clusters", allowed="different k", received=received)
    loss = quantisation_bound(curve.k, estimator.largest)
    total = curve.mean + loss
    best = int(total.argmin())
    errors = curve.standard_error
    near = total - total[best] <= 2 * np.hypot(errors, errors[best])
    alike = tuple(curve.k[near].tolist())
    reason = _cluster_reason(curve, best, float(loss[best]), alike, estimator.title)
    return ClusterAdvice(int(curve.k[best]), alike, loss, total, curve, reason)


def quantisation_bound(k: ArrayLike, largest: float = 1.0) -> _Floats:
    """(f(0) + f*(0)) / floor(k / 2), the largest loss of the best partition into k bins (JMLR 2023, proposition 13).

    One bin loses at most f(0) + f*(0), which is ``largest``: 1 for the frontier integral. An actual partition, such as
    k-means, may lose more than the best one.
    """
    return np.asarray(largest / np.maximum(np.asarray(k) // 2, 1))


def _cluster_reason(curve: SamplingError, best: int, loss: float, alike: tuple[int, ...], title: str) -> str:
    k, tried = int(curve.k[best]), ", ".join(f"{size:,}" for size in curve.k)
    texts = sizes_in_words(int(curve.n[best]), int(curve.m[best]))
    measured = with_spread(float(curve.mean[best]), float(curve.standard_error[best]))
    reason = (
        f"Of k = {tried}, the two errors of the {title} balance at k = {k:,}: {measured} from resampling "
        f"at {texts}, and at most {loss:.2g} lost by the best partition into {k:,} clusters."
    )
    if len(alike) > 1:
        reason += f" k = {', '.join(f'{size:,}' for size in alike)} do equally well within measurement error."
    if curve.k.size > 1 and best in (0, curve.k.size - 1):
        reason += f" It is the {'smallest' if best == 0 else 'largest'} k tried."
    return reason


def _group_sums(counts: _Counts, groups: Sequence[NDArray[np.intp]]) -> _Counts:
    return np.array([counts[group].sum() for group in groups], dtype=np.int64)
