"""Compare corpora in shards: five passes, each a set of tasks for an engine, and scores from the counts that are left.

1. encode: features, moments and digests of each shard;
2. project: coordinates on the principal components of both sides, and a sample of each shard;
3. start: k-means on the sample, one task a seed;
4. sum: exact iterations of k-means over all shards, until the objective falls by less than ``LEAST_GAIN``;
5. label: the cluster of each row, and counts by group of prompts, from which scores and intervals follow.

Only the pairwise partitions are made, each of the human side with one candidate.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.numerics.feature_space.moments import added, projection_from
from mauve_core.numerics.kmeans.clustering import default_k
from mauve_core.numerics.threads import single_threaded_blas
from mauve_core.scoring.estimates import estimates_of
from mauve_core.scoring.grouped import basis_of_groups
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.streams import stream
from mauve_core.shards import clustering
from mauve_core.shards.encoding import info_path, moments_of, shard_info
from mauve_core.shards.engines import Engine
from mauve_core.shards.pace import Pace
from mauve_core.shards.places import list_shards
from mauve_core.shards.plan import RUN_TEXTS, SAMPLE_BYTES, SAMPLE_ROWS, Plan, StoredAs, Work
from mauve_core.shards.result import Pass, ShardedCandidate, ShardedComparison, ShardedSide
from mauve_core.shards.tasks import Task, peak_memory, remaining
from mauve_core.shards.texts import Named

LEAST_GAIN = 1e-4
"""Share of the objective by which an iteration must lower it for another one to follow."""


def plan_of(
    human: str | Path,
    candidates: Mapping[str, str | Path],
    *,
    encoder: EncoderConfig | None,
    score: ScoreConfig | None = None,
    named: Named | None = None,
    stored_as: StoredAs = "float32",
    sample_rows: int = SAMPLE_ROWS,
    run_texts: int = RUN_TEXTS,
) -> Plan:
    """List the shards of every side; arguments and errors as in :func:`compare_shards`."""
    sides = {HUMAN: list_shards(human), **{name: list_shards(where) for name, where in candidates.items()}}
    return Plan(sides, encoder, score or ScoreConfig(), named or Named(), stored_as, sample_rows, run_texts)


def encode_tasks(work: Work, device: str = "auto", part: tuple[int, int] = (0, 1)) -> list[Task]:
    """The tasks of the first pass; of ``part`` (i, n) only every n-th, from the i-th on."""
    tasks = [
        Task("encode", (source, index, device), info_path(work, source, index), f"shard {shard}")
        for source in work.plan.sources
        for index, shard in enumerate(work.plan.sides[source])
    ]
    first, of = part
    return tasks[first::of]


def compare_shards(
    work: Work, engine: Engine, *, device: str = "auto", progress: Progress = silent
) -> ShardedComparison:
    """Carry out all passes that are not done, and score.

    Parameters
    ----------
    work : Work
        The folder of the plan; what is finished there is not done again.
    engine : Engine
        Carries out the tasks. The result does not depend on it.
    device : str
        Where texts are encoded: "auto", "cpu", "cuda".
    progress : callable
        Called with (pass, tasks done, tasks).

    Returns
    -------
    ShardedComparison

    Raises
    ------
    InputError
        A shard has vanished or cannot be used, sides are too small, or features are equal.
    StorageError
        The disk of the work folder is full or refuses. Finished tasks are kept.
    """
    passes = _Passes(work, engine, progress)
    passes.run("encode", encode_tasks(work, device))
    sides = tuple(_side(work, source) for source in work.plan.sources)
    for side in sides:
        if side.n < MIN_TEXTS:
            raise InputError(
                f"The side {side.name!r} has too few texts", allowed=f"at least {MIN_TEXTS}", received=f"{side.n}"
            )
    candidates = tuple(_scored(work, side, sides[0].n, passes) for side in sides[1:])
    return ShardedComparison(
        sides, candidates, work.plan.encoder, work.plan.score, engine.name, tuple(passes.finished.values())
    )


class _Passes:
    """Runs passes, and adds up what they take."""

    def __init__(self, work: Work, engine: Engine, progress: Progress) -> None:
        self._work, self._engine, self._progress = work, engine, progress
        self.finished: dict[str, Pass] = {}

    def run(self, name: str, tasks: Sequence[Task]) -> None:
        left = remaining(tasks)
        done, peak, began, pace = len(tasks) - len(left), 0, time.monotonic(), Pace(self._work)

        def advance(task: Task, memory: int) -> None:
            nonlocal done, peak
            done, peak = done + 1, max(peak, memory)
            self._progress(pace.after(name, task), done, len(tasks))

        if left:
            self._progress(name, done, len(tasks))
            self._engine.run(self._work.folder, left, advance)
        self._add(Pass(name, len(tasks), len(tasks) - len(left), time.monotonic() - began, peak))

    def here(self, name: str, work: Callable[[], object]) -> None:
        """Do a step of a pass in this process."""
        began = time.monotonic()
        with single_threaded_blas():
            work()
        self._add(Pass(name, 0, 0, time.monotonic() - began, peak_memory()))

    def _add(self, more: Pass) -> None:
        before = self.finished.get(more.name, Pass(more.name, 0, 0, 0.0, 0))
        self.finished[more.name] = Pass(
            more.name,
            before.tasks + more.tasks,
            before.done_before + more.done_before,
            before.seconds + more.seconds,
            max(before.peak_bytes, more.peak_bytes),
        )


def _side(work: Work, source: str) -> ShardedSide:
    infos = [shard_info(work, source, index) for index in range(len(work.plan.sides[source]))]
    left_out: dict[str, int] = {}
    for info in infos:
        for reason, count in info.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    digest = hashlib.sha256("".join(info.digest for info in infos).encode()).hexdigest()
    cut, tokens = sum(info.cut for info in infos), sum(info.tokens for info in infos)
    return ShardedSide(source, len(infos), sum(info.n for info in infos), left_out, cut, tokens, digest)


def _scored(work: Work, side: ShardedSide, n: int, passes: _Passes) -> ShardedCandidate:
    """Partition the human side with one candidate, and score it."""
    name, score = side.name, work.plan.score
    k = score.k or default_k(n, side.n)
    passes.here("project", lambda: _project(work, name))
    projection = clustering.read_projection(work, name)
    components = projection.axes.shape[1]
    quota = _quota(work, name, components)
    passes.run("project", _project_tasks(work, name, quota))
    whole = sum(quota.values()) == n + side.n
    passes.run("start", _start_tasks(work, name, k, whole))
    state = _iterate(work, name, passes)
    passes.run("label", _label_tasks(work, name, state.iteration))
    p, q = (clustering.grouped_counts(work, name, source, k) for source in (HUMAN, name))
    basis = basis_of_groups(p, q, score, stream(score.seed, "bootstrap"))
    return ShardedCandidate(
        name=name,
        k=k,
        components=components,
        explained=projection.explained,
        sampled=sum(quota.values()),
        iterations=tuple(state.iterations.tolist()),
        objectives=tuple(state.objectives.tolist()),
        counts=_digest(*(side.sum(axis=1, dtype=np.int64) for side in (p, q))),
        scores=estimates_of(basis, score.scale, score.confidence),
    )


def _project(work: Work, candidate: str) -> None:
    if clustering.projection_path(work, candidate).exists():
        return
    human = moments_of(work, HUMAN)
    length = None if work.plan.score.unit_rows == "before" else human.length / human.n
    together = added((human, moments_of(work, candidate)))
    clustering.write_projection(work, candidate, projection_from(together, work.plan.score.explained_variance, length))


def _quota(work: Work, candidate: str, components: int) -> dict[tuple[str, int], int]:
    """Rows of each shard that are sampled: in proportion to its rows, all if there are few enough."""
    shards = _shards(work, candidate)
    sizes = np.array([shard_info(work, *shard).n for shard in shards])
    most = min(int(sizes.sum()), work.plan.sample_rows, SAMPLE_BYTES // (4 * components))
    exact = sizes * (most / sizes.sum())
    quota = np.floor(exact).astype(np.int64)
    for shard in np.argsort(quota - exact, kind="stable")[: most - int(quota.sum())]:
        quota[shard] += 1
    return dict(zip(shards, quota.tolist(), strict=True))


def _project_tasks(work: Work, candidate: str, quota: Mapping[tuple[str, int], int]) -> list[Task]:
    return [
        Task(
            "project",
            (candidate, source, index, sampled),
            clustering.sample_path(work, candidate, source, index),
            f"shard {work.plan.sides[source][index]}",
        )
        for (source, index), sampled in quota.items()
    ]


def _start_tasks(work: Work, candidate: str, k: int, whole: bool) -> list[Task]:
    return [
        Task("start", (candidate, seed, k, whole), clustering.start_path(work, candidate, seed), f"seed {seed}")
        for seed in range(work.plan.score.seeds)
    ]


def _iterate(work: Work, candidate: str, passes: _Passes) -> clustering.State:
    """Iterate over all shards, all seeds at once, until every seed is done.

    A seed is done when its objective has fallen by less than ``LEAST_GAIN``. An empty cluster keeps its center.
    """
    score = work.plan.score
    state = clustering.read_state(work, candidate)
    if state is None:
        starts = [np.load(clustering.start_path(work, candidate, seed)) for seed in range(score.seeds)]
        state = clustering.State(
            0,
            np.stack(starts),
            np.zeros(score.seeds, np.int64),
            np.full(score.seeds, np.inf),
            np.zeros(score.seeds, np.bool_),
        )
        clustering.write_state(work, candidate, state)
    while True:
        active = [int(seed) for seed in np.flatnonzero(~state.finished)]
        if not active or state.iteration == score.max_iterations:
            return state
        passes.run("sum", _sum_tasks(work, candidate, state.iteration, active))
        state = _next(state, active, clustering.read_sums(work, candidate, state.iteration))
        clustering.write_state(work, candidate, state)
        clustering.forget_sums(work, candidate, state.iteration - 1)


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


def _sum_tasks(work: Work, candidate: str, iteration: int, active: Sequence[int]) -> list[Task]:
    return [
        Task(
            "sum",
            (candidate, iteration, run, tuple(active)),
            clustering.sums_path(work, candidate, iteration, run),
            f"shard {work.plan.sides[run[0][0]][run[0][1]]}",
        )
        for run in clustering.runs(work, candidate)
    ]


def _label_tasks(work: Work, candidate: str, iteration: int) -> list[Task]:
    return [
        Task(
            "label",
            (candidate, iteration, source, index),
            clustering.tallies_path(work, candidate, source, index),
            f"shard {work.plan.sides[source][index]}",
        )
        for source, index in _shards(work, candidate)
    ]


def _shards(work: Work, candidate: str) -> list[tuple[str, int]]:
    """Both sides' shards in the order in which they are added."""
    return [
        (source, index)
        for source in clustering.pair_sources(candidate)
        for index in range(len(work.plan.sides[source]))
    ]


def _digest(*counts: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    for side in counts:
        digest.update(np.ascontiguousarray(side, dtype="<i8").data)
    return digest.hexdigest()
