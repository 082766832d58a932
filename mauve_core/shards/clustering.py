"""The passes of k-means: coordinates and a sample of each shard, starts on the sample, exact iterations over shards.

The start is k-means++ with Lloyd's iterations on the sample, which :mod:`mauve_core.clusters.k_means` does as
for features in memory. The iterations over all rows follow Lloyd's own rule: every row to its nearest center, every
center to the mean of its rows. Counts and sums of shards are added in the order of the shards.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.config import HUMAN
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.lloyd import Rows, sums_by_label
from mauve_core.clusters.reduction import Projection
from mauve_core.scoring.partitioning import clustering_seeds
from mauve_core.shards.encoding import ROWS_AT_ONCE, drawing, feature_rows, filled, mixed
from mauve_core.shards.plan import GROUPS, Work

# Most Lloyd iterations on a sample: those that follow are over all rows, on all workers.
START_ITERATIONS = 20

# Most batches of shards that are added up by one task each. Every batch has sums of all clusters, which workers write
# and the driver reads: with thousands of shards, these would be more than the coordinates.
MOST_SUMS = 1024

# Shards that follow one another, each by its side and number.
Batch: TypeAlias = tuple[tuple[str, int], ...]


class Sums(NamedTuple):
    """Additive results of one Lloyd iteration for s seeds.

    Attributes
    ----------
    counts : (s, k) int64 array
    sums : (s, k, c) float64 array
    objective : (s,) float64 array
        Sum of squared distances to the centers that the iteration began with.
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    objective: NDArray[np.float64]


class State(NamedTuple):
    """Where the iterations of s seeds are.

    Attributes
    ----------
    iteration : int
        Iterations that are done by the last active seed.
    centers : (s, k, c) float64 array
    iterations : (s,) int64 array
    objectives : (s,) float64 array
        As in :class:`Sums`, of the last iteration; infinite before the first.
    finished : (s,) bool array
        Seeds that iterate no more.
    """

    iteration: int
    centers: NDArray[np.float64]
    iterations: NDArray[np.int64]
    objectives: NDArray[np.float64]
    finished: NDArray[np.bool_]


# The name of the partition of all sides together; that of the human side with a candidate has the candidate's name.
JOINT = HUMAN


def sources_of(work: Work, partition: str) -> tuple[str, ...]:
    """The sides of a partition, the human side first."""
    return work.plan.sources if partition == JOINT else (HUMAN, partition)


def shards_of(work: Work, partition: str) -> list[tuple[str, int]]:
    """The shards of a partition in the order in which they are added."""
    return [(source, index) for source in sources_of(work, partition) for index in filled(work, source)]


def partition_path(work: Work, partition: str, *parts: str | int) -> Path:
    """A place in the folder of a partition."""
    return work.path("partitions", work.number(partition), *parts)


def projection_path(work: Work, partition: str) -> Path:
    """Where the projection of a partition is."""
    return partition_path(work, partition, "projection.json")


def write_projection(work: Work, partition: str, projection: Projection) -> None:
    """Store the projection of a partition."""
    length = np.nan if projection.common_length is None else projection.common_length
    arrays = {"mean": projection.mean, "axes": projection.axes, "explained": projection.explained, "length": length}
    work.finish(projection_path(work, partition), arrays=arrays)


def read_projection(work: Work, partition: str) -> Projection:
    """Read the projection of a partition."""
    stored = work.arrays(projection_path(work, partition))
    length = float(stored["length"])
    return Projection(stored["mean"], stored["axes"], float(stored["explained"]), None if np.isnan(length) else length)


def coordinates_path(work: Work, partition: str, source: str, index: int) -> Path:
    """Where the coordinates of a shard are."""
    return partition_path(work, partition, "coordinates", work.number(source), index).with_suffix(".npy")


def project_shard(work: Work, partition: str, source: str, index: int, sampled: int) -> None:
    """Write the coordinates of a shard, and those of ``sampled`` rows of it, drawn without regard to their place."""
    projection = read_projection(work, partition)
    with feature_rows(work, source, index) as table:
        shape = len(table), projection.axes.shape[1]

        def write(stream: object) -> None:
            described = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, described)  # type: ignore[arg-type]
            for _, rows in table.blocks(ROWS_AT_ONCE):
                stream.write(projection.transform(rows).astype("<f4").data)  # type: ignore[attr-defined]

        path = coordinates_path(work, partition, source, index)
        work.write(path, write)
    _, order = drawing(work, source, index)
    seeded = mixed(order ^ mixed(np.array([work.plan.score.seed], dtype=np.uint64)))
    chosen = np.sort(np.argsort(seeded, kind="stable")[:sampled])
    work.finish(path, ".npy", arrays={"sample": load_array(path, mapped=True)[chosen]})


def start_path(work: Work, partition: str, seed_index: int) -> Path:
    """Where the centers of one start are."""
    return partition_path(work, partition, "start", seed_index).with_suffix(".json")


def start(work: Work, partition: str, seed_index: int, k: int, whole: bool) -> None:
    """Cluster the sample under one seed, and write its centers.

    ``whole`` says that the sample has all rows: then the iterations go on as they do in memory.
    """
    score = work.plan.score
    parts = [work.arrays(coordinates_path(work, partition, *shard))["sample"] for shard in shards_of(work, partition)]
    seed = clustering_seeds(score)["joint" if partition == JOINT else "pairwise"][seed_index]
    most = score.max_iterations if whole else min(START_ITERATIONS, score.max_iterations)
    found = kmeans(np.concatenate(parts), k, restarts=score.restarts, max_iterations=most, seed=seed)
    work.finish(start_path(work, partition, seed_index), arrays={"centers": found.centers})


