"""Scores with intervals from histograms by group of prompts, for sides whose single texts are not at hand.

The texts of both sides are divided into groups by their prompts, at random. A resample draws groups with replacement,
so texts of one prompt stay together, and a histogram is a weighted sum of the groups' histograms under every seed at
once. The interval is centered on the estimate (:mod:`mauve_core.numerics.resampling.bootstrap`). Where labels are at
hand, texts are also exchanged between the sides; here they are not, so the intervals of sides that are nearly equal are
wider. With many texts in each cluster the two agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier, divergence_frontier
from mauve_core.numerics.divergences.kl import frontier_integral, mid_point
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.scoring.estimates import ScoreBasis, Spread

BINS_AT_ONCE = 2**21
"""Bins of resampled histograms that are held at once."""


def basis_of_groups(
    p: NDArray[np.integer],
    q: NDArray[np.integer],
    score: ScoreConfig,
    seed: SeedSequence,
    taken: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None,
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
    taken : pair of (s, G) bool arrays, optional
        Groups whose texts count on either side under each seed. Default: all.

    Raises
    ------
    InputError
        The shapes differ, or a side has texts in fewer than two groups.
    """
    if p.shape != q.shape or p.ndim != 3:
        raise InputError(
            "Histograms by group do not match", allowed="two (s, G, k) arrays", received=f"{p.shape}, {q.shape}"
        )
    sides = [_Side(counts, of) for counts, of in zip((p, q), taken or (None, None), strict=True)]
    if min(int(side.filled().sum(axis=1).min()) for side in sides) < 2:
        raise InputError("All texts of a side belong to one prompt", allowed="texts of several prompts")
    left, right = (side.histograms() for side in sides)
    return basis_of_histograms(left, right, _resamples(sides, score.bootstrap, np.random.default_rng(seed)))


class _Side:
    """Histograms of a side by seed and group, of which some groups count under each seed, or all."""

    def __init__(self, counts: NDArray[np.integer], taken: NDArray[np.bool_] | None) -> None:
        self.counts = counts
        self._taken = np.ones(counts.shape[:2], dtype=np.bool_) if taken is None else taken

    def filled(self) -> NDArray[np.bool_]:
        """(s, G) whether groups count and have texts."""
        found: NDArray[np.bool_] = (self.counts.sum(axis=2) > 0) & self._taken
        return found

    def histograms(self) -> NDArray[np.int64]:
        """(s, k) histograms of the texts."""
        pairs = zip(self.counts, self._taken, strict=True)
        return np.stack([table[taken].sum(axis=0, dtype=np.int64) for table, taken in pairs])

    def weighted(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, s, k) histograms where groups count as (B, G) weights say; counts are whole, so sums are exact."""
        pairs = zip(self.counts, self._taken, strict=True)
        return np.stack([weights[:, taken] @ table[taken].astype(np.float64) for table, taken in pairs], axis=1)


def basis_of_histograms(
    p: NDArray[np.int64], q: NDArray[np.int64], drawn: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> ScoreBasis:
    """Compute a score basis without smoothing from histograms of many texts, of which few pairs of counts are equal.

    Sides may have another number of texts under each seed.

    Parameters
    ----------
    p, q : (s, k) int arrays
        Of the texts.
    drawn : iterable of pairs of (B, s, k) arrays
        Of their resamples, a block at a time.
    """
    own = _resampled(p.astype(np.float64), q.astype(np.float64))
    blocks = [_resampled(*pair) for pair in drawn]
    plain, star, integral, mid = (_joined([block[which] for block in blocks]) for which in range(4))
    return ScoreBasis(
        plain=(Frontier(REFERENCE_WEIGHTS, *own[0]), Frontier(REFERENCE_WEIGHTS, *plain)),
        star=(Frontier(REFERENCE_WEIGHTS, *own[1]), Frontier(REFERENCE_WEIGHTS, *star)),
        frontier_integral=Spread(own[2][0], integral[0]),
        mid=Spread(own[3][0], mid[0]),
    )


def _resamples(
    sides: list[_Side], replicates: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """(B, s, k) histograms of both sides, in blocks of resamples."""
    seeds, _, k = sides[0].counts.shape
    weights = _weights([side.filled() for side in sides], replicates, rng).astype(np.float64)
    most = max(1, BINS_AT_ONCE // (seeds * k))
    for start in range(0, replicates, most):
        left, right = (side.weighted(weights[start : start + most]) for side in sides)
        yield left, right


def _weights(filled: Sequence[NDArray[np.bool_]], replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(B, G) how often groups are drawn; a draw that leaves a side without texts, of few groups, is repeated.

    Groups without texts are drawn, too, so that all candidates draw equal groups.
    """
    groups = filled[0].shape[1]
    weights = np.zeros((replicates, groups), dtype=np.int64)
    left = np.arange(replicates)
    while left.size:
        weights[left] = rng.multinomial(groups, np.full(groups, 1 / groups), size=left.size)
        drawn = weights[left, np.newaxis] > 0
        full = np.stack([(drawn & side).any(axis=-1) for side in filled]).all(axis=(0, -1))
        left = left[~full]
    return weights


def _resampled(p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[tuple[NDArray[np.float64], ...], ...]:
    """Both errors of plain and smoothed frontiers, frontier integrals and mid-points of (..., k) histograms."""
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
