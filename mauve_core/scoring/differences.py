"""Test which of two candidates is closer to the human texts.

Under the hypothesis that two candidates write alike, who wrote which text is an accident. The test exchanges texts
between the two, within a prompt where they share prompts, and counts how often their scores then differ at least as
much as observed. The scores are those of joint partitions of the human texts with both candidates, which are fitted
without looking at who wrote what, averaged over the k-means seeds. p-values are adjusted over all pairs by Holm's
method.

The difference itself, with its interval, is that of the pairwise scores, which a leaderboard shows. Both candidates'
resamples draw the same prompts, so what their scores have in common cancels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, SCORES
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.numerics.resampling.bootstrap import centred_interval, resampled_counts
from mauve_core.numerics.resampling.multiple_tests import holm
from mauve_core.numerics.resampling.permutation import draw_sides, sequential_p_value
from mauve_core.scoring.estimates import SCORE_BOUNDS, ScoreBasis, Spread, basis_of, spreads_of
from mauve_core.scoring.partitioning import Pair
from mauve_core.scoring.replicates import COUNT_BYTES, CountSamples
from mauve_core.scoring.result import Comparison, Difference, Partition
from mauve_core.scoring.streams import stream

PERMUTATIONS = 999
"""Exchanges that a test draws at most; more for many pairs, so that an adjusted p-value can reach 0.02."""

STOP = 20
"""A test ends once this many exchanges differ at least as much as observed, so that clear ties take no time."""

FIRST_BLOCK = 100
"""Exchanges drawn before the first look; each later block is as long as all before it."""


def differences_of(
    comparison: Comparison,
    partitions: Mapping[Pair, Sequence[Partition]],
    basis: Mapping[str, ScoreBasis],
    progress: Progress = silent,
) -> tuple[Difference, ...]:
    """Return the difference of every two candidates under every score.

    Parameters
    ----------
    comparison : Comparison
        Scored.
    partitions : mapping of (str, str) to sequence of Partition
        From :func:`mauve_core.scoring.partitioning.pair_partitions`.
    basis : mapping
        From :func:`mauve_core.scoring.estimates.score_basis`, pairwise and without smoothing.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    tuple of Difference
        Each pair under every score; empty for one candidate.
    """
    if not partitions:
        return ()
    score, pairs = comparison.config.score, list(partitions)
    draws = max(PERMUTATIONS, 50 * len(pairs) - 1)
    spreads = {each.name: spreads_of(basis[each.name], score.scale) for each in comparison.candidates}
    done = counted(progress, "testing differences", len(pairs))
    found: list[Difference] = []
    seeds = stream(score.seed, "exchange").spawn(len(pairs))
    for (first, second), parts, seed in zip(pairs, partitions.values(), seeds, strict=True):
        codes, paired, n = exchange_blocks(comparison, first, second)
        own_side = np.arange(codes.size) < comparison.candidate(first).source.n
        observed = joint_differences_of(parts, first, second, own_side[np.newaxis], score.scale)
        null = _null(parts, first, second, own_side, codes, draws, np.random.default_rng(seed), score.scale, observed)
        for name in SCORES:
            joint = float(observed[name][0])
            p_value = sequential_p_value(null[name], joint, STOP)
            own = difference_interval(spreads[first][name], spreads[second][name], name, score.confidence)
            found.append(Difference(name, first, second, *own, joint, p_value, p_value, paired, n))
        done()
    adjusted = {name: iter(holm([each.p_value for each in found if each.score == name])) for name in SCORES}
    return tuple(dataclasses.replace(each, p_adjusted=float(next(adjusted[each.score]))) for each in found)


def exchange_blocks(comparison: Comparison, first: str, second: str) -> tuple[NDArray[np.intp], bool, int]:
    """Return within which blocks texts of two candidates are exchanged, whether these are prompts, and how many.

    Returns
    -------
    codes : (n + m,) array of int
        Block of each text, those of ``first`` first. Texts whose prompt only one of the two answered form one block.
    paired : bool
        Whether the two have a prompt in common.
    count : int
        Prompts in common, or, without any, texts of both.
    """
    sizes = [comparison.candidate(name).source.n for name in (first, second)]
    if comparison.prompts is None:
        return np.zeros(sum(sizes), dtype=np.intp), False, sum(sizes)
    own, other = comparison.prompts[first], comparison.prompts[second]
    shared = np.intersect1d(own, other)
    stacked = np.concatenate([own, other])
    codes = np.where(np.isin(stacked, shared), np.searchsorted(shared, stacked) + 1, 0)
    return codes.astype(np.intp), shared.size > 0, int(shared.size) or sum(sizes)


def joint_differences_of(
    partitions: Sequence[Partition], first: str, second: str, sides: NDArray[np.bool_], scale: float
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of two candidates' scores, averaged over seeds, for rows of sides.

    Parameters
    ----------
    partitions : sequence of Partition
        Joint partitions of the human texts with both, one per seed.
    sides : (b, n + m) bool array
        Which texts of the two count as those of ``first``; the others count as those of ``second``.
    scale : float > 0
        The scaling constant c of MAUVE.

    Returns
    -------
    dict of str to (b,) float64 array
        By score, first - second.
    """
    weights, k = sides.astype(np.int32), partitions[0].k
    p = np.stack([part.counts(HUMAN) for part in partitions])
    labels = [np.concatenate([part.labels[name] for name in (first, second)]) for part in partitions]
    both = np.stack([np.bincount(own, minlength=k) for own in labels])
    of_first = np.stack([resampled_counts(own, k, weights) for own in labels], axis=1)
    human = np.broadcast_to(p, of_first.shape)
    found = [
        spreads_of(basis_of(CountSamples(p, p, human, counts), "none"), scale) for counts in (of_first, both - of_first)
    ]
    return {name: (found[0][name].resampled - found[1][name].resampled).mean(axis=1) for name in SCORES}


def _null(
    partitions: Sequence[Partition],
    first: str,
    second: str,
    own_side: NDArray[np.bool_],
    codes: NDArray[np.intp],
    draws: int,
    rng: np.random.Generator,
    scale: float,
    observed: Mapping[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of exchanged texts by score, as many as the test takes."""
    most = max(1, COUNT_BYTES // (24 * (sum(part.k for part in partitions) + codes.size)))
    null = {name: np.empty(0) for name in SCORES}
    while (made := null[SCORES[0]].size) < draws:
        count = min(max(FIRST_BLOCK, made), draws - made, most)
        some = joint_differences_of(partitions, first, second, draw_sides(own_side, codes, count, rng), scale)
        null = {name: np.concatenate([null[name], some[name]]) for name in SCORES}
        if all((np.abs(null[name]) >= np.abs(observed[name])).sum() >= STOP for name in SCORES):
            break
    return null


def difference_interval(first: Spread, second: Spread, score: str, confidence: float) -> tuple[float, float, float]:
    """Return the difference of two candidates' means over seeds, and its interval.

    The resamples of the two must draw the same prompts, row by row, as those of
    :func:`mauve_core.scoring.estimates.score_basis` do.
    """
    value = float(first.values.mean() - second.values.mean())
    resampled = first.resampled.mean(axis=1) - second.resampled.mean(axis=1)
    low, high = SCORE_BOUNDS[score]
    return value, *centred_interval(value, resampled, confidence, bounds=(low - high, high - low))
