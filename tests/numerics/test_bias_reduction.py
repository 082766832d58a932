"""Bias-reduced errors of the frontier: a hand case, the loops that they stand for, and samples of one source."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, frontier_integral, mauve, trapezoid_area
from mauve_core.stats.resampling import bias_reduced, corrected
from mauve_core.stats.units import Units, draw_blocks, each_alone, units_of

P = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
Q = np.array([0, 1, 1, 1, 2, 3, 3, 3])


def plain_errors(p: list[float], q: list[float], weight: float) -> tuple[float, float]:
    """KL(Q || R) and KL(P || R) by their definition."""
    mixture = [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
    found = [sum(a * math.log(a / r) for a, r in zip(side, mixture, strict=True) if a > 0) for side in (q, p)]
    return found[0], found[1]


def shares(labels: list[int], times: list[int], k: int) -> list[float]:
    found = [0.0] * k
    for label, count in zip(labels, times, strict=True):
        found[label] += count / sum(times)
    return found


@pytest.mark.parametrize(
    "units",
    [
        each_alone(P.size, Q.size),
        units_of(np.arange(P.size), np.arange(Q.size)),
        units_of(np.repeat(np.arange(4), [1, 2, 3, 4]), np.repeat([8, 0, 9], [1, 2, 5])),  # resamples differ in size
    ],
)
def test_errors_are_those_of_a_plain_bootstrap_with_the_same_draws(units: Units) -> None:
    found = bias_reduced(P, Q, 4, units, seed=SeedSequence(3), replicates=7)
    (draws,) = draw_blocks(units, 7, np.random.default_rng(SeedSequence(3)))
    weights = draws.weights(0.0)
    histograms = [
        (shares(P.tolist(), on_p[: P.size].tolist(), 4), shares(Q.tolist(), on_q[P.size :].tolist(), 4))
        for on_p, on_q in zip(*weights, strict=True)
    ]
    own = shares(P.tolist(), [1] * P.size, 4), shares(Q.tolist(), [1] * Q.size, 4)
    for column, weight in enumerate(REFERENCE_WEIGHTS):
        again = [plain_errors(*both, weight) for both in histograms]
        for error, observed in enumerate(plain_errors(*own, weight)):
            mean = sum(each[error] for each in again) / len(again)
            ours = (found.frontier.type_1, found.frontier.type_2)[error][column]
            # Logarithms of ratios near 1 leave about 1e-15 of an error at the ends of the grid.
            assert ours == pytest.approx(max(0.0, 2 * observed - mean), rel=1e-9, abs=1e-14)
    middle = [sum(plain_errors(*both, 0.5)) / 2 for both in (own, *histograms)]
    assert float(found.mid) == pytest.approx(max(0.0, 2 * middle[0] - np.mean(middle[1:])), rel=1e-9)
    integrals = [float(frontier_integral(*both)) for both in (own, *histograms)]
    assert float(found.frontier_integral) == pytest.approx(max(0.0, 2 * integrals[0] - np.mean(integrals[1:])))


def test_a_case_by_hand() -> None:
    """Own mid-point 0 and log 2 in the only resample: 2 x 0 - log 2 is below 0; the other way round it is above."""
    same, apart = np.array([2, 0]), np.array([0, 2])
    found = corrected(same, same, same[np.newaxis], apart[np.newaxis])
    assert (float(found.mid), float(found.frontier_integral)) == (0.0, 0.0)
    assert not found.frontier.type_1.any()
    found = corrected(same, apart, same[np.newaxis], same[np.newaxis])  # 2 log 2 - 0, at most log 2
    assert float(found.mid) == pytest.approx(math.log(2), rel=1e-14)
    assert float(found.frontier_integral) == 1.0
    middle = REFERENCE_WEIGHTS.size // 2
    assert found.frontier.type_2[middle] == pytest.approx(2 * math.log(2), rel=1e-14)


def test_samples_of_one_source_are_nearer_to_equal_than_plain_ones_on_average() -> None:
    rng = np.random.default_rng(0)
    plain, reduced = [], []
    for seed in range(10):
        p, q = rng.integers(20, size=(2, 200))
        found = bias_reduced(p, q, 20, each_alone(200, 200), seed=SeedSequence(seed))
        reduced.append(float(trapezoid_area(*found.frontier.curve())))
        plain.append(float(mauve(*(np.bincount(side, minlength=20) / 200 for side in (p, q)))))
    assert np.mean(plain) < 0.98
    assert 1 - np.mean(reduced) < (1 - np.mean(plain)) / 5


def test_the_seed_decides_the_draws() -> None:
    one, again, other = (
        bias_reduced(P, Q, 4, each_alone(P.size, Q.size), seed=SeedSequence(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.frontier.type_1, again.frontier.type_1)
    assert (one.frontier.type_1 != other.frontier.type_1).any()


def test_unusable_input_is_refused() -> None:
    units = each_alone(P.size, Q.size)
    for arguments, replicates in (((P, Q, 3), 5), ((P[1:], Q, 4), 5), ((P, Q, 4), 0)):
        with pytest.raises(InputError):
            bias_reduced(*arguments, units, seed=SeedSequence(0), replicates=replicates)
