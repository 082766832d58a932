"""Score a comparison and test which of two candidates is closer to the human texts.

Under the hypothesis that two candidates write alike, who wrote which text is an accident. The test exchanges texts
between the two, within a prompt where they share prompts, and counts how often their scores then differ at least as
much as observed. The scores are those of the joint partitions, which were fitted to all texts without looking at who
wrote them, averaged over the k-means seeds. p-values are adjusted over all pairs by Holm's method.

The difference itself, with its interval, is that of the pairwise scores, which a leaderboard shows. Both candidates'
resamples draw the same prompts, so what their scores have in common cancels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, SCORES, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.numerics.resampling.bootstrap import centred_interval, resampled_counts
from mauve_core.numerics.resampling.multiple_tests import holm
from mauve_core.numerics.resampling.permutation import draw_sides, two_sided_p_value
from mauve_core.scoring.estimates import SCORE_BOUNDS, ScoreBasis, Spread, basis_of, rescored, score_basis, spreads_of
from mauve_core.scoring.replicates import COUNT_BYTES, CountSamples
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.streams import stream

PERMUTATIONS = 999
"""Exchanges that a test draws; more for many pairs, so that an adjusted p-value can reach 0.02."""


def scored(comparison: Comparison, progress: Progress = silent) -> Comparison:
    """Score the partitions of a comparison under its own settings, and test the candidates' differences."""
    kinds: tuple[PartitionKind, ...] = ("joint", "pairwise")
    basis: Mapping[str, ScoreBasis] = {}
    for done, kind in enumerate(kinds):
        progress("scoring", done, len(kinds))
        basis = score_basis(comparison, kind, "none")
        comparison = rescored(comparison, kind, basis, comparison.config.score.scale)
    progress("scoring", len(kinds), len(kinds))
    return dataclasses.replace(comparison, differences=differences_of(comparison, basis, progress))


def differences_of(
    comparison: Comparison, basis: Mapping[str, ScoreBasis], progress: Progress = silent
) -> tuple[Difference, ...]:
    """Return the difference of every two candidates under every score.

    Parameters
    ----------
    comparison : Comparison
        Scored, with joint partitions.
    basis : mapping
        From :func:`mauve_core.scoring.estimates.score_basis`, pairwise and without smoothing.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    tuple of Difference
        In the order of the candidates, each pair under every score; empty for one candidate.

    Raises
    ------
    InputError
        There are no joint partitions.
    """
    names = [candidate.name for candidate in comparison.candidates]
    pairs = list(combinations(names, 2))
    if pairs and not comparison.joint:
        raise InputError("The differences cannot be tested", allowed="a comparison with joint partitions")
    score = comparison.config.score
    draws = max(PERMUTATIONS, 50 * len(pairs) - 1)
    seeds = stream(score.seed, "differences").spawn(len(pairs))
    done = counted(progress, "testing differences", len(pairs))
    spreads = {name: spreads_of(basis[name], score.scale) for name in names}
    found: list[Difference] = []
    for (first, second), seed in zip(pairs, seeds, strict=True):
        codes, paired, n = exchange_blocks(comparison, first, second)
        sides = np.arange(codes.size) < comparison.candidate(first).source.n
        observed = joint_differences(comparison, first, second, sides[np.newaxis])
        blocks = [
            joint_differences(comparison, first, second, some) for some in _draws(comparison, sides, codes, draws, seed)
        ]
        for name in SCORES:
            joint = float(observed[name][0])
            p_value = two_sided_p_value(np.concatenate([block[name] for block in blocks]), joint)
            value, low, high = _interval(spreads[first][name], spreads[second][name], name, score)
            found.append(Difference(name, first, second, value, low, high, joint, p_value, p_value, paired, n))
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


def joint_differences(
    comparison: Comparison, first: str, second: str, sides: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of two candidates' joint scores, averaged over seeds, for rows of sides.

    Parameters
    ----------
    sides : (b, n + m) bool array
        Which texts of the two count as those of ``first``; the others as those of ``second``.

    Returns
    -------
    dict of str to (b,) float64 array
        By score, first - second.
    """
    parts = comparison.joint
    p = np.stack([part.counts(HUMAN) for part in parts])
    labels = [np.concatenate([part.labels[name] for name in (first, second)]) for part in parts]
    total = np.stack([np.bincount(own, minlength=part.k) for own, part in zip(labels, parts, strict=True)])
    weights = sides.astype(np.int32)
    x = np.stack([resampled_counts(own, part.k, weights) for own, part in zip(labels, parts, strict=True)], axis=1)
    human = np.broadcast_to(p, x.shape)
    scale = comparison.config.score.scale
    found = [spreads_of(basis_of(CountSamples(p, p, human, q), "none"), scale) for q in (x, total - x)]
    return {name: (found[0][name].resampled - found[1][name].resampled).mean(axis=1) for name in SCORES}


def _draws(
    comparison: Comparison,
    sides: NDArray[np.bool_],
    codes: NDArray[np.intp],
    draws: int,
    seed: np.random.SeedSequence,
) -> Iterator[NDArray[np.bool_]]:
    """Yield the draws in blocks, so that memory does not grow with their number."""
    rng = np.random.default_rng(seed)
    cells = sum(part.k for part in comparison.joint) * 3 + 3 * codes.size
    rows = max(1, COUNT_BYTES // (8 * cells))
    for start in range(0, draws, rows):
        yield draw_sides(sides, codes, min(rows, draws - start), rng)


def _interval(first: Spread, second: Spread, name: str, score: ScoreConfig) -> tuple[float, float, float]:
    value = float(first.values.mean() - second.values.mean())
    resampled = first.resampled.mean(axis=1) - second.resampled.mean(axis=1)
    width = SCORE_BOUNDS[name][1] - SCORE_BOUNDS[name][0]
    low, high = centred_interval(value, resampled, score.confidence, bounds=(-width, width))
    return value, low, high
