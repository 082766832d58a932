"""K-means over shards beside the libraries' own: what each reaches on the same rows, and in what time.

    pip install --target SITE --no-deps 'pyspark==4.3.0' py4j
    python benchmarks/shards_peers.py --workdir FOLDER --pyspark SITE [--rows 200000] [--dimension 48] [--shards 8]
        [--k 500] [--seeds 3] [--out benchmarks/results/shards_peers.md]

MLlib needs Java 17. It multiplies by libblas.so.3 if the loader finds that (``LD_LIBRARY_PATH``), otherwise by Java's
vectors, and the page says which. A way whose library is missing is left out, and the page says so.

All ways cluster the coordinates that the pass "project" writes, of the features that benchmarks/shards.py makes up.
Each way has a process of its own, one after the other, and the first of a round changes from round to round; a round is
a seed. Start-up is everything before the fit: the process, libraries, rows, Spark and a first small fit of it, workers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from frame import arguments, page, table, write
from numpy.typing import NDArray
from shards import TOPICS, made

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_array
from mauve_core.base.formatting import with_plain_spaces, with_spread
from mauve_core.clusters.k_means import START_ROWS, kmeans
from mauve_core.clusters.lloyd import Lloyd, Rows
from mauve_core.scoring.partitioning import clustering_seeds
from mauve_core.shards import comparison
from mauve_core.shards.clustering import START_ITERATIONS, coordinates_path, read_state, shards_of, start_path
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import SAMPLE_ROWS, Plan, Work, plan_of
from mauve_core.stats.scores import score_counts

WORKERS = 2
ROWS_AT_ONCE = 8192
GIVEN_ITERATIONS = 10
OURS, MEMORY, BATCHES, LONG, FROM_MLLIB, PLAIN = (
    "shards",
    "memory",
    "batches",
    "mllib-long",
    "memory-mllib",
    "given-plain",
)


class Asked(NamedTuple):
    """What a process is asked.

    Attributes
    ----------
    way : str
        As in ``WAYS``.
    seed, k : int
    folder : str
        Holds rows.npy, rows.parquet, the shards, and start.npy with the rows that ``seed`` draws as first centers.
    iterations : int
        Iterations of the ways that do a given number.
    launched : float
        When the process was, by the monotonic clock.
    """

    way: str
    seed: int
    k: int
    folder: str
    iterations: int
    launched: float

    def path(self, name: str) -> Path:
        return Path(self.folder) / name

    def rows(self) -> NDArray[np.float32]:
        return np.load(self.path("rows.npy"))

    def start(self) -> NDArray[np.float64]:
        return np.load(self.path(f"start{self.seed}.npy"))


@dataclass
class Fit:
    """Measures from the beginning of a fit to its end: this process and those that it started."""

    launched: float
    begun: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)

    def begin(self) -> None:
        self.measured["start_up"] = time.monotonic() - self.launched
        self._processor = processor_seconds()
        self.begun = time.monotonic()

    def end(self) -> None:
        self.measured["seconds"] = time.monotonic() - self.begun
        self.measured["processor"] = processor_seconds() - self._processor
        self.measured["bytes"] = sum(peak_bytes(process) for process in family())


class Found(NamedTuple):
    """Centers, and iterations as a page says them."""

    centers: NDArray[np.float64]
    iterations: str
    notes: dict[str, Any] = {}


class Way(NamedTuple):
    """A row of the table: its words, what does it, and the rounds in which it is done (None: all)."""

    name: str
    start: str
    stop: str
    fit: Callable[[Asked, Fit], Found]
    needs: str | None = None
    rounds: int | None = None

    def missing(self) -> bool:
        return self.needs is not None and importlib.util.find_spec(self.needs) is None


def family() -> list[int]:
    """This process and its living descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            status = _read(entry / "stat")
            if status:
                parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def processor_seconds() -> float:
    """What the family and its dead children have had of the processors."""
    fields = [_read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split() for process in family()]
    return sum(sum(map(int, each[11:15])) for each in fields if each) / os.sysconf("SC_CLK_TCK")


