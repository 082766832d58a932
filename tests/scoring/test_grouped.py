"""Intervals from histograms by group, beside a plain loop and beside those from labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.estimates import ScoreBasis, TwoSides, basis_of_sides, estimates_of, spreads_of
from mauve_core.scoring.grouped import BINS_AT_ONCE, PARTS, basis_of_groups, few_groups
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import divergence_frontier, frontier_integral, probabilities, trapezoid_area
from mauve_core.stats.units import each_alone, exchange_rate

SCORE, SEED = ScoreConfig(bootstrap=200), np.random.SeedSequence(1)


def drawn(groups: int = 64, k: int = 6, seeds: int = 2, n: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.multinomial(n, rng.dirichlet(np.full(k, 3.0)), size=(seeds, groups))
    q = rng.multinomial(n, rng.dirichlet(np.full(k, 3.0)), size=(seeds, groups))
    return p, q


def test_scores_and_resamples_are_those_of_a_plain_loop() -> None:
    p, q = drawn()
    found = spreads_of(basis_of_groups(p, q, SCORE, np.random.SeedSequence(3)), 5.0)
    places = np.random.default_rng(np.random.SeedSequence(3)).integers(64, size=(200, 64))

    def resample(number: int, seed: int, rate: float) -> list[np.ndarray]:
        """All groups have 20 texts of either side, so half of that share of the draws is exchanged."""
        one, other = np.zeros(6), np.zeros(6)
        for turn, place in enumerate(places[number]):
            swapped = round(min(max(rate / 2 * 64 - turn, 0), 1) * PARTS) / PARTS
            one += swapped * q[seed, place] + (1 - swapped) * p[seed, place]
            other += swapped * p[seed, place] + (1 - swapped) * q[seed, place]
        return [one, other]

    def integral(sides: list[np.ndarray]) -> float:
        return float(frontier_integral(*map(probabilities, sides)))

    observed = np.mean([integral([side[seed].sum(axis=0) for side in (p, q)]) for seed in range(2)])
    rate = exchange_rate(
        float(observed),
        lambda rate: float(
            np.mean([integral(resample(number, seed, rate)) for number in range(200) for seed in (0, 1)])
        ),
    )
    assert 0 < rate < 1
    for name, smoothing in (("mauve", "none"), ("mauve_star", "krichevsky-trofimov")):
        for seed in range(2):
            sides = [probabilities(side[seed].sum(axis=0), smoothing) for side in (p, q)]
            assert found[name].values[seed] == pytest.approx(trapezoid_area(*divergence_frontier(*sides).curve(5.0)))
            for place in (0, 7, 199):
                sides = [probabilities(side, smoothing) for side in resample(place, seed, rate)]
                plain = trapezoid_area(*divergence_frontier(*sides).curve(5.0))
                assert found[name].resampled[place, seed] == pytest.approx(plain)


def test_blocks_of_resamples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = drawn()
    whole = basis_of_groups(p, q, SCORE, np.random.SeedSequence(1))
    assert 200 * p.shape[0] * p.shape[2] < BINS_AT_ONCE
    monkeypatch.setattr("mauve_core.scoring.grouped.BINS_AT_ONCE", 7 * p.shape[0] * p.shape[2])
    parts = basis_of_groups(p, q, SCORE, np.random.SeedSequence(1))
    for name, spread in whole.parts.items():
        np.testing.assert_array_equal(parts.parts[name].resampled, spread.resampled)


@pytest.mark.parametrize("m", [400, 1200])
def test_equal_sources_have_intervals_as_wide_as_from_labels(m: int) -> None:
    rng, n, k, ratios = np.random.default_rng(4), 400, 40, []
    shares = rng.dirichlet(np.full(k, 2.0))
    for _ in range(5):
        labels = [rng.choice(k, size, p=shares) for size in (n, m)]
        tables = [np.bincount(rng.integers(1024, size=own.size) * k + own, minlength=1024 * k) for own in labels]
        p, q = (table.reshape(1, 1024, k) for table in tables)
        ratios.append(_width(basis_of_groups(p, q, SCORE, SEED)) / _width(_in_memory(labels, k)))
    assert 0.8 < np.median(ratios) < 1.25


def test_large_groups_of_unlike_sources_have_intervals_as_wide_as_from_labels() -> None:
    """Groups that changed sides by chance would move a part of the difference that varies by more than it does."""
    rng, n, k, groups = np.random.default_rng(4), 6000, 100, 64
    labels = [rng.choice(k, n, p=rng.dirichlet(np.full(k, 0.5))) for _ in range(2)]
    tables = [np.bincount(rng.integers(groups, size=n) * k + own, minlength=groups * k) for own in labels]
    widths = [_width(basis_of_groups(*(each.reshape(1, groups, k) for each in tables), SCORE, SEED))]
    widths.append(_width(_in_memory(labels, k)))
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


def _in_memory(labels: list[np.ndarray], k: int) -> ScoreBasis:
    part = Partition("pairwise", 0, k, 0.0, dict(zip((HUMAN, "model"), labels, strict=True)))
    units = each_alone(*(own.size for own in labels))
    return basis_of_sides(TwoSides("model", (part,), units, SEED), SCORE, "none")


def _width(basis: ScoreBasis) -> float:
    found = estimates_of(basis, 5.0, 0.95)["mauve"]
    return found.high - found.low


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [30, pytest.param(100, marks=pytest.mark.trial)])
def test_the_interval_covers_the_expected_score(pairs: int) -> None:
    """A 90 % interval covers the mean score of such samples in about 90 % of pairs of samples."""
    rng = np.random.default_rng(5)
    left, right = (rng.dirichlet(np.full(8, 4.0)) for _ in range(2))
    score, groups, n = ScoreConfig(bootstrap=200, confidence=0.9), 100, 4000

    def sample() -> tuple[np.ndarray, np.ndarray]:
        sizes = rng.multinomial(n, np.full(groups, 1 / groups))
        return tuple(np.stack([rng.multinomial(size, side) for size in sizes])[np.newaxis] for side in (left, right))  # type: ignore[return-value]

    found = []
    for number in range(pairs):
        basis = basis_of_groups(*sample(), score, np.random.SeedSequence(number))
        found.append(estimates_of(basis, score.scale, score.confidence)["frontier_integral"])
    expected = np.mean([each.mean for each in found])
    covered = sum(each.low <= expected <= each.high for each in found)
    least, most = binom.ppf([0.001, 0.999], pairs, 0.9)
    assert least <= covered <= most


def test_texts_of_one_prompt_widen_the_interval() -> None:
    """Where all texts of a group lie in one cluster, there are as many independent texts as groups."""
    rng = np.random.default_rng(2)
    alone = np.stack([rng.multinomial(20, np.full(4, 0.25), size=200)])
    together = np.zeros_like(alone)
    together[0, np.arange(200), rng.integers(0, 4, 200)] = 20
    other = np.stack([rng.multinomial(20, [0.4, 0.3, 0.2, 0.1], size=200)])
    widths = []
    for p in (alone, together):
        score = estimates_of(basis_of_groups(p, other, SCORE, np.random.SeedSequence(0)), 5.0, 0.95)[
            "frontier_integral"
        ]
        widths.append(score.high - score.low)
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_few_prompts_are_resampled_without_empty_sides(groups: int) -> None:
    """Of 1,024 groups, those without texts are not drawn; so no resample is empty by chance."""
    p, q = (np.zeros((1, 1024, 6), dtype=np.int64) for _ in range(2))
    filled = np.random.default_rng(1).choice(1024, groups, replace=False)
    p[:, filled], q[:, filled] = drawn(groups=groups, seeds=1)
    score = estimates_of(basis_of_groups(p, q, SCORE, np.random.SeedSequence(0)), 5.0, 0.95)["mauve"]
    assert 0 < score.low <= score.mean <= score.high <= 1


def test_few_groups_or_a_large_one_support_no_interval() -> None:
    p, q = drawn(groups=20)
    assert few_groups(p, q) == ""
    few = p.copy()
    few[:, 0] = 0
    assert few_groups(q, few).startswith("19 independent units on a side")
    large = p.copy()
    large[:, 0] *= 5
    assert few_groups(large, q).startswith("one unit has 100 of 480 texts")


def test_histograms_that_cannot_be_used() -> None:
    p, q = drawn()
    with pytest.raises(InputError, match="do not match"):
        basis_of_groups(p, q[:, :, :-1], SCORE, np.random.SeedSequence(0))
    single = np.zeros_like(p)
    single[:, 3] = p[:, 3]
    with pytest.raises(InputError, match="one prompt"):
        basis_of_groups(single, q, SCORE, np.random.SeedSequence(0))
