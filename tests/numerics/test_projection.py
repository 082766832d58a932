"""The map: finite, repeatable, neighbours stay neighbours, and small inputs work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.projection import PLACED_BY, map_of, nearest, placed, project, sampled_rows

pytestmark = pytest.mark.slow  # the first call on a machine compiles


@pytest.mark.parametrize("shape", [(1, 4), (2, 3), (3, 3), (16, 4), (40, 1)])
def test_every_size_gives_finite_positions(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    positions = project(x, seed=0)
    assert positions.shape == (shape[0], 2)
    assert positions.dtype == np.float32
    assert np.isfinite(positions).all()


def test_equal_seeds_give_equal_maps_and_other_seeds_others():
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    first, again, other = (project(x, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_separated_groups_stay_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 60)
    x = (10 * np.eye(5)[labels] + rng.normal(size=(180, 5))).astype(np.float32)
    positions = project(x, seed=0).astype(np.float64)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    # Groups lie ten standard deviations apart, so not one nearest neighbour may belong to another group.
    assert np.all(labels[distances.argmin(axis=1)] == labels)


def test_nearest_rows_are_those_of_all_distances():
    x = np.random.default_rng(0).normal(size=(90, 6)).astype(np.float32)
    apart = np.linalg.norm(x[:, None].astype(np.float64) - x[None], axis=2)
    indices, distances = nearest(x, 7)
    np.testing.assert_array_equal(indices, np.argsort(apart, axis=1)[:, :7])
    np.testing.assert_allclose(distances, np.sort(apart, axis=1)[:, :7], rtol=1e-6, atol=1e-6)


def test_of_equal_rows_each_is_its_own_first():
    indices, distances = nearest(np.ones((20, 3), dtype=np.float32), 5)
    np.testing.assert_array_equal(indices[:, 0], np.arange(20))
    assert all(len(set(row)) == 5 for row in indices.tolist())
    assert np.abs(distances).max() < 1e-3


def test_what_is_compiled_is_kept():
    from umap import umap_

    project(np.random.default_rng(0).normal(size=(30, 4)), seed=0)
    assert Path(umap_.smooth_knn_dist.stats.cache_path).is_dir()
    assert list(Path(umap_.smooth_knn_dist.stats.cache_path).glob("umap_.smooth_knn_dist*.nbi"))


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


def topics(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows around three far corners, and their corners."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=n, p=[0.6, 0.35, 0.05])
    return (10 * np.eye(5)[labels] + rng.normal(size=(n, 5))).astype(np.float32), labels


def test_a_map_of_few_rows_is_that_of_all_of_them():
    x, labels = topics(150)
    found = map_of(x, labels, seed=3)
    assert found.fitted == 150
    np.testing.assert_array_equal(found.positions, project(x, seed=3))


def test_rows_that_were_not_fitted_stand_among_their_own():
    x, labels = topics(2000)
    seen = []
    found = map_of(x, labels, seed=0, most=300, progress=lambda *state: seen.append(state))
    assert 297 <= found.fitted <= 300
    assert (seen[0], seen[-1]) == ((0, 2000), (2000, 2000))
    assert (found.fitted, 2000) in seen
    assert seen == sorted(seen)
    distances = np.linalg.norm(found.positions[:, None] - found.positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    # Corners lie ten standard deviations apart, so not one nearest neighbour may belong to another corner.
    assert np.all(labels[distances.argmin(axis=1)] == labels)
    again = map_of(Stacked([x[:700], x[700:].astype(np.float64)]), labels, seed=0, most=300)
    np.testing.assert_array_equal(found.positions, again.positions)
    assert not np.array_equal(found.positions, map_of(x, labels, seed=1, most=300).positions)


def test_a_placed_row_is_at_the_median_of_its_neighbours():
    rng = np.random.default_rng(0)
    fitted, positions = rng.normal(size=(60, 4)).astype(np.float32), rng.normal(size=(60, 2)).astype(np.float32)
    x = rng.normal(size=(5000, 4)).astype(np.float32)
    found = placed(x, fitted, positions)
    for row in range(0, 5000, 50):
        near = ((x[row].astype(np.float64) - fitted) ** 2).sum(axis=1).argsort()[:PLACED_BY]
        np.testing.assert_array_equal(found[row], np.median(positions[near], axis=0))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=400), st.integers(5, 100), st.integers(0, 99))
def test_every_stratum_is_sampled_in_proportion(strata, most, seed):
    groups = np.array(strata)
    rows = sampled_rows(groups, most, np.random.default_rng(seed))
    kinds = np.unique(groups)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(np.unique(groups[rows]), kinds)
    assert len(rows) <= max(most, len(kinds))
    if len(groups) <= most:
        assert len(rows) == len(groups)
    elif most > len(kinds):
        # Steps of n / (most - strata) rows take each stratum's share to within one, and its first row comes on top.
        share = np.array([(groups == kind).sum() for kind in kinds]) * (most - len(kinds)) / len(groups)
        counts = np.array([(groups[rows] == kind).sum() for kind in kinds])
        assert (np.abs(counts - share) <= 2).all()


def test_strata_must_fit_the_rows():
    for strata in (np.zeros(4, int), np.zeros(5), np.zeros((5, 1), int)):
        with pytest.raises(InputError, match="strata"):
            map_of(np.ones((5, 3)), strata, seed=0)


@pytest.mark.parametrize(
    "first",
    ["import torch; before = torch.get_num_threads()", pytest.param("before = 1", marks=pytest.mark.trial)],
)
def test_a_map_leaves_torch_the_threads_it_was_given(first):
    script = f"""
{first}
import numpy as np
from mauve_core.clusters.projection import project
project(np.random.default_rng(0).normal(size=(40, 3)), seed=0)
import torch
print(before, torch.get_num_threads())
"""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "2"}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.split() == ["1", "1"]