def peak_bytes(process: int) -> int:
    found = re.search(r"^VmHWM:\s*(\d+) kB", _read(Path(f"/proc/{process}/status")), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:  # it has ended meanwhile
        return ""


def assigned(rows: NDArray[np.float32], centers: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """The nearest center of each row, and the sum of the squared distances to them, in float64."""
    labels, total, squares = np.empty(len(rows), dtype=np.int64), 0.0, (centers**2).sum(1)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE].astype(np.float64)
        nearest = (squares - 2 * part @ centers.T).argmin(1)
        labels[start : start + len(part)] = nearest
        total += float(((part - centers[nearest]) ** 2).sum())
    return labels, total


def without_cluster(topics: NDArray[np.int16], labels: NDArray[np.int64]) -> int:
    """Topics of the rows that are the most frequent one in no cluster."""
    counts = np.zeros((labels.max() + 1, TOPICS), dtype=np.int64)
    np.add.at(counts, (labels, topics), 1)
    return int(np.unique(topics).size - np.unique(counts[counts.any(axis=1)].argmax(1)).size)


def score_of(seed: int, k: int, most: int = ScoreConfig().max_iterations) -> ScoreConfig:
    """All columns are kept, so that every way has the rows that the pass of projection writes."""
    return ScoreConfig(k=k, seeds=1, seed=seed, explained_variance=1.0, max_iterations=most)


def plan_for(folder: Path, score: ScoreConfig, sample_rows: int = SAMPLE_ROWS) -> Plan:
    candidates = {"model": folder / "model"}
    return plan_of(folder / HUMAN, candidates, encoder=None, score=score, sample_rows=sample_rows)


def _sharded(asked: Asked, fit: Fit, plan: Plan, start: NDArray[np.float64] | None = None) -> Found:
    folder = asked.path("work")
    shutil.rmtree(folder, ignore_errors=True)
    work, engine = Work.begin(folder, plan), LocalEngine(WORKERS)
    if start is not None:
        work.finish(start_path(work, "model", 0), arrays={"centers": start})

    def watch(name: str, done: int, _: int) -> None:
        if (name, done) == ("project", 0):
            fit.begin()
        elif (name, done) == ("label", 0):
            fit.end()

    found = compare_shards(work, engine, progress=watch)
    engine.close()
    state = read_state(work, "model")
    passes = {each.name: each.seconds for each in found.passes if each.name in ("project", "start", "sum")}
    shutil.rmtree(folder)
    return Found(state.centers[0], str(state.iterations[0]), {"passes": passes})


def sharded_whole(asked: Asked, fit: Fit) -> Found:
    return _sharded(asked, fit, plan_for(Path(asked.folder), score_of(asked.seed, asked.k)))


def sharded_quarter(asked: Asked, fit: Fit) -> Found:
    sample = len(np.load(asked.path("rows.npy"), mmap_mode="r")) // 4
    return _sharded(asked, fit, plan_for(Path(asked.folder), score_of(asked.seed, asked.k), sample))


def sharded_given(asked: Asked, fit: Fit) -> Found:
    """A number of iterations: the rule by which a comparison stops is switched off."""
    comparison.LEAST_GAIN = -np.inf
    score = score_of(asked.seed, asked.k, asked.iterations)
    return _sharded(asked, fit, plan_for(Path(asked.folder), score), asked.start())


def in_memory(asked: Asked, fit: Fit) -> Found:
    rows, score = asked.rows(), score_of(asked.seed, asked.k)
    seed = clustering_seeds(score)["pairwise"][0]
    fit.begin()
    found = kmeans(rows, asked.k, restarts=1, max_iterations=score.max_iterations, seed=seed)
    fit.end()
    return Found(found.centers, str(found.iterations))


def in_memory_given(asked: Asked, fit: Fit) -> Found:
    rows, start = asked.rows(), asked.start()
    fit.begin()
    measured = Rows(rows)
    run = Lloyd(measured, asked.k, *measured.nearest(start.astype(np.float32)))
    run.run(asked.iterations - 1)  # the first assignment, above, is the first iteration
    fit.end()
    return Found(run.centers(), str(run.iterations + 1))


def plain_given(asked: Asked, fit: Fit) -> Found:
    """Lloyd's iterations as they are written down, in float64."""
    rows, centers = asked.rows().astype(np.float64), asked.start()
    fit.begin()
    for _ in range(asked.iterations):
        squares = (centers**2).sum(1)
        labels = np.concatenate(
            [(squares - 2 * part @ centers.T).argmin(1) for part in np.array_split(rows, WORKERS * 8)]
        )
        sums = [np.bincount(labels, weights=column, minlength=asked.k) for column in rows.T]
        centers = np.stack(sums, axis=1) / np.bincount(labels, minlength=asked.k)[:, None]
    fit.end()
    return Found(centers, str(asked.iterations))


def scikit(asked: Asked, fit: Fit) -> Found:
    from sklearn.cluster import KMeans

    rows = asked.rows()
    fit.begin()
    found = KMeans(asked.k, n_init=1, random_state=asked.seed).fit(rows)
    fit.end()
    return Found(found.cluster_centers_, str(found.n_iter_))


def scikit_given(asked: Asked, fit: Fit) -> Found:
    from sklearn.cluster import KMeans

    rows, start = asked.rows(), asked.start().astype(np.float32)
    fit.begin()
    found = KMeans(asked.k, init=start, n_init=1, max_iter=asked.iterations, tol=0).fit(rows)
    fit.end()
    return Found(found.cluster_centers_, str(found.n_iter_))


def scikit_batches(asked: Asked, fit: Fit) -> Found:
    from sklearn.cluster import MiniBatchKMeans

    rows = asked.rows()
    fit.begin()
    found = MiniBatchKMeans(asked.k, n_init=1, random_state=asked.seed).fit(rows)
    fit.end()
    return Found(found.cluster_centers_, f"{found.n_steps_} batches")


def _spark(asked: Asked) -> tuple[Any, Any, str]:
    """A session, its cached frame of the rows, and what its products are computed by."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "OPENBLAS_NUM_THREADS": "1"}  # tasks have the cores
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    session = SparkSession.builder.master(f"local[{WORKERS}]").config(map=options).getOrCreate()
    table = session.read.parquet(str(asked.path("rows.parquet"))).select(array_to_vector("x").alias("features"))
    frame = table.repartition(len(list(asked.path("").glob("*/*.npy")))).cache()
    frame.count()
    native = session._jvm.java.lang.Class.forName("dev.ludovic.netlib.blas.NativeBLAS")
    try:
        native.getMethod("getInstance", None).invoke(None, None)
    except Exception:  # noqa: BLE001 - py4j has one class for all that Java raises
        return session, frame, "Java's vectors"
    return session, frame, "libblas.so.3"


def _mllib(asked: Asked, fit: Fit, **settings: Any) -> Found:
    session, frame, products = _spark(asked)
    from pyspark.ml.clustering import KMeans

    KMeans(k=min(asked.k, 50), maxIter=2, seed=asked.seed, solver="block").fit(frame)  # the code is compiled meanwhile
    fit.begin()
    found = KMeans(k=asked.k, seed=asked.seed, solver="block", **settings).fit(frame)
    fit.end()
    centers, iterations = np.array(found.clusterCenters()), found.summary.numIter
    session.stop()
    return Found(centers, str(iterations), {"products": products})


def mllib(asked: Asked, fit: Fit) -> Found:
    return _mllib(asked, fit)


def mllib_as_long(asked: Asked, fit: Fit) -> Found:
    return _mllib(asked, fit, maxIter=asked.iterations, tol=0.0)


def memory_from_mllib(asked: Asked, fit: Fit) -> Found:
    """Our iterations, to rest, from the centers that MLlib draws under the same seed."""
    session, frame, _ = _spark(asked)
    from pyspark.ml.clustering import KMeans

    rows = asked.rows()
    fit.begin()
    start = np.array(KMeans(k=asked.k, seed=asked.seed, solver="block", maxIter=0).fit(frame).clusterCenters())
    measured = Rows(rows)
    run = Lloyd(measured, asked.k, *measured.nearest(start.astype(np.float32)))
    run.run(ScoreConfig().max_iterations)
    fit.end()
    session.stop()
    return Found(run.centers(), str(run.iterations))


def mllib_given(asked: Asked, fit: Fit) -> Found:
    """Only MLlib's older interface takes first centers; it measures row by row, and Python hands it the rows."""
    session, frame, _ = _spark(asked)
    from pyspark.mllib.clustering import KMeans, KMeansModel
    from pyspark.mllib.linalg import Vectors

    rows = frame.rdd.map(lambda row: Vectors.dense(row.features.toArray())).cache()
    rows.count()
    start = KMeansModel(list(asked.start()))
    KMeans.train(rows, asked.k, maxIterations=1, initialModel=start, epsilon=0.0)
    fit.begin()
    found = KMeans.train(rows, asked.k, maxIterations=asked.iterations, initialModel=start, epsilon=0.0)
    fit.end()
    centers = np.array(found.clusterCenters)
    session.stop()
    return Found(centers, str(asked.iterations))


OUR_START = f"k-means++ in batches on {START_ROWS:,} of the rows"
GAIN = f"gain below {comparison.LEAST_GAIN:g}"
SHIFT = "squared shifts of the centers sum to less than 1e-4 of a column's variance, or 300"
WAYS = {
    "shards": Way("ours over shards", f"{OUR_START}, iterations on all until nothing moves", GAIN, sharded_whole),
    "quarter": Way(
        "ours over shards, start on a quarter",
        f"k-means++ in batches and at most {START_ITERATIONS} iterations on a quarter of the rows",
        GAIN,
        sharded_quarter,
    ),
    "memory": Way("ours in memory", OUR_START, "nothing moves, or 500", in_memory),
    "scikit": Way("scikit-learn KMeans", "k-means++", SHIFT, scikit, "sklearn"),
    "batches": Way(
        "scikit-learn MiniBatchKMeans",
        "k-means++ on 3,072 rows",
        "10 batches of 1,024 without gain, or 100 epochs",
        scikit_batches,
        "sklearn",
    ),
    "mllib": Way("MLlib KMeans", "k-means\\|\\|, 2 steps", "all shifts below 1e-4, or 20", mllib, "pyspark", rounds=2),
    "mllib-long": Way(
        "MLlib KMeans, as long as ours",
        "k-means\\|\\|, 2 steps",
        "iterations of ours in memory",
        mllib_as_long,
        "pyspark",
        rounds=2,
    ),
    "memory-mllib": Way(
        "ours in memory, from MLlib's start",
        "k-means\\|\\|, 2 steps",
        "nothing moves, or 500",
        memory_from_mllib,
        "pyspark",
        rounds=2,
    ),
}
GIVEN = {
    "given-plain": Way("plain NumPy, float64", "", "", plain_given),
    "given-shards": Way("ours over shards", "", "", sharded_given),
    "given-memory": Way("ours in memory", "", "", in_memory_given),
    "given-scikit": Way("scikit-learn KMeans", "", "", scikit_given, "sklearn"),
    "given-mllib": Way("MLlib's older KMeans, row by row", "", "", mllib_given, "pyspark", rounds=1),
}


Table = tuple[list[str], list[list[str]]]


def prepared(args: argparse.Namespace) -> Path:
    """The folder of the shards, with their coordinates in one file for those who read no shards, and first centers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = made(args.workdir, args.rows, args.shards, args.dimension)[HUMAN].parent
    shutil.rmtree(folder / "work", ignore_errors=True)
    work, engine = Work.begin(folder / "work", plan_for(folder, score_of(0, 2, 1))), LocalEngine(WORKERS)
    compare_shards(work, engine)
    engine.close()
    rows = np.concatenate([np.load(coordinates_path(work, "model", *shard)) for shard in shards_of(work, "model")])
    shutil.rmtree(folder / "work")
    write_array(folder / "rows.npy", rows)
    topics = [np.load(path) for side in (HUMAN, "model") for path in sorted((folder / "topics" / side).glob("*.npy"))]
    write_array(folder / "topics.npy", np.concatenate(topics))
    columns = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1]).cast(pa.list_(pa.float32()))
    pq.write_table(pa.table({"x": columns}), folder / "rows.parquet")
    for seed in range(args.seeds):
        drawn = np.random.default_rng([seed, args.k]).choice(len(rows), args.k, replace=False)
        write_array(folder / f"start{seed}.npy", rows[np.sort(drawn)].astype(np.float64))
    return folder


def carried_out(asked: Asked) -> dict[str, Any]:
    """One way, in this process."""
    fit = Fit(asked.launched)
    found = {**WAYS, **GIVEN}[asked.way].fit(asked, fit)
    write_array(asked.path("centers.npy"), np.asarray(found.centers, dtype=np.float64))
    return {"way": asked.way, "seed": asked.seed, "iterations": found.iterations, **found.notes, **fit.measured}


def measured(folder: Path, rows: NDArray[np.float32], k: int, way: str, seed: int, iterations: int) -> dict[str, Any]:
    """One way in a process of its own."""
    asked = Asked(way, seed, k, str(folder), iterations, time.monotonic())
    done = subprocess.run([sys.executable, __file__, "--one", json.dumps(asked)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    labels, found["objective"] = assigned(rows, np.load(folder / "centers.npy"))
    found["without"] = without_cluster(np.load(folder / "topics.npy"), labels)
    human, model = (np.bincount(side, minlength=k) for side in np.split(labels, 2))
    found["mauve"] = float(score_counts(human, model)["mauve"])
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


def rounds(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All that is measured, in the order of time."""
    rows, found = np.load(folder / "rows.npy"), []
    present = {name: way for name, way in {**WAYS, **GIVEN}.items() if not way.missing()}
    for seed in range(args.seeds):
        names = [name for name, way in present.items() if name != LONG and (way.rounds is None or seed < way.rounds)]
        first = seed * len(names) // args.seeds
        iterations = dict.fromkeys(GIVEN, GIVEN_ITERATIONS)
        for name in names[first:] + names[:first]:
            found.append(measured(folder, rows, args.k, name, seed, iterations.get(name, 0)))
        if LONG in present and seed < (present[LONG].rounds or args.seeds):
            ours = next(int(one["iterations"]) for one in found if (one["way"], one["seed"]) == (MEMORY, seed))
            found.append(measured(folder, rows, args.k, LONG, seed, ours))
    return found


def spread(values: Sequence[float], decimals: int | None = None) -> str:
    sd = statistics.stdev(values) if len(values) > 1 else None
    return with_plain_spaces(with_spread(statistics.mean(values), sd, decimals))


def beside(found: list[dict[str, Any]], way: str, ours: str, what: str, decimals: int | None = None) -> str:
    """Mean and spread of the ratios to ours of the same round."""
    own = {one["seed"]: one[what] for one in found if one["way"] == ours}
    return (
        spread([one[what] / own[one["seed"]] for one in found if one["way"] == way], decimals) if way != ours else "1"
    )


def reached(found: list[dict[str, Any]]) -> Table:
    header = ["way", "start", "stops when", "iterations", "objective", "/ ours", "topics without a cluster", "MAUVE"]
    rows = []
    for name, way, own in done(found, WAYS):
        cells = [way.name, way.start, way.stop, ", ".join(one["iterations"] for one in own)]
        cells += [spread([one["objective"] for one in own]), beside(found, name, OURS, "objective", 5)]
        rows.append([*cells, *(spread([one[what] for one in own]) for what in ("without", "mauve"))])
    return header, rows


def taken(found: list[dict[str, Any]]) -> Table:
    header = ["way", "seconds", "/ ours", "processor seconds", "/ ours", "start-up", "peak memory"]
    rows = []
    for name, way, own in done(found, WAYS):
        cells = [way.name]
        for what in ("seconds", "processor"):
            cells += [spread([one[what] for one in own]), beside(found, name, OURS, what)]
        cells.append(f"{statistics.mean(one['start_up'] for one in own):.1f} s")
        rows.append([*cells, f"{max(one['bytes'] for one in own) / 2**30:.2f} GiB"])
    return header, rows


def given(found: list[dict[str, Any]]) -> Table:
    """Ratios less 1 of each round, so that digits far behind the point show."""
    plain = {one["seed"]: one["objective"] for one in found if one["way"] == PLAIN}
    rows = [
        [way.name, ", ".join(f"{one['objective']:.4f}" for one in own),
         ", ".join(f"{one['objective'] / plain[one['seed']] - 1:+.1e}" for one in own),
         spread([one["processor"] for one in own])]
        for _, way, own in done(found, GIVEN)
    ]  # fmt: skip
    return ["way", "objectives", "/ plain - 1", "processor seconds"], rows


def why(found: list[dict[str, Any]]) -> str:
    """What objectives have to do with topics, and with the start."""
    own = [one for one in found if one["way"] in WAYS and one["way"] != BATCHES]
    without, objectives = ([one[what] for one in own] for what in ("without", "objective"))
    if len(set(without)) < 2:
        return ""
    together, slope = statistics.correlation(without, objectives), statistics.linear_regression(without, objectives)[0]
    text = f"""An objective follows the topics without a cluster: over all fits but those in mini-batches, their
correlation is {together:.2f}, and a topic costs {slope:.1f}. The start decides which topics these are; iterations
seldom win one back."""
    ended = {way: {one["seed"]: one["objective"] for one in found if one["way"] == way} for way in (FROM_MLLIB, LONG)}
    if not ended[LONG]:
        return text
    apart = max(abs(ended[FROM_MLLIB][seed] / theirs - 1) for seed, theirs in ended[LONG].items())
    return f"""{text}
k-means++, ours and scikit-learn's, begins with single rows, which lie far from the middle of their topic; k-means||
draws about four times k rows, puts them into k groups and begins with the means of these. From its centers, our own
iterations end within {apart:.2%} of where MLlib's end, so the difference is that of the starts."""


def done(found: list[dict[str, Any]], ways: dict[str, Way]) -> list[tuple[str, Way, list[dict[str, Any]]]]:
    """Each way that was measured, and its rounds."""
    every = [(name, way, [one for one in found if one["way"] == name]) for name, way in ways.items()]
    return [each for each in every if each[2]]


def left_out() -> str:
    missing = sorted({way.needs for way in (*WAYS.values(), *GIVEN.values()) if way.needs and way.missing()})
    return "\n".join(f"{name} is not installed here, so its rows are missing." for name in missing)


def report(args: argparse.Namespace, found: list[dict[str, Any]]) -> str:
    passes = [one["passes"] for one in found if one["way"] == OURS]
    parts = ", ".join(f"{name} {statistics.mean(one[name] for one in passes):.1f} s" for name in passes[0])
    by = " or ".join(sorted({one["products"] for one in found if "products" in one}))
    products = f' MLlib runs as `local[{WORKERS}]` with its faster solver "block" and multiplies by {by}.' if by else ""
    return page(
        "K-means over shards and of libraries",
        f"""{args.rows:,} made-up rows of {args.dimension} columns in {args.shards} shards, k = {args.k}; {args.seeds}
seeds, a round each, of which MLlib does two or one; mean ± standard deviation. All cluster the same rows, and one
function computes every objective from the centers, in float64. / ours is the ratio to the first row of the same
round.""",
        table(*reached(found)),
        f"""Iterations over shards are those of the pass sum alone. A topic without a cluster is the most frequent one
in none; the rows are of {TOPICS} topics. MAUVE is that of the two sides in the partition that the centers make.""",
        why(found),
        left_out(),
        "## What it takes",
        f"""Seconds are those of the fit; other work on the machine lengthens them, processor seconds less. Memory is
that of all processes of a way. Over shards, {WORKERS} workers do the passes project, start and sum; their mean seconds:
{parts}. The start of a seed is one task, so with one seed one worker waits.{products}""",
        table(*taken(found)),
        "## From the same centers",
        f"""{GIVEN_ITERATIONS} of Lloyd's iterations from {args.k} rows drawn at random, with every rule to stop
switched off. A row that is as near to one center as to another to the last digit of float32 may go to either; the
iterations that follow magnify that, upward or downward alike.""",
        table(*given(found)),
        packages=("numpy", "scikit-learn", *(["pyspark"] if not WAYS["mllib"].missing() else [])),
    )


def main() -> None:
    parser = arguments(__doc__, rows=200_000, dimension=48, shards=8, k=500, seeds=3)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--pyspark", type=Path, metavar="SITE", help="where pip installed pyspark")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        print(json.dumps(carried_out(Asked(*args.one))))
        return
    if args.pyspark is not None:
        site = str(args.pyspark.absolute())
        sys.path.append(site)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), site]))
    write(report(args, rounds(args, prepared(args))), args.out)


if __name__ == "__main__":
    main()
