"""The map: finite, repeatable, neighbours stay neighbours, and small inputs work."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.errors import InputError
from mauve_core.numerics.projection import project

pytestmark = pytest.mark.slow  # the first call compiles for some 20 seconds


@pytest.mark.parametrize("shape", [(1, 4), (2, 3), (3, 3), (4, 1), (16, 4), (40, 1), (60, 10)])
def test_every_size_gives_finite_positions(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    positions = project(x, seed=0)
    assert positions.shape == (shape[0], 2)
    assert positions.dtype == np.float32
    assert np.isfinite(positions).all()


def test_equal_seeds_give_equal_maps_and_other_seeds_others():
    x = np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32)
    np.testing.assert_array_equal(project(x, seed=3), project(x, seed=3))
    assert not np.array_equal(project(x, seed=3), project(x, seed=4))


def test_separated_groups_stay_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 60)
    x = (10 * np.eye(5)[labels] + rng.normal(size=(180, 5))).astype(np.float32)
    positions = project(x, seed=0).astype(np.float64)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    # Groups lie ten standard deviations apart, so not one nearest neighbour may belong to another group.
    assert np.all(labels[distances.argmin(axis=1)] == labels)


def test_copies_of_one_row_do_not_break_the_map():
    x = np.ones((40, 4), dtype=np.float32)
    x[:5] = 0
    assert np.isfinite(project(x, seed=1)).all()


@pytest.mark.parametrize(
    ("x", "seed", "said"),
    [
        (np.ones((0, 3)), 0, "Too few rows"),
        (np.full((5, 3), np.nan), 0, "not finite"),
        (np.ones((5, 3)), -1, "The seed"),
        (np.ones((5, 3)), 0.5, "The seed"),
    ],
)
def test_bad_input_is_refused(x, seed, said):
    with pytest.raises(InputError, match=said):
        project(x, seed=seed)
