"""Compare corpora in shards by passes, each a set of tasks for an engine, and score them by the counts that are left.

The first pass encodes: features, moments and digests of each shard. Four more partition the human side with each
candidate, in one space for their features under every seed, which gives its scores:

1. project: coordinates on the principal components, and a sample of each shard;
2. start: k-means on the sample, one task a seed;
3. sum: exact iterations over all shards, until the objective falls by less than ``LEAST_GAIN``;
4. label: the cluster of each row, and counts by group of prompts.

Whether candidates write alike is tested in the joint partition of all sides, for which these four are done once more.
Three last ones are about the clusters that separate a candidate from the human side most: keep names the rows to read
in each shard, fetch reads them, count counts phrases in all texts.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import remove_abandoned
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.k_means import default_k
from mauve_core.clusters.reduction import added, projection_from
from mauve_core.scoring.estimates import estimates_of, if_known
from mauve_core.scoring.grouped import basis_of_groups, differences_of_groups, few_groups
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.result import Difference, lower_median
from mauve_core.scoring.streams import stream
from mauve_core.shards import clustering
from mauve_core.shards.cluster_texts import (
    MOST_CLUSTERS,
    NEAREST,
    RANDOM,
    KeptText,
    Prompted,
    Rows,
    add_up,
    chosen_path,
    counted,
    counted_folder,
    counted_path,
    fetched_path,
    kept_path,
    picked_path,
    propose,
    proposed_path,
    read_rows,
    total_path,
    write_rows,
)
from mauve_core.shards.clustering import JOINT, centers_of, shards_of, sources_of
from mauve_core.shards.encoding import filled, info_path, model_device, moments_of, shard_info
from mauve_core.shards.engines import Engine
from mauve_core.shards.passes import Passes, SameFields, require_enough_rows, require_readable
from mauve_core.shards.places import remade
from mauve_core.shards.plan import (
    ENCODED,
    SAMPLE_BYTES,
    ShardedCandidate,
    ShardedComparison,
    ShardedSide,
    Work,
    record_of,
)
from mauve_core.shards.tasks import Task, remaining, shard_task
from mauve_core.stats.divergences import integral_terms

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
        state = _next_state(state, active, clustering.read_sums(work, name, state.iteration))
        clustering.write_state(work, name, state)


def _next_state(state: clustering.State, active: Sequence[int], total: clustering.Sums) -> clustering.State:
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


_LAST_WORD = re.compile(r"[\w'’]+\Z")

_SIDES = ("human", "model")
_WAYS = {"nearest": NEAREST, "random": RANDOM}


class KeptSide(NamedTuple):
    """One side of a cluster.

    Attributes
    ----------
    n : int
        Texts of the side in the cluster.
    effect : float
        How many times as large the variance of its share is as if texts of one prompt were not alike; at least 1.
    nearest, random : tuple of KeptText
        The nearest to the center first, and texts in random order; none where shards hold features.
    """

    n: int
    effect: float
    nearest: tuple[KeptText, ...]
    random: tuple[KeptText, ...]


class KeptPhrases(NamedTuple):
    """Phrases that random texts of a cluster propose, and how many of all its texts have them.

    Attributes
    ----------
    phrases : list of str
        m phrases; none where texts or shards are missing.
    texts : (2, m) int64 array
        Texts of the human side and of the candidate.
    """

    phrases: list[str]
    texts: NDArray[np.int64]


class KeptCluster(NamedTuple):
    """A cluster of the partition under one seed, by its number, both of its sides, and their phrases."""

    number: int
    human: KeptSide
    model: KeptSide
    phrases: KeptPhrases


def choose(
    work: Work,
    candidate: str,
    iteration: int,
    p: NDArray[np.integer],
    q: NDArray[np.integer],
    mauve: Sequence[float],
) -> None:
    """Write which clusters have the largest terms of the frontier integral, under the seed that runs show.

    Parameters
    ----------
    iteration : int
        That of the centers to which rows were assigned.
    p, q : (s, G, k) int arrays
        Texts of either side by seed, group and cluster.
    mauve : sequence of float
        MAUVE under each seed.
    """
    seed = list(mauve).index(lower_median(mauve))
    sides = [np.asarray(side[seed], dtype=np.int64) for side in (p, q)]
    counts = np.stack([side.sum(axis=0) for side in sides])
    clusters = costliest(*counts)[:MOST_CLUSTERS]
    arrays = {
        "seed": seed,
        "k": counts.shape[1],
        "clusters": clusters,
        "counts": counts[:, clusters],
        "effects": np.stack([design_effects(side)[clusters] for side in sides]),
        "centers": centers_of(work, candidate, iteration)[seed, clusters],
    }
    work.finish(chosen_path(work, candidate), arrays=arrays)


def costliest(human: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.intp]:
    """Clusters whose shares differ, by their terms of the frontier integral, the largest first, ties by number."""
    terms = integral_terms(human / human.sum(), model / model.sum())
    return np.argsort(-terms, kind="stable")[: np.count_nonzero(terms)]


def design_effects(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(k,) ratios of the variance of a cluster's share by groups of prompts to that of independent texts, from (G, k).

    The variance of a ratio of sums over groups (Cochran 1977, section 6.3); below 1, and where a cluster has all texts
    or none, it counts as 1.
    """
    sizes = counts.sum(axis=1)
    n, groups = sizes.sum(), np.count_nonzero(sizes)
    share = counts.sum(axis=0) / n
    spread = ((counts - sizes[:, np.newaxis] * share) ** 2).sum(axis=0) * groups / (groups - 1)
    alone = n * share * (1 - share)
    found: NDArray[np.float64] = np.maximum(np.divide(spread, alone, out=np.ones_like(share), where=alone > 0), 1.0)
    return found


