"""Cost of a score against the number of texts, clusters and dimensions, and the memory that it takes.

    python benchmarks/scale.py --workdir FOLDER [--most 1000000] [--compare 100000] [--out benchmarks/results/scale.md]

Features are made up: planted topics around a common mean, variances that fall with the column, float16 on disk, which
is mapped. Each point is a process of its own. What is measured stands in FOLDER/points.json, and a second call takes it
from there, so that an interrupted run goes on; delete that file to measure anew. The features are deleted at the end.
``--most`` is the largest n; ``--compare`` adds a whole comparison of so many texts per side.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from frame import arguments, page, spent, table, write
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from plots import exponent, figure, panel

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.scoring.estimates import TwoSides, basis_of_sides, estimates_of
from mauve_core.scoring.result import Partition
from mauve_core.stats.units import each_alone
from mauve_core.texts.text_files import TextFile

STAGES = ("reduction", "clustering", "scores")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLUSTERS = (50, 100, 200, 500, 1_000, 2_000)
DIMENSIONS = (64, 128, 256, 512, 768, 1_280)
# What stays while another one moves.
K, D, N = 500, 768, 20_000
# From where on exponents are fitted: below, fixed costs still show.
UPPER = {"n": 30_000, "k": 200, "d": 256}
LIMIT = 6e9

# Lloyd iterations of the one k-means start, at every size the same work.
ITERATIONS = 20

RESAMPLES = 500
TOPICS, WORDS = 200, 60
Point = dict[str, Any]


def features(folder: Path, d: int, n: int, seed: int) -> None:
    """Two sides of n float16 rows, in blocks, unless they are there already."""
    shared, place = np.random.default_rng([seed, d]).spawn(2), folder / f"q-{d}.npy"
    if place.exists() and len(np.load(place, mmap_mode="r")) >= n:
        return
    spread = (1 + np.arange(d)) ** -0.75
    centres = shared[0].normal(size=(TOPICS, d)) * spread
    middle = 2 * shared[0].normal(size=d) / np.sqrt(d)
    for side, rng in zip("pq", shared[1].spawn(2), strict=True):
        weights = rng.dirichlet(np.full(TOPICS, 5.0))
        rows = open_memmap(folder / f"{side}-{d}.npy", mode="w+", dtype=np.float16, shape=(n, d))
        for start in range(0, n, 8192):
            stop = min(start + 8192, n)
            noise = rng.standard_normal((stop - start, d), dtype=np.float32) * spread.astype(np.float32)
            rows[start:stop] = noise + (middle + centres)[rng.choice(TOPICS, stop - start, p=weights)]
        rows.flush()


def status(name: str) -> int:
    """Bytes, as the kernel says of this process. (A child's ``ru_maxrss`` begins with its parent's; VmHWM does not.)"""
    found = re.search(rf"^{name}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"This system does not tell {name}; the benchmark needs Linux")
    return int(found[1]) * 1024


class Memory:
    """The largest resident memory while it watches, without (RssAnon) and with (RssFile) a file behind it."""

    def __init__(self) -> None:
        self.peak = dict.fromkeys(("RssAnon", "RssFile"), 0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            for name in self.peak:
                self.peak[name] = max(self.peak[name], status(name))


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    found = spent(work)
    return found.result, {"wall": found.wall, "processor": found.processor}


def scores(labels: NDArray[np.int32], n: int, k: int, seed: int) -> dict[str, float]:
    """The four scores with their bootstrap intervals, as a comparison makes them."""
    partition = Partition("pairwise", 0, k, 0.0, {HUMAN: labels[:n], "model": labels[n:]})
    sides = TwoSides("model", (partition,), each_alone(n, n), np.random.SeedSequence(seed))
    found = estimates_of(basis_of_sides(sides, ScoreConfig(bootstrap=RESAMPLES), "none"), 5.0, 0.95)
    return {name: estimate.mean for name, estimate in found.items()}


def stages(folder: Path, n: int, k: int, d: int, repeats: int) -> dict[str, Any]:
    """Reduction, one k-means start and the scores, so many times over."""
    sides = [np.load(folder / f"{side}-{d}.npy", mmap_mode="r")[:n] for side in "pq"]
    rows = []
    for seed in range(repeats):
        reduced, reduction = timed(lambda: reduce_features(Stacked(sides)))
        start = partial(kmeans, reduced.array, k, restarts=1, max_iterations=ITERATIONS, seed=seed)
        found, clustering = timed(start)
        values, scoring = timed(partial(scores, found.labels, n, k, seed))
        rows.append({"reduction": reduction, "clustering": clustering, "scores": scoring})
    return {"seconds": rows, "components": reduced.array.shape[1], "iterations": found.iterations, "values": values}


def whole_comparison(folder: Path, n: int, k: int, d: int) -> dict[str, Any]:
    """``mauve-lens compare`` of n texts per side from files: reading, partitions, scores, map and the stored run."""
    files = {}
    for place, side in enumerate("pq"):
        features, path = folder / f"{side}-{d}.npy", folder / f"{side}.jsonl"
        np.save(folder / f"{side}-few.npy", np.load(features, mmap_mode="r")[:n])
        rng = np.random.default_rng(place)
        with path.open("w") as stream:
            for row in range(n):
                words = " ".join(f"w{word}" for word in rng.zipf(1.3, WORDS) % 30_000)
                stream.write(json.dumps({"id": f"{side}{row}", "text": words}) + "\n")
        files[side] = TextFile(str(path), features=str(folder / f"{side}-few.npy"))
    os.environ["MAUVE_LENS_HOME"] = str(folder / "home")
    config = CompareConfig(encoder=None, score=ScoreConfig(k=k, seeds=2, restarts=2))
    task = ComparisonTask("scale", files["p"], {"q": files["q"]}, config)
    run, taken = timed(task.make)
    estimate = run.comparison.candidates[0].scores["mauve_star"]
    return {
        "seconds": [{"whole": taken}],
        "stages": dict(run.comparison.environment["seconds"]),
        "fitted": run.comparison.map_fitted,
        "k": run.comparison.joint[0].k,
        "values": {"mauve_star": estimate.mean},
    }


def measured(folder: Path, point: Point) -> Point:
    """One point, in a process of its own, so that its memory is its own."""
    before = status("VmHWM")
    with Memory() as memory:
        if "compare" in point:
            found = whole_comparison(folder, point["compare"], point["k"], point["d"])
        else:
            found = stages(folder, point["n"], point["k"], point["d"], point["repeats"])
    return found | {"memory": {"before": before, "peak": status("VmHWM"), **memory.peak}}


def points(options: argparse.Namespace) -> list[Point]:
    """Every point, the cheap ones first."""
    sizes = [n for n in SIZES if n <= options.most]
    found = [{"n": n, "k": K, "d": D} for n in sizes]
    found += [{"n": N, "k": k, "d": D} for k in CLUSTERS] + [{"n": N, "k": K, "d": d} for d in DIMENSIONS]
    found += [{"n": sizes[-1], "k": 2 * K, "d": D}]
    once = [point for place, point in enumerate(found) if point not in found[:place]]
    once = [{**point, "repeats": 5 if point["n"] <= 30_000 else 1} for point in once]
    whole = [{"compare": options.compare, "k": K, "d": D}] if options.compare else []
    return sorted(once, key=lambda point: point["n"] * (point["d"] + point["k"])) + whole


def measure(options: argparse.Namespace) -> dict[str, Point]:
    """What each point cost, by its own JSON."""
    known_file = options.workdir / "points.json"
    known = json.loads(known_file.read_text()) if known_file.exists() else {}
    folder = options.workdir / "features"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for point in points(options):
        key = json.dumps(point)
        if key not in known:
            rows = max(point.get("n", 0), point.get("compare", 0))
            features(folder, point["d"], rows, options.seed)
            started = time.monotonic()
            call = [sys.executable, __file__, "--workdir", str(folder), "--point", key]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{key} ended with {done.returncode}:\n{done.stderr[-4000:]}")
            known[key] = json.loads(done.stdout.splitlines()[-1])
            write_atomically(known_file, lambda stream: stream.write(json.dumps(known, indent=1).encode()))
            print(f"{key}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        found[key] = {**point, **known[key]}
    shutil.rmtree(folder)
    return found


def seconds(row: Point, stage: str, clock: str = "processor") -> float:
    return max(statistics.median(taken[stage][clock] for taken in row["seconds"]), 1e-4)


def line(rows: list[Point], moves: str, stage: str) -> list[tuple[float, float]]:
    fixed = {name: value for name, value in {"n": N, "k": K, "d": D}.items() if name != moves}
    if moves == "n":
        fixed = {"k": K, "d": D}
    chosen = [row for row in rows if "n" in row and all(row[name] == value for name, value in fixed.items())]
    return sorted((row[moves], seconds(row, stage)) for row in chosen if moves != "n" or row["n"] != N)


def exponents(rows: list[Point]) -> str:
    cells = []
    for moves in ("n", "k", "d"):
        row = [moves]
        for stage in STAGES:
            upper = [(x, y) for x, y in line(rows, moves, stage) if x >= UPPER[moves]]
            row.append(
                "{:.2f} ± {:.2f}".format(*exponent(*zip(*upper, strict=True))) if len(upper) > 2 else "too few points"
            )
        cells.append([*row, f"{UPPER[moves]:,} and more"])
    return table(["grows", *STAGES, "fitted on"], cells)


def costs(rows: list[Point]) -> str:
    cells = []
    for row in sorted((row for row in rows if "n" in row), key=lambda row: (row["n"], row["k"], row["d"])):
        taken = [f"{seconds(row, stage):.3g} ({seconds(row, stage, 'wall'):.3g})" for stage in STAGES]
        memory = [f"{row['memory'][name] / 1e9:.2f}" for name in ("peak", "RssAnon", "RssFile")]
        settings = [f"{row['n']:,}", f"{row['k']:,}", f"{row['d']:,}", str(row["components"]), str(row["repeats"])]
        cells.append([*settings, *taken, *memory])
    heads = ["n", "k", "d", "components", "runs", *STAGES, "peak GB", "without files GB", "of files GB"]
    return table(heads, cells)


def whole(rows: list[Point]) -> str:
    parts = []
    for row in rows:
        if "compare" in row:
            laps = ", ".join(f"{stage} {taken:.0f} s" for stage, taken in row["stages"].items())
            memory = row["memory"]
            parts.append(
                f"`mauve-lens compare` of {row['compare']:,} + {row['compare']:,} texts with features, k = {row['k']}, "
                f"two k-means seeds of two starts to their end, joint and pairwise, halves, resamples, map (fitted on "
                f"{row['fitted']:,} texts), run stored: {seconds(row, 'whole', 'wall'):.0f} s ({laps}), peak "
                f"{memory['peak'] / 1e9:.2f} GB, {memory['RssAnon'] / 1e9:.2f} GB without mapped files."
            )
    return "\n\n".join(parts)


def report(rows: list[Point], options: argparse.Namespace) -> str:
    largest = max((row for row in rows if "n" in row), key=lambda row: (row["n"], row["k"]))
    on_disk = 2 * largest["n"] * largest["d"] * 2
    peak, bare = largest["memory"]["peak"], largest["memory"]["RssAnon"]
    verdict = "under" if peak < LIMIT else "not under"
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    return page(
        "Cost and memory of a score",
        f"""n texts per side, float16 features on disk ({on_disk / 1e9:.1f} GB at n = {largest["n"]:,}), principal
