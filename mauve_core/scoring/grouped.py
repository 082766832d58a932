"""Scores with intervals, and tests of differences, from histograms by group of prompts: single texts are not at hand.

The texts of both sides are divided into groups by their prompts, at random. A resample draws groups with replacement,
and a histogram is a weighted sum of the groups' histograms under every seed at once. As where texts are at hand
(:mod:`mauve_core.stats.units`), the interval is centered on the estimate and what is drawn is exchanged at the rate at
which resamples have the observed divergence on average: here the first groups that are drawn change sides, with exactly
half that share of the texts, the last of them in part. If each changed by chance, the share that changes would vary by
more than the difference of two sides of many texts does. On a side of n texts, those that come from one of m count n/m
times, so that the difference varies as that of two samples of one source, whatever n and m are.

Two things are less than with texts: equal texts of different prompts are not drawn together; and G groups show the
variation of k clusters in no more than G directions, so intervals of nearly equal sides are about the root of 1 + k / G
times as wide as need be, those of means over seeds wider still. Tests are those of
:mod:`mauve_core.scoring.differences`; the jackknife deals groups to folds, and groups are exchanged. A group answers
the same prompts on every side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.differences import (
    FOLDS,
    LIKE_SIZES,
    PERMUTATIONS,
    STOP,
    adjusted,
    closer,
    deal_to_groups,
    pairs_of,
    sequential_null,
    untested,
    without_groups,
)
from mauve_core.scoring.estimates import ScoreBasis, Spread, basis_of_parts, spreads_of
from mauve_core.scoring.result import Difference
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import frontier_integral, probabilities
from mauve_core.stats.resampling import sequential_p_value
from mauve_core.stats.scores import SCORES, score_counts, score_parts
from mauve_core.stats.units import RATE_REPLICATES, exchange_rate, few_units

# Bins of resampled histograms that are held at once.
BINS_AT_ONCE = 2**21

# Parts of a group that change sides are multiples of one of these, so that sums over groups are exact.
PARTS = 2**10


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
    draws = _Draws(p, q, score.bootstrap, np.random.default_rng(seed))
    rate = draws.exchange_rate()
    return basis_of_histograms(*draws.own, draws.histograms(rate, score.bootstrap), rate)


def few_groups(*sides: NDArray[np.integer]) -> str:
    """Say why the groups of (s, G, k) sides support neither an interval nor a test; empty if they do."""
    sizes = (side[0].sum(axis=1, dtype=np.int64) for side in sides)
    return few_units(*(each[each > 0] for each in sizes))


class _Draws:
    """Resamples of groups, whose random numbers serve every exchange rate."""

    def __init__(
        self, p: NDArray[np.integer], q: NDArray[np.integer], replicates: int, rng: np.random.Generator
    ) -> None:
        self._sides = p, q
        self.own = p.sum(axis=1, dtype=np.int64), q.sum(axis=1, dtype=np.int64)
        filled = [side[0].any(axis=1) for side in self._sides]
        if min(map(np.count_nonzero, filled)) < 2:
            raise InputError("All texts of a side belong to one prompt", allowed="texts of several prompts")
        # Groups without texts are drawn, too, so that all candidates draw equal groups.
        self._groups = p.shape[1]
        self._places = np.empty((replicates, self._groups), dtype=np.int64)
        self._before, self._sizes = (np.empty((replicates, self._groups)) for _ in range(2))
        shares = sum(side[0].sum(axis=1) / side[0].sum() for side in self._sides)
        left = np.arange(replicates)
        while left.size:  # what leaves a side without texts at some rate, of few groups, is drawn again
            places = rng.integers(self._groups, size=(left.size, self._groups))
            sizes = shares[places]
            sizes /= np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            before = np.cumsum(sizes, axis=1) - sizes
            self._places[left], self._sizes[left], self._before[left] = places, sizes, before
            full = np.stack([(side[places] & (before >= 1 / 2)).any(axis=1) for side in filled]).all(axis=0)
            left = left[~full]

    def histograms(self, rate: float, count: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """(B, s, k) histograms of both sides, of the first resamples at an exchange rate, in blocks."""
        most = max(1, BINS_AT_ONCE // self.own[0].size)
        for start in range(0, count, most):
            rows = slice(start, min(start + most, count))
            left, sizes = rate / 2 - self._before[rows], self._sizes[rows]
            moved = np.clip(np.divide(left, sizes, out=np.zeros_like(sizes), where=sizes > 0), 0.0, 1.0)
            moved = np.round(moved * PARTS) / PARTS
            yield self._summed(self._times(rows, 1 - moved), self._times(rows, moved))

    def exchange_rate(self) -> float:
        """The rate at which the mean frontier integral over seeds is that of the texts, as where texts are at hand."""
        count = min(len(self._places), RATE_REPLICATES)

        def mean_at(rate: float) -> float:
            return float(np.concatenate([_integrals(*pair) for pair in self.histograms(rate, count)]).mean())

        return exchange_rate(float(_integrals(*self.own).mean()), mean_at)

    def _times(self, rows: slice, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, G) how often groups were drawn, by the part of each draw that counts."""
        cells = self._places[rows] + self._groups * np.arange(len(parts))[:, np.newaxis]
        times = np.bincount(cells.ravel(), parts.ravel(), minlength=parts.size)
        return np.asarray(times, dtype=np.float64).reshape(parts.shape)

    def _summed(
        self, kept: NDArray[np.float64], moved: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, s, k) histograms where groups are on their own side and on the other so often."""
        n, m = (int(side[0].sum()) for side in self.own)
        found = []
        for tables in zip(*self._sides, strict=True):
            p, q = (table.astype(np.float64) for table in tables)
            found.append((kept @ p + moved @ q * (n / m), kept @ q + moved @ p * (m / n)))
        left, right = (np.stack(side, axis=1) for side in zip(*found, strict=True))
        return left, right


def _integrals(p: NDArray[np.number], q: NDArray[np.number]) -> NDArray[np.float64]:
    return frontier_integral(probabilities(p), probabilities(q))


def basis_of_histograms(
    p: NDArray[np.int64],
    q: NDArray[np.int64],
    drawn: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]],
    rate: float = 1.0,
) -> ScoreBasis:
    """Compute a score basis without smoothing from histograms of many texts, of which few pairs of counts are equal.

    Parameters
    ----------
    p, q : (s, k) int arrays
        Of the texts.
    drawn : iterable of pairs of (B, s, k) arrays
        Of their resamples, a block at a time.
    rate : float
        Their exchange rate.
    """
    return basis_of_parts(score_parts(p, q), [score_parts(*pair) for pair in drawn], rate)


def differences_of_groups(
    human: NDArray[np.integer],
    candidates: Mapping[str, NDArray[np.integer]],
    own: Mapping[str, tuple[NDArray[np.integer], NDArray[np.integer]]],
    score: ScoreConfig,
) -> tuple[Difference, ...]:
    """Return the difference of every two candidates of like size under every score.

    Parameters
    ----------
    human : (s, G, k) int array
        Texts by seed, group and cluster of joint partitions of all sides.
    candidates : mapping of str to (s, G, k) int array
    own : mapping of str to pair of (s, G, k) int arrays
        Those of the human side and of each candidate in the pairwise partitions, from which the scores are.
    score : ScoreConfig

    Returns
    -------
    tuple of Difference
        ``n`` counts the groups with texts, and ``paired`` says that both have equally many texts in each. Where the
        groups of a pair support no test, the interval is the whole range and the p-values are 1.
    """
    pairs = [pair for pair in combinations(candidates, 2) if _alike(*(candidates[name] for name in pair))]
    if not pairs:
        return ()
    usable = {name for name, side in candidates.items() if not few_groups(human, side)}
    of_tests = [pair for pair in pairs if usable.issuperset(pair)]
    tests, tested = len(of_tests), {each for pair in of_tests for each in pair}
    seed = stream(score.seed, "differences")
    folds = _folds([human, *(candidates[name] for name in sorted(tested))], seed)
    together = pairs_of(len(folds), seed.spawn(2)[1])
    values = {name: _left_out(folds, own[name], together, score.scale) for name in tested}
    found = list[Difference]()
    p = human.sum(axis=1, dtype=np.int64)
    for first, second in pairs:
        one, other = candidates[first], candidates[second]
        sizes = one[0].sum(axis=1), other[0].sum(axis=1)
        paired, groups = bool((sizes[0] == sizes[1]).all()), int(((sizes[0] > 0) | (sizes[1] > 0)).sum())
        if not usable.issuperset((first, second)):
            scores = [
                score_counts(*(side.sum(axis=1, dtype=np.int64) for side in own[each]), scale=score.scale)
                for each in (first, second)
            ]
            means = {name: float((scores[0][name] - scores[1][name]).mean()) for name in SCORES}
            found += [untested(name, first, second, means[name], paired, groups) for name in SCORES]
            continue
        exchange = _Exchange(p, one, other, score.scale, np.random.default_rng(stream(score.seed, "exchange")))
        observed = exchange.observed()
        most = max(1, BINS_AT_ONCE // p.size)
        null = sequential_null(exchange.drawn, PERMUTATIONS, most, observed)
        in_folds = folds @ (human[0].sum(axis=1) + sizes[0] + sizes[1])
        for name in SCORES:
            alike = sequential_p_value(null[name], float(observed[name][0]), STOP)
            values_of_pair = values[first][name] - values[second][name]
            bounds = SCORES[name].bounds
            test = closer(values_of_pair, in_folds, together, score.confidence, bounds, tests)
            found.append(Difference(name, first, second, *test[:4], test[3], alike, paired, groups, test[4]))
    return adjusted(found)


def _folds(sides: Sequence[NDArray[np.integer]], seed: np.random.SeedSequence) -> NDArray[np.int64]:
    """(folds, G) 1 where a group is in a fold, to which groups are dealt as units are where texts are at hand."""
    filled = {f"{place}": np.flatnonzero(side[0].any(axis=1)) for place, side in enumerate(sides)}
    dealt = deal_to_groups(filled, seed, most=FOLDS)
    found = np.zeros((max(int(own.max()) for own in dealt.values()) + 1, sides[0].shape[1]), dtype=np.int64)
    for name, groups in filled.items():
        found[dealt[name], groups] = 1
    return found


def _left_out(
    folds: NDArray[np.int64],
    sides: tuple[NDArray[np.integer], NDArray[np.integer]],
    together: NDArray[np.intp],
    scale: float,
) -> dict[str, NDArray[np.float64]]:
    """(1 + folds + pairs, s) scores of all texts, without each fold and without pairs of folds, by score."""
    by_fold = (np.stack([folds @ table.astype(np.int64) for table in side], axis=1) for side in sides)
    tables = [without_groups(each, together) for each in by_fold]
    at_once = max(1, BINS_AT_ONCE // tables[0][0].size)
    blocks = [
        score_counts(*(table[start : start + at_once] for table in tables), scale=scale)
        for start in range(0, len(tables[0]), at_once)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in SCORES}


def _alike(one: NDArray[np.integer], other: NDArray[np.integer]) -> bool:
    sizes = [int(each[0].sum()) for each in (one, other)]
    return max(sizes) - min(sizes) <= LIKE_SIZES * max(sizes)


class _Exchange:
    """Exchanges groups of two candidates; ``p`` (s, k) are the histograms of the human side."""

    def __init__(
        self,
        p: NDArray[np.int64],
        one: NDArray[np.integer],
        other: NDArray[np.integer],
        scale: float,
        rng: np.random.Generator,
    ) -> None:
        self._p, self._scale, self._rng = p, scale, rng
        self._ahead = one.astype(np.float64) - other
        self._one, self._other = (each.sum(axis=1, dtype=np.int64) for each in (one, other))

    def observed(self) -> dict[str, NDArray[np.float64]]:
        """(1,) difference of the scores of the texts, by score."""
        return self._differences(self._one[np.newaxis].astype(np.float64))

    def drawn(self, count: int) -> dict[str, NDArray[np.float64]]:
        """(count,) differences where every group keeps its place or changes it, by score; counts are exact."""
        moved = self._rng.integers(0, 2, (count, self._ahead.shape[1])).astype(np.float64)
        return self._differences(self._one - np.stack([moved @ table for table in self._ahead], axis=1))

    def _differences(self, one: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        first, second = self._spreads(self._one, one), self._spreads(self._other, self._one + self._other - one)
        return {name: (first[name].resampled - second[name].resampled).mean(axis=1) for name in SCORES}

    def _spreads(self, own: NDArray[np.int64], drawn: NDArray[np.float64]) -> dict[str, Spread]:
        human = np.broadcast_to(self._p.astype(np.float64), drawn.shape)
        return spreads_of(basis_of_histograms(self._p, own, [(human, drawn)]), self._scale)