def collect(work: Work, passes: Passes) -> None:
    """Read some texts of the chosen clusters of all candidates, and count their phrases in all; nothing where shards
    hold features.

    Raises
    ------
    InputError
        A shard has vanished, or is not the one that was encoded.
    """
    if work.plan.encoder is None:
        return
    for candidate in work.plan.candidates:
        passes.run("keep", _keep_tasks(work, candidate))
        _pick(work, candidate)
    passes.run("fetch", _fetch_tasks(work))
    work.fetched = True
    for candidate in work.plan.candidates:
        if not record_of(proposed_path(work, candidate)).exists():
            _, clusters = kept_clusters(work, candidate)
            propose(work, candidate, [[_prompted(side.random) for side in (one.human, one.model)] for one in clusters])
    if not all(total_path(work, candidate).exists() for candidate in work.plan.candidates):
        passes.run("count", _count_tasks(work))
        passes.here("count", lambda: add_up(work))
    shutil.rmtree(counted_folder(work), ignore_errors=True)


def _prompted(texts: Sequence[KeptText]) -> list[Prompted]:
    """Texts as they propose phrases: of one that was cut, without the piece of a word at its end."""
    return [(text.prompt or text.id, _LAST_WORD.sub("", text.text) if text.cut else text.text) for text in texts]


def _keep_tasks(work: Work, candidate: str) -> list[Task]:
    return [
        shard_task(work, "keep", (candidate, *shard), shard, kept_path(work, candidate, *shard))
        for shard in shards_of(work, candidate)
    ]


def _pick(work: Work, candidate: str) -> None:
    """Write the first rows of each cluster over all shards; one shard is read at a time."""
    picked = {}
    for side, source in zip(_SIDES, sources_of(work, candidate), strict=True):
        for way, most in _WAYS.items():
            rows = Rows.none()
            for index in filled(work, source):
                more = read_rows(work, kept_path(work, candidate, source, index), way)
                rows = rows.with_more(more, most, nearest=way == "nearest")
            picked[f"{side}_{way}"] = rows
    write_rows(work, picked_path(work, candidate), **picked)


def _picked(work: Work, source: str) -> Iterator[Rows]:
    """The rows of a side that any candidate's clusters ask for."""
    for candidate in work.plan.candidates:
        for side, own in zip(_SIDES, sources_of(work, candidate), strict=True):
            if own == source:
                yield from (read_rows(work, picked_path(work, candidate), f"{side}_{way}") for way in _WAYS)


def _fetch_tasks(work: Work) -> list[Task]:
    tasks = []
    for source in work.plan.sources:
        asked = list(_picked(work, source))
        shards, rows = (np.concatenate(parts) for parts in zip(*((one.shard, one.row) for one in asked), strict=True))
        for index in np.unique(shards).tolist():
            wanted = tuple(np.unique(rows[shards == index]).tolist())
            path = fetched_path(work, source, index)
            tasks.append(shard_task(work, "fetch", (source, index, wanted), (source, index), path))
    return tasks


