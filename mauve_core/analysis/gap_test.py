"""Whether a gap is larger than between texts of one writer: shares of a gap that is not explain nothing.

Two samples of human texts have a frontier integral above 0 as well, and each of its clusters a share of it. The test
exchanges units of texts (:mod:`mauve_core.stats.units`) between the human side and the candidate, and
counts how often the frontier integral, averaged over the k-means seeds, is at least as large as observed. Exchanged
sides are a draw of human texts against human texts at the same n and k if the candidate writes like people. The
partitions were fitted without looking at who wrote what, so they serve every draw. ``benchmarks/calibration.py``
measures the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import significant
from mauve_core.base.json_codec import Count, NotNegative
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import count_pairs, integral_terms
from mauve_core.stats.multiple_tests import detectable_divergence
from mauve_core.stats.resampling import Statistic, permutation_test
from mauve_core.stats.units import resampled_counts

# Largest p-value at which shares are shown: one in a hundred candidates that write like people has shares.
LEVEL = 0.01

# Exchanges of texts. The p-value is a multiple of 1 / (DRAWS + 1), so 99 is the least number that can reach the level,
# and a single accident would decide; with 199 one accident among them is allowed, with 499 four.
DRAWS = 499

# LEVEL x (1 + draws) may be a whole number, which floating point misses by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class GapTest:
    """The test of one candidate.

    Attributes
    ----------
    observed : float
        Frontier integral, averaged over the k-means seeds.
    reached : int
        Draws with a frontier integral at least as large.
    draws : int
        0 if units support no test.
    why : str
        Why they do not; empty if they do.
    detectable : float
        How far above chance the frontier integral must truly lie (its bias-reduced value) for the test to reach
        ``LEVEL`` with probability .8; nan if units support no test or exchange changes nothing.
    """

    observed: NotNegative
    reached: Count
    draws: Count
    why: str = ""
    detectable: float = math.nan

    @property
    def p_value(self) -> float:
        """(1 + reached) / (1 + draws), in (0, 1]."""
        return (1 + self.reached) / (1 + self.draws)

    @property
    def allowed(self) -> int:
        """Most draws that may be as large if there is a gap to explain."""
        return math.floor(LEVEL * (1 + self.draws) + _ROUNDING) - 1

    def in_words(self) -> str:
        """Return what pages and reports say instead of shares."""
        if self.why:
            return f"No test of the gap: {self.why}."
        return (
            "Nothing to explain: the gap could be one between human texts. With texts exchanged at random between the "
            f"two sides, it is at least as large in {self.reached:,} of {self.draws:,} draws; costs are shown if at "
            f"most {self.allowed} are. {self.could_find()}"
        ).rstrip()

    def could_find(self) -> str:
        """Say which gap the test could have found; empty where it is not known."""
        if math.isnan(self.detectable):
            return ""
        gap = significant(self.detectable)
        return f"A true gap of {gap} (bias-reduced frontier integral) would be found 8 times in 10."

    @property
    def explains(self) -> bool:
        """Whether there is a gap to explain: the p-value is at most ``LEVEL``."""
        return self.reached <= self.allowed


def gap_test(
    comparison: Comparison, kind: PartitionKind, candidate: str, *, reference: str = HUMAN, draws: int = DRAWS
) -> GapTest:
    """Test whether the texts of the reference and a candidate's differ, on the comparison's partitions of that kind.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    partitions = comparison.partitions(kind, candidate)
    (seed,) = stream(comparison.config.score.seed, "gap").spawn(1)
    why = comparison.why_no_interval(reference, candidate)
    if why:
        return GapTest(0.0, 0, 0, why)
    units = comparison.units(reference, candidate)
    codes = np.concatenate([units[reference], units[candidate]])
    return gap_test_of(partitions, candidate, codes, reference=reference, draws=draws, seed=seed)


def gap_test_of(
    partitions: Sequence[Partition],
    candidate: str,
    units: NDArray[np.integer] | None,
    *,
    reference: str = HUMAN,
    draws: int = DRAWS,
    seed: np.random.SeedSequence,
) -> GapTest:
    """Test whether two sides differ.

    Parameters
    ----------
    partitions : sequence of Partition
        Of the same texts, one per k-means seed.
    units : (n + m,) array of int or None
        Unit of each text, those of the reference first. None: every text is one.
    """
    n, m = (partitions[0].labels[name].size for name in (reference, candidate))
    statistic = mean_integral(partitions, candidate, reference)
    found = permutation_test(statistic, n, m, permutations=draws, seed=seed, units=units)
    least = detectable_divergence(found.null, LEVEL)
    return GapTest(found.statistic, round(found.p_value * (1 + draws)) - 1, draws, detectable=least)


def mean_integral(partitions: Sequence[Partition], candidate: str, reference: str = HUMAN) -> Statistic:
    """Make the statistic of :func:`gap_test`: the frontier integral averaged over the partitions."""
    k = partitions[0].k
    labels = [np.concatenate([part.labels[name] for name in (reference, candidate)]) for part in partitions]
    both = np.stack([np.bincount(own, minlength=k) for own in labels])

    def statistic(first: NDArray[np.bool_], _: NDArray[np.bool_]) -> NDArray[np.float64]:
        weights = first.astype(np.int32)
        p = np.stack([resampled_counts(own, k, weights) for own in labels], axis=1)
        pairs = count_pairs(p, both - p)
        values = pairs.sums(integral_terms(*pairs.probabilities(0.0))[:, np.newaxis])
        return np.asarray(values.mean(axis=(1, 2)))

    return statistic
