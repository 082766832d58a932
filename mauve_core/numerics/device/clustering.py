"""Cluster rows on a device under many seeds at once; see :mod:`mauve_core.numerics.kmeans.clustering`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.device.lloyd import DeviceLloyd, add_rows
from mauve_core.numerics.device.memory import device_work, in_blocks, too_little_memory, torch_device
from mauve_core.numerics.device.rows import DeviceRows
from mauve_core.numerics.device.starts import first_partitions
from mauve_core.numerics.kmeans import clustering, starts
from mauve_core.numerics.kmeans.clustering import Clustering

if TYPE_CHECKING:
    from torch import Tensor

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
    """:func:`mauve_core.numerics.kmeans.clustering.kmeans` under each of some seeds, together.

    Parameters
    ----------
    device : str
        As in :func:`mauve_core.numerics.kmeans.clustering.kmeans`, not "cpu".
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
            raise clustering.too_few(len(points), k)
        rows = DeviceRows(_centred(points)[None])
        streams = [_checks.seed_sequence(seed).spawn(1 + restarts) for seed in seeds]
        tried = _tried(rows, k, streams, min(clustering.WARM_UP, max_iterations))
        return [
            _described(points, k, labels, found.objectives, iterations)
            for found, (labels, iterations) in zip(tried, _run_to_end(rows, k, tried, max_iterations), strict=True)
        ]


def _tried(rows: DeviceRows, k: int, streams: Sequence[Sequence[SeedSequence]], iterations: int) -> list[_Tried]:
    """The restarts of each seed, on a sample if there are many rows and it has enough that differ."""
    n = rows.shape[1]
    size = clustering.sample_size(n, k, len(streams[0]) - 1)
    found = _tried_on(rows, None if size == n else size, k, streams, iterations)
    missed = [index for index, one in enumerate(found) if not one.objectives]
    if missed and size < n:  # the samples missed rows that differ
        again = _tried_on(rows, None, k, [streams[index] for index in missed], iterations)
        for index, one in zip(missed, again, strict=True):
            found[index] = one
        missed = [index for index in missed if not found[index].objectives]
    if missed:
        random = np.random.default_rng(streams[missed[0]][1])
        raise clustering.too_few(int(first_partitions(rows, k, [[random]])[2][0, 0]), k)
    return found


def _tried_on(
    rows: DeviceRows, size: int | None, k: int, streams: Sequence[Sequence[SeedSequence]], iterations: int
) -> list[_Tried]:
    """The same on samples of that size, or on all rows; as many runs together as memory allows."""
    n, restarts = rows.shape[1], len(streams[0]) - 1
    a_run = 4 * (size or n) * (starts.BATCH + 4) * starts.DRAWS
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
        return _warmed_up(rows, size, k, streams, restarts, iterations)
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


def _warmed_up(
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
        samples = [clustering.sampled_rows(rows.shape[1], size, np.random.default_rng(stream[0])) for stream in streams]
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


def _described(points: Tensor, k: int, labels: Tensor, objectives: tuple[float, ...], iterations: int) -> Clustering:
    """Centers and objective of the original rows, in float64."""
    import torch

    sums = torch.zeros((k, points.shape[1]), dtype=torch.float64, device=points.device)
    add_rows(sums, points, labels)
    sizes = torch.bincount(labels, minlength=k)
    distinct = int((sizes > 0).sum())
    if distinct < k:
        raise clustering.too_few(distinct, k)
    centers = sums / sizes[:, None]
    parts: dict[int, Tensor] = {}

    def measure(part: slice) -> None:
        parts[part.start] = (points[part].double() - centers[labels[part]]).square_().sum()

    in_blocks(measure, len(points), 3 * 8 * points.shape[1])
    objective = sum(float(part) for part in parts.values())
    host = labels.cpu().numpy().astype(np.int32)
    return Clustering(host, centers.cpu().numpy(), objective, objectives, iterations)


def _centred(rows: Tensor) -> Tensor:
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
