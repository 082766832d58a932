"""How often trust calls clusters stable on real features: where nothing differs, and where a topic was planted.

    python benchmarks/trust_calibration.py demo [--out benchmarks/results/trust_calibration.md]

Nothing differs: random halves of the run's human texts. Planted: two draws from all texts of the run, in one of which
the texts of a topic, a cluster of another clustering, count so many times as often.
"""

from __future__ import annotations

import numpy as np
from frame import arguments, page, table, write
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.clusters.k_means import kmeans, tenth_of_texts
from mauve_core.clusters.reduction import reduce_features
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from mauve_core.stats.stability import LABELS, Stability, cluster_stability

SEEDS, TEXTS, TOPICS = 5, 1000, 40
FACTORS = (1.5, 2.0, 3.0)

Features = NDArray[np.float32]


def judged(first: Features, second: Features, rng: Generator) -> tuple[Stability, NDArray[np.int32]]:
    """Trust in the clusters of the first of some k-means seeds, and its labels, the first side's texts first."""
    reduced = reduce_features(np.concatenate([first, second])).array
    k = tenth_of_texts(len(first), len(second))
    seeds = [SeedSequence(int(rng.integers(2**63))) for _ in range(SEEDS + 1)]
    labels = [kmeans(reduced, k, restarts=1, seed=seed).labels for seed in seeds[:-1]]
    return cluster_stability(labels, len(first), k=k, seed=seeds[-1]), labels[0]


def nothing_differs(human: Features, splits: int, rng: Generator) -> list[Stability]:
    found = []
    for _ in range(splits):
        order = rng.permutation(len(human))
        half = len(human) // 2
        found.append(judged(human[order[:half]], human[order[half : 2 * half]], rng)[0])
    return found


def planted(pool: Features, topics: NDArray[np.int32], factor: float, draws: int, rng: Generator) -> list[str]:
    """What the cluster with most of the topic's texts is called, each time another topic."""
    found = []
    for _ in range(draws):
        topic = int(rng.integers(TOPICS))
        weights = np.where(topics == topic, factor, 1.0)
        first = rng.choice(len(pool), TEXTS, replace=False)
        rest = np.setdiff1d(np.arange(len(pool)), first)
        second = rng.choice(rest, TEXTS, replace=False, p=weights[rest] / weights[rest].sum())
        trust, labels = judged(pool[first], pool[second], rng)
        drawn = np.concatenate([first, second])
        where = np.bincount(labels[topics[drawn] == topic], minlength=len(trust.label)).argmax()
        found.append(str(trust.label[where]))
    return found


def report(run: Run, splits: int, draws: int) -> str:
    rng = np.random.default_rng(0)
    features = stored_features(run)
    human = np.asarray(features[HUMAN])
    tested = nothing_differs(human, splits, rng)
    labels = np.concatenate([trust.label for trust in tested])
    some = np.mean([(trust.label == "stable").any() for trust in tested])
    rows = [[name, f"{np.mean(labels == name):.2%}"] for name in LABELS]
    pool = np.concatenate([np.asarray(array) for array in features.values()])
    reduced = reduce_features(pool).array
    topics = kmeans(reduced, TOPICS, restarts=1, seed=SeedSequence(1)).labels
    called = {factor: planted(pool, topics, factor, draws, rng) for factor in FACTORS}
    size = float(np.median(np.bincount(topics)) / len(pool))
    lines = [
        [f"{factor:g}", *(f"{np.mean([one == name for one in names]):.0%}" for name in LABELS)]
        for factor, names in called.items()
    ]
    return page(
        "Calibration of trust on real features",
        "## Nothing differs",
        f"""{splits} random halves of the {len(human)} human texts of {run.id}, {SEEDS} k-means seeds; {len(labels):,}
clusters in all.""",
        table(["label", "share of clusters"], rows),
        f"{some:.1%} of the splits have a stable cluster at all.",
        "## A planted topic",
        f"""Two draws of {TEXTS:,} from the {len(pool):,} texts of all sources, {draws} times for each factor. A topic
is one of {TOPICS} clusters of another clustering, chosen at random; the median topic has {size:.1%} of the texts. What
is called so: the cluster with most of the topic's texts.""",
        table(["the topic counts times", "stable", "unsure", "noise"], lines),
    )


if __name__ == "__main__":
    parser = arguments(__doc__, splits=200, draws=40)
    parser.add_argument("run", nargs="?", default="demo", metavar="RUN")
    options = parser.parse_args()
    write(report(RunStore().load(options.run), options.splits, options.draws), options.out)
