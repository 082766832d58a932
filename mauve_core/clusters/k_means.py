"""Cluster features by k-means with k-means++ starts, keeping the best of several restarts; on the host or on a device.

NeurIPS 2021: 5 restarts, at most 500 iterations, the best objective (appendix C.3), and a tenth as many clusters as
there are texts on a side (appendix D.3). A device runs all restarts of all seeds at once, because the host would ask
after every center and wait; nothing returns from it but labels, centers and counts. Starts and iterations are in
:mod:`mauve_core.clusters.lloyd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.clusters import lloyd
from mauve_core.clusters.devices import device_work, in_blocks, too_little_memory, torch_device
from mauve_core.clusters.lloyd import (
    DeviceLloyd,
    DeviceRows,
    Lloyd,
    Rows,
    add_rows,
    first_partition,
    first_partitions,
    means_by_label,
)
from mauve_core.stats import _checks
from mauve_core.stats.threads import parallel_map, single_threaded_blas, usable_cores

if TYPE_CHECKING:
    from torch import Tensor


# Default upper limit on k: the most clusters for which scores rank models as the usual 500 do (NeurIPS 2021, appendix
# D.3, from 100 to 5,000). The cost of clustering into a tenth as many clusters as texts grows with their square.
MOST_CLUSTERS = 5000

RESTARTS_AT_ONCE = 16

# Iterations of every restart before all but the best are dropped.
WARM_UP = 2

# Restarts run on a random sample of rows, of the largest of these sizes; the best continues on all rows.
TRIAL_ROWS, TRIAL_ROWS_A_CENTER, TRIAL_SHARE = 4096, 12, 1 / 8

# Replaces ``TRIAL_ROWS`` for a single start, which has no competitor.
START_ROWS = 65_536


@dataclass(frozen=True)
class Clustering:
    """A partition of rows.

    Attributes
    ----------
    labels : (n,) int32 array
        Cluster of each row, 0 to k - 1; no cluster is empty.
    centers : (k, d) float64 array
        Mean of the rows of each cluster.
    objective : float
        Sum of squared distances of the rows to their center.
    objectives : tuple of float
        Objective of each restart after ``WARM_UP`` iterations, in order, in float32 accuracy and on the trial rows;
        the restart with the smallest one continued.
    iterations : int
        Lloyd iterations of the best restart.
    """

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    objective: float
    objectives: tuple[float, ...]
    iterations: int


def tenth_of_texts(n: int, m: int) -> int:
    """Clusters for n human and m candidate texts: a tenth of the smaller number, rounded, at least 2."""
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    return max(2, round(min(n, m) / 10))


def default_k(n: int, m: int) -> int:
    """:func:`tenth_of_texts`, at most ``MOST_CLUSTERS``."""
    return min(tenth_of_texts(n, m), MOST_CLUSTERS)


def kmeans(
    x: ArrayLike,
    k: int,
    *,
    restarts: int = 5,
    max_iterations: int = 500,
    seed: int | np.random.SeedSequence,
    device: str = "cpu",
) -> Clustering:
    """Cluster rows by k-means, until nothing moves or for ``max_iterations``.

    All restarts run ``WARM_UP`` iterations, on a sample if there are many rows. Only the best continues, on all rows.
    Running every restart to its end would improve the objective by a tenth of a percent.

    Parameters
    ----------
    x : (n, d) array, or a tensor on the device
        Rows, usually ``reduce_features(...).array``.
    k : int
        Clusters, at least 2 and at most the number of distinct rows.
    restarts, max_iterations : int
        Independent k-means++ starts, and the limit on Lloyd iterations of each.
    seed : int or numpy.random.SeedSequence
        Each restart gets its own seed, spawned from this one; a given sequence is not changed.
    device : str
        "cpu", or a torch device such as "cuda" (:mod:`mauve_core.clusters.devices`). Distances round differently there,
        so a text half-way between two clusters may change its cluster.

    Returns
    -------
    Clustering
        The same on any number of cores.

    Raises
    ------
    InputError
        There are fewer distinct rows than clusters, values are not finite, or a setting is out of range.
    """
    k, restarts, max_iterations = _checked(k, restarts, max_iterations)
    own = _checks.seed_sequence(seed)
    if device != "cpu":
        return cluster_on(device, x, k, [own], restarts=restarts, max_iterations=max_iterations)[0]
    points = np.ascontiguousarray(_checks.features(x))
    if len(points) < k:
        raise too_few(len(points), k)
    with single_threaded_blas():
        best, objectives = _best_run(Rows(_centred(points)), k, own.spawn(1 + restarts), max_iterations)
        return _described(points, k, best, objectives)


def _checked(k: int, restarts: int, max_iterations: int) -> tuple[int, int, int]:
    return (
        _checks.whole("The number of clusters", k, low=2),
        _checks.whole("The number of restarts", restarts, low=1),
        _checks.whole("The number of iterations", max_iterations, low=1),
    )


def _best_run(
    rows: Rows, k: int, seeds: Sequence[np.random.SeedSequence], max_iterations: int
) -> tuple[Lloyd, tuple[float, ...]]:
    """The best restart, run to its end, and the objectives of all when they were compared."""
    sampling, *children = seeds
    size = sample_size(len(rows), k, len(children))
    tried = rows if size == len(rows) else rows.some(sampled_rows(len(rows), size, np.random.default_rng(sampling)))
    runs = _warmed_up(tried, k, children, min(WARM_UP, max_iterations))
    if runs is None and tried is not rows:  # the sample missed rows that differ
        tried = rows
        runs = _warmed_up(tried, k, children, min(WARM_UP, max_iterations))
    if runs is None:
        raise too_few(first_partition(rows, k, np.random.default_rng(children[0])).centers, k)
    best, objectives = runs
    if tried is not rows:
        best = Lloyd(rows, k, *rows.nearest(best.centers().astype(np.float32)))
    best.run(max_iterations - best.iterations)
    return best, objectives


def _warmed_up(
    rows: Rows, k: int, seeds: Sequence[np.random.SeedSequence], iterations: int
) -> tuple[Lloyd, tuple[float, ...]] | None:
    """The best restart after the warm-up, one per seed, and the objective of each.

    None if one finds fewer than k distinguishable rows. Few run at once, because each holds its own centers.
    """

    def warm_up(child: np.random.SeedSequence) -> Lloyd | None:
        start = first_partition(rows, k, np.random.default_rng(child))
        if start.centers < k:
            return None
        run = Lloyd(rows, k, start.labels, start.distances)
        run.run(iterations)
        return run

    best: Lloyd | None = None
    objectives: list[float] = []
    for start in range(0, len(seeds), RESTARTS_AT_ONCE):
        group = seeds[start : start + RESTARTS_AT_ONCE]
        # The cores share the blocks of a last restart that would keep but one of them busy.
        together = len(group) - (len(group) % usable_cores() == 1)
        for run in [*parallel_map(warm_up, group[:together]), *map(warm_up, group[together:])]:
            if run is None:
                return None
            reached = run.objective()
            if best is None or reached < min(objectives):
                best = run
            objectives.append(reached)
    return None if best is None else (best, tuple(objectives))


def sample_size(n: int, k: int, restarts: int) -> int:
    """Of n rows, those on which the restarts are tried: n if there are few."""
    least = TRIAL_ROWS if restarts > 1 else START_ROWS
    return min(n, max(least, TRIAL_ROWS_A_CENTER * k, round(TRIAL_SHARE * n)))


def sampled_rows(n: int, size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """``size`` of n rows, in order."""
    return np.sort(random.choice(n, size=size, replace=False))


def _described(points: NDArray[np.float32], k: int, best: Lloyd, objectives: tuple[float, ...]) -> Clustering:
    """Centers and objective of the original rows, in float64."""
    labels = best.labels.astype(np.int32)
    if np.unique(labels).size < k:
        raise too_few(int(np.unique(labels).size), k)
    centers = means_by_label(points, labels, k)
    objective = sum(
        float(((points[part] - centers[labels[part]]) ** 2).sum()) for part in _checks.row_blocks(len(points))
    )
    return Clustering(labels, centers, objective, objectives, best.iterations)


def _centred(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows minus their mean if they lie far from the origin, where distances would lose digits."""
    mean = rows.mean(axis=0, dtype=np.float64)
    spread = float(np.mean([rows[part].var(axis=0, dtype=np.float64).sum() for part in _checks.row_blocks(len(rows))]))
    return rows if float(mean @ mean) <= spread else rows - mean.astype(np.float32)


