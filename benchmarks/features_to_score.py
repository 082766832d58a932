"""From features to MAUVE, and k-means by itself, beside mauve-text and the libraries that one could take instead.

    python benchmarks/features_to_score.py [--texts 5000] [--dimension 1280] [--k 500] [--rounds 5] [--out FILE]

Features are made up (see benchmarks/peer.py): their standard deviation falls with the component's rank, slowly (many
components reach 90 % of the variance) or fast. All ways get the same arrays and run in turn, each with its defaults; a
ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import faiss
import mauve
import numpy as np
from numpy.typing import NDArray
from peer import best_objective, in_turn, made_up_sides, printed_by, processor, ratio
from sklearn.cluster import KMeans

from mauve_core.base.files import write_atomically
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.scoring.compute_mauve import compute_mauve

# Powers of the rank with which standard deviations fall.
DECAYS = (0.3, 0.5, 0.7)


def scores(p: NDArray[np.float32], q: NDArray[np.float32], k: int, rounds: int) -> str:
    """A row of the table of whole calls."""
    stacked = np.concatenate([q, p])

    def peer(seed: int) -> tuple[float, float]:
        found, printed = printed_by(
            lambda: mauve.compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=seed, verbose=True)
        )
        return float(found.mauve), best_objective(printed)

    def ours(seed: int) -> tuple[float, float]:
        return compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=seed).mauve, float("nan")

    seconds, results = in_turn({"peer": peer, "ours": ours}, rounds)
    reduced = reduce_features(stacked)
    own = [kmeans(reduced.array, k, seed=np.random.SeedSequence(seed).spawn(2)[0]).objective for seed in range(rounds)]
    theirs = [objective for _, objective in results["peer"]]
    means = {name: np.mean([score for score, _ in found]) for name, found in results.items()}
    times = " | ".join(f"{statistics.median(seconds[name]):.2f} s" for name in ("peer", "ours"))
    return (
        f"| {reduced.array.shape[1]} | {times} | **{ratio(seconds, 'peer', 'ours')}**"
        f" | {np.mean(theirs):,.0f} | {np.mean(own):,.0f}"
        f" | {means['peer']:.4f} | {means['ours']:.4f} |"
    )


def clusterings(p: NDArray[np.float32], q: NDArray[np.float32], k: int, rounds: int) -> list[str]:
    """Rows of the table of k-means by itself, from reduced rows."""
    rows = reduce_features(np.concatenate([q, p])).array

    def by_faiss(seed: int, restarts: int) -> float:
        found = faiss.Kmeans(rows.shape[1], k, niter=500, nredo=restarts, seed=seed, min_points_per_centroid=1)
        found.train(rows)
        return float(found.index.search(rows, 1)[0].sum())

    def by_sklearn(seed: int) -> float:
        return float(KMeans(k, n_init=1, max_iter=500, tol=0, random_state=seed).fit(rows).inertia_)

    ways: dict[str, Callable[[int], Any]] = {
        "ours, 1 start": lambda seed: kmeans(rows, k, restarts=1, seed=seed).objective,
        "ours, 5 starts": lambda seed: kmeans(rows, k, restarts=5, seed=seed).objective,
        "scikit-learn, 1 k-means++ start": by_sklearn,
        "faiss, 1 random start": lambda seed: by_faiss(seed, 1),
        "faiss, 5 random starts": lambda seed: by_faiss(seed, 5),
    }
    seconds, results = in_turn(ways, rounds)
    own = "ours, 1 start"
    return [
        f"| {rows.shape[1]} | {name} | {statistics.median(seconds[name]):.2f} s | {ratio(seconds, name, own)}"
        f" | {np.mean(results[name]):,.1f} | {np.std(results[name], ddof=1):.1f} |"
        for name in ways
    ]


def report(texts: int, dimension: int, k: int, rounds: int, command: str) -> str:
    whole, alone = [], []
    for decay in DECAYS:
        p, q = made_up_sides(texts, dimension, decay=decay, seed=0)
        whole.append(scores(p, q, k, rounds))
        alone += clusterings(p, q, k, rounds)
    lines, others = "\n".join(whole), "\n".join(alone)
    return f"""# From features to a score

    {command}

{processor()}; medians of {rounds} rounds in which all ways ran in turn. {texts:,} + {texts:,} made-up features of
dimension {dimension:,}, k = {k:,}. An objective is the sum of squared distances to the own centre, in the same space
for all; lower is better.

`compute_mauve` with the defaults of both, 5 restarts each:

| components | mauve-text | ours | ratio (least to most) | objective, mauve-text | ours | MAUVE, mauve-text | ours |
| --- | --- | --- | --- | --- | --- | --- | --- |
{lines}

k-means alone, from the reduced rows; the spread is the standard deviation over seeds:

| components | way | time | time / ours, 1 start | objective | spread |
| --- | --- | --- | --- | --- | --- |
{others}

numpy {version("numpy")}, mauve-text {version("mauve-text")}, faiss {faiss.__version__}, scikit-learn
{version("scikit-learn")}, Python {platform.python_version()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--dimension", type=int, default=1280)
    parser.add_argument("--k", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sizes = f"--texts {options.texts} --dimension {options.dimension} --k {options.k} --rounds {options.rounds}"
    out = "" if options.out is None else f" --out {options.out}"
    page = report(
        options.texts,
        options.dimension,
        options.k,
        options.rounds,
        f"python benchmarks/features_to_score.py {sizes}{out}",
    )
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
