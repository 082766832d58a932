"""How much of the gap goes when a candidate has something as often as the reference.

The candidate's texts get weights that give those with it the reference's share (as "match" does in
``mauve_core.analysis.what_if_weights``). The share that goes is 1 - F(P, Q held equal) / F(P, Q), F the frontier
integral at fixed clusters. Both integrals are too large where texts are few, the weighted one more, so each is the
estimate of a jackknife, which removes most of that. The deviation of their ratio comes from the parts of both
(delta method); a jackknife of the ratio itself keeps most of the bias. ``benchmarks/calibration_shares.py`` measures
the interval's coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.formatting import percent_with_interval
from mauve_core.base.json_codec import Count, Within
from mauve_core.scoring.differences import deal_to_groups
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import integral_terms
from mauve_core.stats.resampling import jackknife_estimate, jackknife_parts, t_interval
from mauve_core.stats.units import LEAST_UNITS

GROUPS = 50

# Texts of equal weight per cluster that a side must be worth; with fewer, much of the bias is left.
LEAST_PER_CLUSTER = 3

MOST_CLUSTERS = 3

_Array = NDArray[np.float64]
_Most1 = Annotated[float, Within(-np.inf, 1)]


@dataclass(frozen=True)
class HeldEqual:
    """The share of the gap that goes where a candidate has something as often as the reference.

    Attributes
    ----------
    share, low, high : float
        With its 95% interval, at most 1; negative if the gap grows.
    clusters : tuple of int
        At most three clusters of the first partition that the gap leaves most, those with the largest fall first.
    """

    share: _Most1
    low: _Most1
    high: _Most1
    clusters: tuple[Count, ...]

    @property
    def percent(self) -> str:
        """Such as ``19% (13% to 24%)``."""
        return percent_with_interval(self.share, self.low, self.high)


def held_equal(
    partitions: Sequence[Partition],
    sides: tuple[str, str],
    human: NDArray[np.bool_],
    model: NDArray[np.bool_],
    units: NDArray[np.integer],
    seed: np.random.SeedSequence,
) -> HeldEqual | None:
    """Hold something equal that some texts of either side have.

    Parameters
    ----------
    partitions : sequence of Partition
        Those with both sides, first the one whose clusters are named. Integrals are means over them.
    sides : (str, str)
        Reference and candidate.
    human, model : (n,), (m,) bool array
        Which texts of either have it.
    units : (n + m,) array of int
        Unit of each text, those of the reference first: texts of one unit may be alike, others are independent.
    seed : numpy.random.SeedSequence
        Of the jackknife's groups of units.

    Returns
    -------
    HeldEqual or None
        None where weights cannot do it, there are too few units or texts, or F(P, Q) is estimated as 0.
    """
    own = dict(zip(sides, np.split(units, [human.size]), strict=True))
    if min(np.unique(each).size for each in own.values()) < LEAST_UNITS:
        return None
    groups = deal_to_groups(own, seed, most=GROUPS)
    integrals, fall = [], None
    for partition in partitions:
        p, q = (
            _tables(groups[name], partition.labels[name], has, partition.k)
            for name, has in zip(sides, (human, model), strict=True)
        )
        share, texts = p.sum(axis=-1) / p.sum(axis=(1, 2))[:, np.newaxis], q.sum(axis=-1)
        if not texts.all():
            return None
        worth = 1 / (share[0] ** 2 / texts[0]).sum()
        if min(human.size, worth) < LEAST_PER_CLUSTER * partition.k:
            return None
        equal = (share / texts)[:, np.newaxis] @ q
        both = np.stack([q.sum(axis=1) / texts.sum(axis=1)[:, np.newaxis], equal[:, 0]])
        terms = integral_terms(np.broadcast_to(p.sum(axis=1) / p.sum(axis=(1, 2))[:, np.newaxis], both.shape), both)
        integrals.append(terms.sum(axis=-1))
        fall = terms[0, 0] - terms[1, 0] if fall is None else fall
    sizes = np.bincount(np.concatenate([*groups.values()]))
    before, after = np.mean(integrals, axis=0)
    found = _share_gone(before, after, sizes)
    if found is None or fall is None:
        return None
    return HeldEqual(*found, tuple(int(each) for each in np.argsort(-fall)[:MOST_CLUSTERS] if fall[each] > 0))


def _tables(groups: NDArray[np.intp], labels: NDArray[np.integer], has: NDArray[np.bool_], k: int) -> _Array:
    """(1 + groups, 2, k) texts without and with it in each cluster: all of them, then those without each group."""
    count = int(groups.max()) + 1
    own = np.bincount((2 * groups + has) * k + labels, minlength=2 * count * k).reshape(count, 2, k)
    whole = own.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - own]).astype(np.float64)


def _share_gone(before: _Array, after: _Array, sizes: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """1 - after / before with its 95% interval, from both (1 + groups,); None if ``before`` is estimated as 0."""
    whole, left = (jackknife_estimate(each[0], each[1:], sizes) for each in (before, after))
    if whole <= 0:
        return None
    ratio = left / whole
    parts = [jackknife_parts(each[0], each[1:], sizes) for each in (before, after)]
    sd = float(np.sqrt((((parts[1] - ratio * parts[0]) / whole) ** 2).sum()))
    return min(1 - ratio, 1.0), *t_interval(1 - ratio, sd, sizes.size, bounds=(-np.inf, 1.0))
