"""Reduction and k-means on a device, for which torch's arithmetic on the CPU stands in, against NumPy's steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import silent
from mauve_core.clusters import devices, k_means
from mauve_core.clusters import k_means as on_device
from mauve_core.clusters.devices import DeviceTable, device_work, in_blocks
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import cluster_on, kmeans
from mauve_core.clusters.lloyd import DeviceLloyd, DeviceRows, first_partitions
from mauve_core.clusters.reduction import measure_side, measure_side_on, reduce_features, reduce_sides, reduce_sides_on
from mauve_core.scoring.partitioning import partition_all
from mauve_core.scoring.streams import splits

DEVICE = "torch:cpu"
HOST = torch.device("cpu")


def topics(n: int, d: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centers = random.normal(size=(12, d))
    return (centers[random.integers(12, size=n)] + random.normal(size=(n, d))).astype(np.float32)


def squared(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype(np.float64) - y[None].astype(np.float64)) ** 2).sum(axis=2)


def require_same(here, there) -> None:
    """Equal partitions; objectives in float32 are sums of thousands of terms, each rounded at 1e-7."""
    np.testing.assert_array_equal(there.labels, here.labels)
    assert there.labels.dtype == here.labels.dtype
    np.testing.assert_allclose(there.centers, here.centers, rtol=0, atol=1e-12)
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    assert there.objectives == pytest.approx(here.objectives, rel=1e-5)
    assert there.iterations == here.iterations


@pytest.mark.parametrize(("n", "k", "restarts"), [(300, 8, 2), (2000, 50, 5), (6000, 40, 5), (6000, 40, 1)])
def test_all_seeds_at_once_find_the_partitions_of_numpy(n, k, restarts, device):
    x = topics(n, 20)  # 6,000 rows are more than a sample for several restarts
    together = cluster_on(device, x, k, [SeedSequence(seed) for seed in range(2)], restarts=restarts)
    for seed, there in enumerate(together):
        require_same(kmeans(x, k, restarts=restarts, seed=seed), there)
    require_same(together[1], kmeans(x, k, restarts=restarts, seed=1, device=device))


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4), st.integers(1, 6))
def test_rows_with_copies_end_with_every_row_at_its_nearest_center(seed, k, restarts, most):
    x = np.round(topics(60, 2, seed))  # many rows are equal
    k = min(k, len(np.unique(x, axis=0)))
    found = kmeans(x, k, restarts=restarts, max_iterations=most, seed=seed, device=DEVICE)
    # Equal distances are the rule among rounded rows, so that another order of sums may choose otherwise than NumPy.
    own = squared(x, found.centers)
    assert found.objective == pytest.approx(float(own[np.arange(len(x)), found.labels].sum()))
    assert np.unique(found.labels).size == k
    assert found.iterations <= most
    if found.iterations < most:
        np.testing.assert_allclose(own[np.arange(len(x)), found.labels], own.min(axis=1), atol=1e-5)


def test_a_sample_that_misses_rows_is_replaced_by_all(monkeypatch):
    monkeypatch.setattr(k_means, "START_ROWS", 24)
    monkeypatch.setattr(k_means, "TRIAL_SHARE", 0.01)
    x = np.zeros((2000, 2), dtype=np.float32)
    x[[5, 1700]] = [[1, 0], [0, 1]]
    for found in cluster_on(DEVICE, x, 3, [SeedSequence(0), SeedSequence(1)], restarts=1):
        assert sorted(np.bincount(found.labels)) == [1, 1, 1998]
        assert found.objective == 0


def test_errors_are_those_of_numpy():
    few = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)
    for k, x in ((4, few), (40, few), (1, few), (2, np.full((5, 2), np.nan))):
        told = []
        for device in ("cpu", DEVICE):
            with pytest.raises(InputError) as error:
                kmeans(x, k, seed=0, device=device)
            told.append(str(error.value))
        assert told[0] == told[1]
    with pytest.raises(InputError, match="nonsense"):
        kmeans(few, 2, seed=0, device="nonsense")


def test_a_start_gives_every_row_to_the_nearest_of_k_rows_of_its_table():
    x = np.stack([topics(300, 5), topics(300, 5, seed=1)])
    randoms = [[np.random.default_rng([table, run]) for run in range(3)] for table in range(2)]
    labels, distances, centers = first_partitions(DeviceRows(torch.from_numpy(x)), 40, randoms)
    assert (centers == 40).all()
    for table, run in np.ndindex(2, 3):
        own, near = labels[table, run].numpy(), distances[table, run].numpy()
        chosen = np.array([np.flatnonzero((own == cluster) & (near == 0))[0] for cluster in range(40)])
        truth = squared(x[table], x[table][chosen])
        np.testing.assert_array_equal(own, truth.argmin(axis=1))
        np.testing.assert_allclose(near, truth.min(axis=1), atol=1e-4)


def test_an_empty_cluster_takes_the_farthest_row():
    x = torch.tensor([[[0.0], [0.1], [0.2], [9.0]]])
    run = DeviceLloyd(
        DeviceRows(x), 2, torch.zeros((1, 1, 4), dtype=torch.int64), torch.tensor([[[0, 0.01, 0.04, 81]]])
    )
    for _ in range(3):
        run.step()
    assert run.labels.flatten().tolist() == [0, 0, 0, 1]
    assert run.settled.all()


def test_rows_far_from_the_origin_keep_their_digits():
    far = (topics(500, 4).astype(np.float64) + 3000).astype(np.float32)
    require_same(kmeans(far, 20, seed=0), kmeans(far, 20, seed=0, device=DEVICE))


class ShortOfMemory:
    """Refuses blocks of more rows than it has room for, and counts what it refused."""

    def __init__(self, room: int) -> None:
        self.room, self.refused, self.done = room, 0, []

    def __call__(self, part: slice) -> None:
        if part.stop - part.start > self.room:
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.done.append(part)


def test_blocks_halve_until_they_fit_and_every_row_is_done_once():
    work = ShortOfMemory(room=3)
    in_blocks(work, 20, devices.BLOCK_BYTES // 16)
    assert work.refused == 3  # of 16, 8 and 4 rows
    assert [row for part in work.done for row in range(part.start, part.stop)] == list(range(20))
    with pytest.raises(InputError, match="does not fit in the memory"):
        in_blocks(ShortOfMemory(room=0), 20, 1)


@pytest.mark.parametrize("room", [1, 2, 5])
def test_seeds_and_restarts_take_turns_where_memory_is_short(room, monkeypatch):
    x = topics(1500, 10)
    seeds = [SeedSequence(seed) for seed in range(3)]
    whole = cluster_on(DEVICE, x, 30, seeds, restarts=4)
    starting, asked = first_partitions, []

    def short(rows, k, randoms):
        runs = sum(map(len, randoms))
        asked.append(runs)
        if runs > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return starting(rows, k, randoms)

    monkeypatch.setattr(on_device, "first_partitions", short)
    for here, there in zip(whole, cluster_on(DEVICE, x, 30, seeds, restarts=4), strict=True):
        require_same(here, there)
    assert max(asked) == 12
    room = 0
    with pytest.raises(InputError, match="does not fit in the memory"):
        cluster_on(DEVICE, x, 30, seeds, restarts=4)


@pytest.mark.slow
def test_small_blocks_and_few_runs_at_once_give_the_same(monkeypatch):
    x = topics(5000, 12)
    seeds = [SeedSequence(seed) for seed in range(3)]
    whole = cluster_on(DEVICE, x, 30, seeds, restarts=3)
    monkeypatch.setattr(devices, "BLOCK_BYTES", 2**16)
    monkeypatch.setattr(on_device, "TRIED_BYTES", 1)
    for here, there in zip(whole, cluster_on(DEVICE, x, 30, seeds, restarts=3), strict=True):
        require_same(here, there)


@pytest.mark.parametrize("unit_rows", ["before", "after"])
@pytest.mark.parametrize("n", [40, 900])
def test_coordinates_are_those_of_numpy(n, unit_rows, monkeypatch):
    monkeypatch.setattr(devices, "BLOCK_BYTES", 2**14)
    x = topics(n, 60).astype(np.float64)
    here, there = (reduce_features(x, unit_rows=unit_rows, device=device) for device in ("cpu", DEVICE))
    assert there.array.shape == here.array.shape
    # Unit rows in float32; where rows are fewer than columns, axes come from squares.
    np.testing.assert_allclose(there.array.numpy(), here.array, atol=2e-6)
    assert there.projection.explained == pytest.approx(here.projection.explained, rel=1e-12)
    np.testing.assert_allclose(there.projection.transform(x), there.array.numpy(), atol=1e-6)


def test_moments_of_chosen_rows_and_of_several_sides_are_those_of_numpy():
    x, y = topics(700, 30), topics(500, 30, seed=1) * 3
    rows = np.arange(0, 700, 7)
    one, other = measure_side(x, fit_rows=rows), measure_side_on(DEVICE, x, fit_rows=rows)
    for part in ("lengths", "reference", "total", "scatter"):
        np.testing.assert_allclose(getattr(other, part), getattr(one, part), rtol=0, atol=1e-10)
    human, human_there = measure_side(x), measure_side_on(DEVICE, x)
    sides = [human, measure_side(y, reference=human.reference)]
    there = [human_there, measure_side_on(DEVICE, y, reference=human_there.reference)]
    np.testing.assert_allclose(reduce_sides_on(DEVICE, there).array.numpy(), reduce_sides(sides).array, atol=1e-6)


@pytest.mark.parametrize("wrong", [np.zeros(8), np.full(8, np.inf), np.full(8, np.nan)])
def test_rows_without_a_direction_are_named_as_by_numpy(wrong):
    x = topics(50, 8)
    x[7] = wrong
    told = []
    for measure in (measure_side, lambda x: measure_side_on(DEVICE, x)):
        with pytest.raises(InputError, match="row 7") as error:
            measure(x)
        told.append(str(error.value))
    assert told[0] == told[1]
    with pytest.raises(InputError, match="All features are equal"):
        reduce_features(np.ones((9, 3)), device=DEVICE)


def test_a_comparison_clustered_on_a_device_has_the_partitions_of_the_cpu():
    features = {HUMAN: topics(400, 24), "a": topics(300, 24, seed=1), "b": topics(350, 24, seed=2)}
    score = ScoreConfig(seeds=2)
    units = {name: np.arange(len(rows)) for name, rows in features.items()}
    drawn = splits(units[HUMAN], {name: (units[HUMAN], 1000 + units[name]) for name in "ab"}, score)
    here, there = (partition_all(features, drawn, score, device, silent) for device in ("cpu", DEVICE))
    assert there.why_no_halves == here.why_no_halves
    pairs = [(here.joint, there.joint), (here.halves, there.halves)]
    pairs += [(here.pairwise[name], there.pairwise[name]) for name in ("a", "b")]
    pairs += [(here.like_for_like[name], there.like_for_like[name]) for name in here.like_for_like]
    assert len(pairs) == 6
    for ours, theirs in pairs:
        for one, other in zip(ours, theirs, strict=True):
            assert (one.kind, one.seed, one.k) == (other.kind, other.seed, other.k)
            assert other.objective == pytest.approx(one.objective, rel=1e-6)
            for name, labels in one.labels.items():
                np.testing.assert_array_equal(other.labels[name], labels)


def test_memory_that_is_short_elsewhere_is_an_error_that_says_what_to_do(monkeypatch):
    def refuse(*_args, **_options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    side = measure_side_on(DEVICE, topics(60, 8))
    monkeypatch.setattr(torch.linalg, "eigh", refuse)
    with pytest.raises(InputError, match="choose --device cpu"):
        reduce_sides_on(DEVICE, [side])


def test_rows_stay_on_a_gpu_if_half_of_its_free_memory_holds_them(monkeypatch):
    x = topics(100, 10)
    gpu = SimpleNamespace(type="cuda")
    table = object.__new__(DeviceTable)
    table.table, table.device = Stacked([x]), gpu
    asked = []
    for free, fits in ((8000, True), (7999, False)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: asked.append(device) or (free, 10**9))
        assert table._fits() is fits
    assert asked == [gpu, gpu]


def test_rows_are_sent_to_a_gpu_from_pinned_memory(monkeypatch):
    x = topics(100, 10)
    gpu = SimpleNamespace(type="cuda")
    table = object.__new__(DeviceTable)
    table.table, table.device, table._kept = Stacked([x]), gpu, None
    empty, pinned, sent = torch.empty, [], []

    def allocate(*size, pin_memory=False, **options):
        pinned.append(pin_memory)
        return empty(*size, **options)

    monkeypatch.setattr(torch, "empty", allocate)
    monkeypatch.setattr(torch.Tensor, "to", lambda self, device: sent.append(device) or self)
    np.testing.assert_array_equal(table.block(slice(20, 50)).numpy(), x[20:50])
    assert (pinned, sent) == ([True], [gpu])


@pytest.mark.parametrize("newer", [True, False])
def test_products_have_device_work_whatever_the_process_has_set(newer, monkeypatch):
    setting, fast, full = ("fp32_precision", "tf32", "ieee") if newer else ("allow_tf32", True, False)
    products = SimpleNamespace(**{setting: fast})  # what torch has since 2.9, and had before
    monkeypatch.setattr(torch.backends.cuda, "matmul", products)
    if newer:
        monkeypatch.setattr(torch.backends.cudnn, "conv", SimpleNamespace(fp32_precision=fast), raising=False)

    def fail() -> None:
        with device_work(torch.device("cuda")):
            assert getattr(products, setting) == full
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert vars(products) == {setting: fast}
