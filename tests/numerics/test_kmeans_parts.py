"""The parts of k-means against slow plain twins: distances, starts, iterations, devices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.clusters import k_means, lloyd
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.lloyd import Lloyd, Rows, first_partition

pytestmark = pytest.mark.integration


def cloud(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def squared(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype(np.float64) - y[None].astype(np.float64)) ** 2).sum(axis=2)


def test_distances_and_nearest_centres_are_those_of_the_definition(monkeypatch):
    monkeypatch.setattr(lloyd, "ROWS_AT_ONCE", 7)
    x, centers = cloud(40, 6), cloud(9, 6, seed=1)
    rows = Rows(x)
    truth = squared(x, centers)
    # Sums of a dozen float32 products of numbers up to about 10.
    np.testing.assert_allclose(rows.distances(np.array([3, 30])), squared(x, x)[[3, 30]], atol=1e-4)
    place, distance = rows.nearest(centers)
    np.testing.assert_array_equal(place, truth.argmin(axis=1))
    np.testing.assert_allclose(distance, truth.min(axis=1), atol=1e-4)
    chosen = np.array([1, 5, 38])
    place, distance = rows.nearest(centers, None, chosen)
    np.testing.assert_array_equal(place, truth[chosen].argmin(axis=1))
    np.testing.assert_allclose(distance, truth[chosen].min(axis=1), atol=1e-4)


def test_a_flag_that_the_processor_raises_is_no_warning():
    """A library can raise it for numbers that it never uses; here a row that no run contains raises it."""
    rows = Rows(np.array([[0.0, np.inf], [1.0, 0.0], [3.0, 0.0]], dtype=np.float32))
    assert rows.distances(np.array([1]))[0, 1:].tolist() == [0.0, 4.0]


def test_a_row_keeps_its_centre_unless_another_is_nearer():
    x = np.array([[0.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    centers = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.5]], dtype=np.float32)
    assert Rows(x).nearest(centers, np.array([1, 1]))[0].tolist() == [1, 2]
    assert Rows(x).nearest(centers, np.array([0, 2]))[0].tolist() == [0, 2]


def test_a_start_gives_every_row_to_the_nearest_of_k_of_the_rows():
    x = cloud(300, 5)
    start = first_partition(Rows(x), 40, np.random.default_rng(0))
    assert start.centers == 40
    centers = np.array([np.flatnonzero((start.labels == j) & (start.distances == 0))[0] for j in range(40)])
    truth = squared(x, x[centers])
    np.testing.assert_array_equal(start.labels, truth.argmin(axis=1))
    np.testing.assert_allclose(start.distances, truth.min(axis=1), atol=1e-4)


def test_starts_are_drawn_in_proportion_to_squared_distances(monkeypatch):
    # With one draw a centre and two centres, the second is a row of squared distance 1, 4 or 9 from the first.
    monkeypatch.setattr(lloyd, "DRAWS", 1)
    x = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    counts = np.zeros((4, 4))
    for seed in range(4000):
        random = np.random.default_rng(seed)
        first = int(np.random.default_rng(seed).integers(4))
        start = first_partition(Rows(x), 2, random)
        centers = np.flatnonzero(start.distances == 0)
        counts[first, centers[centers != first]] += 1
    expected = (x - x.T) ** 2 / ((x - x.T) ** 2).sum(axis=1, keepdims=True)
    shares = counts / counts.sum(axis=1, keepdims=True)
    # 1,000 draws a row: four standard deviations of a share are at most 4 sqrt(0.25 / 950).
    np.testing.assert_allclose(shares, expected, atol=0.065)


def test_starts_of_several_draws_lie_below_those_of_one(monkeypatch):
    x = cloud(2000, 20, seed=3)

    def mean_start():
        found = [first_partition(Rows(x), 100, np.random.default_rng(seed)).distances.sum() for seed in range(8)]
        return np.mean(found), np.std(found)

    several, spread = mean_start()
    monkeypatch.setattr(lloyd, "DRAWS", 1)
    single, other = mean_start()
    assert several < single - 2 * max(spread, other)


@pytest.mark.parametrize("restarts", [1, 4])
def test_restarts_are_tried_on_a_sample_and_the_best_meets_all_rows(restarts, monkeypatch):
    x = cloud(3000, 6)
    whole = [kmeans(x, 5, restarts=restarts, seed=seed) for seed in range(4)]
    monkeypatch.setattr(k_means, "TRIAL_ROWS", 100)
    monkeypatch.setattr(k_means, "START_ROWS", 100)
    tried = [kmeans(x, 5, restarts=restarts, seed=seed) for seed in range(4)]
    for found, plain in zip(tried, whole, strict=True):
        # A sample of an eighth: its sums are about an eighth of those of all rows.
        assert max(found.objectives) < 0.2 * min(plain.objectives)
        assert found.labels.shape == (3000,)
        own = squared(x, found.centers)
        np.testing.assert_array_equal(found.labels, own.argmin(axis=1))
        assert found.objective == pytest.approx(plain.objective, rel=0.05)


def test_rows_that_a_sample_misses_are_found_in_all(monkeypatch):
    monkeypatch.setattr(k_means, "START_ROWS", 24)
    monkeypatch.setattr(k_means, "TRIAL_SHARE", 0.01)
    x = np.zeros((2000, 2), dtype=np.float32)
    x[[5, 1700]] = [[1, 0], [0, 1]]
    found = kmeans(x, 2, restarts=1, seed=0)
    assert sorted(np.bincount(found.labels)) in ([1, 1999], [2, 1998])
    assert kmeans(x, 3, restarts=1, seed=0).objective == 0


def plain_lloyd(x: np.ndarray, labels: np.ndarray, k: int, iterations: int) -> np.ndarray:
    """Every distance measured every time, in float64."""
    for _ in range(iterations):
        centers = np.stack([x[labels == j].astype(np.float64).mean(axis=0) for j in range(k)])
        labels = squared(x, centers).argmin(axis=1)
    return labels


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 12))
def test_iterations_that_measure_little_end_where_those_that_measure_all_do(seed, k, iterations):
    x = cloud(150, 3, seed)
    start = first_partition(Rows(x), k, np.random.default_rng(seed))
    expected = plain_lloyd(x, start.labels.copy(), k, iterations)
    run = Lloyd(Rows(x), k, start.labels, start.distances)
    run.run(iterations)
    assert run.iterations <= iterations
    np.testing.assert_array_equal(run.labels, expected)


def test_an_iteration_never_raises_the_objective_and_the_last_moves_nothing():
    x = cloud(800, 6)
    start = first_partition(Rows(x), 60, np.random.default_rng(0))
    run = Lloyd(Rows(x), 60, start.labels, start.distances)
    objectives = []
    while not run.settled:
        run.run(1)
        objectives.append(run.objective())
    assert len(objectives) > 5
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])
    before = run.labels.copy()
    run.run(10)
    np.testing.assert_array_equal(run.labels, before)
    assert run.iterations == len(objectives)


def test_an_empty_cluster_takes_the_farthest_row():
    x = np.array([[0.0], [0.1], [0.2], [9.0]], dtype=np.float32)
    labels = np.array([0, 0, 0, 0])
    run = Lloyd(Rows(x), 2, labels, np.array([0, 0.01, 0.04, 81], dtype=np.float32))
    run.run(5)
    assert run.labels.tolist() == [0, 0, 0, 1]


def test_rows_far_from_the_origin_are_clustered_as_if_they_were_not():
    x = cloud(500, 4)
    far = x.astype(np.float64) + 3000
    near = kmeans(x, 20, seed=0)
    # 3,000 leaves float32 three digits of the differences.
    found = kmeans(far.astype(np.float32), 20, seed=0)
    assert found.objective == pytest.approx(near.objective, rel=0.02)
    np.testing.assert_allclose(found.centers.mean(axis=0), 3000, atol=1)
