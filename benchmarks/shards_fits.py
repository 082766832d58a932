"""Processor time of the passes over shards: measured on small made-up features, fitted, and simulated on any cluster.

Every task and every step of the driver is fitted as a fixed part and parts in proportion to what it does (``TERMS``),
with coefficients that are not negative. A worker takes one task after another; a pass ends when all are done, and not
before the shared file system has moved its bytes. Steps of the driver come between passes. The start of k-means is the
most it can take: beside what was fitted, every distance in each of its iterations, which few data need.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from shards import made

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.shards import clustering, comparison
from mauve_core.shards.clustering import START_ITERATIONS
from mauve_core.shards.costs import wall_seconds
from mauve_core.shards.plan import GROUPS, Plan, Work, plan_of
from mauve_core.shards.tasks import carry_out, remaining

PASSES = ("encode", "project", "start", "sum", "label")
STEPS = ("add moments", "components", "add sums", "add counts")

POINTS = (
    # rows of both sides, shards of both, columns, clusters
    (6_000, 2, 32, 50), (40_000, 4, 32, 200), (100_000, 4, 64, 500), (60_000, 8, 64, 1000),
    (20_000, 4, 256, 500), (24_000, 2, 256, 1500), (12_000, 4, 768, 1000), (10_000, 2, 1024, 400),
)  # fmt: skip
SEEDS, SAMPLED, MOST_ITERATIONS = 2, 40_000, 4


class Size(NamedTuple):
    """What a task or a step works on: rows, columns, components, clusters, seeds, and shards of a side pair."""

    n: float
    d: int
    c: int
    k: int
    s: int
    shards: int = 1


# Of each pass a task, of each step the whole; ``n`` of ``start`` is the sample, of ``add counts`` all rows.
TERMS: Mapping[str, Callable[[Size], tuple[float, ...]]] = {
    "encode": lambda z: (1, z.n, z.n * z.d, z.n * z.d**2, z.d**2),
    "project": lambda z: (1, z.n, z.n * z.d, z.n * z.d * z.c),
    "start": lambda z: (1, z.n * z.k * z.c, z.n * z.k, z.n * z.c),
    "sum": lambda z: (1, z.s * z.n * z.k * z.c, z.s * z.n * z.k, z.s * z.n * z.c, z.s * z.k * z.c),
    "label": lambda z: (1, z.s * z.n * z.k * z.c, z.s * z.n * z.k, z.s * z.n, z.s * z.k * z.c),
    "add moments": lambda z: (z.shards, z.shards * z.d**2),
    "components": lambda z: (1, z.d**3),
    "add sums": lambda z: (z.shards, z.shards * z.s * z.k * z.c),
    "add counts": lambda z: (z.shards, z.n * z.s, z.s * GROUPS * z.k),
}

Fits = Mapping[str, np.ndarray]


class Recorder:
    """Carries out tasks in this process and keeps the processor time of each; an engine."""

    name, workers = "one process", 1

    def __init__(self) -> None:
        self.taken: list[tuple[str, tuple[Any, ...], float]] = []

    def gpus(self, device: str | None) -> int:  # noqa: ARG002
        return 0

    def run(self, folder: Path, tasks: Sequence[Any], done: Callable[[Any, int], None]) -> None:
        for task in remaining(tasks):
            began = time.process_time()
            memory = carry_out(str(folder), task.name, task.args)
            self.taken.append((task.name, task.args, time.process_time() - began))
            done(task, memory)

    def close(self) -> None:
        return


@contextmanager
def steps_timed(taken: list[tuple[str, float]]) -> Iterator[None]:
    """Keep the processor time of the driver's steps."""
    places = {
        "add moments": (comparison, "moments_of"),
        "components": (comparison, "projection_from"),
        "add sums": (clustering, "read_sums"),
        "add counts": (clustering, "grouped_counts"),
    }
    before = {name: getattr(module, attribute) for name, (module, attribute) in places.items()}

    def timed(name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            began = time.process_time()
            found = before[name](*args)
            taken.append((name, time.process_time() - began))
            return found

        return call

    for name, (module, attribute) in places.items():
        setattr(module, attribute, timed(name))
    try:
        yield
    finally:
        for name, (module, attribute) in places.items():
            setattr(module, attribute, before[name])


def planned(folder: Path, rows: int, shards: int, d: int, k: int) -> Plan:
    places = made(folder, rows, shards, d)
    score = ScoreConfig(k=k, seeds=SEEDS, max_iterations=MOST_ITERATIONS, bootstrap=100)
    return plan_of(
        places[HUMAN], {"model": places["model"]}, encoder=None, score=score, sample_rows=min(SAMPLED, rows // 2)
    )


def measured(folder: Path, rows: int, shards: int, d: int, k: int) -> list[tuple[str, Size, float]]:
    """Name, size and processor time of every task and step of one comparison."""
    work = Work.begin(folder / f"work-{rows}-{d}-{k}", planned(folder, rows, shards, d, k))
    recorder, steps = Recorder(), []
    with steps_timed(steps):
        found = comparison.compare_shards(work, recorder)["model"]
    c, each = found.components, rows / shards
    sizes = {"start": Size(found.sampled, d, c, k, SEEDS)}
    points = []
    for name, args, seconds in recorder.taken:
        own = Size(each, d, c, k, len(args[3]) if name == "sum" else SEEDS)
        points.append((name, sizes.get(name, own), seconds))
    of_sides = {"add moments": shards // 2, "add counts": shards // 2}
    for name, seconds in steps:
        count = of_sides.get(name, shards)
        points.append((name, Size(each * count, d, c, k, SEEDS, count), seconds))
    return points


def fitted(points: Sequence[tuple[str, Size, float]]) -> Fits:
    """Coefficients of ``TERMS`` by least squares of relative errors; runs of one size count by their mean."""
    fits = {}
    for name, terms in TERMS.items():
        by_size: dict[Size, list[float]] = {}
        for own, size, seconds in points:
            if own == name:
                by_size.setdefault(size, []).append(seconds)
        y = np.array([max(float(np.mean(each)), 1e-5) for each in by_size.values()])
        x = np.array([terms(size) for size in by_size])
        scale = np.maximum(x.max(axis=0), 1)
        fits[name] = nnls(x / scale / y[:, None], np.ones(len(y)))[0] / scale
    return fits


def taken_by(fits: Fits, name: str, size: Size) -> float:
    return float(fits[name] @ np.array(TERMS[name](size)))


class Case(NamedTuple):
    """A comparison to be simulated.

    Attributes
    ----------
    all : Size
        Rows and shards of both sides.
    sampled : float
        Rows on which k-means starts.
    iterations : int
    input_bytes, encode_seconds : float
        Of texts: their bytes, and the seconds of a worker for all of them. 0 for features.
    feature_bytes : int
        Bytes of one number of the features.
    bandwidth : float
        Bytes a second that the file system moves, for all machines together.
    """

    all: Size
    sampled: float
    iterations: int
    input_bytes: float
    encode_seconds: float
    feature_bytes: int
    bandwidth: float


class Simulated(NamedTuple):
    """Seconds of a pass: its end, that of its workers alone, that of the file system alone, and the driver's."""

    wall: float
    workers: float
    moved: float
    driver: float


def simulated(case: Case, fits: Fits, encoders: int, workers: int | None = None) -> dict[str, Simulated]:
    """The passes one after another: the first by ``encoders``, the others by ``workers``, by default as many."""
    z, shards = case.all, case.all.shards
    each = z._replace(n=z.n / shards, shards=1)
    half = z._replace(n=z.n / 2, shards=shards // 2)
    features, coordinates = z.n * z.d * case.feature_bytes, z.n * z.c * 4
    centers = z.s * z.k * z.c * 8
    moments, counts = 8 * z.d * (z.d + 1), 16 * z.s * min(each.n, GROUPS * z.k)
    texts = features if case.encode_seconds else 0

    def passed(
        name: str,
        tasks: int,
        size: Size,
        read: float,
        written: float,
        *,
        driver: float = 0.0,
        again: float = 0.0,
        more: float = 0.0,
    ) -> Simulated:
        """``again`` bytes are read by the driver, ``more`` seconds are added to each task."""
        bytes_ = read + written
        one = taken_by(fits, name, size) + bytes_ / tasks / case.bandwidth + more
        count = encoders if name == "encode" else workers or encoders
        schedule, moved = wall_seconds([one] * tasks, count), bytes_ / case.bandwidth
        serial = driver + again / case.bandwidth
        return Simulated(max(schedule, moved) + serial, schedule, moved, serial)

    steps = {
        "moments": 2 * taken_by(fits, "add moments", half) + taken_by(fits, "components", z),
        "counts": 2 * taken_by(fits, "add counts", half),
    }
    found = {
        "encode": passed(
            "encode", shards, each, case.input_bytes or features, texts + 16 * z.n + shards * moments,
            more=case.encode_seconds / shards,
        ),
        "project": passed(
            "project", shards, each, features, coordinates, driver=steps["moments"], again=shards * moments
        ),
        "start": passed(
            "start", z.s, z._replace(n=case.sampled), z.s * case.sampled * z.c * 4, centers,
            more=START_ITERATIONS * taken_by(fits, "label", z._replace(n=case.sampled, s=1)),
        ),
    }  # fmt: skip
    runs = math.ceil(shards / math.ceil(shards / clustering.MOST_SUMS))
    read = coordinates + min(shards, workers or encoders) * centers
    run = z._replace(n=z.n / runs, shards=1)
    steps["sums"] = taken_by(fits, "add sums", z._replace(shards=runs))
    one = passed("sum", runs, run, read, runs * centers, driver=steps["sums"], again=runs * centers)
    found["sum"] = Simulated(*(case.iterations * part for part in one))
    found["label"] = passed(
        "label", shards, each, read, 2 * z.n * z.s + shards * counts, driver=steps["counts"], again=shards * counts
    )  # fmt: skip
    return found


def bottleneck(found: Mapping[str, Simulated]) -> str:
    """The longest pass, and what makes it long."""
    name = max(found, key=lambda each: found[each].wall)
    own = found[name]
    what = {"workers": own.workers, "file system": own.moved, "driver": own.driver}
    if own.driver < max(own.workers, own.moved):
        del what["driver"]
    return f"{name}: {max(what, key=lambda each: what[each])}"
