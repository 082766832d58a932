"""Test which of two candidates is closer to the human texts from histograms by group of prompts.

The test is that of :mod:`mauve_core.scoring.differences`, with one difference: what is exchanged between two candidates
is a whole group of prompts, since single texts are not at hand. Groups are the same under all seeds and for all sides,
so a group's texts answer the same prompts on both sides wherever candidates share prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import SCORES, ScoreConfig
from mauve_core.numerics.resampling.permutation import sequential_p_value
from mauve_core.scoring.differences import STOP, adjusted, difference_interval, draws_for, sequential_null
from mauve_core.scoring.estimates import ScoreBasis, Spread, spreads_of
from mauve_core.scoring.grouped import BINS_AT_ONCE, basis_of_histograms
from mauve_core.scoring.result import Difference
from mauve_core.scoring.streams import stream

LIKE_SIZES = 0.01
"""Two candidates are tested if their numbers of texts differ by at most this share of the larger: an exchange of groups
mixes the two numbers, and a score depends on its number of texts."""


def differences_of_groups(
    human: NDArray[np.integer],
    candidates: Mapping[str, NDArray[np.integer]],
    basis: Mapping[str, ScoreBasis],
    score: ScoreConfig,
) -> tuple[Difference, ...]:
    """Return the difference of every two candidates of like size under every score.

    Parameters
    ----------
    human : (s, G, k) int array
        Texts by seed, group and cluster of joint partitions of all sides.
    candidates : mapping of str to (s, G, k) int array
    basis : mapping of str to ScoreBasis
        Pairwise, from :func:`mauve_core.scoring.grouped.basis_of_groups` under one seed sequence.
    score : ScoreConfig

    Returns
    -------
    tuple of Difference
        ``n`` counts the groups that were exchanged, and ``paired`` says that both have equally many texts in each.
    """
    pairs = [pair for pair in combinations(candidates, 2) if _alike(*(candidates[name] for name in pair))]
    if not pairs:
        return ()
    spreads = {name: spreads_of(basis[name], score.scale) for name in candidates}
    found = []
    p = human.sum(axis=1, dtype=np.int64)
    for first, second in pairs:
        one, other = candidates[first], candidates[second]
        sizes = one[0].sum(axis=1), other[0].sum(axis=1)
        groups = int(((sizes[0] > 0) | (sizes[1] > 0)).sum())
        exchange = _Exchange(p, one, other, score.scale, np.random.default_rng(stream(score.seed, "exchange")))
        observed = exchange.observed()
        most = max(1, BINS_AT_ONCE // p.size)
        null = sequential_null(exchange.drawn, draws_for(len(pairs)), most, observed)
        for name in SCORES:
            joint = float(observed[name][0])
            p_value = sequential_p_value(null[name], joint, STOP)
            own = difference_interval(spreads[first][name], spreads[second][name], name, score.confidence)
            paired = bool((sizes[0] == sizes[1]).all())
            found.append(Difference(name, first, second, *own, joint, p_value, p_value, paired, groups))
    return adjusted(found)


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
