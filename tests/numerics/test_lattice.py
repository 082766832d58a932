"""The lattice on the sphere, and the net that spreads rows over it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mauve_core.clusters.quantisers import (
    Lattice,
    SpreadingSettings,
    _spreading_loss,
    fit_map,
    images,
    nearest_point,
    nearest_rows,
    sphere_points,
)

COORDINATE = st.floats(min_value=-1, max_value=1, width=32)


def groups(count: int = 8, n: int = 400, spread: float = 0.3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 5 * rng.normal(size=(count, 6))
    return (centres[rng.integers(count, size=n)] + spread * rng.normal(size=(n, 6))).astype(np.float32)


def on_sphere(x: np.ndarray, settings: SpreadingSettings) -> np.ndarray:
    vectors = images(fit_map(x, settings, seed=0)[0], x.astype(np.float64))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_the_sphere_of_the_papers_has_744_points():
    points = sphere_points(50)
    assert points.shape == (744, 4)
    assert np.all((points**2).sum(axis=1) == 50)
    assert len(np.unique(points, axis=0)) == 744
    assert Lattice().bins == 744


@given(st.integers(min_value=1, max_value=60))
def test_as_many_points_as_jacobi_counted(squared_radius):
    # Jacobi's four-square theorem: 8 times the sum of the divisors that 4 does not divide.
    divisors = [d for d in range(1, squared_radius + 1) if squared_radius % d == 0 and d % 4]
    assert len(sphere_points(squared_radius)) == 8 * sum(divisors)


def test_points_cannot_be_changed_by_a_caller():
    with pytest.raises(ValueError, match="read-only"):
        sphere_points(50)[0, 0] = 3


@given(arrays(np.float64, (5, 4), elements=COORDINATE).filter(lambda a: np.all(np.linalg.norm(a, axis=1) > 1e-3)))
def test_no_point_is_nearer_than_the_nearest(vectors):
    points = sphere_points(50)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = ((unit[:, None] - points / np.sqrt(50)) ** 2).sum(axis=2)
    chosen = distances[np.arange(5), nearest_point(vectors, points)]
    # Squared distances of two unit vectors, in float64.
    assert np.all(chosen <= distances.min(axis=1) + 1e-14)


def test_lattice_points_are_their_own_nearest():
    points = sphere_points(50)
    np.testing.assert_array_equal(nearest_point(points / 3.0, points), np.arange(744))


def test_nearest_rows_are_those_of_all_distances():
    x = np.random.default_rng(0).normal(size=(700, 5)).astype(np.float32)
    found = np.sort(nearest_rows(x, 4), axis=1)
    distances = ((x[:, None].astype(np.float64) - x) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(found, np.sort(np.argsort(distances, axis=1)[:, :4], axis=1))


def test_the_loss_is_that_of_a_slow_twin():
    import torch

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(24, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    anchors = np.array([5, 3, 5, 1, 0, 2, 4, 9])  # two copies of one row
    vectors[2] = vectors[0]
    own, near, far = vectors[:8], vectors[8:16], vectors[16:]

    def distance(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    triplet = np.mean([max(0, distance(own[i], near[i]) - distance(own[i], far[i])) for i in range(8)])
    gaps = [min(distance(own[i], own[j]) for j in range(8) if anchors[j] != anchors[i]) for i in range(8)]
    found = float(_spreading_loss(torch.as_tensor(vectors), torch.as_tensor(anchors), 0.3))
    assert triplet > 0
    assert found == pytest.approx(triplet - 0.3 * np.mean(np.log(gaps)), rel=1e-12)


def test_a_batch_of_copies_has_a_finite_loss_and_slope():
    import torch

    vectors = torch.tensor(np.tile([1.0, 0, 0, 0], (6, 1)), requires_grad=True)
    loss = _spreading_loss(vectors, torch.tensor([4, 4]), 0.3)
    (slope,) = torch.autograd.grad(loss, vectors)
    assert torch.isfinite(loss)
    assert torch.isfinite(slope).all()


@pytest.mark.slow
def test_training_lowers_the_objective_and_uses_more_bins_than_a_random_net():
    random, begun, trained = (Lattice(epochs=epochs).fit(groups(), seed=0) for epochs in (0, 5, 40))
    assert random.objective > begun.objective > trained.objective
    assert len(np.unique(trained.labels)) > 2 * len(np.unique(random.labels))


@pytest.mark.slow
def test_a_larger_weight_of_spreading_fills_more_bins():
    x = np.random.default_rng(0).normal(size=(600, 12)).astype(np.float32)
    used = [len(np.unique(Lattice(epochs=10, spreading=weight).fit(x, seed=0).labels)) for weight in (0.005, 0.05, 0.5)]
    assert used[0] < used[1] < used[2]


def test_neighbours_stay_together():
    # Rows on a closed curve: neighbours there must be far nearer on the sphere than rows at random.
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    x = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(3 * angle)], axis=1).astype(np.float32)
    unit = on_sphere(x, SpreadingSettings(epochs=20))
    beside = np.linalg.norm(unit - np.roll(unit, 1, axis=0), axis=1).mean()
    apart = np.linalg.norm(unit - np.random.default_rng(0).permutation(unit), axis=1).mean()
    assert beside < apart / 5


def test_the_folded_net_is_the_net_with_the_statistics_of_all_rows():
    # With one batch of all rows, the statistics of the batch are those of all rows.
    import torch

    from mauve_core.clusters.quantisers import _Net

    x = groups(n=100)
    net = _Net(x, SpreadingSettings(), np.random.default_rng(0), "cpu")
    folded = images(net.folded(x), x.astype(np.float64))
    folded /= np.linalg.norm(folded, axis=1, keepdims=True)
    trained = net.train_images(torch.as_tensor(x)).detach().numpy()
    # float32 in the net.
    np.testing.assert_allclose(trained, folded, atol=2e-5)


@pytest.mark.parametrize("n", [3, 4, 12, 70])
def test_few_rows_are_enough(n):
    x = np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32)
    found = Lattice(epochs=3).fit(x, seed=0)
    assert np.isfinite(found.objective)
    assert found.labels.shape == (n,)
