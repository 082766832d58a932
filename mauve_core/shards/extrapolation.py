"""Extrapolate sums from a few sampled shards to all, and schedule tasks on workers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

CONFIDENCE = 0.95


class Sampled(NamedTuple):
    """A sampled shard: its stratum, its size, and what is extrapolated by size."""

    stratum: str
    size: float
    value: float


class Span(NamedTuple):
    """A number that was extrapolated, and the ends of its interval; None if too few shards were sampled to have one."""

    value: float
    low: float | None
    high: float | None

    def plus(self, known: float) -> Span:
        """With a number that is known."""
        return Span(*(None if each is None else each + known for each in self))  # type: ignore[arg-type]

    def and_(self, other: Span) -> Span:
        """The span of the sum with an independent one; a span of 0 leaves the other as it is."""
        if not self.value or not other.value:
            return other if not self.value else self
        value = self.value + other.value
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Span(value, None, None)
        down = math.hypot(self.value - self.low, other.value - other.low)
        up = math.hypot(self.high - self.value, other.high - other.value)
        return Span(value, value - down, value + up)

    def at_most(self, most: float) -> Span:
        """The span of a number that is known to be at most so large."""
        return Span(min(self.value, most), self.low, None if self.high is None else min(self.high, most))

    def times(self, factor: float) -> Span:
        """The span of a multiple."""
        return Span(*(None if each is None else each * factor for each in self))  # type: ignore[arg-type]


def extrapolated(samples: Sequence[Sampled], totals: Mapping[str, float]) -> Span:
    """Extrapolate a sum by size: a ratio estimator for each stratum.

    Parameters
    ----------
    samples : sequence of Sampled
        At least one.
    totals : mapping of str to float
        Size of everything, by stratum. One without samples takes the ratio of all of them.

    Returns
    -------
    Span
        Its t interval of ``CONFIDENCE`` comes from the differences between shards of one stratum, which are taken to be
        as large in relation to their values in every stratum. Shards count as drawn from very many, also where all are
        sampled, since of each only the beginning is.
    """
    by_stratum = {each.stratum: [one for one in samples if one.stratum == each.stratum] for each in samples}
    ratios = {name: _ratio(by_stratum.get(name, samples)) for name in {*by_stratum, *totals}}
    value = sum(size * ratios[name] for name, size in totals.items())
    free = len(samples) - len(by_stratum)
    if free < 1:
        return Span(value, None, None)
    expected = [one.size * ratios[one.stratum] for one in samples]
    rest = sum((one.value / mean - 1) ** 2 for one, mean in zip(samples, expected, strict=True) if mean) / free
    variance = 0.0
    for name, size in totals.items():
        sizes = np.array([one.size for one in by_stratum.get(name, samples)], dtype=np.float64)
        share = float((sizes**2).sum() / max(sizes.sum(), 1) ** 2)
        variance += (size * ratios[name]) ** 2 * share * rest
    reach = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return Span(value, max(value - reach, 0.0), value + reach)


def wall_seconds(seconds: Iterable[float], workers: int) -> float:
    """Seconds until workers that take one task after another, in the given order, have done all."""
    ends = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _ratio(samples: Sequence[Sampled]) -> float:
    size = sum(one.size for one in samples)
    return sum(one.value for one in samples) / size if size else 0.0