def too_few(distinct: int, k: int, *, at_most: bool = False) -> InputError:
    """The error for fewer rows that can be told apart than clusters; ``at_most`` if there may be fewer still."""
    return InputError(
        "Too few different texts for this many clusters",
        allowed=f"at least {k} texts with different features for k = {k}",
        received=f"{'at most ' if at_most else ''}{distinct} that can be told apart",
        todo="Choose a smaller k, or give more different texts",
    )


# Memory for the distances of the draws of all seeds whose restarts are tried together; at least one seed is.
TRIED_BYTES = 2**30


def _own_rows(x: ArrayLike) -> NDArray[np.float32]:
    """Checked rows that torch may take, which wants them writable."""
    return np.require(_checks.features(x), requirements=["C", "W"])


@dataclass(frozen=True, eq=False)
class _Tried:
    """Restarts of one seed after the warm-up: the best one's partition of all rows, and the objective of each.

    ``objectives`` is empty if a restart found too few distinguishable rows.
    """

    labels: Tensor
    distances: Tensor
    iterations: int
    settled: bool
    objectives: tuple[float, ...]


def cluster_on(
    device: str,
    x: ArrayLike | Tensor,
    k: int,
    seeds: Sequence[SeedSequence],
    *,
    restarts: int = 5,
    max_iterations: int = 500,
) -> list[Clustering]:
    """:func:`mauve_core.clusters.k_means.kmeans` under each of some seeds, together.

    Parameters
    ----------
    device : str
        As in :func:`mauve_core.clusters.k_means.kmeans`, not "cpu".
    x : (n, d) array, or float32 tensor on the device
    k, restarts, max_iterations : int
        As in ``kmeans``, and already checked.
    seeds : sequence of SeedSequence
        One for each clustering; given sequences are not changed.

    Raises
    ------
    InputError
        As ``kmeans``, or the device lacks memory.
    """
    import torch

    place = torch_device(device)
    with device_work(place):
        points = x if isinstance(x, torch.Tensor) else torch.from_numpy(_own_rows(x)).to(place)
        if len(points) < k:
            raise too_few(len(points), k)
        rows = DeviceRows(_centred_on(points)[None])
        streams = [_checks.seed_sequence(seed).spawn(1 + restarts) for seed in seeds]
        tried = _tried(rows, k, streams, min(WARM_UP, max_iterations))
        return [
            _described_on(points, k, labels, found.objectives, iterations)
            for found, (labels, iterations) in zip(tried, _run_to_end(rows, k, tried, max_iterations), strict=True)
        ]


