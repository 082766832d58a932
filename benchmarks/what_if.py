"""Processor time of one what-if on fixed clusters beside clustering again, and of the greedy list and of trust.

    python benchmarks/what_if.py [--texts 10000] [--k 500] [--out benchmarks/results/what_if.md]

Features are made up: topics of different size, drawn with other weights on either side.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.files import write_atomically
from mauve_core.clusters.k_means import kmeans
from mauve_core.stats.divergences import score_counts
from mauve_core.stats.stability import cluster_stability
from mauve_core.stats.what_if import dropped, greedy, weighted_counts

TOPICS, DIMENSION, SEEDS, ROUNDS = 40, 64, 5, 9


def made_up(texts: int, seed: int) -> tuple[NDArray[np.float32], int]:
    """(texts, DIMENSION) features, the first half P's; and the size of that half."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(TOPICS, DIMENSION))
    sides = [rng.choice(TOPICS, size=texts // 2, p=rng.dirichlet(np.full(TOPICS, 5.0))) for _ in range(2)]
    topics = np.concatenate(sides)
    return (centres[topics] + 0.7 * rng.normal(size=(topics.size, DIMENSION))).astype(np.float32), texts // 2


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Median processor time of a call."""
    found = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        found.append(1e3 * (time.process_time() - started))
    return statistics.median(found)


def report(texts: int, k: int, rounds: int, command: str) -> str:
    features, n = made_up(texts, seed=0)
    labels = [kmeans(features, k, restarts=1, seed=np.random.SeedSequence(seed)).labels for seed in range(SEEDS)]
    p, q = (np.bincount(side, minlength=k) for side in np.split(labels[0], [n]))
    chosen = [int(cluster) for cluster in np.argsort(q - p)[-3:]]
    keep = dropped(k, chosen)
    by_text = keep[labels[0]]

    def again() -> object:
        """The texts that are kept, counted again in the same clusters."""
        sides = zip(np.split(labels[0], [n]), np.split(by_text, [n]), strict=True)
        return score_counts(*(weighted_counts(side, k, weights) for side, weights in sides))

    by_cluster = score_counts(p * keep, q * keep)
    recounted = again()
    largest = max(float(abs(by_cluster[name] - recounted[name])) for name in by_cluster)  # type: ignore[index]
    afresh = milliseconds(lambda: kmeans(features[by_text > 0], k, restarts=1, seed=np.random.SeedSequence(9)), 3)
    rows = [
        (
            "one what-if, weights by cluster",
            milliseconds(lambda: score_counts(p * keep, q * keep), rounds),
        ),
        ("one what-if, weights by text", milliseconds(again, rounds)),
        ("greedy list, 10 steps", milliseconds(lambda: greedy(p, q, steps=10), 3)),
        (
            f"trust, {SEEDS} partitions, 1,000 exchanges of sides",
            milliseconds(lambda: cluster_stability(labels, n, k=k, permutations=1000, seed=0), 3),
        ),
    ]
    lines = "\n".join(f"| {what} | {spent:.1f} | {afresh / spent:,.1f} |" for what, spent in rows)
    return f"""# What-if on fixed clusters

    {command}

{texts:,} texts, half on each side, k = {k:,}, {DIMENSION} dimensions; processor time, medians. Three clusters are
dropped.
Largest difference of a score from counting the kept texts again in the same clusters: {largest:.1e}.

| work | ms | one k-means start on the kept texts / this |
| --- | --- | --- |
{lines}
| one k-means start | {afresh:.0f} | 1 |

numpy {version("numpy")}, Python {platform.python_version()}, one thread where OMP_NUM_THREADS=1 is set.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--k", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = "" if options.out is None else f" --out {options.out}"
    command = f"python benchmarks/what_if.py --texts {options.texts} --k {options.k}{out}"
    page = report(options.texts, options.k, options.rounds, command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
