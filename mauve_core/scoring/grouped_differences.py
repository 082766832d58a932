"""Test which of two candidates is closer to the human texts from histograms by group of prompts.

The tests are those of :mod:`mauve_core.scoring.differences`. The jackknife deals groups of prompts to folds, and
what is exchanged between two candidates is a group, since single texts are not at hand. Groups are the same under all
seeds and for all sides, so a group's texts answer the same prompts on both sides wherever candidates share prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import SCORE_BOUNDS, SCORES, ScoreConfig
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.numerics.resampling.permutation import sequential_p_value
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
from mauve_core.scoring.estimates import Spread, spreads_of
from mauve_core.scoring.grouped import BINS_AT_ONCE, basis_of_histograms, few_groups
from mauve_core.scoring.result import Difference
from mauve_core.scoring.streams import stream


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
            bounds = SCORE_BOUNDS[name]
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
