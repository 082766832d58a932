"""Test which of two candidates is closer to the human texts.

Under the hypothesis that two candidates write alike, who wrote which text is an accident. The test exchanges texts
between the two, within a prompt where they share prompts, and counts how often their scores then differ at least as
much as observed. The scores are those of joint partitions of the human texts with both candidates, which are fitted
without looking at who wrote what, averaged over the k-means seeds. p-values are adjusted over all pairs by Holm's
method.

The score of a candidate with several generations is the mean over them. If both candidates have equally many, texts
are exchanged within a prompt and generation; otherwise the texts of a prompt are dealt anew to all generations of both.

The difference itself, with its interval, is that of the pairwise scores, which a leaderboard shows. Both candidates'
resamples draw the same prompts, so what their scores have in common cancels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, SCORE_BOUNDS, SCORES
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.numerics.resampling.bootstrap import centred_interval
from mauve_core.numerics.resampling.multiple_tests import holm
from mauve_core.numerics.resampling.permutation import counts_by_side, draw_sides, sequential_p_value
from mauve_core.scoring.estimates import ScoreBasis, Spread, basis_of, spreads_of
from mauve_core.scoring.partitioning import Pair
from mauve_core.scoring.replicates import COUNT_BYTES, CountSamples
from mauve_core.scoring.result import Comparison, Difference, Partition
from mauve_core.scoring.streams import stream

if TYPE_CHECKING:
    from torch import Tensor

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
    device: str = "cpu",
) -> tuple[Difference, ...]:
    """Return the difference of every two candidates under every score.

    Parameters
    ----------
    comparison : Comparison
        Scored.
    partitions : mapping of (str, str) to sequence of Partition
        From :func:`mauve_core.scoring.partitioning.pair_partitions`.
    basis : mapping
        From :func:`mauve_core.scoring.estimates.aligned_basis`.
    progress : callable
        Called with (stage, done, total).
    device : str
        Where exchanged texts are counted, as in :func:`mauve_core.numerics.kmeans.clustering.kmeans`.

    Returns
    -------
    tuple of Difference
        Each pair under every score; empty for one candidate.
    """
    if not partitions:
        return ()
    score, pairs = comparison.config.score, list(partitions)
    draws = draws_for(len(pairs))
    spreads = {each.name: spreads_of(basis[each.name], score.scale) for each in comparison.candidates}
    done = counted(progress, "testing differences", len(pairs))
    found: list[Difference] = []
    for (first, second), parts in partitions.items():
        codes, paired, n = exchange_blocks(comparison, first, second)
        slots = slots_of(comparison, first, second)
        observed = joint_differences_of(parts, slots, slots.own[np.newaxis], score.scale)
        rng = np.random.default_rng(stream(score.seed, "exchange"))
        null = _null(parts, slots, codes, draws, rng, score.scale, observed, device)
        for name in SCORES:
            joint = float(observed[name][0])
            p_value = sequential_p_value(null[name], joint, STOP)
            own = difference_interval(spreads[first][name], spreads[second][name], name, score.confidence)
            found.append(Difference(name, first, second, *own, joint, p_value, p_value, paired, n))
        done()
    return adjusted(found)


@dataclass(frozen=True, eq=False)
class Slots:
    """Who wrote which text of two candidates: every generation of either is a slot.

    Attributes
    ----------
    first, second : str
        The candidates.
    of_first, of_second : int
        Their generations. The slots of ``first`` are numbered from 0, those of ``second`` follow.
    own : (n + m,) int32 array
        Slot of each text, those of ``first`` first.
    """

    first: str
    second: str
    of_first: int
    of_second: int
    own: NDArray[np.int32]


def slots_of(comparison: Comparison, first: str, second: str) -> Slots:
    """Return the slots of two candidates of a comparison."""
    one, ones = _generations(comparison, first)
    other, others = _generations(comparison, second)
    return Slots(first, second, ones, others, np.concatenate([one, ones + other]).astype(np.int32))


def _generations(comparison: Comparison, name: str) -> tuple[NDArray[np.int32], int]:
    """Return the generation of each text, and how many there are."""
    own = comparison.generations.get(name)
    if own is None:
        source = comparison.human if name == HUMAN else comparison.candidate(name).source
        return np.zeros(source.n, dtype=np.int32), 1
    return own, int(own.max()) + 1


def exchange_blocks(comparison: Comparison, first: str, second: str) -> tuple[NDArray[np.intp], bool, int]:
    """Return within which blocks texts of two sources are exchanged, whether these are prompts, and how many.

    Returns
    -------
    codes : (n + m,) array of int
        Block of each text, those of ``first`` first. Texts whose prompt only one of the two answered form one block.
        Candidates with equally many generations have a block for each prompt and generation.
    paired : bool
        Whether the two have a prompt in common.
    count : int
        Prompts in common, or, without any, texts of both.
    """
    (one, ones), (other, others) = (_generations(comparison, name) for name in (first, second))
    generation = (
        np.concatenate([one, other]).astype(np.intp) if ones == others else np.zeros(one.size + other.size, int)
    )
    if comparison.prompts is None:
        return generation, False, generation.size
    prompts = np.concatenate([comparison.prompts[first], comparison.prompts[second]]).astype(np.intp)
    keys = prompts * ones + generation
    shared = np.intersect1d(keys[: one.size], keys[one.size :])
    codes = np.where(np.isin(keys, shared), np.searchsorted(shared, keys) + ones, generation)
    count = np.intersect1d(comparison.prompts[first], comparison.prompts[second]).size
    return codes.astype(np.intp), shared.size > 0, int(count) or generation.size


def joint_differences_of(
    partitions: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32] | Tensor, scale: float
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of two candidates' scores, averaged over seeds and generations, for rows of slots.

    Parameters
    ----------
    partitions : sequence of Partition
        Joint partitions of the human texts with both, one per seed.
    slots : Slots
    drawn : (b, n + m) int32 array, or int64 tensor on a device
        Slot in which each text of the two counts; ``slots.own`` is the observed one.
    scale : float > 0
        The scaling constant c of MAUVE.

    Returns
    -------
    dict of str to (b,) float64 array
        By score, first - second.
    """
    k = partitions[0].k
    p = np.stack([part.counts(HUMAN) for part in partitions])
    labels = np.stack(
        [np.concatenate([part.labels[name] for name in (slots.first, slots.second)]) for part in partitions]
    )
    arguments = labels, k, slots.of_first + slots.of_second
    if isinstance(drawn, np.ndarray):
        histograms = counts_by_side(drawn, *arguments)
    else:
        from mauve_core.numerics.device.resampling import counts_by_side_on

        histograms = counts_by_side_on(drawn, *arguments)
    found = []
    for counts in histograms:
        human = np.broadcast_to(p, counts.shape)
        found.append(spreads_of(basis_of(CountSamples(p, p, human, counts), "none"), scale))
    one, other = found[: slots.of_first], found[slots.of_first :]

    def mean(of: Sequence[Mapping[str, Spread]], name: str) -> NDArray[np.float64]:
        return np.asarray(np.mean([each[name].resampled for each in of], axis=0))

    return {name: (mean(one, name) - mean(other, name)).mean(axis=1) for name in SCORES}


