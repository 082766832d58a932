"""Ways of benchmarks/shards_peers.py to cluster the same rows."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shards_peers_fit import Asked, Fit, Found, Way

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.clusters.k_means import START_ROWS, kmeans
from mauve_core.clusters.lloyd import Lloyd, Rows
from mauve_core.scoring.partitioning import clustering_seeds
from mauve_core.shards import comparison
from mauve_core.shards.clustering import START_ITERATIONS, read_state, start_path
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import SAMPLE_ROWS, Plan, Work, plan_of

WORKERS = 2


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


def cuml(asked: Asked, fit: Fit) -> Found:
    from cuml.cluster import KMeans

    rows = asked.rows()
    KMeans(n_clusters=asked.k, n_init=1, max_iter=1, output_type="numpy").fit(rows)  # the device is ready afterwards
    fit.begin()
    found = KMeans(n_clusters=asked.k, n_init=1, random_state=asked.seed, output_type="numpy").fit(rows)
    fit.end()
    return Found(np.asarray(found.cluster_centers_, dtype=np.float64), str(found.n_iter_))


OURS = f"k-means++ in batches on {START_ROWS:,} of the rows"
GAIN = f"gain below {comparison.LEAST_GAIN:g}"
SHIFT = "squared shifts of the centers sum to less than 1e-4 of a column's variance, or 300"
WAYS = {
    "shards": Way("ours over shards", f"{OURS}, iterations on all until nothing moves", GAIN, sharded_whole),
    "quarter": Way(
        "ours over shards, start on a quarter",
        f"k-means++ in batches and at most {START_ITERATIONS} iterations on a quarter of the rows",
        GAIN,
        sharded_quarter,
    ),
    "memory": Way("ours in memory", OURS, "nothing moves, or 500", in_memory),
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
    "cuml": Way("cuML KMeans", "k-means\\|\\|", "its default tolerance 1e-4, or 300", cuml, "cuml"),
}
GIVEN = {
    "given-plain": Way("plain NumPy, float64", "", "", plain_given),
    "given-shards": Way("ours over shards", "", "", sharded_given),
    "given-memory": Way("ours in memory", "", "", in_memory_given),
    "given-scikit": Way("scikit-learn KMeans", "", "", scikit_given, "sklearn"),
    "given-mllib": Way("MLlib's older KMeans, row by row", "", "", mllib_given, "pyspark", rounds=1),
}
