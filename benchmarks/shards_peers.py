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
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shards import made
from shards_peers_fit import Asked, Fit, Way
from shards_peers_ways import GIVEN, WAYS, WORKERS, plan_for, score_of

from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_array, write_atomically
from mauve_core.base.formatting import with_plain_spaces, with_spread
from mauve_core.shards.clustering import coordinates_path, pair_sources
from mauve_core.shards.compare import compare_shards
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import Work

GIVEN_ITERATIONS = 10
OBJECTIVE_ROWS = 8192
LONG = "mllib-long"


def objective(rows: NDArray[np.float32], centers: NDArray[np.float64]) -> float:
    """Sum of squared distances of the rows to their nearest centers, in float64."""
    total, squares = 0.0, (centers**2).sum(1)
    for start in range(0, len(rows), OBJECTIVE_ROWS):
        part = rows[start : start + OBJECTIVE_ROWS].astype(np.float64)
        nearest = (squares - 2 * part @ centers.T).argmin(1)
        total += float(((part - centers[nearest]) ** 2).sum())
    return total


def prepared(args: argparse.Namespace) -> Path:
    """The folder of the shards, with their coordinates in one file for those who read no shards, and first centers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = made(args.workdir, args.rows, args.shards, args.dimension)[HUMAN].parent
    shutil.rmtree(folder / "work", ignore_errors=True)
    work, engine = Work.begin(folder / "work", plan_for(folder, score_of(0, 2, 1))), LocalEngine(WORKERS)
    compare_shards(work, engine)
    engine.close()
    rows = np.concatenate(
        [
            np.load(coordinates_path(work, "model", source, index))
            for source in pair_sources("model")
            for index in range(len(work.plan.sides[source]))
        ]
    )
    shutil.rmtree(folder / "work")
    write_array(folder / "rows.npy", rows)
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
    found["objective"] = objective(rows, np.load(folder / "centers.npy"))
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
            ours = next(int(one["iterations"]) for one in found if (one["way"], one["seed"]) == ("memory", seed))
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


def table(found: list[dict[str, Any]], ways: dict[str, Way], ours: str, *, rules: bool) -> list[str]:
    header = ["way", *(["start", "stops when"] if rules else []), "objective", "/ ours", "iterations", "seconds"]
    header += ["/ ours", "processor seconds", "/ ours", "start-up", "peak memory"]
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    for name, way in ways.items():
        own = [one for one in found if one["way"] == name]
        if not own:
            continue
        cells = [way.name, *([way.start, way.stop] if rules else [])]
        cells += [spread([one["objective"] for one in own]), beside(found, name, ours, "objective", 5)]
        cells += [", ".join(one["iterations"] for one in own)]
        for what in ("seconds", "processor"):
            cells += [spread([one[what] for one in own]), beside(found, name, ours, what)]
        cells += [f"{statistics.mean(one['start_up'] for one in own):.1f} s"]
        cells += [f"{max(one['bytes'] for one in own) / 2**30:.2f} GiB"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def left_out() -> list[str]:
    missing = sorted({way.needs for way in (*WAYS.values(), *GIVEN.values()) if way.needs and way.missing()})
    return [f"{name} is not installed here, so its rows are missing." for name in missing]


def versions(site: Path | None) -> str:
    """Of the libraries that were used."""
    if site is not None:
        sys.path.append(str(site))
    found = []
    for name in ("numpy", "scikit-learn", "pyspark", "cuml"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def report(args: argparse.Namespace, found: list[dict[str, Any]]) -> str:
    passes = [one["passes"] for one in found if one["way"] == "shards"]
    parts = ", ".join(f"{name} {statistics.mean(one[name] for one in passes):.1f} s" for name in passes[0])
    products = " or ".join(sorted({one["products"] for one in found if "products" in one}))
    given = f"--rows {args.rows} --dimension {args.dimension} --shards {args.shards} --k {args.k} --seeds {args.seeds}"
    text = [
        "# K-means over shards and of libraries",
        "",
        f"Made by `python benchmarks/shards_peers.py --workdir FOLDER --pyspark SITE {given}` on {platform.machine()} "
        f"with {os.cpu_count()} cores; Python {platform.python_version()}, {versions(args.pyspark)}.",
        "",
        f"{args.rows:,} made-up rows of {args.dimension} columns in {args.shards} shards, k = {args.k}; seeds 0 to "
        f"{args.seeds - 1}, a round each, mean ± standard deviation. All cluster the same rows, and one function "
        "computes every objective from the centers, in float64. / ours is the ratio to the first row of the same round. "
        "Seconds are those of the fit; other work on the machine lengthens them, but hardly the processor seconds. Memory is "
        f"that of all processes of a way. Over shards, {WORKERS} workers do the passes project, start and sum; their "
        f"mean seconds: {parts}. Iterations over shards are those of sum alone.",
        "",
        *(
            [
                f'MLlib runs as `local[{WORKERS}]` with its solver "block", and multiplies by {" or ".join(products)}.',
                "",
            ]
            if products
            else []
        ),
        *table(found, WAYS, "shards", rules=True),
        "",
        *left_out(),
        "",
        "## From the same centers",
        "",
        f"{GIVEN_ITERATIONS} of Lloyd's iterations from {args.k} rows drawn at random, with every rule to stop "
        "switched off. Rounding aside, objectives must be equal.",
        "",
        *table(found, GIVEN, "given-shards", rules=False),
    ]
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--pyspark", type=Path, metavar="SITE", help="where pip installed pyspark")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=48)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--k", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/shards_peers.md"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(carried_out(Asked(*json.loads(args.one)))))
        return
    if args.pyspark is not None:
        site = str(args.pyspark.absolute())
        sys.path.append(site)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), site]))
    content = report(args, rounds(args, prepared(args)))
    write_atomically(args.out, lambda stream: stream.write(content.encode()))
    print(content)


if __name__ == "__main__":
    main()
