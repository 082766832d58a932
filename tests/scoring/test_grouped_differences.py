"""Differences from histograms by group, beside a plain loop, and their level and power."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, t

from mauve_core.base.config import ScoreConfig
from mauve_core.scoring.differences import FOLDS, PERMUTATIONS, deal_to_groups, pairs_of
from mauve_core.scoring.grouped import LIKE_SIZES, differences_of_groups
from mauve_core.scoring.result import Difference
from mauve_core.scoring.streams import stream
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.scores import SCORES, score_counts

pytestmark = pytest.mark.integration

GROUPS, K = 40, 8
SCORE = ScoreConfig(bootstrap=100, seeds=2)


def table(rng: np.random.Generator, shares: NDArray[np.float64], size: int = 50) -> NDArray[np.int64]:
    """(2, G, k) texts of one side: under the second seed, the clusters are numbered backwards."""
    own = rng.multinomial(size, shares, size=GROUPS)
    return np.stack([own, own[:, ::-1]])


def between(
    human: NDArray[np.int64], candidates: dict[str, NDArray[np.int64]], score: ScoreConfig = SCORE
) -> dict[tuple[str, str, str], Difference]:
    found = differences_of_groups(human, candidates, {name: (human, side) for name, side in candidates.items()}, score)
    return {(each.score, each.first, each.second): each for each in found}


def shares(*weights: float) -> NDArray[np.float64]:
    array = np.array(weights)
    return array / array.sum()


FLAT = np.full(K, 1 / K)
NEAR = shares(*range(6, 6 + K))
FAR = shares(*range(1, 1 + K))


def test_few_groups_support_no_test() -> None:
    rng = np.random.default_rng(0)
    human, one, few = table(rng, FLAT), table(rng, NEAR), table(rng, FAR)
    few[:, 19:] = 0
    few[:, 18] += human.sum(axis=1) - few.sum(axis=1)  # as many texts
    test = between(human, {"one": one, "few": few})["mauve", "one", "few"]
    assert (test.low, test.high, test.p_value, test.p_adjusted, test.p_alike) == (-1, 1, 1, 1, 1)
    p, q = (score_counts(human.sum(axis=1), side.sum(axis=1))["mauve"].mean() for side in (one, few))
    assert test.difference == pytest.approx(p - q)


def test_a_difference_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    human, one, other = table(rng, FLAT), table(rng, NEAR), table(rng, shares(*range(7, 7 + K)))
    found = between(human, {"one": one, "other": other})
    rng = np.random.default_rng(stream(SCORE.seed, "exchange"))
    moves = rng.integers(0, 2, (PERMUTATIONS, GROUPS)).astype(bool)[:, np.newaxis, :, np.newaxis]

    def apart(first: NDArray[np.int64], second: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
        one_of, other_of = (score_counts(human.sum(axis=1), side.sum(axis=-2)) for side in (first, second))
        return {name: (one_of[name] - other_of[name]).mean(axis=-1) for name in SCORES}

    # With at most 50 groups, each is a fold, in random order.
    seed = stream(SCORE.seed, "differences")
    in_folds = np.argsort(deal_to_groups({"all": np.arange(GROUPS)}, seed, most=FOLDS)["all"])
    observed, moved = apart(one, other), apart(np.where(moves, other, one), np.where(moves, one, other))
    for name in SCORES:
        result = found[name, "one", "other"]
        assert result.difference == pytest.approx(observed[name])
        as_far = made = 0
        for each in moved[name]:
            made += 1
            as_far += abs(each) >= abs(result.difference) * (1 - 1e-9)
            if as_far == 20:
                break
        expected = 20 / made if as_far == 20 else (1 + as_far) / (1 + PERMUTATIONS)
        assert result.p_alike == pytest.approx(expected)
        assert (result.n, result.paired) == (GROUPS, True)
        # Groups are of one size: the jackknife's variance is (G - 1) / G times the sum of squares about the mean.
        left_out, by_seed = [], []
        for group in (None, *range(GROUPS)):
            p, x, y = (np.delete(side, group, axis=1) if group is not None else side for side in (human, one, other))
            scores = [score_counts(p.sum(axis=1), side.sum(axis=1))[name] for side in (x, y)]
            (by_seed if group is None else left_out).append(scores[0] - scores[1])
        means = np.mean(left_out, axis=1)
        over_groups = (GROUPS - 1) / GROUPS * ((means - means.mean()) ** 2).sum()
        quadratic = []
        for pair in in_folds[pairs_of(GROUPS, stream(SCORE.seed, "differences").spawn(2)[1])].tolist():
            p, x, y = (np.delete(side, pair, axis=1).sum(axis=1) for side in (human, one, other))
            both = (score_counts(p, x)[name] - score_counts(p, y)[name]).mean()
            quadratic.append(GROUPS * result.difference - (GROUPS - 1) * means[pair].sum() + (GROUPS - 2) * both)
        variance = max(over_groups - np.var(quadratic) / 2, over_groups / 2) + by_seed[0].var(ddof=1) / 2
        reach = t.ppf(0.975, GROUPS - 1) * math.sqrt(variance)
        assert (result.low, result.high) == pytest.approx((result.difference - reach, result.difference + reach))
        assert result.p_value == pytest.approx(2 * t.sf(abs(result.difference) / math.sqrt(variance), GROUPS - 1))


def test_candidates_that_differ_are_told_apart_and_p_values_are_adjusted() -> None:
    rng = np.random.default_rng(1)
    human = table(rng, FLAT)
    found = between(human, {"near": table(rng, NEAR), "far": table(rng, FAR), "flat": table(rng, FLAT)})
    pairs = list(combinations(("near", "far", "flat"), 2))
    assert {(first, second) for _, first, second in found} == set(pairs)
    for name in SCORES:
        own = [found[name, *pair] for pair in pairs]
        assert [each.p_adjusted for each in own] == pytest.approx(holm([each.p_value for each in own]))
    assert found["mauve", "near", "far"].told_apart
    assert found["mauve", "near", "far"].low > 0


@pytest.mark.parametrize("pairs", [25, pytest.param(100, marks=pytest.mark.trial)])
def test_the_test_holds_its_level(pairs: int) -> None:
    """Of pairs that write alike, about one in twenty has p <= 0.05; the binomial bound holds with probability 0.999."""
    rng = np.random.default_rng(2)
    values: list[tuple[float, float]] = []
    for _ in range(pairs):
        human = table(rng, FLAT, 20)
        found = between(human, {"one": table(rng, NEAR, 20), "other": table(rng, NEAR, 20)})
        values.append((found["mauve", "one", "other"].p_value, found["mauve", "one", "other"].p_alike))
    for own in zip(*values, strict=True):
        assert sum(value <= 0.05 for value in own) <= binom.ppf(0.999, pairs, 0.05)
        assert abs(np.mean(own) - 0.5) < 1 / np.sqrt(pairs)  # of a uniform variable, 3.5 standard errors


def test_candidates_of_unlike_sizes_are_not_tested() -> None:
    rng = np.random.default_rng(3)
    human, one = table(rng, FLAT, 100), table(rng, NEAR, 100)
    fewer = one.copy()
    fewer[:, 0] = 0
    assert 1 - fewer[0].sum() / one[0].sum() > LIKE_SIZES
    assert between(human, {"one": one, "fewer": fewer}) == {}
    other = one.copy()
    other[:, 0, 0] += 5
    found = between(human, {"one": one, "other": other})
    assert not found["mauve", "one", "other"].paired


def test_blocks_of_exchanges_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    human, sides = table(rng, FLAT), {"one": table(rng, NEAR), "other": table(rng, FAR)}
    whole = between(human, sides)
    monkeypatch.setattr("mauve_core.scoring.grouped.BINS_AT_ONCE", 70 * 2 * K)
    assert between(human, sides) == whole
