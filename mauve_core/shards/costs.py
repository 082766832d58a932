"""What a comparison over shards will take, from timed samples of a few shards: before the hours of encoding begin.

Bytes of all shards are listed, a few shards are sampled by the engine's workers (:mod:`mauve_core.shards.timing`), and
what was seen is extrapolated by bytes, each side and format by its own samples; texts of shards that say how many rows
they have by these rows. The bytes of the work folder follow from texts, shards and clusters. Samples stay in the work
folder, so that a command that is given again times nothing again.
"""

from __future__ import annotations

import heapq
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import file_size, with_plain_spaces
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.clusters.k_means import default_k
from mauve_core.clusters.reduction import Moments, added, projection_from
from mauve_core.shards.cluster_texts import total_path
from mauve_core.shards.clustering import JOINT, MOST_SUMS
from mauve_core.shards.encoding import info_path, model_device, shard_info
from mauve_core.shards.engines import Engine
from mauve_core.shards.passes import await_outputs
from mauve_core.shards.places import FEATURE_SUFFIXES, ShardError, format_of, remade, stamps_of
from mauve_core.shards.plan import GROUPS, SAMPLE_BYTES, Plan, Work
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.timing import TIMED_SHARE, ShardSample, read_sample, sample_info_path

CONFIDENCE = 0.95


class Sampled(NamedTuple):
    """A sampled shard: its stratum, its size, and what is extrapolated by size."""

    stratum: str
    size: float
    value: float


class Span(NamedTuple):
    """A number that was extrapolated, and the ends of its interval; None if too few shards were sampled to have one."""

    value: float
    low: float | None
    high: float | None

    def plus(self, known: float) -> Span:
        """With a number that is known."""
        return Span(*(None if each is None else each + known for each in self))  # type: ignore[arg-type]

    def and_(self, other: Span) -> Span:
        """The span of the sum with an independent one; a span of 0 leaves the other as it is."""
        if not self.value or not other.value:
            return other if not self.value else self
        value = self.value + other.value
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Span(value, None, None)
        down = math.hypot(self.value - self.low, other.value - other.low)
        up = math.hypot(self.high - self.value, other.high - other.value)
        return Span(value, value - down, value + up)

    def at_most(self, most: float) -> Span:
        """The span of a number that is known to be at most so large."""
        return Span(min(self.value, most), self.low, None if self.high is None else min(self.high, most))

    def times(self, factor: float) -> Span:
        """The span of a multiple."""
        return Span(*(None if each is None else each * factor for each in self))  # type: ignore[arg-type]


def extrapolated(samples: Sequence[Sampled], totals: Mapping[str, float]) -> Span:
    """Extrapolate a sum by size: a ratio estimator for each stratum.

    Parameters
    ----------
    samples : sequence of Sampled
        At least one.
    totals : mapping of str to float
        Size of everything, by stratum. One without samples takes the ratio of all of them.

    Returns
    -------
    Span
        Its t interval of ``CONFIDENCE`` comes from the differences between shards of one stratum, which are taken to be
        as large in relation to their values in every stratum. Shards count as drawn from very many, also where all are
        sampled, since of each only the beginning is.
    """
    by_stratum = {each.stratum: [one for one in samples if one.stratum == each.stratum] for each in samples}
    ratios = {name: _ratio(by_stratum.get(name, samples)) for name in {*by_stratum, *totals}}
    value = sum(size * ratios[name] for name, size in totals.items())
    free = len(samples) - len(by_stratum)
    if free < 1:
        return Span(value, None, None)
    expected = [one.size * ratios[one.stratum] for one in samples]
    rest = sum((one.value / mean - 1) ** 2 for one, mean in zip(samples, expected, strict=True) if mean) / free
    variance = 0.0
    for name, size in totals.items():
        sizes = np.array([one.size for one in by_stratum.get(name, samples)], dtype=np.float64)
        share = float((sizes**2).sum() / max(sizes.sum(), 1) ** 2)
        variance += (size * ratios[name]) ** 2 * share * rest
    reach = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return Span(value, max(value - reach, 0.0), value + reach)


