"""How many clusters balance the two errors of a score (JMLR 2023, theorem 14 and equation 20).

The measured resampling error grows with k, and the most that the best partition into k parts loses (proposition 13)
falls. The least sum is advised. That loss is the worst case over all distributions, and a partition in use is not the
best one, so the sum says where the two balance and not how large the error is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.resampling.sampling_bounds import quantisation_bound
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
Histograms = tuple[ArrayLike, ArrayLike]
"""Counts of P and of Q over the same bins."""


@dataclass(frozen=True)
class ClusterAdvice:
    """How many clusters balance the two errors.

    Parameters
    ----------
    k : int
        Where ``total`` is least.
    alike : tuple of int
        Every k whose total cannot be told from the least, within two standard errors of the difference.
    loss, total : (s,) float64 arrays
        The most that the best partition into k parts loses, and its sum with the measured error.
    curve : SamplingError
        What was measured, in ascending order of k.
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
    """The counts over k groups of bins, each of neighbours in the order of p / q, about as many bins in each.

    The best partition into k parts has such groups (JMLR 2023, proof of proposition 13), because bins of nearly one
    ratio can be merged at nearly no loss.

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
        Counts not usable, or more groups than bins.
    """
    own, other = counts_pair(p_counts, q_counts)
    k = _checks.whole("The number of groups", k, low=1)
    if k > own.size:
        raise InputError("There are more groups than bins", allowed=f"at most {own.size}", received=str(k))
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
    """The error of as many texts as there are, for the same texts in several partitions.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        The texts of both sides under each partition, such as k-means with several k, or :func:`merged`.
    population, estimator, replicates, seed
        As of :func:`mauve_core.numerics.resampling.sampling_texts.errors_against_n`.

    Returns
    -------
    SamplingError
        Each error is about the truth of its own partition. Populations are smoothed one by one, so that the truth of a
        finer partition may be the smaller one.

    Raises
    ------
    InputError
        As ``errors_against_n``, or partitions of different numbers of texts.
    """
    pairs = [counts_pair(*histogram) for histogram in histograms]
    totals = {(int(p.sum()), int(q.sum())) for p, q in pairs}
    if len(totals) > 1:
        received = ", ".join(f"{n} and {m} texts" for n, m in sorted(totals))
        raise InputError("The partitions are not of the same texts", allowed="equal totals", received=received)
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
    """The number of clusters, among those given, where measured error and loss of the best partition add up to least.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        The same texts under partitions of different k.
    population, estimator, replicates, seed
        As of :func:`errors_against_k`.

    Returns
    -------
    ClusterAdvice

    Raises
    ------
    InputError
        As :func:`errors_against_k`, two partitions of one k, or an estimator whose loss by partition no theorem bounds.
    """
    if estimator.largest is None:
        raise InputError(
            f"No bound on what a partition loses is known for the {estimator.title}",
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


def _cluster_reason(curve: SamplingError, best: int, loss: float, alike: tuple[int, ...], title: str) -> str:
    k, tried = int(curve.k[best]), ", ".join(f"{size:,}" for size in curve.k)
    texts = sizes_in_words(int(curve.n[best]), int(curve.m[best]))
    reason = (
        f"Of k = {tried}, the two errors of the {title} balance at k = {k:,}: {curve.mean[best]:.2g} from resampling "
        f"at {texts}, and at most {loss:.2g} that the best partition into {k:,} clusters loses."
    )
    if len(alike) > 1:
        reason += f" k = {', '.join(f'{size:,}' for size in alike)} are alike within the error of the measurement."
    if curve.k.size > 1 and best in (0, curve.k.size - 1):
        reason += f" It is the {'smallest' if best == 0 else 'largest'} k that was tried."
    return reason


def _group_sums(counts: _Counts, groups: Sequence[NDArray[np.intp]]) -> _Counts:
    return np.array([counts[group].sum() for group in groups], dtype=np.int64)