def _count_tasks(work: Work) -> list[Task]:
    shards = [(source, index) for source in work.plan.sources for index in filled(work, source)]
    return [shard_task(work, "count", shard, shard, counted_path(work, *shard)) for shard in shards]


def kept_clusters(work: Work, candidate: str) -> tuple[int, tuple[KeptCluster, ...]]:
    """The index of the seed whose clusters are shown, and those that tell the sides apart most, the first one most.

    Call it after :func:`mauve_core.shards.comparison.compare_shards`. If that could not read all texts, there are none;
    if it could not count in all shards, there are no phrases.
    """
    chosen, fetched = work.arrays(chosen_path(work, candidate)), _are_fetched(work)
    sides = [
        _sides(work, candidate, side, source, chosen["counts"][which], chosen["effects"][which], fetched=fetched)
        for which, (side, source) in enumerate(zip(_SIDES, sources_of(work, candidate), strict=True))
    ]
    clusters = zip(chosen["clusters"].tolist(), *sides, _phrases(work, candidate, len(sides[0])), strict=True)
    return int(chosen["seed"]), tuple(KeptCluster(*each) for each in clusters)


def _sides(
    work: Work,
    candidate: str,
    side: str,
    source: str,
    counts: NDArray[np.int64],
    effects: NDArray[np.float64],
    *,
    fetched: bool,
) -> list[KeptSide]:
    """One side of each chosen cluster, with texts if they are fetched."""
    texts: dict[str, list[list[KeptText]]] = {way: [[] for _ in counts] for way in _WAYS}
    if fetched:
        for way, found in texts.items():
            rows = read_rows(work, picked_path(work, candidate), f"{side}_{way}")
            kept = {index: _fetched(work, source, index) for index in np.unique(rows.shard).tolist()}
            for place, index, row in zip(rows.place.tolist(), rows.shard.tolist(), rows.row.tolist(), strict=True):
                found[place].append(kept[index][row])
    return [
        KeptSide(n, effect, tuple(nearest), tuple(random))
        for n, effect, nearest, random in zip(
            counts.tolist(), effects.tolist(), texts["nearest"], texts["random"], strict=True
        )
    ]


def _phrases(work: Work, candidate: str, clusters: int) -> list[KeptPhrases]:
    """The counted phrases of each chosen cluster."""
    if work.plan.encoder is None or not total_path(work, candidate).exists():
        return [KeptPhrases([], np.zeros((2, 0), dtype=np.int64))] * clusters
    return [KeptPhrases(*each) for each in counted(work, candidate)]


def _are_fetched(work: Work) -> bool:
    if work.fetched:  # the disk need not be asked of every shard again
        return True
    if work.plan.encoder is None or not all(picked_path(work, each).exists() for each in work.plan.candidates):
        return False
    return not remaining(_fetch_tasks(work))


def _fetched(work: Work, source: str, index: int) -> dict[int, KeptText]:
    return {row: KeptText(*values) for row, *values in work.lines(fetched_path(work, source, index))}


# Seconds without a change after which a partial file of a shard was left by a process that was killed.
ABANDONED_S = 2 * 86_400.0


