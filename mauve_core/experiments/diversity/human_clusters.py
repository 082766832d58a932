"""Clusters of human texts that a candidate's texts do not reach, at equal numbers of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.experiments.diversity.answers import Answers
from mauve_core.scoring.result import Partition
from mauve_core.stats.diversity import Mean

DRAWS = 100


@dataclass(frozen=True)
class MissedClusters:
    """Human clusters that a candidate does not reach.

    Each draw takes n human texts, n others of them, and n of the candidate's, one to a prompt.

    Attributes
    ----------
    seed : int
        Index of the k-means seed of the joint clusters.
    n : int
        Texts of a draw, of each kind: half of the human texts, or as many as the candidate has prompts.
    share : Mean
        Of the clusters that the human texts of a draw reach, those that the candidate's do not; mean over draws, and
        the range of 95% of them.
    human_share : Mean
        The same of the other human texts: what chance alone misses.
    never : tuple of int
        Clusters with human texts that the candidate reached in no draw, those with most human texts first.
    """

    seed: int
    n: int
    share: Mean
    human_share: Mean
    never: tuple[int, ...]


def missed_clusters(partition: Partition, name: str, answers: Answers, seed: SeedSequence) -> MissedClusters | None:
    """Compare which clusters human texts and a candidate's reach; None for fewer than two human texts.

    Parameters
    ----------
    partition : Partition
        A joint one.
    name : str
        The candidate.
    answers : Answers
        Its own.
    seed : SeedSequence
    """
    human, own, k = partition.labels[HUMAN], partition.labels[name], partition.k
    rng = np.random.default_rng(seed)
    g, m = answers.rows.shape
    n = min(len(human) // 2, g)
    if n < 1:
        return None
    ever, shares = np.zeros(k, dtype=np.bool_), []
    for _ in range(DRAWS):
        order = rng.permutation(human)
        drawn = own[answers.rows[rng.permutation(g)[:n], rng.integers(m, size=n)]]
        reached, others, by_candidate = (_reached(each, k) for each in (order[:n], order[n : 2 * n], drawn))
        shares.append([(reached & ~each).sum() / reached.sum() for each in (by_candidate, others)])
        ever |= by_candidate
    counts = np.bincount(human, minlength=k)
    never = np.flatnonzero((counts > 0) & ~ever)
    ends = np.quantile(shares, [0.025, 0.975], axis=0)
    share, human_share = (Mean(*map(float, each)) for each in zip(np.mean(shares, axis=0), *ends, strict=True))
    ordered = never[np.argsort(-counts[never], kind="stable")]
    return MissedClusters(partition.seed, n, share, human_share, tuple(ordered.tolist()))


def _reached(labels: NDArray[np.integer], k: int) -> NDArray[np.bool_]:
    return np.bincount(labels, minlength=k) > 0