def wall_seconds(seconds: Iterable[float], workers: int) -> float:
    """Seconds until workers that take one task after another, in the given order, have done all."""
    ends = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _ratio(samples: Sequence[Sampled]) -> float:
    size = sum(one.size for one in samples)
    return sum(one.value for one in samples) / size if size else 0.0


# Of each row: its group and its order (``encoding.drawing``).
DRAWING_BYTES = 16

# Of each cell of a table of counts: which, and how many rows (``clustering.label_shard``).
CELL_BYTES = 16


def bytes_to_write(
    plan: Plan,
    texts: float,
    shards: int,
    partitions: Mapping[str, float],
    clusters: Mapping[str, int],
    width: int,
    components: int,
) -> float:
    """Return the most bytes that the work folder has at once, without what is in it already.

    Parameters
    ----------
    plan : Plan
    texts : float
        Texts that are not encoded yet, of all sides.
    shards : int
        Their shards.
    partitions, clusters : mappings of str to number
        Rows of each partition, and its clusters.
    width, components : int
        Columns of the features, and principal components.

    Returns
    -------
    float
        Features (of texts), moments, coordinates, labels and counts of all partitions, and the sums of one iteration of
        k-means, which are removed after it. Kept texts, centers and centers' starts are left out: they are small.
    """
    feature = 0 if plan.encoder is None else width * np.dtype(plan.stored_as).itemsize
    total = texts * (feature + DRAWING_BYTES) + shards * 8 * width * (width + 1)
    sums = 0.0
    for name, rows in partitions.items():
        k, seeds = clusters[name], plan.score.seeds
        own = sum(len(plan.sides[side]) for side in (plan.sources if name == JOINT else (HUMAN, name)))
        label = 2 if k <= 2**16 else 4
        sampled = min(rows, plan.sample_rows) * 4 * components
        total += rows * (4 * components + seeds * label) + min(sampled, SAMPLE_BYTES)
        total += seeds * CELL_BYTES * min(rows, own * GROUPS * k)
        sums = max(sums, min(own, MOST_SUMS) * seeds * k * 8 * (components + 1))
    return total + sums


# Most shards that are sampled.
SHARDS = 8

# Formats whose footer or header says how many rows there are.
SAYING_ROWS = (".parquet", *FEATURE_SUFFIXES)

# Bytes of shards below which nothing is timed unasked: some thousand texts, of which samples would take the most.
LEAST_BYTES = 2**20

# Sampled rows for each column of the features from which on their principal components are counted.
ROWS_A_COLUMN = 4


@dataclass(frozen=True)
class Estimate:
    """What a command has left to do, and what follows.

    Attributes
    ----------
    shards, finished, sampled : int
        Shards that the command encodes, those of them that are encoded already, and those that were sampled.
    texts, tokens : Span
        Of all these shards; tokens are 0 for features.
    most : int or None
        Texts that there are at most: rows of shards that are not encoded, texts of others. None if lines are not.
    seconds : Span
        For which workers encode what is left; 0 for features.
    wall : Span
        Seconds until it is encoded, if workers take one shard after another.
    encoders, workers : int
        Tasks at once while texts are encoded, and in the passes that follow.
    device : str
        Where samples were encoded, such as "cuda"; empty for features.
    width, components, k : int
        Columns of the features; principal components of the sampled rows, or all columns if these rows are too few to
        count them; most clusters of a partition.
    iteration_seconds : float
        For which workers are busy in one iteration of k-means over all rows, of all partitions and seeds.
    counting : Span
        Seconds for which workers count phrases, if all texts are in the clusters in which they do; 0 if that is done.
    disk : float
        Bytes that the work folder will yet take, for all shards of the plan.
    free : int
        Bytes that its disk has.
    """

    shards: int
    finished: int
    sampled: int
    texts: Span
    most: int | None
    tokens: Span
    seconds: Span
    wall: Span
    encoders: int
    workers: int
    device: str
    width: int
    components: int
    k: int
    iteration_seconds: float
    counting: Span
    disk: float
    free: int


