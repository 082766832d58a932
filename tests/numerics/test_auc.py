"""AUC with ties and groups: hand values, plain twins of both variances, SciPy, a published interval, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, mannwhitneyu

from mauve_core.base.errors import InputError
from mauve_core.stats.two_groups import auc_of

GROUP = st.lists(st.integers(-3, 3), min_size=2, max_size=12)
Z = 1.959963984540054


def kernel(a: float, b: float) -> float:
    return (a > b) + (a == b) / 2


def plain_variance(first: list[int], second: list[int]) -> float:
    """DeLong's, written out: the variance of each number's chance of winning, over the pairs."""
    wins = [sum(kernel(a, b) for b in second) / len(second) for a in first]
    lost = [sum(kernel(a, b) for a in first) / len(first) for b in second]
    return float(np.var(wins, ddof=1)) / len(first) + float(np.var(lost, ddof=1)) / len(second)


@given(GROUP, GROUP)
def test_against_all_pairs_delong_and_scipy(first: list[int], second: list[int]) -> None:
    found = auc_of(first, second)
    auc = sum(kernel(a, b) for a in first for b in second) / (len(first) * len(second))
    assert found.auc == pytest.approx(auc, abs=1e-12)
    assert 0 <= found.low <= found.auc <= found.high <= 1
    answers = len({*first, *second}) <= 2
    variance = plain_variance(first, second)
    if variance > 0 and not answers:
        width = Z * math.sqrt(variance) / (auc * (1 - auc))
        for end, step in ((found.low, -width), (found.high, width)):
            assert end == pytest.approx(1 / (1 + math.exp(-math.log(auc / (1 - auc)) - step)), rel=1e-9)
    if len({*first, *second}) > 1 and not answers:
        least = 2 / math.comb(len(first) + len(second), len(first))
        normal = mannwhitneyu(first, second, method="asymptotic").pvalue
        assert found.p == pytest.approx(max(float(normal), least), rel=1e-9)
    swapped = auc_of(second, first)
    assert swapped.auc == pytest.approx(1 - found.auc, abs=1e-12)
    assert swapped.low == pytest.approx(1 - found.high, abs=1e-9)
    assert swapped.p == pytest.approx(found.p)


def test_shares_have_the_published_interval() -> None:
    """Newcombe 1998, table II, example (a), method 10: 56 of 70 against 48 of 80, 0.0524 to 0.3339."""
    found = auc_of([1] * 56 + [0] * 14, [1] * 48 + [0] * 32)
    assert found.auc == pytest.approx((1 + 56 / 70 - 48 / 80) / 2)
    assert (2 * found.low - 1, 2 * found.high - 1) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize(("one", "n", "other", "m"), [(0, 20, 6, 20), (3, 50, 11, 60), (200, 200, 0, 200)])
def test_shares_are_tested_exactly(one: int, n: int, other: int, m: int) -> None:
    found = auc_of([1] * one + [0] * (n - one), [1] * other + [0] * (m - other))
    exact = float(fisher_exact([[one, n - one], [other, m - other]])[1])
    assert found.p >= exact
    assert found.p == pytest.approx(exact, rel=0.2) or found.p < 1e-50, "the normal test is close to it here"


def test_without_overlap_or_differences_there_is_still_an_interval() -> None:
    apart, equal = auc_of(range(100, 200), range(100)), auc_of([3] * 100, [3] * 100)
    assert apart.auc == apart.high == 1
    assert 0.96 < apart.low < 1
    assert (equal.auc, equal.p) == (0.5, 1.0)
    assert 0.47 < equal.low < 0.5 < equal.high < 0.53
    assert apart.low == pytest.approx(auc_of([1] * 100, [0] * 100).low), "as the yes and no that the numbers are"


@pytest.mark.parametrize(("first", "second"), [([], [1, 2]), ([1, 2], []), ([], []), ([5], [1, 2, 3]), ([1, 2], [9])])
def test_one_number_says_nothing(first: list[int], second: list[int]) -> None:
    found = auc_of(first, second)
    assert (found.low, found.high, found.p) == (0, 1, 1)
    assert found.auc == (0.5 if not first or not second else float(first > second))


def test_groups_of_equal_numbers_count_as_one_number_each() -> None:
    """Every number five times: the interval of the numbers alone, apart from the finite sizes."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.4, 1, 60), rng.normal(0, 1, 50)
    alone = auc_of(first, second)
    grouped = auc_of(
        np.repeat(first, 5),
        np.repeat(second, 5),
        first_groups=np.repeat(np.arange(60), 5),
        second_groups=np.repeat(np.arange(50), 5),
    )
    assert grouped.auc == pytest.approx(alone.auc)
    assert (grouped.low, grouped.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    # The null variance has n + m + 1 in place of n + m, and the tie correction.
    assert math.log(grouped.p) == pytest.approx(math.log(alone.p), rel=0.05)
    ignored = auc_of(np.repeat(first, 5), np.repeat(second, 5))
    assert ignored.high - ignored.low < 0.5 * (alone.high - alone.low)


def test_obuchowski_written_out() -> None:
    rng = np.random.default_rng(6)
    codes, others = rng.integers(0, 12, 60), rng.integers(0, 15, 70)
    first, second = rng.normal(size=12)[codes] + rng.normal(size=60), rng.normal(size=15)[others] + rng.normal(size=70)
    wins = np.array([[kernel(a, b) for b in second] for a in first])
    auc, variance = wins.mean(), 0.0
    for values, own in ((wins.mean(axis=1), codes), (wins.mean(axis=0), others)):
        sums = [(values[own == code] - auc).sum() for code in np.unique(own)]
        clustered = len(sums) / (len(sums) - 1) * float(np.square(sums).sum()) / values.size**2
        variance += max(clustered, float(values.var(ddof=1)) / values.size)
    found = auc_of(first, second, first_groups=codes, second_groups=others)
    width = Z * math.sqrt(variance) / (auc * (1 - auc))
    assert math.log(found.high / (1 - found.high)) == pytest.approx(math.log(auc / (1 - auc)) + width)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [120, pytest.param(600, marks=pytest.mark.trial)])
