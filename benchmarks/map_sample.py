"""The map fitted on a sample beside the map fitted on all, in umap-learn with either search and in torch, as on a GPU.

    python benchmarks/map_sample.py [--settings 6000:1500:5 40000:20000:1] [--features FILE.npy] \
        [--out benchmarks/results/map_sample.md]

A setting is texts:fitted:rounds. Features are made up (topics of different size and spread), or rows of a file. The
first map of a process, for which UMAP with its own search compiles, is timed in processes of their own.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from mauve_core.base.files import write_atomically
from mauve_core.clusters.projection import NEIGHBOURS, PLACED_BY, placed, project, reducer_of, sampled_rows
from mauve_core.clusters.reduction import reduce_features
from mauve_core.stats.threads import openmp_threads_kept

# JUDGED: rows of the subsample on which neighbourhoods are judged.
TOPICS, DIMENSION, JUDGED = 60, 256, 4_000
# Texts of the map that is a process's first.
FIRST = (1_000, 6_000)

FULL, OWN = "fitted on all", "fitted on all, UMAP's own search"
IN_TORCH = "fitted on all, in torch on the CPU"
SAMPLE, TRANSFORM = f"placed, median of {PLACED_BY}", "placed by UMAP's transform"
MEAN, NEAREST = f"placed, mean of {PLACED_BY}", "placed on the nearest"
Positions = NDArray[np.float32]


def made_up(n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(n, DIMENSION) features, and the topic of each."""
    rng = np.random.default_rng(seed)
    spread = (1 + np.arange(DIMENSION)) ** -0.75
    centres = rng.normal(size=(TOPICS, DIMENSION)) * spread
    topics = rng.choice(TOPICS, size=n, p=rng.dirichlet(np.full(TOPICS, 3.0)))
    scale = rng.uniform(0.3, 0.9, size=TOPICS)[topics][:, None]
    x = 1 + centres[topics] + scale * spread * rng.normal(size=(n, DIMENSION))
    return x.astype(np.float32), topics