class _Shard(NamedTuple):
    source: str
    place: int
    size: int
    finished: bool
    # Side and format: only shards with the same ones are alike.
    stratum: str
    # Whether shards of the format say how many rows they have.
    says_rows: bool
    # What it says, if it was looked at (``checking.require_readable``).
    rows: int | None


@remade
def estimate(
    work: Work,
    engine: Engine,
    tasks: Sequence[Task],
    *,
    device: str = "auto",
    always: bool = False,
    progress: Progress = silent,
) -> Estimate | None:
    """Say what tasks of the first pass will take, and what follows them.

    Parameters
    ----------
    work : Work
    engine : Engine
        Its workers time the samples that are not there yet; they keep their models.
    tasks : sequence of Task
        All that the command carries out, finished ones too (:func:`mauve_core.shards.comparison.encode_tasks`).
    device : str
        As that of the tasks.
    always : bool
        Also where nothing is left to encode, or so little that samples are not worth their time; and refuse damaged
        shards, whose samples are left out otherwise, since encoding goes on without these shards, too.
    progress : callable

    Returns
    -------
    Estimate or None
        None where there is nothing to say.

    Raises
    ------
    InputError
        A shard has vanished or, if it must be estimated, cannot be used.
    """
    if not tasks or (not always and not remaining(tasks)):
        return None
    everything = _shards(work)
    gpus = engine.gpus(tasks[0].device)
    kind, asked = "gpu" if gpus else "cpu", {task.args[:2] for task in tasks}
    own = [one for one in everything if (one.source, one.place) in asked]
    if not always and sum(one.size for one in own if not one.finished) < LEAST_BYTES:
        return None
    chosen = _chosen(work, own, kind)
    share = TIMED_SHARE * sum(one.size for one in own) / len(chosen)
    timed = remaining([_task(work, one, device, kind, share / max(one.size, 1)) for one in chosen])
    damaged = bool(timed) and not _timed(work, engine, timed, always, progress)
    seen = _Seen(work, own, kind)
    if damaged and not any(sample.width for sample in seen.samples):
        return None
    return _found(work, seen, own, everything, gpus or engine.workers, engine.workers, kind)


def _timed(work: Work, engine: Engine, tasks: Sequence[Task], always: bool, progress: Progress) -> bool:
    """Take samples; whether all shards could be used, which is an error otherwise if it is ``always`` to be said."""
    advance, done, whole = counted(progress, "estimate", len(tasks)), list[Task](), True

    def finish(task: Task, _: int) -> None:
        done.append(task)
        advance()

    try:
        engine.run(work.folder, tasks, finish)
    except ShardError:
        if always:
            raise
        whole = False
    await_outputs(done)
    return whole


def require_room(found: Estimate, work: Work) -> None:
    """Raise InputError if the disk of the work folder cannot hold what will be written."""
    if found.disk > found.free:
        sizes = [with_plain_spaces(file_size(size)) for size in (found.disk, found.free)]
        raise InputError(
            f"The disk of the folder {work.folder} is too small for what the passes will write",
            allowed=f"about {sizes[0]} free",
            received=sizes[1],
            todo="Make room, or name a folder on another disk (--work); --stored-as float16 halves the features",
        )


