"""k-means: its own objective, its seeds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.clusters import k_means
from mauve_core.clusters.k_means import WARM_UP, default_k, kmeans, tenth_of_texts
from mauve_core.clusters.lloyd import Lloyd, Rows, first_partition
from mauve_core.stats import threads


def blobs(sizes, d: int = 6, seed: int = 0, spread: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Rows around well separated centres, and the blob of each."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = 5 * rng.normal(size=(len(sizes), d))
    return (centres[labels] + spread * rng.normal(size=(labels.size, d))).astype(np.float32), labels


def warmed_up(x, k: int, seed: np.random.SeedSequence) -> Lloyd:
    """One restart by itself."""
    rows = Rows(x)
    start = first_partition(rows, k, np.random.default_rng(seed))
    run = Lloyd(rows, k, start.labels, start.distances)
    run.run(WARM_UP)
    return run


@pytest.mark.parametrize(
    ("n", "m", "k"), [(1, 1, 2), (14, 5000, 2), (25, 40, 2), (35, 35, 4), (45, 60, 4), (5000, 5000, 500)]
)
def test_default_k(n, m, k):
    # A half rounds to the even number, as round() does.
    assert tenth_of_texts(n, m) == tenth_of_texts(m, n) == k


def test_clusters_that_nobody_named_are_at_most_as_many_as_the_papers_tried():
    assert [default_k(n, 10**7) for n in (3, 5000, 50_000, 50_100, 10**6)] == [2, 500, 5000, 5000, 5000]


def test_separated_blobs_are_found():
    x, truth = blobs([5, 40, 17, 3])
    labels = kmeans(x, 4, seed=0).labels
    assert labels.dtype == np.int32
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == 4


def test_centres_and_objective_are_those_of_the_labels():
    x = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    found = kmeans(x, 12, seed=1)
    rows = x.astype(np.float64)
    twin = sum(((rows[found.labels == j] - rows[found.labels == j].mean(axis=0)) ** 2).sum() for j in range(12))
    # Sums of 1,500 float64 numbers in another order.
    assert found.objective == pytest.approx(twin, rel=1e-12)
    for j in range(12):
        np.testing.assert_allclose(found.centers[j], rows[found.labels == j].mean(axis=0), rtol=1e-10, atol=1e-12)
    assert np.bincount(found.labels, minlength=12).min() > 0


def test_lloyd_ran_until_nothing_moves():
    x = np.random.default_rng(2).normal(size=(400, 3)).astype(np.float32)
    found = kmeans(x, 9, seed=0)
    distances = ((x[:, None] - found.centers[None]) ** 2).sum(axis=2)
    # Every row is with its nearest centre, up to float32 ties.
    own = distances[np.arange(400), found.labels]
    assert np.all(own <= distances.min(axis=1) * (1 + 1e-5))
    assert found.iterations < 500


def test_the_best_restart_goes_on_and_more_restarts_never_begin_worse():
    x = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    found = kmeans(x, 25, restarts=6, seed=5)
    assert len(found.objectives) == 6
    assert len(set(found.objectives)) > 1  # otherwise the next lines could not fail
    # The first restarts are the same whatever follows them.
    assert kmeans(x, 25, restarts=2, seed=5).objectives == found.objectives[:2]
    # The best alone: further iterations lowered its objective, and no other's labels come out.
    best = int(np.argmin(found.objectives))
    assert found.objective < found.objectives[best]
    for restart, child in enumerate(np.random.SeedSequence(5).spawn(7)[1:]):  # the first is the sample's
        run = warmed_up(x, 25, child)
        assert run.objective() == found.objectives[restart]
        run.run(500)
        assert np.array_equal(run.labels, found.labels) == (restart == best)


def test_equal_seeds_give_equal_clusters_and_other_seeds_others():
    x = np.random.default_rng(4).normal(size=(300, 8)).astype(np.float32)
    first, again, other = (kmeans(x, 25, restarts=2, seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.objectives == again.objectives
    assert first.objectives != other.objectives


def test_a_given_sequence_is_left_as_it_was():
    x = np.random.default_rng(4).normal(size=(200, 4)).astype(np.float32)
    sequence = np.random.SeedSequence(7).spawn(3)[2]
    first, again = kmeans(x, 10, seed=sequence), kmeans(x, 10, seed=sequence)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert sequence.n_children_spawned == 0
    assert kmeans(x, 10, seed=np.random.SeedSequence(7).spawn(3)[1]).objectives != first.objectives


def test_no_more_iterations_than_allowed():
    x = np.random.default_rng(5).normal(size=(500, 4)).astype(np.float32)
    assert kmeans(x, 30, max_iterations=1, seed=0).iterations == 1


def test_as_many_clusters_as_rows():
    x = np.random.default_rng(6).normal(size=(7, 3)).astype(np.float32)
    found = kmeans(x, 7, seed=0)
    assert sorted(found.labels) == list(range(7))
    assert found.objective == 0.0


@pytest.mark.parametrize(
    "x",
    [
        np.ones((50, 3)),
        np.repeat(np.eye(3), 20, axis=0),
        np.array([[0.0], [-0.0]] * 5 + [[1.0]] * 5 + [[2.0]] * 5),  # 0 and -0 are one number
        np.ones((3, 3)) * np.arange(3)[:, None],
    ],
)
def test_too_few_different_rows_are_refused_without_a_warning(x):
    with pytest.raises(InputError, match=r"Too few different texts.*k = 4"):
        kmeans(x, 4, seed=0)


def test_small_differences_beside_a_far_row_are_seen():
    x = np.array([[0.0], [1e-3], [2e-3], [1e8]] * 10, dtype=np.float32)
    labels = kmeans(x, 4, seed=0).labels
    assert len(set(labels[:4])) == 4
    np.testing.assert_array_equal(labels, np.tile(labels[:4], 10))


def test_rows_that_float32_distances_cannot_tell_apart_are_an_error_and_no_empty_cluster():
    # Three different rows, but the square of their distance is below the rounding of the squares that it comes from.
    x = np.array([[1.0, 0.0], [1.0, 1e-5], [-1.0, 0.0]] * 10, dtype=np.float32)
    assert len(np.unique(x, axis=0)) == 3
    with pytest.raises(InputError, match=r"Too few different texts.*2 that can be told apart"):
        kmeans(x, 3, seed=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 1}, "number of clusters"),
        ({"k": 2.0}, "number of clusters"),
        ({"restarts": 0}, "number of restarts"),
        ({"max_iterations": 0}, "number of iterations"),
        ({"seed": -1}, "The seed"),
        ({"seed": None}, "The seed"),
        ({"seed": True}, "The seed"),
    ],
)
def test_settings_out_of_range_are_refused(options, said):
    x = np.random.default_rng(6).normal(size=(30, 3)).astype(np.float32)
    with pytest.raises(InputError, match=said):
        kmeans(x, **{"k": 3, "seed": 0, **options})


def test_values_that_are_not_finite_are_refused():
    x = np.random.default_rng(6).normal(size=(30, 3)).astype(np.float32)
    x[11, 0] = np.nan
    with pytest.raises(InputError, match="row 11"):
        kmeans(x, 3, seed=0)


@pytest.mark.parametrize("restarts", [1, 3, 5])
def test_partitions_do_not_depend_on_the_number_of_cores(monkeypatch, restarts):
    x = np.random.default_rng(0).normal(size=(3000, 12)).astype(np.float32)
    found = []
    for cores in (1, 2, 4):
        for module in (threads, k_means):
            monkeypatch.setattr(module, "usable_cores", lambda cores=cores: cores)
        found.append(kmeans(x, 20, restarts=restarts, seed=0))
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels, found[0].labels)
        assert other.objectives == found[0].objectives


def test_a_restart_that_is_left_over_runs_on_all_cores(monkeypatch):
    together = []

    def noted(function, items):
        together.append(len(items))
        return [function(item) for item in items]

    monkeypatch.setattr(k_means, "parallel_map", noted)
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    for cores in (1, 2, 4, 16):
        monkeypatch.setattr(k_means, "usable_cores", lambda cores=cores: cores)
        kmeans(x, 5, restarts=5, seed=0)
    assert together == [5, 4, 4, 5]