def _tried(rows: DeviceRows, k: int, streams: Sequence[Sequence[SeedSequence]], iterations: int) -> list[_Tried]:
    """The restarts of each seed, on a sample if there are many rows and it has enough that differ."""
    n = rows.shape[1]
    size = sample_size(n, k, len(streams[0]) - 1)
    found = _tried_on(rows, None if size == n else size, k, streams, iterations)
    missed = [index for index, one in enumerate(found) if not one.objectives]
    if missed and size < n:  # the samples missed rows that differ
        again = _tried_on(rows, None, k, [streams[index] for index in missed], iterations)
        for index, one in zip(missed, again, strict=True):
            found[index] = one
        missed = [index for index in missed if not found[index].objectives]
    if missed:
        random = np.random.default_rng(streams[missed[0]][1])
        raise too_few(int(first_partitions(rows, k, [[random]])[2][0, 0]), k)
    return found


def _tried_on(
    rows: DeviceRows, size: int | None, k: int, streams: Sequence[Sequence[SeedSequence]], iterations: int
) -> list[_Tried]:
    """The same on samples of that size, or on all rows; as many runs together as memory allows."""
    n, restarts = rows.shape[1], len(streams[0]) - 1
    a_run = 4 * (size or n) * (lloyd.BATCH + 4) * lloyd.DRAWS
    together = max(1, TRIED_BYTES // a_run)
    found: list[_Tried] = []
    for first in range(0, len(streams), max(1, together // restarts)):
        some = streams[first : first + max(1, together // restarts)]
        parts = [
            _in_memory(rows, size, k, some, slice(1 + start, 1 + min(start + together, restarts)), iterations)
            for start in range(0, restarts, together)
        ]
        found += [_better(each) for each in zip(*parts, strict=True)]
    return found


def _in_memory(
    rows: DeviceRows,
    size: int | None,
    k: int,
    streams: Sequence[Sequence[SeedSequence]],
    restarts: slice,
    iterations: int,
) -> list[_Tried]:
    """Some restarts of some seeds; half of them at a time if the device lacks memory."""
    import torch

    with suppress(torch.OutOfMemoryError):
        return _warmed_up_together(rows, size, k, streams, restarts, iterations)
    if len(streams) > 1:
        middle = len(streams) // 2
        return [
            one
            for half in (streams[:middle], streams[middle:])
            for one in _in_memory(rows, size, k, half, restarts, iterations)
        ]
    middle = (restarts.start + restarts.stop) // 2
    if middle == restarts.start:
        raise too_little_memory()
    halves = (slice(restarts.start, middle), slice(middle, restarts.stop))
    return [_better([_in_memory(rows, size, k, streams, half, iterations)[0] for half in halves])]


def _better(parts: Sequence[_Tried]) -> _Tried:
    """The best of some restarts of one seed and of others, which come later."""
    best = min(parts, key=lambda part: min(part.objectives, default=-np.inf))
    objectives = tuple(value for part in parts for value in part.objectives)
    return replace(best, objectives=objectives if all(part.objectives for part in parts) else ())


def _warmed_up_together(
    rows: DeviceRows,
    size: int | None,
    k: int,
    streams: Sequence[Sequence[SeedSequence]],
    restarts: slice,
    iterations: int,
) -> list[_Tried]:
    """Some restarts of some seeds together."""
    import torch

    randoms = [[np.random.default_rng(child) for child in stream[restarts]] for stream in streams]
    many = len(randoms[0])
    if size is None:  # one table for all runs
        tried, layout = rows, [[random for each in randoms for random in each]]
    else:
        samples = [sampled_rows(rows.shape[1], size, np.random.default_rng(stream[0])) for stream in streams]
        tried, layout = DeviceRows(rows.x[0, torch.from_numpy(np.stack(samples)).to(rows.x.device)]), randoms
    labels, distances, centers = first_partitions(tried, k, layout)
    run = DeviceLloyd(tried, k, labels, distances)
    for _ in range(iterations):
        run.step()
    objectives = run.objectives().reshape(-1, many)
    enough = (centers.reshape(-1, many) == k).all(axis=1)
    found = []
    for seed, values in enumerate(objectives):
        winner = int(values.argmin())
        place = (0, seed * many + winner) if size is None else (seed, winner)
        if size is None:
            labels, distances = run.labels[place], run.distances[place]
            done, settled = int(run.iterations[place]), bool(run.settled[place])
        else:
            own, used = (part[place][None, None] for part in (run.centers().float(), run.sizes > 0))
            labels, distances = (part[0, 0] for part in rows.nearest(own, used))
            done, settled = 0, False
        known = tuple(map(float, values)) if enough[seed] else ()
        found.append(_Tried(labels, distances, done, settled, known))
    return found


def _run_to_end(rows: DeviceRows, k: int, tried: Sequence[_Tried], most: int) -> list[tuple[Tensor, int]]:
    """Labels and number of iterations of each seed's best restart; those that have settled leave the others."""
    import torch

    labels, distances = (torch.stack([getattr(one, part) for one in tried])[None] for part in ("labels", "distances"))
    run = DeviceLloyd(rows, k, labels, distances)
    run.iterations = np.array([[one.iterations for one in tried]])
    run.settled = np.array([[one.settled for one in tried]])
    ended: dict[int, tuple[Tensor, int]] = {}
    left = np.arange(len(tried))
    while True:
        going = ~run.settled[0] & (run.iterations[0] < most)
        for position in np.flatnonzero(~going):
            ended[int(left[position])] = run.labels[0, position], int(run.iterations[0, position])
        if not going.any():
            return [ended[index] for index in range(len(tried))]
        if not going.all():
            run, left = run.only(np.flatnonzero(going)), left[going]
        run.step()


def _described_on(points: Tensor, k: int, labels: Tensor, objectives: tuple[float, ...], iterations: int) -> Clustering:
    """Centers and objective of the original rows, in float64."""
    import torch

    sums = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
    add_rows(sums, points, labels)
    sizes = torch.bincount(labels, minlength=k)
    distinct = int((sizes > 0).sum())
    if distinct < k:
        raise too_few(distinct, k)
    centers = sums / sizes[:, None]
    parts: dict[int, Tensor] = {}

    def measure(part: slice) -> None:
        parts[part.start] = (points[part].double() - centers[labels[part]]).square_().sum()

    in_blocks(measure, len(points), 3 * 8 * points.shape[1])
    objective = sum(float(part) for part in parts.values())
    host = labels.cpu().numpy().astype(np.int32)
    return Clustering(host, centers.cpu().numpy(), objective, objectives, iterations)


def _centred_on(rows: Tensor) -> Tensor:
    """Rows minus their mean if they lie far from the origin, where distances would lose digits."""
    import torch

    mean = rows.mean(0, dtype=torch.float64)
    squares = torch.zeros((), dtype=torch.float64, device=rows.device)

    def add(part: slice) -> None:
        squares.add_(rows[part].double().square_().sum())

    in_blocks(add, len(rows), 8 * rows.shape[1])
    square_of_mean = mean @ mean
    spread = squares / len(rows) - square_of_mean
    return rows if bool(square_of_mean <= spread) else rows - mean.float()