def encode_tasks(work: Work, device: str = "auto", part: tuple[int, int] = (0, 1)) -> list[Task]:
    """The tasks of the first pass; of ``part`` (i, n) only every n-th, from the i-th on."""
    runs_on = model_device(work.plan, device)
    tasks = [
        Task("encode", (source, index, device), info_path(work, source, index), f"shard {shard}", runs_on)
        for source in work.plan.sources
        for index, shard in enumerate(work.plan.sides[source])
    ]
    first, of = part
    return list({task.output: task for task in tasks}.values())[first::of]  # both sides may name a shard


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
        Shards have vanished or cannot be used, sides are too small, or features are equal. One error names all damaged
        shards: before encoding as far as footers and first rows tell, else when all others are encoded. If a shard
        vanishes after it was encoded, the result says so (``texts_missing``).
    StorageError
        The disk of the work folder is full or refuses, or a file in it is damaged again and again. Finished tasks are
        kept; what is damaged is made again, with a warning.
    """
    with work.alone():
        for folder in (work.root / ENCODED, work.folder):
            remove_abandoned(folder, ABANDONED_S)
        return _compared(work, engine, device, progress)


@remade
def _compared(work: Work, engine: Engine, device: str, progress: Progress) -> ShardedComparison:
    passes = Passes(work, engine, progress)
    tasks = encode_tasks(work, device)
    require_readable(work, tasks, progress)
    require_enough_rows(work)
    passes.run("encode", tasks)
    _require_one_model(work)
    fields = SameFields(work)
    for source in work.plan.sources:
        for index in range(len(work.plan.sides[source])):
            fields.add(source, index)
    sides = tuple(_side(work, source) for source in work.plan.sources)
    for side in sides:
        if side.n < MIN_TEXTS:
            raise InputError(
                f"The side {side.name!r} has too few texts", allowed=f"at least {MIN_TEXTS}", received=f"{side.n}"
            )
    scored = {side.name: _scored(work, side, sides[0].n, passes) for side in sides[1:]}
    differences = _differences(work, sides, {name: found.k for name, found in scored.items()}, passes)
    texts_missing = _collected(work, passes)
    return ShardedComparison(
        sides,
        tuple(scored.values()),
        work.plan.encoder,
        work.plan.score,
        engine.name,
        tuple(passes.finished.values()),
        differences,
        texts_missing,
    )


def _collected(work: Work, passes: Passes) -> str | None:
    """Read texts of clusters; return why that cannot be done, if so, because the scores do not depend on it."""
    try:
        collect(work, passes)
    except InputError as error:
        return str(error)
    return None


def _require_one_model(work: Work) -> None:
    """Raise InputError if machines, or calls at different times, encoded shards with different weights."""
    first: dict[str, str] = {}
    for source in work.plan.sources:
        for index, shard in enumerate(work.plan.sides[source]):
            first.setdefault(shard_info(work, source, index).model, shard)
    if len(first) > 1:
        one, other = list(first.values())[:2]
        raise InputError(
            f"The shards {one} and {other} were encoded with different weights",
            allowed="one model for all shards",
            received=", ".join(digest[:12] for digest in first),
            todo="Give every machine the same model (--revision fixes one of the hub), and name another work folder",
        )


def _side(work: Work, source: str) -> ShardedSide:
    infos = [shard_info(work, source, index) for index in range(len(work.plan.sides[source]))]
    left_out: dict[str, int] = {}
    for info in infos:
        for reason, count in info.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    digest = hashlib.sha256("".join(info.digest for info in infos).encode()).hexdigest()
    cut, tokens = sum(info.cut for info in infos), sum(info.tokens for info in infos)
    fields = next((info.fields for info in infos if info.fields), None)
    return ShardedSide(source, len(infos), sum(info.n for info in infos), left_out, cut, tokens, digest, fields)


def _scored(work: Work, side: ShardedSide, n: int, passes: Passes) -> ShardedCandidate:
    """Partition the human side with one candidate, and score it."""
    score = work.plan.score
    found = partitioned(work, side.name, score.k or default_k(n, side.n), passes)
    p, q = (clustering.grouped_counts(work, side.name, source, found.k) for source in (HUMAN, side.name))
    basis = basis_of_groups(p, q, score, stream(score.seed, "bootstrap"))
    why_not = few_groups(p, q)
    scores = if_known(estimates_of(basis, score.scale, score.confidence), why_not)
    choose(work, side.name, found.state.iteration, p, q, scores["mauve"].values)
    return ShardedCandidate(
        name=side.name,
        k=found.k,
        components=found.components,
        explained=found.explained,
        sampled=found.sampled,
        iterations=tuple(found.state.iterations.tolist()),
        objectives=tuple(found.state.objectives.tolist()),
        counts=_digest(*(side.sum(axis=1, dtype=np.int64) for side in (p, q))),
        scores=scores,
        no_interval=why_not,
    )


def _differences(
    work: Work, sides: Sequence[ShardedSide], clusters: Mapping[str, int], passes: Passes
) -> tuple[Difference, ...]:
    """Partition all sides together, and test the candidates against each other; nothing for one candidate."""
    human, *others = sides
    if len(others) == 1:
        return ()
    score = work.plan.score
    k = partitioned(work, JOINT, score.k or default_k(human.n, min(side.n for side in others)), passes).k
    counts = {side.name: clustering.grouped_counts(work, JOINT, side.name, k) for side in sides}
    own = {
        name: (
            clustering.grouped_counts(work, name, HUMAN, of_own),
            clustering.grouped_counts(work, name, name, of_own),
        )
        for name, of_own in clusters.items()
    }
    return differences_of_groups(counts.pop(HUMAN), counts, own, score)


def _digest(*counts: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    for side in counts:
        digest.update(np.ascontiguousarray(side, dtype="<i8").data)
    return digest.hexdigest()