def test_level_and_coverage_with_and_without_groups(draws: int) -> None:
    """Of 600 draws, 95% have 0.03 of sampling error at three standard deviations; groups are 40 of five."""
    reach = 0.03 * math.sqrt(600 / draws)
    rng, inside, small = np.random.default_rng(7), {"alone": 0, "groups": 0, "shares": 0}, {"groups": 0, "shares": 0}
    codes = np.repeat(np.arange(40), 5)
    for _ in range(draws):
        found = auc_of(rng.normal(0.5, 1, 80), rng.normal(0, 1, 80))
        inside["alone"] += found.low <= 0.638163 <= found.high  # the normal distribution at 0.5 / sqrt(2)
        first, second = (rng.normal(size=40)[codes] + 0.5 * rng.normal(size=200) for _ in range(2))
        found = auc_of(first, second, first_groups=codes, second_groups=codes)
        inside["groups"] += found.low <= 0.5 <= found.high
        small["groups"] += found.p <= 0.05
        found = auc_of(rng.random(200) < 0.1, rng.random(200) < 0.1)
        inside["shares"] += found.low <= 0.5 <= found.high
        small["shares"] += found.p <= 0.05
    assert all(abs(count / draws - 0.95) <= reach for count in inside.values()), inside
    assert all(count / draws <= 0.05 + reach for count in small.values()), small


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        ([1, np.nan], [1, 2], {}),
        ([[1, 2]], [1, 2], {}),
        ([1, 2], [1, 2], {"confidence": 1.0}),
        ([1, 2], [1, 2], {"first_groups": [0]}),
        ([1, 2], [1, 2], {"second_groups": [0.5, 1]}),
    ],
)
def test_what_cannot_be_compared_is_refused(first: object, second: object, more: dict[str, object]) -> None:
    with pytest.raises(InputError):
        auc_of(first, second, **more)  # type: ignore[arg-type]