components of 90 % of the variance, one k-means start of at most {ITERATIONS} iterations, the four scores with an
interval from {RESAMPLES} resamples. Processor seconds of all threads, in brackets by the clock; medians where there are
several runs. OMP_NUM_THREADS {threads}.""",
        f"![Cost and memory]({options.out.with_suffix('.svg').name})" if options.out else "",
        "## Exponents",
        "Least squares on logarithms, exponent ± standard error. Linear cost in n is an exponent of 1.",
        exponents(rows),
        "## Points",
        f"""Peak memory is the largest resident size of the process (VmHWM). Pages of mapped files count in it, though
the system can drop them at any time; the two parts beside it peak for themselves, sampled every 20 ms. The program and
its libraries alone take {largest["memory"]["before"] / 1e9:.2f} GB.""",
        costs(rows),
        f"""At n = {largest["n"]:,} and k = {largest["k"]:,} the peak is {peak / 1e9:.2f} GB, {verdict}
{LIMIT / 1e9:.0f} GB, and {bare / 1e9:.2f} GB without mapped files: {bare / on_disk:.2f} times the size of the features
on disk.""",
        whole(rows),
        packages=("numpy", "scipy", "scikit-learn"),
    )


def picture(rows: list[Point]) -> str:
    lines = {moves: {stage: line(rows, moves, stage) for stage in STAGES} for moves in ("n", "k", "d")}
    values = [y for group in lines.values() for spots in group.values() for _, y in spots]
    names = {"n": f"texts per side (k = {K}, d = {D})", "k": f"clusters (n = {N:,})", "d": f"dimensions (n = {N:,})"}
    panels = [panel(names[moves], "processor s", lines[moves], min(values), max(values)) for moves in lines]
    by_n = [row for row in rows if row.get("k") == K and row.get("d") == D and row.get("n", N) != N]
    kinds = {"all": "peak", "without files": "RssAnon", "of files": "RssFile"}
    memory = {kind: sorted((row["n"], row["memory"][name] / 1e9) for row in by_n) for kind, name in kinds.items()}
    sizes = [y for spots in memory.values() for _, y in spots]
    panels.append(panel("peak memory", "GB", memory, min(sizes), max(sizes), named=True))
    return figure("Cost of a score, and its memory", panels, STAGES)


def main() -> None:
    parser = arguments(__doc__, most=SIZES[-1], compare=0, seed=0)
    parser.add_argument("--workdir", type=Path, required=True, help="for features (3 GB at a million) and points.json")
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point is not None:
        print(json.dumps(measured(options.workdir, options.point)))
        return
    rows = list(measure(options).values())
    write(report(rows, options), options.out)
    if options.out is not None:
        write_atomically(options.out.with_suffix(".svg"), lambda stream: stream.write(picture(rows).encode()))


if __name__ == "__main__":
    main()
