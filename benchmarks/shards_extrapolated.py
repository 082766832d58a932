"""What a hundred million texts in shards will take: fits on small measured passes, then a simulated schedule.

    python benchmarks/shards_extrapolated.py [--rows 100000000] [--tokens 13000000000] [--dimension 1280]
        [--components 858] [--k 5000] [--seeds 5] [--iterations 10] [--workers 8,64,512] [--shards 640,10000]
        [--bandwidth 2e9] [--tokens-a-second N] [--out benchmarks/results/shards_extrapolated.md]

Passes are carried out on small made-up features in this process; the processor time of every task and of the driver's
steps is fitted and simulated on any number of workers (``shards_fits.py``). The same simulation is set against a real
run of a million rows, which is larger than all that was fitted, and against that of ``shards.md``. ``--workers
64+1024`` encodes with 64 and does all that follows with 1,024.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from log_plot import figure, panel
from shards_fits import (
    PASSES,
    POINTS,
    SEEDS,
    STEPS,
    TERMS,
    Case,
    Fits,
    Simulated,
    Size,
    bottleneck,
    fitted,
    measured,
    simulated,
)

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.base.formatting import file_size, significant, with_plain_spaces
from mauve_core.shards.clustering import MOST_SUMS
from mauve_core.shards.costs import bytes_to_write
from mauve_core.shards.plan import SAMPLE_BYTES, SAMPLE_ROWS, Plan

RESULTS = Path(__file__).parent / "results"
TOKENS_FROM, EARLIER = RESULTS / "device.md", RESULTS / "shards.md"
# Rows, shards, columns and clusters of the run that the simulation is set against.
CHECK = (1_000_000, 40, 64, 500)

# Clusters that papers use, as against the most that are used by default.
FEWER = 500


def tokens_a_second() -> float:
    """Tokens a second of one GPU, as ``device.md`` measured for GPT-2 large's shape in bfloat16."""
    found = re.search(r"^\| ours, bfloat16 \|(?:[^|]*\|){4} ([\d,]+) \|", TOKENS_FROM.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{TOKENS_FROM} has no line of bfloat16: give --tokens-a-second")
    return float(found[1].replace(",", ""))


def checked(folder: Path, fits: Fits) -> list[str]:
    """Predicted and measured seconds of a run that is larger than all that was fitted, and of the one in shards.md."""
    rows, shards, d, k = CHECK
    points = measured(folder, *CHECK)
    (c,) = {size.c for _, size, _ in points}
    iterations = sum(name == "add sums" for name, _, _ in points)
    sampled = max(size.n for name, size, _ in points if name == "start")
    case = Case(Size(rows, d, c, k, SEEDS, shards), sampled, iterations, 0, 0, 4, math.inf)
    of_pass = {"project": STEPS[:2], "sum": STEPS[2:3], "label": STEPS[3:]}
    own = {
        name: sum(seconds for each, _, seconds in points if each in (name, *of_pass.get(name, ()))) for name in PASSES
    }
    return [
        f"{rows:,} rows of {d} columns in {shards} shards, k = {k}, {SEEDS} seeds, {iterations} iterations, k-means "
        f"started on {sampled:,.0f} rows; fitted on at most {max(point[0] for point in POINTS):,} rows. Seconds of "
        "processor time in one process, which others on the machine change little.",
        "",
        *beside({"one process": (simulated(case, fits, 1), own)}),
        "",
        *beside_earlier(fits, c),
    ]


def beside(runs: Mapping[str, tuple[Mapping[str, Simulated], Mapping[str, float]]]) -> list[str]:
    """A table of predicted and measured seconds."""
    header = [f"{name}: {what}" for name in runs for what in ("predicted", "measured", "ratio")]
    lines = [f"| {' | '.join(['pass', *header])} |", f"|{' --- |' * (len(header) + 1)}"]
    rows = {name: [(said[name].wall, seconds[name]) for said, seconds in runs.values()] for name in PASSES}
    rows["all but start"] = [
        (sum(said[name].wall for name in PASSES if name != "start"),
         sum(seconds[name] for name in PASSES if name != "start"))
        for said, seconds in runs.values()
    ]  # fmt: skip
    for name, pairs in rows.items():
        cells = [f"{said:.1f} s | {own:.1f} s | {said / own:.2f}" for said, own in pairs]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return lines


def beside_earlier(fits: Fits, c: int) -> list[str]:
    """The run of ``shards.md``, which is of the same made-up topics: seconds on the clock, with processes' start."""
    text = EARLIER.read_text("utf-8")
    said = re.search(r"([\d,]+) rows of (\d+) columns in (\d+) shards, k = (\d+), (\d+) seeds, \[(\d+)", text)
    if said is None or int(said[2]) != CHECK[2]:
        raise SystemExit(f"{EARLIER} is not a result of benchmarks/shards.py with {CHECK[2]} columns")
    rows, d, shards, k, seeds, iterations = (int(each.replace(",", "")) for each in said.groups())
    case = Case(Size(rows, d, c, k, seeds, shards), min(rows, SAMPLE_ROWS), iterations, 0, 0, 4, math.inf)
    runs = {}
    for workers, name in ((1, "1 worker"), (2, "2 workers")):
        line = re.search(rf"^\| local, {name} \|" + r" ([\d.]+) s \|" * len(PASSES), text, re.MULTILINE)
        if line is None:
            raise SystemExit(f"{EARLIER} has no line of {name}")
        runs[name] = (simulated(case, fits, workers), dict(zip(PASSES, map(float, line.groups()), strict=True)))
    return [
        f"{rows:,} rows in {shards} shards, as [{EARLIER.name}]({EARLIER.name}) has measured them before, {iterations} "
        f"iterations: seconds on the clock. The first pass also starts processes there; the start of k-means, from "
        f"{case.sampled:,} rows, is predicted by the most that it can take.",
        "",
        *beside(runs),
    ]


def in_words(workers: str) -> str:
    encoders, _, others = workers.partition("+")
    return f"{int(encoders):,} GPUs, then {int(others):,} cores" if others else f"{int(encoders):,}"


def time_of(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000, help="texts of both sides together")
    parser.add_argument("--tokens", type=float, default=13e9)
    parser.add_argument("--token-bytes", type=float, default=4.0, help="bytes of a token on disk")
    parser.add_argument("--dimension", type=int, default=1280)
    parser.add_argument("--components", type=int, default=858, help="default: those of made-up features in device.md")
    parser.add_argument("--k", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=ScoreConfig().seeds)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--workers", default="8,64,512,64+1024")
    parser.add_argument("--shards", default="640,10000")
    parser.add_argument("--bandwidth", type=float, default=2e9, help="bytes a second of the shared file system")
    parser.add_argument("--tokens-a-second", type=float, help="of one GPU; default: bfloat16 in results/device.md")
    parser.add_argument("--out", type=Path, default=RESULTS / "shards_extrapolated.md")
    args = parser.parse_args()
    began = time.monotonic()
    rate = args.tokens_a_second or tokens_a_second()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        points = [point for size in POINTS for point in measured(folder, *size)]
        fits = fitted(points)
        check = checked(folder, fits)
    workers = args.workers.split(",")
    shards = [int(each) for each in args.shards.split(",")]
    sampled = min(SAMPLE_ROWS, SAMPLE_BYTES // (4 * args.components), args.rows)
    cases = {
        count: Case(
            Size(args.rows, args.dimension, args.components, args.k, args.seeds, count), sampled, args.iterations,
            args.tokens * args.token_bytes, args.tokens / rate, 2, args.bandwidth,
        )
        for count in shards
    }  # fmt: skip
    found = {
        (count, w): simulated(case, fits, *map(int, w.split("+"))) for count, case in cases.items() for w in workers
    }
    w = next((given for given in workers if given == "64"), workers[0])
    case = cases[shards[0]]
    fewer = simulated(case._replace(all=case.all._replace(k=FEWER)), fits, *map(int, w.split("+")))
    with_fewer = (shards[0], w, sum(one.wall for one in fewer.values()))
    content = report(args, rate, sampled, found, with_fewer, fits, check, time.monotonic() - began)
    plot = drawn(found, shards, workers)
    write_atomically(args.out.with_suffix(".svg"), lambda stream: stream.write(plot.encode()))
    write_atomically(args.out, lambda stream: stream.write(content.encode()))
    print(content)


def report(
    args: argparse.Namespace,
    rate: float,
    sampled: int,
    found: Mapping[tuple[int, str], Mapping[str, Simulated]],
    with_fewer: tuple[int, str, float],
    fits: Fits,
    check: Sequence[str],
    seconds: float,
) -> str:
    """The result as Markdown."""
    header = ["shards", "workers", *PASSES, "all", "longest"]
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    for (count, w), passes in found.items():
        cells = [time_of(passes[name].wall) for name in PASSES]
        whole = f"**{time_of(sum(one.wall for one in passes.values()))}**"
        lines.append(f"| {' | '.join([f'{count:,}', in_words(w), *cells, whole, bottleneck(passes)])} |")
    parts = ["shards", "workers", "workers alone", "file system alone", "driver, afterwards", "an iteration"]
    iteration = [f"| {' | '.join(parts)} |", f"|{' --- |' * len(parts)}"]
    for (count, w), passes in found.items():
        each = [part / args.iterations for part in passes["sum"]]
        cells = [time_of(each[place]) for place in (1, 2, 3, 0)]
        iteration.append(f"| {' | '.join([f'{count:,}', in_words(w), *cells])} |")
    disk = []
    for count in dict.fromkeys(count for count, _ in found):
        plan = Plan(dict.fromkeys((HUMAN, "model"), ("a.npy",) * (count // 2)), None, ScoreConfig(seeds=args.seeds))
        pairs, clusters = {"model": float(args.rows)}, {"model": args.k}
        features = args.rows * args.dimension * 2
        whole = features + bytes_to_write(plan, args.rows, count, pairs, clusters, args.dimension, args.components)
        disk.append(f"{file_size(whole)} in {count:,} shards ({file_size(features)} of them features)")
    source = "given" if args.tokens_a_second else "GPT-2 large in bfloat16 on an H100, [device.md](device.md)"
    text = [
        "# A hundred million texts in shards, extrapolated",
        "",
        f"Made by `python benchmarks/shards_extrapolated.py` on {platform.machine()} with {os.cpu_count()} cores in "
        f"{seconds:.0f} s. What is measured and fitted is processor time of passes over small made-up features; what "
        "is said of the cluster is simulated.",
        "",
        f"{args.rows:,} texts in all, half of them on each side, {args.tokens / 1e9:g} billion tokens; features of "
        f"{args.dimension:,} columns, stored as float16; {args.components:,} principal components, k = {args.k:,}, "
        f"{args.seeds} seeds, {args.iterations} iterations over all rows, k-means started on {sampled:,} rows. One "
        f"worker has one core, and while it encodes one GPU of {rate:,.0f} tokens a second ({source}). The shared file "
        f"system moves {args.bandwidth / 1e9:g} GB a second.",
        "",
        *lines,
        "",
        f"Encoding alone is {significant(args.tokens / rate / 3600, 3)} GPU hours. With k = {FEWER:,} in place of "
        f"{args.k:,}, {with_fewer[0]:,} shards and {in_words(with_fewer[1])} workers take {time_of(with_fewer[2])} in "
        "all. The work folder takes at most "
        f"{'; '.join(disk)}.",
        "",
        f"![Hours of each pass]({args.out.with_suffix('.svg').name})",
        "",
        "## One iteration of k-means over all rows",
        "",
        *iteration,
        "",
        f"Sums of a batch of shards are {file_size(args.seeds * args.k * args.components * 8)}, which workers write "
        f"and the driver reads and adds, one after another. There are at most {MOST_SUMS:,} batches, so more shards "
        "make no more of them.",
        "",
        "## Beside a measured run",
        "",
        *check,
        "",
        "## Fits",
        "",
        "Seconds of processor time: a fixed part, and parts in proportion to rows n, columns d, components c, clusters "
        "k and seeds s.",
        "",
        "```",
        *(f"{name}: " + ", ".join(f"{value:.2e}" for value in fits[name]) for name in TERMS),
        "```",
    ]
    return with_plain_spaces("\n".join(text)) + "\n"


def drawn(
    found: Mapping[tuple[int, str], Mapping[str, Simulated]], shards: Sequence[int], workers: Sequence[str]
) -> str:
    """Hours of each pass against workers, one panel for each number of shards."""
    hours = [one.wall / 3600 for passes in found.values() for one in passes.values()]
    panels = [
        panel(
            f"{count:,} shards; workers below", "hours",
            {name: [(int(w), found[count, w][name].wall / 3600) for w in workers if w.isdigit()] for name in PASSES},
            min(hours), max(hours), named=place == 0,
        )
        for place, count in enumerate(shards)
    ]  # fmt: skip
    return figure("A hundred million texts: hours of each pass, simulated", panels, ())


if __name__ == "__main__":
    main()