def _null(
    partitions: Sequence[Partition],
    slots: Slots,
    codes: NDArray[np.intp],
    draws: int,
    rng: np.random.Generator,
    scale: float,
    observed: Mapping[str, NDArray[np.float64]],
    device: str,
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of exchanged texts by score, as many as the test takes."""
    tables = (slots.of_first + slots.of_second) // 2
    most = max(1, COUNT_BYTES // (24 * (tables * sum(part.k for part in partitions) + codes.size)))
    draw: Callable[..., NDArray[np.int32] | Tensor] = draw_sides
    if device != "cpu":
        from mauve_core.numerics.device.resampling import draw_sides_on

        draw = partial(draw_sides_on, device)
    return sequential_null(
        lambda count: joint_differences_of(partitions, slots, draw(slots.own, codes, count, rng), scale),
        draws,
        most,
        observed,
    )


def sequential_null(
    differences: Callable[[int], Mapping[str, NDArray[np.float64]]],
    draws: int,
    most: int,
    observed: Mapping[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Draw differences under the hypothesis until every score has ``STOP`` that are as far from 0 as observed.

    Parameters
    ----------
    differences : callable
        Number -> so many draws by score.
    draws, most : int
        Draws at most, altogether and at once.
    observed : mapping of str to (1,) array
        By score.
    """
    null = {name: np.empty(0) for name in SCORES}
    while (made := null[SCORES[0]].size) < draws:
        some = differences(min(max(FIRST_BLOCK, made), draws - made, most))
        null = {name: np.concatenate([null[name], some[name]]) for name in SCORES}
        if all((np.abs(null[name]) >= np.abs(observed[name])).sum() >= STOP for name in SCORES):
            break
    return null


def adjusted(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """Set the p-values of all pairs under each score to those by Holm's method."""
    by_score = {
        name: iter(holm([each.p_value for each in found if each.score == name]))
        for name in {each.score for each in found}
    }
    return tuple(dataclasses.replace(each, p_adjusted=float(next(by_score[each.score]))) for each in found)


def draws_for(pairs: int) -> int:
    """Exchanges that a test of so many pairs draws at most."""
    return max(PERMUTATIONS, 50 * pairs - 1)


def difference_interval(first: Spread, second: Spread, score: str, confidence: float) -> tuple[float, float, float]:
    """Return the difference of two candidates' means over seeds, and its interval.

    The resamples of the two must draw the same prompts, row by row, as those of
    :func:`mauve_core.scoring.estimates.score_basis` do.
    """
    value = float(first.values.mean() - second.values.mean())
    resampled = first.resampled.mean(axis=1) - second.resampled.mean(axis=1)
    low, high = SCORE_BOUNDS[score]
    return value, *centred_interval(value, resampled, confidence, bounds=(low - high, high - low))
