"""The kernel distance against plain loops, its mean over subsets as the reference implementations take it, and bias."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators.kernel_discrepancy import kernel_distance, kernel_distances
from mauve_core.estimators.transport import frechet_cost


def kernel(x, y):
    return (x @ y / len(x) + 1) ** 3


def plain(x_p, x_q):
    """Bińkowski et al. 2018, section 4, pair by pair."""
    n, m = len(x_p), len(x_q)
    of_p = sum(kernel(x_p[i], x_p[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    of_q = sum(kernel(x_q[i], x_q[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return of_p + of_q - 2 * sum(kernel(x, y) for x in x_p for y in x_q) / (n * m)


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 5)), 0.3 + 1.2 * rng.normal(size=(7, 5))


def test_it_is_that_of_all_pairs(sides):
    assert kernel_distance(*sides) == pytest.approx(plain(*sides), rel=1e-12)


def test_blocks_change_nothing(sides, monkeypatch):
    whole = kernel_distance(*sides)
    monkeypatch.setattr("mauve_core.estimators.kernel_discrepancy.BLOCK", 3)
    assert kernel_distance(*sides) == pytest.approx(whole, rel=1e-12)


def test_it_is_the_mean_over_subsets_of_the_reference_implementations(sides):
    """They average the estimate over subsets of equal size; over all of them the mean is that of all pairs."""
    x_p, x_q = sides[0][:6], sides[1][:6]
    subsets = [list(rows) for rows in combinations(range(6), 3)]
    means = [plain(x_p[rows], x_q[columns]) for rows in subsets for columns in subsets]
    assert np.mean(means) == pytest.approx(kernel_distance(x_p, x_q), rel=1e-10)


def test_parts_are_those_computed_alone(sides):
    parts = [(np.array([0, 2, 5]), np.array([6, 1])), (np.arange(9), np.arange(7))]
    expected = [plain(sides[0][rows], sides[1][columns]) for rows, columns in parts]
    np.testing.assert_allclose(kernel_distances(*sides, parts), expected, rtol=1e-12)


def test_it_does_not_grow_with_fewer_texts_as_the_frechet_distance_does():
    rng = np.random.default_rng(1)
    few = [(rng.normal(size=(20, 8)), rng.normal(size=(20, 8))) for _ in range(300)]
    values = np.array([kernel_distance(*each) for each in few])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(300)
    assert np.mean([frechet_cost(*each) for each in few]) > 1


@pytest.mark.parametrize(("n", "m"), [(1, 5), (5, 1)])
def test_one_text_is_too_few(n, m):
    with pytest.raises(InputError):
        kernel_distance(np.ones((n, 3)), np.ones((m, 3)))


def test_a_part_with_one_text_is_refused(sides):
    with pytest.raises(InputError, match="two or more of each side"):
        kernel_distances(*sides, [(np.array([0]), np.array([0, 1]))])
