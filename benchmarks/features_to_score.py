"""From features to MAUVE, and k-means by itself, beside mauve-text and the libraries that one could take instead.

    python benchmarks/features_to_score.py [--texts 5000] [--dimension 1280] [--k 500] [--rounds 5] [--out FILE]

Features are made up: their standard deviation falls with the component's rank, slowly (many components reach 90 % of
the variance) or fast. All ways get the same arrays and run in turn, each with its defaults; a ratio is the median over
the rounds.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
from frame import arguments, in_turn, mauve_text, median_and_range, page, ratios, table, write
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.scoring.compute_mauve import compute_mauve

# Powers of the rank with which standard deviations fall.
DECAYS = (0.3, 0.5, 0.7)
TOPICS = 100
WHOLE = ["components", "mauve-text", "ours", "ratio (least to most)", "objective, mauve-text", "ours"]
WHOLE += ["MAUVE, mauve-text", "ours"]
ALONE = ["components", "way", "time", "time / ours, 1 start", "objective", "spread"]

Features = NDArray[np.float32]


def made_up_sides(n: int, d: int, *, decay: float) -> list[Features]:
    """Features of two sides as encoders make them: about a common mean, in topics that each side weighs its own way,
    with standard deviations that fall with the component's rank to the power ``decay``; (n, d) float32 each."""
    random = np.random.default_rng(0)
    deviations = np.arange(1, d + 1) ** -decay
    deviations /= np.linalg.norm(deviations)
    turn = np.linalg.qr(random.normal(size=(d, d)))[0]
    mean = 0.7 * random.normal(size=d) / np.sqrt(d)
    centres = 0.6 * random.normal(size=(TOPICS, d)) * deviations
    made = []
    for _ in range(2):
        topic = random.choice(TOPICS, size=n, p=random.dirichlet(np.ones(TOPICS)))
        rows = centres[topic] + 0.8 * random.normal(size=(n, d)) * deviations
        made.append((rows @ turn + mean).astype(np.float32))
    return made


def scores(p: Features, q: Features, k: int, rounds: int) -> list[str]:
    """A row of the table of whole calls."""
    peer = mauve_text()
    ways: dict[str, Callable[[int], tuple[float, float]]] = {
        "peer": lambda seed: peer(p, q, k, seed),
        "ours": lambda seed: (compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=seed).mauve, np.nan),
    }
    found = in_turn(ways, rounds)
    rows = reduce_features(np.concatenate([q, p])).array
    own = [kmeans(rows, k, seed=np.random.SeedSequence(seed).spawn(2)[0]).objective for seed in range(rounds)]
    means = {name: np.mean([each.result for each in own_rounds], axis=0) for name, own_rounds in found.items()}
    times = [f"{statistics.median(each.wall for each in found[name]):.2f} s" for name in ("peer", "ours")]
    objectives = [f"{mean:,.0f}" for mean in (means["peer"][1], np.mean(own))]
    values = [f"{means[name][0]:.4f}" for name in ("peer", "ours")]
    ratio = f"**{median_and_range(ratios(found, 'peer', 'ours'))}**"
    return [str(rows.shape[1]), *times, ratio, *objectives, *values]


def clusterings(p: Features, q: Features, k: int, rounds: int) -> list[list[str]]:
    """Rows of the table of k-means by itself, from reduced rows."""
    rows = reduce_features(np.concatenate([q, p])).array

    def by_faiss(seed: int, restarts: int) -> float:
        found = faiss.Kmeans(rows.shape[1], k, niter=500, nredo=restarts, seed=seed, min_points_per_centroid=1)
        found.train(rows)
        return float(found.index.search(rows, 1)[0].sum())

    def by_sklearn(seed: int) -> float:
        return float(KMeans(k, n_init=1, max_iter=500, tol=0, random_state=seed).fit(rows).inertia_)

    own = "ours, 1 start"
    ways: dict[str, Callable[[int], Any]] = {
        own: lambda seed: kmeans(rows, k, restarts=1, seed=seed).objective,
        "ours, 5 starts": lambda seed: kmeans(rows, k, restarts=5, seed=seed).objective,
        "scikit-learn, 1 k-means++ start": by_sklearn,
        "faiss, 1 random start": lambda seed: by_faiss(seed, 1),
        "faiss, 5 random starts": lambda seed: by_faiss(seed, 5),
    }
    found = in_turn(ways, rounds)
    lines = []
    for name, each in found.items():
        objectives, seconds = [one.result for one in each], statistics.median(one.wall for one in each)
        spread = [f"{np.mean(objectives):,.1f}", f"{np.std(objectives, ddof=1):.1f}"]
        lines.append(
            [str(rows.shape[1]), name, f"{seconds:.2f} s", median_and_range(ratios(found, name, own)), *spread]
        )
    return lines


def report(options: argparse.Namespace) -> str:
    whole, alone = [], []
    for decay in DECAYS:
        sides = made_up_sides(options.texts, options.dimension, decay=decay)
        whole.append(scores(*sides, options.k, options.rounds))
        alone += clusterings(*sides, options.k, options.rounds)
    return page(
        "From features to a score",
        f"""Medians of {options.rounds} rounds in which all ways ran in turn. {options.texts:,} + {options.texts:,}
made-up features of dimension {options.dimension:,}, k = {options.k:,}. An objective is the sum of squared distances to
the own centre, in the same space for all; lower is better.""",
        "`compute_mauve` with the defaults of both, 5 restarts each:",
        table(WHOLE, whole),
        "k-means alone, from the reduced rows; the spread is the standard deviation over seeds:",
        table(ALONE, alone),
        packages=("numpy", "mauve-text", "faiss-cpu", "scikit-learn"),
    )


if __name__ == "__main__":
    options = arguments(__doc__, texts=5000, dimension=1280, k=500, rounds=5).parse_args()
    write(report(options), options.out)
