"""The map on a device, for which torch on the CPU stands in, against umap-learn and plain lines."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from sklearn.manifold import trustworthiness

from mauve_core.base.errors import InputError
from mauve_core.clusters import devices, projection
from mauve_core.clusters.devices import torch_device
from mauve_core.clusters.projection import PLACED_BY, map_of, nearest, nearest_rows, placed, project

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")]

DEVICE = "torch:cpu"
# Epochs so many that no edge is too light to move.
EVERY_EDGE = 10**9


def topics(n: int, d: int = 12, seed: int = 0, far: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.choice(5, size=n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    return (far * random.normal(size=(5, d))[labels] + random.normal(size=(n, d))).astype(np.float32), labels


def with_copies(n: int) -> np.ndarray:
    x = topics(n)[0]
    x[: n // 3] = x[0]
    return x


@pytest.mark.parametrize("block", [2**28, 2**12])
@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_nearest_rows_are_those_of_all_distances(block, shift, monkeypatch):
    monkeypatch.setattr(devices, "BLOCK_BYTES", block)
    x = (topics(90)[0] + np.float32(shift)).astype(np.float32)
    for others in (None, x[:40]):
        among = x if others is None else others
        apart = np.linalg.norm(x[:, None].astype(np.float64) - among[None], axis=2)
        if others is None:
            np.fill_diagonal(apart, np.inf)
        index, distance = nearest_rows(torch.from_numpy(x), None if others is None else torch.from_numpy(others), 7)
        np.testing.assert_array_equal(index, np.argsort(apart, axis=1, kind="stable")[:, :7])
        np.testing.assert_allclose(distance, np.sort(apart, axis=1)[:, :7], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spread", [1e-2, 1e-4])
def test_neighbors_within_a_tight_group_are_told_apart(spread):
    random = np.random.default_rng(0)
    groups = random.normal(size=(10, 1, 100)) + spread * random.normal(size=(10, 30, 100))
    x = groups.reshape(300, 100).astype(np.float32)
    apart = np.linalg.norm(x[:, None].astype(np.float64) - x[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    index, _ = nearest_rows(torch.from_numpy(x), None, 7)
    np.testing.assert_array_equal(index, np.argsort(apart, axis=1)[:, :7])


def test_no_row_is_its_own_neighbor_among_copies():
    index, distance = nearest_rows(torch.ones((20, 3)), None, 5)
    assert not (index == torch.arange(20)[:, None]).any()
    assert all(len(set(row)) == 5 for row in index.tolist())
    assert not distance.any()


@pytest.mark.slow
def test_the_curve_of_similarity_is_that_of_umap():
    from umap.umap_ import find_ab_params

    expected = find_ab_params(projection.SPREAD, projection.MIN_DISTANCE)
    np.testing.assert_allclose(projection.similarity_curve(), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("x", [topics(300)[0], with_copies(120), np.ones((40, 4), dtype=np.float32)])
def test_the_graph_is_that_of_umap(x):
    from umap.umap_ import fuzzy_simplicial_set

    index, distance = nearest(x, 15)
    expected, _, _ = fuzzy_simplicial_set(
        x, 15, np.random.RandomState(0), "euclidean", knn_indices=index, knn_dists=distance
    )
    given = torch.from_numpy(index[:, 1:].astype(np.int64)), torch.from_numpy(distance[:, 1:])
    edges = projection.edges_of(*given, EVERY_EDGE)
    found = coo_array((edges.weight, (edges.head, edges.tail)), shape=(len(x), len(x))).toarray()
    np.testing.assert_allclose(found * expected.max(), expected.toarray(), rtol=0, atol=2e-5)
    np.testing.assert_array_equal(found, found.T)


def test_edges_too_light_to_move_are_left_out():
    given = nearest_rows(torch.from_numpy(topics(300)[0]), None, 14)
    every, moving = projection.edges_of(*given, EVERY_EDGE), projection.edges_of(*given, 20)
    assert 0 < len(moving.weight) < len(every.weight)
    assert torch.equal(moving.weight, every.weight[every.weight >= 1 / 20])


def test_an_edge_moves_in_a_share_of_epochs_equal_to_its_weight():
    weight = torch.tensor([1.0, 0.5, 0.3, 0.01, 0.004])
    edges = projection.Edges(torch.arange(5), torch.arange(5), weight)
    moved = torch.zeros(5, dtype=torch.int64)
    for epoch in range(500):
        for part in projection._due(edges, epoch):
            moved[part] += 1
    assert (moved - 500 * weight).abs().max() <= 1


def plain_moves(positions: np.ndarray, head: list, tail: list, others: list, a: float, b: float) -> np.ndarray:
    """Gradients of UMAP's two losses, edge by edge (McInnes et al. 2018, section 3.2 and appendix)."""
    moved = np.zeros_like(positions)
    for h, t, pushing in zip(head, tail, others, strict=True):
        along = positions[h] - positions[t]
        d = np.linalg.norm(along)
        pull = np.clip(-2 * a * b * d ** (2 * (b - 1)) / (1 + a * d ** (2 * b)) * along, -4, 4) if d else 0 * along
        moved[h] += pull
        moved[t] -= pull
        for other in pushing:
            away = positions[h] - positions[other]
            d = np.linalg.norm(away)
            moved[h] += np.clip(2 * b / ((0.001 + d**2) * (1 + a * d ** (2 * b))) * away, -4, 4)
    return moved


