"""Compare corpora in shards by passes, each a set of tasks for an engine, and score them by the counts that are left.

The first pass encodes: features, moments and digests of each shard. Four more partition the human side with each
candidate (:mod:`mauve_core.shards.partitioning`), which gives its scores. Whether candidates write alike is tested in
the joint partition of all sides, for which these four are done once more. Three last ones are about the clusters that
tell a candidate from the human side most: keep names the rows to read in each shard, fetch reads them, count counts
phrases in all texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import remove_abandoned
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.k_means import default_k
from mauve_core.scoring.estimates import estimates_of, if_known
from mauve_core.scoring.grouped import basis_of_groups, differences_of_groups, few_groups
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.result import Difference
from mauve_core.scoring.streams import stream
from mauve_core.shards import clustering, collecting
from mauve_core.shards.checking import SameFields, require_enough_rows, require_readable
from mauve_core.shards.clustering import JOINT
from mauve_core.shards.encoding import info_path, model_device, shard_info
from mauve_core.shards.engines import Engine
from mauve_core.shards.failures import remade
from mauve_core.shards.partitioning import partitioned
from mauve_core.shards.passes import Passes
from mauve_core.shards.plan import ENCODED, Work
from mauve_core.shards.result import ShardedCandidate, ShardedComparison, ShardedSide
from mauve_core.shards.tasks import Task

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
        collecting.collect(work, passes)
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
    collecting.choose(work, side.name, found.state.iteration, p, q, scores["mauve"].values)
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
