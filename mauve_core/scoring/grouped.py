"""Scores with intervals from histograms by group of prompts, for sides whose single texts are not at hand.

The texts of both sides are divided into groups by their prompts, at random. A resample draws groups with replacement,
so texts of one prompt stay together, and a histogram is a weighted sum of the groups' histograms under every seed at
once. The interval is centered on the estimate (:mod:`mauve_core.numerics.resampling.bootstrap`). Where labels are at
hand, texts are also exchanged between the sides; here they are not, so the intervals of sides that are nearly equal are
wider. With many texts in each cluster the two agree.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier, divergence_frontier
from mauve_core.numerics.divergences.kl import frontier_integral, mid_point
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.scoring.estimates import ScoreBasis, Spread, basis_of
from mauve_core.scoring.replicates import CountSamples

BINS_AT_ONCE = 2**21
"""Bins of resampled histograms that are held at once."""


def basis_of_groups(
    p: NDArray[np.integer], q: NDArray[np.integer], score: ScoreConfig, seed: SeedSequence
) -> ScoreBasis:
    """Compute one candidate's score basis without smoothing.

    Parameters
    ----------
    p, q : (s, G, k) int arrays
        Texts of either side by k-means seed, group and cluster; the groups are the same under all seeds.
    score : ScoreConfig
        Of which the number of resamples counts.
    seed : SeedSequence
        Candidates that are given equal ones draw equal groups.

    Raises
    ------
    InputError
        The shapes differ, or a side has texts in fewer than two groups.
    """
    if p.shape != q.shape or p.ndim != 3:
        raise InputError(
            "Histograms by group do not match", allowed="two (s, G, k) arrays", received=f"{p.shape}, {q.shape}"
        )
    if min(int((side[0].sum(axis=1) > 0).sum()) for side in (p, q)) < 2:
        raise InputError("All texts of a side belong to one prompt", allowed="texts of several prompts")
    left, right = (side.sum(axis=1, dtype=np.int64) for side in (p, q))
    return basis_of_histograms(left, right, _histograms(p, q, score.bootstrap, np.random.default_rng(seed)))


def basis_of_histograms(
    p: NDArray[np.int64], q: NDArray[np.int64], drawn: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> ScoreBasis:
    """Compute a score basis without smoothing from histograms of many texts, of which few pairs of counts are equal.

    Parameters
    ----------
    p, q : (s, k) int arrays
        Of the texts.
    drawn : iterable of pairs of (B, s, k) arrays
        Of their resamples, a block at a time.
    """
    own = basis_of(CountSamples(p, q, p[np.newaxis], q[np.newaxis]), "none")
    blocks = [_resampled(*pair) for pair in drawn]
    plain, star, integral, mid = (_joined([block[which] for block in blocks]) for which in range(4))
    return ScoreBasis(
        plain=(own.plain[0], Frontier(REFERENCE_WEIGHTS, *plain)),
        star=(own.star[0], Frontier(REFERENCE_WEIGHTS, *star)),
        frontier_integral=Spread(own.frontier_integral.values, integral[0]),
        mid=Spread(own.mid.values, mid[0]),
    )


def _histograms(
    p: NDArray[np.integer], q: NDArray[np.integer], replicates: int, rng: np.random.Generator
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """(B, s, k) histograms of both sides, in blocks of resamples; counts are whole, so sums are exact."""
    seeds, groups, k = p.shape
    tables = [[np.asarray(side[index], dtype=np.float64) for index in range(seeds)] for side in (p, q)]
    weights = rng.multinomial(groups, np.full(groups, 1 / groups), size=replicates).astype(np.float64)
    most = max(1, BINS_AT_ONCE // (seeds * k))
    found = []
    for start in range(0, replicates, most):
        some = weights[start : start + most]
        left, right = (np.stack([some @ table for table in side], axis=1) for side in tables)
        found.append((left, right))
    return found


def _resampled(p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[tuple[NDArray[np.float64], ...], ...]:
    """Both errors of plain and smoothed frontiers, frontier integrals and mid-points of (B, s, k) histograms."""
    left, right = probabilities(p), probabilities(q)
    plain, star = (
        divergence_frontier(*(probabilities(side, smoothing) for side in (p, q)))
        for smoothing in ("none", "krichevsky-trofimov")
    )
    return (
        (plain.type_1, plain.type_2),
        (star.type_1, star.type_2),
        (frontier_integral(left, right),),
        (mid_point(left, right),),
    )


def _joined(blocks: list[tuple[NDArray[np.float64], ...]]) -> tuple[NDArray[np.float64], ...]:
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))