def moving(n: int = 30, m: int = 200) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    positions = 3 * torch.randn((n, 2), generator=random)
    positions[1] = positions[0]  # rows at one place neither pull nor push each other
    ends = torch.randint(n, (2, m), generator=random)
    ends[:, 0] = torch.tensor([0, 1])
    return positions, ends[0], ends[1], torch.randint(n, (m, projection.PUSHES), generator=random)


def test_moves_are_the_sums_over_edges():
    positions, head, tail, others = moving()
    a, b = projection.similarity_curve()
    expected = plain_moves(positions.double().numpy(), head.tolist(), tail.tolist(), others.tolist(), a, b)
    np.testing.assert_allclose(projection.moves(positions, head, tail, others, a, b), expected, rtol=1e-5, atol=1e-4)


def test_moves_do_not_depend_on_the_order_of_edges(device):
    positions, head, tail, others = (part.to(torch_device(device)) for part in moving(m=5000))
    order = torch.randperm(len(head), generator=torch.Generator().manual_seed(1)).to(positions.device)
    found = projection.moves(positions, head, tail, others, *projection.similarity_curve())
    again = projection.moves(positions, head[order], tail[order], others[order], *projection.similarity_curve())
    assert torch.equal(found, again)


@pytest.mark.slow
def test_neighbors_are_kept_as_by_umap(device):
    x, _ = topics(600, d=30, far=1.0)
    maps = [project(x, seed=0, device=at) for at in (device, "cpu")]
    maps.append(np.random.default_rng(0).permutation(maps[0]))
    ours, theirs, unlike = (trustworthiness(x, each, n_neighbors=15) for each in maps)
    assert unlike < 0.6 < ours
    assert ours >= theirs - 0.01


@pytest.mark.slow
@pytest.mark.trial
def test_the_map_lies_as_umap_lays_it():
    """From one start, groups end up about where they do with UMAP, not as in a mirror.

    How closely depends on the last digits of a start that the processor's own instructions round.
    """
    x, labels = topics(400, far=12.0)
    centers = [
        np.stack([project(x, seed=0, device=at)[labels == each].mean(axis=0) for each in range(5)])
        for at in (DEVICE, "cpu")
    ]
    here, there = ((each - each.mean(axis=0)) / each.std() for each in centers)
    upright, *mirrored = (
        np.corrcoef((here * flip).ravel(), there.ravel())[0, 1] for flip in ((1, 1), (-1, 1), (1, -1), (-1, -1))
    )
    assert upright > 0.5
    assert upright > max(mirrored) + 0.3


@pytest.mark.parametrize("shape", [(1, 4), (2, 3), (3, 3), (16, 4), (40, 1)])
def test_every_size_gives_finite_positions(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    positions = project(x, seed=0, device=DEVICE)
    assert positions.shape == (shape[0], 2)
    assert positions.dtype == np.float32
    assert np.isfinite(positions).all()


def test_copies_do_not_break_the_map(device):
    assert np.isfinite(project(with_copies(60), seed=1, device=device)).all()
    assert np.isfinite(project(np.ones((40, 4)), seed=1, device=device)).all()


def test_equal_seeds_give_equal_maps_and_other_seeds_others(device):
    first, again, other = (project(topics(60)[0], seed=seed, device=device) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_that_were_not_fitted_stand_among_their_own():
    x, labels = topics(1500, far=12.0)
    seen: list[tuple[int, int]] = []
    found = map_of(x, labels, seed=0, most=300, device=DEVICE, progress=lambda *state: seen.append(state))
    assert 295 <= found.fitted <= 300
    assert (seen[0], seen[-1]) == ((0, 1500), (1500, 1500))
    assert seen == sorted(seen)
    distances = np.linalg.norm(found.positions[:, None] - found.positions[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(labels[distances.argmin(axis=1)] == labels) > 0.995


def test_rows_are_placed_as_on_the_host(device):
    x, _ = topics(400)
    positions = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    there, here = (placed(x, x[:100], positions, device=at) for at in (device, "cpu"))
    np.testing.assert_array_equal(there, here)
    assert PLACED_BY < 100


def test_what_progress_raises_stops_the_fit():
    def stop(done: int, _: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_of(topics(100)[0], np.zeros(100, dtype=int), seed=0, device=DEVICE, progress=stop)


def test_too_little_memory_says_what_to_do(monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch, "addmm", full)
    with pytest.raises(InputError, match="does not fit in the memory") as error:
        project(topics(50)[0], seed=0, device=DEVICE)
    assert "--device cpu" in str(error.value)