def spread(counts: Mapping[str, int], most: int = SHARDS) -> dict[str, list[int]]:
    """Return which shards of each stratum are sampled: evenly spread, and one of each at least if ``most`` allows."""
    given = {name: 1 if place < most else 0 for place, name in enumerate(counts)}
    while sum(given.values()) < min(most, sum(counts.values())):
        larger = [name for name in counts if given[name] < counts[name]]
        given[max(larger, key=lambda name: counts[name] / (given[name] + 1))] += 1
    return {
        name: [(2 * place + 1) * counts[name] // (2 * number) for place in range(number)]
        for name, number in given.items()
    }


def _shards(work: Work) -> list[_Shard]:
    sides = work.plan.sides
    shards = [shard for source in work.plan.sources for shard in sides[source]]
    unknown = [shard for shard in shards if shard not in work.plan.stamps]
    stamps = {**work.plan.stamps, **dict(zip(unknown, stamps_of(unknown), strict=True))}
    found = []
    for source in work.plan.sources:
        for index, shard in enumerate(sides[source]):
            path, form = info_path(work, source, index), format_of(shard)
            rows = work.looked_at.get(path)
            found.append(
                _Shard(source, index, stamps[shard].size, path.exists(), f"{source} {form}", form in SAYING_ROWS, rows)
            )
    return found


def _chosen(work: Work, own: Sequence[_Shard], kind: str) -> list[_Shard]:
    """Those to sample: the same ones whenever the command is given, whatever is finished by then."""
    usable = [one for one in _spread_over(own) if not one.finished or _is_seen(work, one, kind)]
    left = [one for one in own if not one.finished]
    return usable or [one for one in own if _is_seen(work, one, kind)] or _spread_over(left or own)


def _spread_over(shards: Sequence[_Shard]) -> list[_Shard]:
    strata: dict[str, list[_Shard]] = {}
    for one in shards:
        strata.setdefault(one.stratum, []).append(one)
    places = spread({stratum: len(own) for stratum, own in strata.items()})
    return [strata[stratum][place] for stratum in strata for place in places[stratum]]


def _is_seen(work: Work, one: _Shard, kind: str) -> bool:
    return sample_info_path(work, one.source, one.place, kind).exists()


def _task(work: Work, one: _Shard, device: str, kind: str, share: float) -> Task:
    output = sample_info_path(work, one.source, one.place, kind)
    shard = work.plan.sides[one.source][one.place]
    args = (one.source, one.place, device, kind, one.size, share)
    return Task("estimate", args, output, f"shard {shard}", model_device(work.plan, device))


class _Seen:
    """The samples of a command's shards, and what they say of any shards."""

    def __init__(self, work: Work, own: Sequence[_Shard], kind: str) -> None:
        self.shards = [one for one in own if _is_seen(work, one, kind)]
        self.samples = [read_sample(work, one.source, one.place, kind) for one in self.shards]

    def over(self, shards: Sequence[_Shard], what: str) -> Span:
        """The sum of an attribute of :class:`ShardSample` over shards."""
        totals: dict[str, float] = {}
        for one in shards:
            totals[one.stratum] = totals.get(one.stratum, 0.0) + one.size
        return extrapolated(self._pairs(what), totals)

    def texts(self, shards: Sequence[_Shard]) -> Span:
        """Texts of shards: a share of their rows where these are known, else extrapolated by bytes."""
        rows: dict[str, float] = {}
        for one in shards:
            if one.rows is not None:
                rows[one.stratum] = rows.get(one.stratum, 0.0) + one.rows
        most = sum(rows.values())
        samples = [
            Sampled(one.stratum, sample.rows, sample.shard_texts)
            for one, sample in zip(self.shards, self.samples, strict=True)
            if one.says_rows
        ]
        counted = extrapolated(samples, rows).at_most(most) if samples else Span(most, None, None)
        return counted.and_(self.over([one for one in shards if one.rows is None], "shard_texts"))

    def by_shard(self, shards: Sequence[_Shard], what: str) -> Iterator[float]:
        """The attribute of each shard."""
        pairs = self._pairs(what)
        rates = {name: extrapolated(pairs, {name: 1.0}).value for name in {one.stratum for one in shards}}
        return (rates[one.stratum] * one.size for one in shards)

    def filled(self) -> list[tuple[_Shard, ShardSample]]:
        """Those that hold anything; InputError if there are none."""
        pairs = [pair for pair in zip(self.shards, self.samples, strict=True) if pair[1].width]
        if not pairs:
            raise InputError(
                "The sampled shards hold nothing to compare",
                received=", ".join(one.stratum for one in self.shards[:3]),
                todo="Look at the shards, and at the fields that are named",
            )
        return pairs

    def _pairs(self, what: str) -> list[Sampled]:
        return [
            Sampled(one.stratum, one.size, getattr(sample, what))
            for one, sample in zip(self.shards, self.samples, strict=True)
        ]


def _found(
    work: Work,
    seen: _Seen,
    own: Sequence[_Shard],
    everything: Sequence[_Shard],
    encoders: int,
    workers: int,
    kind: str,
) -> Estimate:
    score = work.plan.score
    left = [one for one in own if not one.finished]
    known = {(one.source, one.place): shard_info(work, one.source, one.place) for one in own if one.finished}
    encoded = sum(info.n for info in known.values())
    rows_left = [one.rows for one in left if one.rows is not None]
    seconds = seen.over(left, "shard_seconds")
    filled = seen.filled()
    loading = max(sample.load_seconds for _, sample in filled)
    wall = wall_seconds(seen.by_shard(left, "shard_seconds"), encoders) + loading
    unfinished = [one for one in everything if not one.finished]
    texts = {
        source: seen.texts(
            [one for one in everything if one.source == source and (source, one.place) not in known]
        ).value
        + sum(info.n for (side, _), info in known.items() if side == source)
        for source in work.plan.sources
    }
    counted = all(total_path(work, candidate).exists() for candidate in work.plan.candidates)
    partitions: dict[str, tuple[float, ...]] = {name: (texts[HUMAN], texts[name]) for name in work.plan.candidates}
    if len(partitions) > 1:
        partitions[JOINT] = tuple(texts.values())
    rows = {name: sum(sizes) for name, sizes in partitions.items()}
    clusters = {
        name: score.k or default_k(_whole(human), _whole(min(others))) for name, (human, *others) in partitions.items()
    }
    moments = [sample_info_path(work, one.source, one.place, kind) for one, _ in filled]
    width, components = filled[0][1].width, _components(work, moments)
    pace = sum(sample.seconds_a_product for _, sample in filled) / len(filled)
    return Estimate(
        shards=len(own),
        finished=len(known),
        sampled=len(seen.samples),
        texts=seen.texts(left).plus(encoded),
        most=encoded + sum(rows_left) if len(rows_left) == len(left) else None,
        tokens=seen.over(left, "shard_tokens").plus(sum(info.tokens for info in known.values())),
        seconds=seconds,
        wall=seconds.times(wall / seconds.value) if seconds.value else seconds,
        encoders=encoders,
        workers=workers,
        device="+".join(sorted({sample.device for _, sample in filled})),
        width=width,
        components=components,
        k=max(clusters.values()),
        iteration_seconds=pace * components * score.seeds * sum(rows[name] * clusters[name] for name in rows),
        counting=seen.over([] if counted else everything, "shard_counting_seconds"),
        disk=bytes_to_write(
            work.plan, seen.texts(unfinished).value, len(unfinished), rows, clusters, width, components
        ),
        free=shutil.disk_usage(work.folder).free,
    )


def _whole(texts: float) -> int:
    return max(1, round(texts))


def _components(work: Work, seen: Sequence[Path]) -> int:
    """Principal components of the sampled rows of all sides; all columns if the rows are too few to say."""
    moments = added(
        Moments(int(stored["n"]), float(stored["length"]), stored["total"], stored["scatter"])
        for stored in map(work.arrays, seen)
    )
    score, width = work.plan.score, moments.total.size
    if moments.n >= ROWS_A_COLUMN * width:
        length = None if score.unit_rows == "before" else moments.length / moments.n
        with suppress(InputError):  # equal rows: the passes say so, should all others be equal, too
            return int(projection_from(moments, score.explained_variance, length).axes.shape[1])
    return width
