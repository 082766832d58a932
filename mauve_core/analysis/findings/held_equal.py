"""How much of the gap goes when a candidate has something as often as the reference.

The candidate's texts get weights that give those with it the reference's share (as "match" does in
``mauve_core.analysis.what_if_weights``). Few texts then have large weights, and the frontier integral grows with that
alone. So the integral is set against what it is when the same weights go to random texts of the candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.validation import Count, Share
from mauve_core.numerics.divergences.kl import integral_terms
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.divergences.what_if import matched, weighted_counts
from mauve_core.scoring.result import Partition

DRAWS = 200
"""Times that the weights go to random texts."""

RANGE = 0.95

LEAST_TEXTS = 20
"""Fewer texts of equal weight would be worth as much as the weighted ones: then there is no result."""

MOST_CLUSTERS = 3


@dataclass(frozen=True)
class HeldEqual:
    """The frontier integral where a candidate has something as often as the reference; means over the partitions.

    Attributes
    ----------
    before : float
        With all texts alike, in [0, 1].
    after : float
        Held equal.
    random, low, high : float
        With the same weights on random texts: mean, and the range of 95% of the draws.
    clusters : tuple of int
        At most three clusters of the first partition that the gap leaves most, those with the largest fall first.
    """

    before: Share
    after: Share
    random: Share
    low: Share
    high: Share
    clusters: tuple[Count, ...]

    @property
    def gone(self) -> float:
        """Share of the integral that goes; negative if the gap grows."""
        return 1 - self.after / self.random

    @property
    def gone_range(self) -> tuple[float, float]:
        """The same against either end of the range of random texts."""
        return 1 - self.after / self.low, 1 - self.after / self.high

    @property
    def differs(self) -> bool:
        """Whether the gap becomes smaller than with random texts."""
        return self.after < self.low


def held_equal(
    partitions: Sequence[Partition],
    sides: tuple[str, str],
    human: NDArray[np.bool_],
    model: NDArray[np.bool_],
    seed: int | np.random.SeedSequence,
) -> HeldEqual | None:
    """Hold something equal that some texts of either side have.

    Parameters
    ----------
    partitions : sequence of Partition
        Those with both sides, first the one whose clusters are named.
    sides : (str, str)
        Reference and candidate.
    human, model : (n,), (m,) bool array
        Which texts of either have it.
    seed : int or numpy.random.SeedSequence
        Of the random texts.

    Returns
    -------
    HeldEqual or None
        None where weights cannot do it, because too few texts of the candidate have it or lack it, and without a gap.
    """
    if model.all() or not model.any():
        return None
    weights = matched(np.bincount(human, minlength=2), np.bincount(model, minlength=2), [1])[model.astype(np.intp)]
    if weights.sum() ** 2 / (weights**2).sum() < LEAST_TEXTS:
        return None
    rng = np.random.default_rng(seed)
    drawn = np.stack([weights, np.ones_like(weights), *(rng.permutation(weights) for _ in range(DRAWS))])
    integrals, fall = [], None
    for partition in partitions:
        q = probabilities(weighted_counts(partition.labels[sides[1]], partition.k, drawn), "none")
        terms = integral_terms(probabilities(partition.counts(sides[0]), "none"), q)
        integrals.append(terms.sum(axis=-1))
        fall = terms[2:].mean(axis=0) - terms[0] if fall is None else fall
    after, before, *random = np.mean(integrals, axis=0).tolist()
    if min(random) == 0:
        return None
    low, high = np.quantile(random, [(1 - RANGE) / 2, (1 + RANGE) / 2]).tolist()
    largest = [] if fall is None else [int(each) for each in np.argsort(-fall)[:MOST_CLUSTERS] if fall[each] > 0]
    return HeldEqual(before, after, float(np.mean(random)), low, high, tuple(largest))
