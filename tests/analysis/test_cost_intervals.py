"""Intervals of the ledger against a plain twin, from labels and prompts to both ends, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import (
    CostIntervals,
    cluster_table,
    cost_intervals,
    costed_table,
    exchange_rate,
    intervals_of,
    signed_shares,
)
from mauve_core.scoring.estimates import TwoSides
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.units import each_alone
from tests.numerics.test_simultaneous import plain_intervals
from tests.scoring.test_intervals import PROMPTS, made, twin_of

pytestmark = pytest.mark.integration

# Sums in another order; the exchange rates are equal.
ROUNDING = 1e-9


@pytest.fixture(scope="module")
def comparisons() -> dict[str, Comparison]:
    return {how: made(how) for how in PROMPTS}


def plain_shares(counts: list[list[int]], smoothing: str = "none") -> list[float]:
    """Signed shares of the frontier integral, through the table that pages show."""
    table = cluster_table(counts[0], counts[1], 0.5, smoothing)
    return [
        -share if direction == "misses" else share
        for share, direction in zip(table["cost_share"], table["direction"], strict=True)
    ]


def expect_equal(found: CostIntervals, expected: list[tuple[float, float]], adds: tuple[float, float]) -> None:
    np.testing.assert_allclose(np.stack(found.of_clusters, axis=1), np.clip(expected, 0, 1), atol=ROUNDING)
    np.testing.assert_allclose(found.adds, adds, atol=ROUNDING)


@pytest.mark.parametrize(
    ("how", "kind", "seed", "smoothing"),
    [("shared", "joint", 1, "laplace"), ("none", "pairwise", 0, "none"), ("repeated", "pairwise", 1, "none")],
)
def test_the_intervals_of_a_plain_twin(
    comparisons: dict[str, Comparison], how: str, kind: PartitionKind, seed: int, smoothing: str
) -> None:
    comparison = comparisons[how]
    twin = twin_of(comparison, kind, "shifted")
    assert exchange_rate(comparison, kind, "shifted") == twin.rate
    own = plain_shares(twin.observed[0, seed].tolist(), smoothing)
    counts = twin.resampled(twin.rate, comparison.config.score.bootstrap)[:, seed].tolist()
    drawn = [plain_shares(each, smoothing) for each in counts]
    expected = plain_intervals([abs(share) for share in own], [[abs(share) for share in row] for row in drawn], 0.95)
    sums = np.array([sum(share for share in row if share > 0) for row in drawn])
    ends = sum(share for share in own if share > 0) + np.quantile(sums, [0.025, 0.975]) - sums.mean()
    found = cost_intervals(comparison, kind, "shifted", seed, smoothing)
    expect_equal(found, expected, (max(ends[0], 0), min(ends[1], 1)))
    again = cost_intervals(comparison, kind, "shifted", seed, smoothing, rate=twin.rate)
    expect_equal(again, np.stack(found.of_clusters, axis=1).tolist(), found.adds)


def test_the_table_with_intervals_is_that_of_its_parts(comparisons: dict[str, Comparison]) -> None:
    comparison = comparisons["shared"]
    part, found = comparison.partition("joint", "shifted", 1), cost_intervals(comparison, "joint", "shifted", 1)
    plain = cluster_table(part.counts(HUMAN), part.counts("shifted"), 0.3)
    table = costed_table(comparison, "joint", "shifted", 1, 0.3)
    np.testing.assert_array_equal(table[["low", "high"]], np.stack(found.of_clusters, axis=1))
    assert table.drop(columns=["low", "high"]).equals(plain)
    with pytest.raises(InputError):
        cost_intervals(comparison, "joint", "nobody", 0)


def sides_of(p: NDArray[np.int32], q: NDArray[np.int32], k: int, seed: int) -> TwoSides:
    partition = Partition("pairwise", 0, k, 0.0, {HUMAN: p, "m": q})
    return TwoSides("m", (partition,), each_alone(p.size, q.size), SeedSequence(seed))


@pytest.mark.trial
@pytest.mark.parametrize("distance", [0.3, 1.2])
def test_the_costliest_cluster_is_covered(distance: float) -> None:
    """60 pairs of samples: at least 54 hold the picked share's expectation; 57 are nominal, a standard error is 1.7."""
    k, n, rng = 15, 200, np.random.default_rng(8)
    p = np.full(k, 1 / k)
    q = p * np.exp(distance * rng.normal(size=k))
    q /= q.sum()
    expected = np.abs(signed_shares(rng.multinomial(n, p, 2000), rng.multinomial(n, q, 2000))).mean(axis=0)
    covered, pointwise = 0, 0
    for trial in range(60):
        sides = sides_of(*(rng.choice(k, n, p=each).astype(np.int32) for each in (p, q)), k, trial)
        found = intervals_of(sides, 200, sides.exchange_rate(200))
        share = np.abs(signed_shares(*sides.counts())[0])
        picked = int(share.argmax())
        covered += found.low[picked] <= expected[picked] <= found.high[picked]
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()
        pointwise += share[picked] <= expected[picked]
    assert covered >= 54
    assert pointwise < 30, "a picked share is too high"
