"""Comparisons over shards: equal digests on every engine, and what each pass takes beside a single process.

    python benchmarks/shards.py --workdir FOLDER [--rows 10000000] [--shards 40] [--dimension 64] [--k 500] [--seeds 2]
        [--ways "local:1 local:2 ray:1 ray:2 ray:4 parts:4 killed:2"] [--sizes 100000,300000,1000000,3000000,10000000]
        [--out benchmarks/results/shards.md]

Features are made up: overlapping topics, float32, in .npy shards of two sides. Each way is a process of its own, so
that the driver's memory is its own; ``parts`` is shard-run on n parts one after the other and then the rest, ``killed``
kills a worker in the middle of an iteration. What is measured stands in FOLDER/points.json, and a second call takes it
from there. The overhead is that of two workers: twice their time beside that of one, less 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from frame import arguments, page, table, write
from plots import exponent, figure, panel

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.engines import LocalEngine, engine_for
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.tasks import peak_memory, remaining

TOPICS = 400
WAYS = "local:1 local:2 ray:1 ray:2 ray:4 parts:4 killed:2"
PASSES = ("encode", "project", "start", "sum", "label")


def made(folder: Path, rows: int, shards: int, d: int) -> dict[str, Path]:
    """Half of the rows on each side, and half of the shards; the topics of the rows are beside the sides."""
    places = {name: folder / f"{rows}x{d}" / name for name in (HUMAN, "model")}
    middle = np.random.default_rng(d).normal(size=(TOPICS, d)).astype(np.float32) * 0.8 + 0.5
    for side, (name, place) in enumerate(places.items()):
        if (place / "done").exists():
            continue
        topics = place.parent / "topics" / name
        for each in (place, topics):
            each.mkdir(parents=True, exist_ok=True)
        weights = np.random.default_rng(side).dirichlet(np.full(TOPICS, 1.0))
        for index, part in enumerate(np.array_split(np.arange(rows // 2), shards // 2)):
            rng = np.random.default_rng([side, index])
            noise = rng.standard_normal((len(part), d), dtype=np.float32)
            own = rng.choice(TOPICS, len(part), p=weights)
            np.save(place / f"{index:03}.npy", noise + middle[own])
            np.save(topics / f"{index:03}.npy", own.astype(np.int16))
        (place / "done").touch()
        print(f"{name}: {rows // 2:,} rows", file=sys.stderr, flush=True)
    return places


class Way:
    """One way of carrying out a plan: ``local``, ``ray``, ``parts`` or ``killed``, a colon, and workers or parts."""

    def __init__(self, way: str) -> None:
        self.kind, _, count = way.partition(":")
        self.count, self.killed = int(count), 0
        if self.kind == "ray":
            self.engine = engine_for("ray", self.count)
        else:
            self.engine = LocalEngine(2 if self.kind == "parts" else self.count)

    def watch(self, name: str, done: int, _: int) -> None:
        """Kill a worker once, after the first task of an iteration."""
        if (self.kind, name, done, self.killed) == ("killed", "sum", 1, 0):
            os.kill(next(iter(self.engine.processes)), signal.SIGKILL)
            self.killed += 1


def carried_out(way: str, plan: Plan, work: Path) -> dict[str, Any]:
    """One way, in this process as the driver."""
    folder, chosen = Work.begin(work, plan), Way(way)
    began = time.monotonic()
    if chosen.kind == "parts":
        for part in range(chosen.count):
            engine = LocalEngine(1)
            engine.run(folder.folder, remaining(encode_tasks(folder, part=(part, chosen.count))), lambda *_: None)
            engine.close()
    found = compare_shards(folder, chosen.engine, progress=chosen.watch)
    total = time.monotonic() - began
    chosen.engine.close()
    return {
        "way": way,
        "engine": found.engine,
        "digest": found.digest(),
        "counts": found["model"].counts,
        "mauve": str(found["model"].scores["mauve"]),
        "iterations": list(found["model"].iterations),
        "seconds": {one.name: one.seconds for one in found.passes},
        "worker_bytes": max(one.peak_bytes for one in found.passes if one.tasks),
        "driver_bytes": peak_memory(),
        "total": total,
        "killed": chosen.killed,
    }


def measured(args: argparse.Namespace, rows: int, way: str) -> dict[str, Any]:
    """A way in a process of its own, or what was measured before."""
    path = args.workdir / "points.json"
    points = json.loads(path.read_text()) if path.exists() else {}
    key = f"{rows} {args.shards} {args.dimension} {args.k} {args.seeds} {way}"
    if key not in points:
        score = ScoreConfig(k=args.k, seeds=args.seeds)
        places = made(args.workdir, rows, args.shards, args.dimension)
        plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=score)
        work = args.workdir / "work"
        shutil.rmtree(work, ignore_errors=True)
        asked = {"way": way, "plan": plan.as_dict(), "work": str(work)}
        call = [sys.executable, __file__, "--one", json.dumps(asked)]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
        points[key] = json.loads(done.stdout.splitlines()[-1])
        shutil.rmtree(work, ignore_errors=True)
        write(json.dumps(points, indent=1), path)
        print(f"{key}: {points[key]['total']:.0f} s, {points[key]['digest'][:12]}", file=sys.stderr, flush=True)
    return points[key]


def ways_table(found: list[dict[str, Any]]) -> str:
    rows = []
    for one in found:
        kind, _, count = one["way"].partition(":")
        first = f"{count} parts, then {one['engine']}" if kind == "parts" else one["engine"]
        seconds = [f"{one['seconds'][each]:.1f} s" for each in PASSES]
        memory = [f"{one[part] / 2**30:.2f} GiB" for part in ("driver_bytes", "worker_bytes")]
        first += "; one killed" * (kind == "killed")
        rows.append([first, *seconds, f"{one['total']:.0f} s", *memory, one["digest"][:12]])
    return table(["engine", *PASSES, "all", "driver, peak", "worker, peak", "digest"], rows)


def overhead(found: list[dict[str, Any]]) -> list[str]:
    by_way = {one["way"]: one for one in found}
    lines = []
    for engine in ("local", "ray"):
        one, two = by_way.get(f"{engine}:1"), by_way.get(f"{engine}:2")
        if one and two:
            each = {name: 2 * two["seconds"][name] / one["seconds"][name] - 1 for name in PASSES}
            whole = 2 * sum(two["seconds"].values()) / sum(one["seconds"].values()) - 1
            parts = ", ".join(f"{name} {share:+.0%}" for name, share in each.items())
            lines.append(f"Overhead of two workers on {engine}: **{whole:+.0%}** ({parts}).")
    return lines


def scaling(found: list[tuple[int, dict[str, Any]]]) -> tuple[str, str]:
    """Table of exponents, and a plot of seconds and memory against rows."""
    sizes = [n for n, _ in found]
    curves = {name: [one["seconds"][name] for _, one in found] for name in PASSES}
    memory = {name: [one[f"{name}_bytes"] / 2**30 for _, one in found] for name in ("driver", "worker")}
    rows = []
    for name, values, unit in [(n, v, "s") for n, v in curves.items()] + [(n, v, "GiB") for n, v in memory.items()]:
        rows.append(
            [name, *(f"{value:.2f} {unit}" for value in values), "{:.2f} ± {:.2f}".format(*exponent(sizes, values))]
        )
    panels = []
    for title, unit, group in (("seconds of each pass", "s", curves), ("peak memory", "GiB", memory)):
        lines = {name: list(zip(sizes, values, strict=True)) for name, values in group.items()}
        panels.append(
            panel(title, unit, lines, min(map(min, group.values())), max(map(max, group.values())), named=True)
        )
    figures = figure("Corpora in shards, two workers", panels, ())
    return table(["", *(f"{n:,}" for n in sizes), "exponent"], rows), figures


def report(args: argparse.Namespace) -> str:
    found = [measured(args, args.rows, way) for way in args.ways.split()]
    if any((one["way"].startswith("killed")) != bool(one["killed"]) for one in found):
        raise SystemExit("What was to be killed was not")
    digests = {one["digest"] for one in found}
    equal = "All digests are equal." if len(digests) == 1 else f"**{len(digests)} different digests.**"
    parts = [
        "One way after the other. Other work on the machine lengthens seconds.",
        f"""{args.rows:,} rows of {args.dimension} columns in {args.shards} shards, k = {args.k}, {args.seeds} seeds,
{found[0]["iterations"]} iterations over all rows, MAUVE {found[0]["mauve"]}. {equal}""",
        ways_table(found),
        "\n".join(overhead(found)),
    ]
    sizes = [(n, measured(args, n, "local:2")) for n in map(int, filter(None, args.sizes.split(",")))]
    if len(sizes) > 2:
        lines, plot = scaling(sizes)
        write(plot, args.out.with_suffix(".svg"))
        parts += [
            "## Against the number of rows",
            f"Two workers. ![Seconds and memory]({args.out.with_suffix('.svg').name})",
            lines,
        ]
    return page("Corpora in shards", *parts)


def main() -> None:
    parser = arguments(__doc__, rows=10_000_000, shards=40, dimension=64, k=500, seeds=2)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--ways", default=WAYS)
    parser.add_argument("--sizes", default="100000,300000,1000000,3000000,10000000")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    parser.set_defaults(out=Path("benchmarks/results/shards.md"))
    args = parser.parse_args()
    if args.one is None:
        write(report(args), args.out)
    else:
        print(json.dumps(carried_out(args.one["way"], Plan.from_dict(args.one["plan"]), Path(args.one["work"]))))


if __name__ == "__main__":
    main()
