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
from shards import TOPICS, made
from shards_peers_fit import Asked, Fit, Way, assigned, without_cluster
from shards_peers_ways import GIVEN, WAYS, WORKERS, plan_for, score_of

from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_array, write_atomically
from mauve_core.base.formatting import with_plain_spaces, with_spread
from mauve_core.shards.clustering import coordinates_path, shards_of
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import Work
from mauve_core.stats.divergences import score_counts

GIVEN_ITERATIONS = 10
OURS, MEMORY, BATCHES, LONG, FROM_MLLIB, PLAIN = (
    "shards",
    "memory",
    "batches",
    "mllib-long",
    "memory-mllib",
    "given-plain",
)


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


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


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
    return "".join(f"\n{name} is not installed here, so its rows are missing.\n" for name in missing)


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
    passes = [one["passes"] for one in found if one["way"] == OURS]
    parts = ", ".join(f"{name} {statistics.mean(one[name] for one in passes):.1f} s" for name in passes[0])
    by = " or ".join(sorted({one["products"] for one in found if "products" in one}))
    products = (
        f'\nMLlib runs as `local[{WORKERS}]` with its faster solver "block" and multiplies by {by}.' if by else ""
    )
    options = (
        f"--rows {args.rows} --dimension {args.dimension} --shards {args.shards} --k {args.k} --seeds {args.seeds}"
    )
    return f"""# K-means over shards and of libraries

Made by `python benchmarks/shards_peers.py --workdir FOLDER --pyspark SITE {options}` on {platform.machine()} with
{os.cpu_count()} cores; Python {platform.python_version()}, {versions(args.pyspark)}.

{args.rows:,} made-up rows of {args.dimension} columns in {args.shards} shards, k = {args.k}; {args.seeds} seeds, a
round each, of which MLlib does two or one; mean ± standard deviation. All cluster the same rows, and one function
computes every objective from the centers, in float64. / ours is the ratio to the first row of the same round.

{table(*reached(found))}

Iterations over shards are those of the pass sum alone. A topic without a cluster is the most frequent one in none; the
rows are of {TOPICS} topics. MAUVE is that of the two sides in the partition that the centers make.

{why(found)}
{left_out()}
## What it takes

Seconds are those of the fit; other work on the machine lengthens them, processor seconds less. Memory is that of all
processes of a way. Over shards, {WORKERS} workers do the passes project, start and sum; their mean seconds: {parts}.
The start of a seed is one task, so with one seed one worker waits.{products}

{table(*taken(found))}

## From the same centers

{GIVEN_ITERATIONS} of Lloyd's iterations from {args.k} rows drawn at random, with every rule to stop switched off. A row
that is as near to one center as to another to the last digit of float32 may go to either; the iterations that follow
magnify that, upward or downward alike.

{table(*given(found))}
"""


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
