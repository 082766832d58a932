"""The Fréchet distance without the bias of n texts, on Gaussians whose distance is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.base.errors import InputError
from mauve_core.estimators.transport import FrechetLimit, frechet_cost, frechet_limit

DRAWS = 40
SEED = SeedSequence(1)


def gaussians(rng, n, m, d, scale, shift=0.0):
    """Two samples with falling spectra on the same axes, and the distance between their sources."""
    deviations = 1 / np.sqrt(np.arange(1, d + 1))
    x_p, x_q = rng.normal(size=(n, d)) * deviations, shift + rng.normal(size=(m, d)) * deviations * scale
    return x_p, x_q, d * shift**2 + ((1 - scale) ** 2 * deviations**2).sum()


@pytest.mark.parametrize(
    ("n", "m", "d", "scale", "shift"),
    [
        (100, 100, 16, 1.0, 0.0),
        (100, 160, 16, 1.4, 0.1),
        pytest.param(200, 150, 64, 1.2, 0.05, marks=pytest.mark.trial),
    ],
)
def test_it_comes_close_to_the_distance_of_the_sources(n, m, d, scale, shift):
    rng = np.random.default_rng(0)
    samples = [gaussians(rng, n, m, d, scale, shift) for _ in range(DRAWS)]
    truth = samples[0][2]
    found = [frechet_limit(x_p, x_q, seed=SEED) for x_p, x_q, _ in samples]
    values, plain = np.array([each.value for each in found]), np.array([each.at_n for each in found])
    chance = values.std(ddof=1) / np.sqrt(DRAWS)
    bias = plain.mean() - truth
    assert bias > 8 * chance
    assert abs(values.mean() - truth) < max(3 * chance, 0.05 * bias)
    assert np.mean([each.low <= truth <= each.high for each in found]) >= 0.9
    # The spread is not much larger than it has to be.
    assert np.mean([each.sd for each in found]) < 2 * values.std(ddof=1)
    assert np.mean([each.bends for each in found]) < 0.1


@pytest.mark.slow
def test_more_texts_have_less_bias_a_shorter_interval_and_the_same_limit():
    rng = np.random.default_rng(3)
    samples = [gaussians(rng, 800, 800, 32, 1.3) for _ in range(12)]
    truth = samples[0][2]
    few, many = ([frechet_limit(x_p[:n], x_q[:n], seed=SEED) for x_p, x_q, _ in samples] for n in (200, 800))

    def mean(name, found):
        return np.mean([getattr(each, name) for each in found])

    # The bias falls as 1/n, the spread as its root.
    assert 3 < (mean("at_n", few) - truth) / (mean("at_n", many) - truth) < 5
    assert 1.6 < mean("sd", few) / mean("sd", many) < 2.6
    for found in (few, many):
        assert mean("value", found) == pytest.approx(truth, abs=2 * mean("sd", found) / np.sqrt(12))


def test_too_few_texts_for_their_features_are_told():
    x_p, x_q, truth = gaussians(np.random.default_rng(4), 80, 80, 128, 1.3)
    found = frechet_limit(x_p, x_q, seed=SEED)
    assert found.bends
    assert truth < found.value < found.from_half < found.at_n


def test_groups_are_left_out_as_given():
    x_p, x_q, _ = gaussians(np.random.default_rng(5), 40, 60, 4, 1.2)
    kept = [
        (np.delete(np.arange(40), part), np.delete(np.arange(60), part + 7)) for part in np.arange(40).reshape(4, 10)
    ]
    kept.append((np.arange(40), np.r_[7:47]))
    found = frechet_limit(x_p, x_q, seed=SEED, parts=kept)
    plain = [frechet_cost(x_p[rows], x_q[columns]) for rows, columns in kept]
    np.testing.assert_array_equal(found.left_out, plain)
    # The line of each group, weighted by the group's share of the texts that have a group.
    shares = np.array([20, 20, 20, 20, 20]) / 100
    assert found.value == pytest.approx(len(kept) * found.at_n - ((1 - shares) * plain).sum())


def test_equal_seeds_give_equal_bits():
    x_p, x_q, _ = gaussians(np.random.default_rng(6), 50, 60, 4, 1.2)
    first, second = (frechet_limit(x_p, x_q, seed=SEED) for _ in range(2))
    np.testing.assert_array_equal(first.left_out, second.left_out)
    assert (first.value, first.from_half) == (second.value, second.from_half)
    assert frechet_limit(x_p, x_q, seed=SeedSequence(2)).from_half != first.from_half


def test_the_lines_are_straight_where_they_end_alike():
    ends = FrechetLimit(1.0, 0.1, 0.8, 1.2, 2.0, 1.19, np.ones(20))
    assert not ends.bends
    assert FrechetLimit(1.0, 0.1, 0.8, 1.2, 2.0, 1.21, np.ones(20)).bends


@pytest.mark.parametrize("n", [0, 19])
def test_too_few_texts_are_refused(n):
    with pytest.raises(InputError):
        frechet_limit(np.ones((n, 3)), np.ones((30, 3)), seed=SEED)


@pytest.mark.parametrize("missing", [[0, 1], [0, 0]])
def test_parts_that_leave_out_rows_not_once_are_refused(missing):
    rows = [np.delete(np.arange(20), each) for each in missing]
    with pytest.raises(InputError, match="missing in exactly one part"):
        frechet_limit(np.ones((20, 3)), np.ones((20, 3)), seed=SEED, parts=[(each, each) for each in rows])