def batches(work: Work, partition: str) -> list[Batch]:
    """The shards of a partition in the order in which they are added, in at most ``MOST_SUMS`` batches."""
    shards = shards_of(work, partition)
    size = -(-len(shards) // MOST_SUMS)
    return [tuple(shards[start : start + size]) for start in range(0, len(shards), size)]


def sums_path(work: Work, partition: str, iteration: int, batch: Batch) -> Path:
    """Where an iteration's sums over a batch of shards are."""
    source, index = batch[0]
    folder = partition_path(work, partition, "sums", iteration, work.number(source))
    return folder / f"{index:05}-{len(batch)}.json"


def sum_batch(work: Work, partition: str, iteration: int, batch: Batch, active: Sequence[int]) -> None:
    """Assign the rows of a batch of shards to the nearest centers under each active seed, and add them up."""
    centers = centers_of(work, partition, iteration)
    k, c = centers.shape[1:]
    counts = np.zeros((len(active), k), dtype=np.int64)
    sums, objective = np.zeros((len(active), k, c)), np.zeros(len(active))
    for rows in (rows for shard in batch for rows in _blocks(work, coordinates_path(work, partition, *shard))):
        measured = Rows(rows)
        for place, seed in enumerate(active):
            labels, distances = measured.nearest(centers[seed].astype(np.float32))
            counts[place] += np.bincount(labels, minlength=k)
            sums[place] += sums_by_label(rows, labels, k)
            objective[place] += distances.sum(dtype=np.float64)
    arrays = {"counts": counts, "sums": sums, "objective": objective}
    work.finish(sums_path(work, partition, iteration, batch), arrays=arrays)


def read_sums(work: Work, partition: str, iteration: int) -> Sums:
    """Add the sums of all batches in order; one is read at a time."""
    paths = (sums_path(work, partition, iteration, batch) for batch in batches(work, partition))
    total = Sums(**work.arrays(next(paths)))
    for path in paths:
        more = Sums(**work.arrays(path))
        total = Sums(total.counts + more.counts, total.sums + more.sums, total.objective + more.objective)
    return total


def forget_sums(work: Work, partition: str, iteration: int) -> None:
    """Remove the sums of an iteration that the state has taken in."""
    shutil.rmtree(partition_path(work, partition, "sums", iteration), ignore_errors=True)


def read_state(work: Work, partition: str) -> State | None:
    """Read where the iterations are; None before the first."""
    done = sorted(state_path(work, partition, 0).parent.glob("*.json"))
    if not done:
        return None
    stored = work.arrays(done[-1])
    return State(int(stored.pop("iteration")), **stored)


def write_state(work: Work, partition: str, state: State) -> None:
    """Write where the iterations are: also the centers for the next tasks."""
    work.finish(state_path(work, partition, state.iteration), arrays=state._asdict())


def state_path(work: Work, partition: str, iteration: int) -> Path:
    """Where the state is with which an iteration begins."""
    return partition_path(work, partition, "states", iteration).with_suffix(".json")


def labels_path(work: Work, partition: str, source: str, index: int) -> Path:
    """Where the (seeds, n) labels of a shard are."""
    return partition_path(work, partition, "labels", work.number(source), index).with_suffix(".npy")


def label_shard(work: Work, partition: str, iteration: int, source: str, index: int) -> None:
    """Write the cluster of each row of a shard under each seed, and count rows by group and cluster."""
    centers = centers_of(work, partition, iteration)
    k = centers.shape[1]
    path = coordinates_path(work, partition, source, index)
    kind = np.uint16 if k <= 2**16 else np.int32
    parts = [
        np.stack([measured.nearest(one.astype(np.float32))[0] for one in centers]).astype(kind)
        for measured in map(Rows, _blocks(work, path))
    ]
    labels = np.concatenate(parts, axis=1)
    place = labels_path(work, partition, source, index)
    work.write(place, lambda stream: np.save(stream, labels, allow_pickle=False))
    groups = (drawing(work, source, index)[0] % np.uint64(GROUPS)).astype(np.int64)
    found = [np.unique(groups * k + own, return_counts=True) for own in labels.astype(np.int64)]
    arrays = {f"cells{seed}": cells for seed, (cells, _) in enumerate(found)}
    arrays |= {f"counts{seed}": counts for seed, (_, counts) in enumerate(found)}
    work.finish(place, ".npy", arrays=arrays)


def grouped_counts(work: Work, partition: str, source: str, k: int) -> NDArray[np.int32]:
    """(seeds, GROUPS, k) rows of a side by seed, group and cluster."""
    seeds = work.plan.score.seeds
    total = np.zeros((seeds, GROUPS * k), dtype=np.int32)
    for index in filled(work, source):
        stored = work.arrays(labels_path(work, partition, source, index))
        for seed in range(seeds):
            total[seed, stored[f"cells{seed}"]] += stored[f"counts{seed}"].astype(np.int32)
    return total.reshape(seeds, GROUPS, k)


def _blocks(work: Work, path: Path) -> list[NDArray[np.float32]]:
    """The rows of a file a block at a time, mapped rather than read."""
    table = work.array(path)
    return [np.asarray(table[start : start + ROWS_AT_ONCE]) for start in range(0, len(table), ROWS_AT_ONCE)]


def centers_of(work: Work, partition: str, iteration: int) -> NDArray[np.float64]:
    """The (seeds, k, c) centers with which an iteration begins."""
    centers: NDArray[np.float64] = work.arrays(state_path(work, partition, iteration), "centers")["centers"]
    return centers
