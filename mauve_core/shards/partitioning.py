"""Partition sides in shards together: one space for their features, then k-means under every seed.

1. project: coordinates on the principal components, and a sample of each shard;
2. start: k-means on the sample, one task a seed;
3. sum: exact iterations over all shards, until the objective falls by less than ``LEAST_GAIN``;
4. label: the cluster of each row, and counts by group of prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mauve_core.clusters.reduction import added, projection_from
from mauve_core.shards import clustering
from mauve_core.shards.encoding import moments_of, shard_info
from mauve_core.shards.passes import Passes
from mauve_core.shards.plan import SAMPLE_BYTES, Work
from mauve_core.shards.tasks import Task, shard_task

# Share of the objective by which an iteration must lower it for another one to follow.
LEAST_GAIN = 1e-4


class Partitioned(NamedTuple):
    """What is told of a partition; its labels are in the work folder.

    Attributes
    ----------
    k, components : int
        Clusters, and principal components.
    explained : float
        Their share of the variance.
    sampled : int
        Rows on which k-means started.
    state : State
        Where its iterations ended.
    """

    k: int
    components: int
    explained: float
    sampled: int
    state: clustering.State


def partitioned(work: Work, name: str, k: int, passes: Passes) -> Partitioned:
    """Partition the sides of a partition (:func:`mauve_core.shards.clustering.sources_of`) into k clusters, under every
    seed, as far as that is not done.
    """
    passes.here("project", lambda: _project(work, name))
    projection = clustering.read_projection(work, name)
    components = projection.axes.shape[1]
    quota = _quota(work, name, components)
    passes.run("project", _project_tasks(work, name, quota))
    whole = sum(quota.values()) == sum(shard_info(work, *shard).n for shard in clustering.shards_of(work, name))
    passes.run("start", _start_tasks(work, name, k, whole))
    state = _iterate(work, name, passes)
    passes.run("label", _label_tasks(work, name, state.iteration))
    return Partitioned(k, components, projection.explained, sum(quota.values()), state)


def _project(work: Work, name: str) -> None:
    if clustering.projection_path(work, name).exists():
        return
    human, *others = (moments_of(work, source) for source in clustering.sources_of(work, name))
    length = None if work.plan.score.unit_rows == "before" else human.length / human.n
    together = added((human, *others))
    clustering.write_projection(work, name, projection_from(together, work.plan.score.explained_variance, length))


def _quota(work: Work, name: str, components: int) -> dict[tuple[str, int], int]:
    """Rows of each shard that are sampled: in proportion to its rows, all if there are few enough."""
    shards = clustering.shards_of(work, name)
    sizes = np.array([shard_info(work, *shard).n for shard in shards])
    most = min(int(sizes.sum()), work.plan.sample_rows, SAMPLE_BYTES // (4 * components))
    exact = sizes * (most / sizes.sum())
    quota = np.floor(exact).astype(np.int64)
    for shard in np.argsort(quota - exact, kind="stable")[: most - int(quota.sum())]:
        quota[shard] += 1
    return dict(zip(shards, quota.tolist(), strict=True))


def _project_tasks(work: Work, name: str, quota: Mapping[tuple[str, int], int]) -> list[Task]:
    return [
        shard_task(work, "project", (name, *shard, sampled), shard, clustering.coordinates_path(work, name, *shard))
        for shard, sampled in quota.items()
    ]


def _start_tasks(work: Work, name: str, k: int, whole: bool) -> list[Task]:
    return [
        Task("start", (name, seed, k, whole), clustering.start_path(work, name, seed), f"seed {seed}")
        for seed in range(work.plan.score.seeds)
    ]


def _iterate(work: Work, name: str, passes: Passes) -> clustering.State:
    """Iterate over all shards, all seeds at once, until every seed is done.

    A seed is done when its objective has fallen by less than ``LEAST_GAIN``. An empty cluster keeps its center.
    """
    score = work.plan.score
    state = clustering.read_state(work, name)
    if state is None:
        starts = [work.arrays(clustering.start_path(work, name, seed))["centers"] for seed in range(score.seeds)]
        state = clustering.State(
            0,
            np.stack(starts),
            np.zeros(score.seeds, np.int64),
            np.full(score.seeds, np.inf),
            np.zeros(score.seeds, np.bool_),
        )
        clustering.write_state(work, name, state)
    while True:
        clustering.forget_sums(work, name, state.iteration - 1)  # also those that a killed command left
        active = [int(seed) for seed in np.flatnonzero(~state.finished)]
        if not active or state.iteration == score.max_iterations:
            return state
        passes.run("sum", _sum_tasks(work, name, state.iteration, active))
        state = _next(state, active, clustering.read_sums(work, name, state.iteration))
        clustering.write_state(work, name, state)


def _next(state: clustering.State, active: Sequence[int], total: clustering.Sums) -> clustering.State:
    """The state after an iteration of the active seeds."""
    centers, iterations, objectives = state.centers.copy(), state.iterations.copy(), state.objectives.copy()
    finished = state.finished.copy()
    for place, seed in enumerate(active):
        filled = total.counts[place] > 0
        centers[seed, filled] = total.sums[place, filled] / total.counts[place, filled, None]
        before, now = objectives[seed], total.objective[place]
        finished[seed] = before - now <= LEAST_GAIN * now
        iterations[seed] += 1
        objectives[seed] = now
    return clustering.State(state.iteration + 1, centers, iterations, objectives, finished)


def _sum_tasks(work: Work, name: str, iteration: int, active: Sequence[int]) -> list[Task]:
    return [
        shard_task(
            work,
            "sum",
            (name, iteration, batch, tuple(active)),
            batch[0],
            clustering.sums_path(work, name, iteration, batch),
        )
        for batch in clustering.batches(work, name)
    ]


def _label_tasks(work: Work, name: str, iteration: int) -> list[Task]:
    return [
        shard_task(work, "label", (name, iteration, *shard), shard, clustering.labels_path(work, name, *shard))
        for shard in clustering.shards_of(work, name)
    ]