def drawn(path: Path, n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """n rows of a file, in one stratum."""
    stored = np.load(path, mmap_mode="r", allow_pickle=False)
    if len(stored) < n:
        raise SystemExit(f"{path.name} has {len(stored)} rows, fewer than {n}")
    rows = np.sort(np.random.default_rng(seed).choice(len(stored), n, replace=False))
    return stored[rows].astype(np.float32), np.zeros(n, dtype=np.int64)


def timed(work: Callable[..., Any], *values: Any) -> tuple[Any, float]:
    started = time.process_time()
    found = work(*values)
    return found, time.process_time() - started


def of_umap(work: Callable[..., Any], *values: Any) -> Any:
    """Call UMAP itself, which leaves the process with more threads than it had."""
    with openmp_threads_kept():
        return work(*values)


def one_round(
    x: NDArray[np.float32], strata: NDArray[np.int64], fitted: int, seed: int
) -> dict[str, tuple[float, ...]]:
    """Way -> processor seconds, trustworthiness and continuity."""
    rng = np.random.default_rng([seed, 1])
    rows = sampled_rows(strata, fitted, rng)
    others = np.setdiff1d(np.arange(len(x)), rows)
    whole, whole_s = timed(lambda: project(x, seed=seed))
    own, own_s = timed(lambda: project(x[rows], seed=seed))
    reducer = reducer_of(x[rows], seed)
    searched, searched_s = timed(of_umap, reducer.fit_transform, x[rows])
    near = NearestNeighbors(n_neighbors=PLACED_BY, algorithm="brute").fit(x[rows]).kneighbors(x[others])[1]
    ways = {
        SAMPLE: (own, own_s, *timed(placed, x[others], x[rows], own)),
        TRANSFORM: (searched, searched_s, *timed(of_umap, reducer.transform, x[others])),
        MEAN: (own, own_s, own[near].mean(axis=1), float("nan")),
        NEAREST: (own, own_s, own[near[:, 0]], float("nan")),
    }
    maps = {
        FULL: (whole, whole_s),
        OWN: timed(of_umap, reducer_of(x, seed).fit_transform, x),
        IN_TORCH: timed(lambda: project(x, seed=seed, device="torch:cpu")),
    }
    for way, (fit, fit_s, rest, spent) in ways.items():
        positions = np.empty((len(x), 2), dtype=np.float32)
        positions[rows], positions[others] = fit, rest
        maps[way] = (positions, fit_s + spent)
    judged = np.sort(rng.choice(len(x), min(JUDGED, len(x)), replace=False))
    return {way: (spent, *quality(x[judged], positions[judged])) for way, (positions, spent) in maps.items()}


def quality(x: NDArray[np.float32], positions: Positions) -> tuple[float, float]:
    """Trustworthiness and, with the two spaces exchanged, continuity, in [0, 1] (Venna and Kaski 2001)."""
    forth = trustworthiness(x, positions, n_neighbors=NEIGHBOURS)
    return float(forth), float(trustworthiness(positions, x, n_neighbors=NEIGHBOURS))


def measure(options: argparse.Namespace) -> list[list[str]]:
    """The rows of the table, way by way."""
    found = []
    for n, fitted, rounds in options.settings:
        per_way: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(options.seed, options.seed + rounds):
            x, strata = made_up(n, seed) if options.features is None else drawn(options.features, n, seed)
            reduced = reduce_features(x).array
            for way, values in one_round(reduced, strata, fitted, seed).items():
                per_way.setdefault(way, []).append(values)
            print(f"{n} texts, {fitted} fitted, seed {seed}", file=sys.stderr, flush=True)
        for way, values in per_way.items():
            ratios = [whole[0] / spent[0] for whole, spent in zip(per_way[FULL], values, strict=True)]
            faster = "1" if way == FULL else f"{statistics.median(ratios):.1f} times"
            kept = [f"{statistics.median(column):.4f}" for column in list(zip(*values, strict=True))[1:]]
            cost = [faster, f"{statistics.median(v[0] for v in values):.0f}"] if ratios[0] == ratios[0] else ["", ""]
            found.append(
                [f"{n:,}", "" if way in (FULL, OWN, IN_TORCH) else f"{fitted:,}", str(rounds), way, *cost, *kept]
            )
    return found


def first_maps(texts: int, rounds: int) -> list[list[str]]:
    """The first map of a process, in processes of their own, in turn: UMAP's own search, ours, and torch."""
    start = f"import time, numpy as np; x = np.random.default_rng(0).normal(size=({texts}, 64)).astype(np.float32)"
    lead = "from mauve_core.clusters import projection; import {}; start = time.process_time()"
    ways = {
        OWN: (lead.format("umap"), "projection.reducer_of(x, 0).fit_transform(x)"),
        FULL: (lead.format("umap"), "projection.project(x, seed=0)"),
        IN_TORCH: (lead.format("torch"), "projection.project(x, seed=0, device='torch:cpu')"),
    }
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, work in ways.items():
            code = "; ".join([start, *work, "print(time.process_time() - start)"])
            command = [sys.executable, "-W", "ignore", "-c", code]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            spent[way].append(float(done.stdout))
    found = []
    for way, seconds in spent.items():
        share = statistics.median(ours / own for own, ours in zip(spent[OWN], seconds, strict=True))
        found.append([f"{texts:,}", str(rounds), way, f"{statistics.median(seconds):.1f}", f"{share:.2f}"])
    return found


def table(*lines: list[str]) -> str:
    head, *rows = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def report(rows: list[list[str]], first: list[list[str]], options: argparse.Namespace) -> str:
    heads = ["texts", "fitted", "runs", "way", "faster", "processor s", "trustworthiness", "continuity"]
    first_heads = ["texts", "runs", "way", "processor s", "share"]
    return f"""# Map fitted on a sample

    {options.command}

Medians of runs with other features; "faster" is the median of the ratios within a run, of processor time, the fit on
the sample included. Trustworthiness (neighbours on the map that are neighbours among the features) and continuity (the
other way round) with {NEIGHBOURS} neighbours, on up to {JUDGED:,} of the texts.

{table(heads, *rows)}

The first map of a process, its compilation included:

{table(first_heads, *first)}

The map takes the median of the positions of the {PLACED_BY} nearest fitted texts, found exactly. Means put texts
between two groups into the void, and the nearest alone piles texts up.

{os.cpu_count()} cores, OMP_NUM_THREADS {os.environ.get("OMP_NUM_THREADS", "not set")}, umap-learn \
{version("umap-learn")}, torch {version("torch")}, scikit-learn {version("scikit-learn")}, numpy {version("numpy")}, \
Python {platform.python_version()}, {platform.machine()}.
"""


def setting(text: str) -> tuple[int, int, int]:
    n, fitted, rounds = map(int, text.split(":"))
    return n, fitted, rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", nargs="+", type=setting, default=[(6000, 1500, 5)], metavar="TEXTS:FITTED:ROUNDS")
    parser.add_argument("--features", type=Path, help="rows of this .npy file instead of made-up features")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the page there")
    options = parser.parse_args()
    given = " ".join(":".join(map(str, item)) for item in options.settings)
    options.command = f"python benchmarks/map_sample.py --settings {given}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(umap|numba|pynndescent)(\.|$)")
        x = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)
        of_umap(reducer_of(x, 0).fit, x)  # compiles, here and below
        project(x, seed=0)
        firsts = [line for n in FIRST for line in first_maps(n, rounds=5)]
        page = report(measure(options), firsts, options)
    print(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
