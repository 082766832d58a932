"""Comparisons over shards: equal digests on every engine, and what each pass takes beside a single process.

    python benchmarks/shards.py --workdir FOLDER [--rows 10000000] [--shards 40] [--dimension 64] [--k 500] [--seeds 2]
        [--texts "ENCODER[=WAYS]" ...] [--ways "local:1 local:2 ray:1 ray:2 ray:4 parts:4 killed:2"]
        [--sizes 100000,300000,1000000,3000000,10000000]
        [--out benchmarks/results/shards.md]

Features are made up: overlapping topics, float32, in .npy shards of two sides. Each way is a process of its own, so
that the driver's memory is its own; ``parts`` is shard-run on n parts one after the other and then the rest, ``killed``
kills a worker in the middle of an iteration. With ``--texts``, each encoder gets a table. What is measured stands in
FOLDER/points.json, and a second call takes it from there. The overhead is that of two workers: twice their time beside
that of one, less 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from log_plot import figure, panel, slope

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
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


def texts(folder: Path, shards: int) -> dict[str, Path]:
    """The human texts of the demo and one decoder's, in Parquet shards."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mauve_core.demo.texts import demo_corpora

    human, candidates = demo_corpora()
    places = {HUMAN: folder / "texts" / HUMAN, "model": folder / "texts/model"}
    for place, corpus in zip(places.values(), (human, candidates["ancestral"]), strict=True):
        place.mkdir(parents=True, exist_ok=True)
        columns = {"id": corpus.ids, "prompt": corpus.prompts, "text": corpus.texts}
        for index, rows in enumerate(np.array_split(np.arange(len(corpus)), shards)):
            table = {name: [values[row] for row in rows] for name, values in columns.items() if values is not None}
            pq.write_table(pa.table(table), place / f"{index:02}.parquet")
    return places


class Ways:
    """One way of carrying out a plan: its engine, and what is killed when.

    Parameters
    ----------
    way : str
        ``local``, ``ray`` or ``parts``, ``killed`` (a worker of the local engine in an iteration), ``nodes`` (two nodes
        of Ray on the loopback), ``node-killed`` (one of them while texts are encoded), ``worker-killed`` (an actor of
        Ray in an iteration); then a colon and the number of workers or parts.
    """

    def __init__(self, way: str) -> None:
        self.kind, _, count = way.partition(":")
        self.count, self.killed, self._cluster, self._second = int(count), [], None, None
        if self.kind in ("nodes", "node-killed"):
            from ray.cluster_utils import Cluster

            self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
            self._second = self._cluster.add_node(num_cpus=1)
            self.engine = engine_for(f"ray:{self._cluster.address}", self.count)
        elif self.kind in ("ray", "worker-killed"):
            self.engine = engine_for("ray", self.count)
        else:
            self.engine = LocalEngine(2 if self.kind == "parts" else self.count)

    def watch(self, name: str, done: int, _: int) -> None:
        """Kill once, after the first task of the pass."""
        if self.killed or done != 1:
            return
        process: int | None = None
        if (self.kind, name) == ("killed", "sum"):
            process = next(iter(self.engine.processes), None)
        elif (self.kind, name) == ("worker-killed", "sum"):
            import ray

            process = ray.get(self.engine._idle[0].process.remote())
        elif (self.kind, name) == ("node-killed", "encode"):
            process = self._second.all_processes["raylet"][0].process.pid
        if process is not None:
            self.killed.append(process)
            os.kill(process, signal.SIGKILL)

    def close(self) -> None:
        self.engine.close()
        if self._cluster is not None:
            self._cluster.shutdown()


def carried_out(way: str, plan: Plan, work: Path) -> dict[str, Any]:
    """One way, in this process as the driver."""
    folder, chosen = Work.begin(work, plan), Ways(way)
    began = time.monotonic()
    if chosen.kind == "parts":
        for part in range(chosen.count):
            engine = LocalEngine(1)
            engine.run(folder.folder, remaining(encode_tasks(folder, part=(part, chosen.count))), lambda *_: None)
            engine.close()
    found = compare_shards(folder, chosen.engine, progress=chosen.watch)
    total = time.monotonic() - began
    chosen.close()
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
        "killed": len(chosen.killed),
    }


def measured(args: argparse.Namespace, rows: int, way: str, encoder: str | None = None) -> dict[str, Any]:
    """A way in a process of its own, or what was measured before."""
    path = args.workdir / "points.json"
    points = json.loads(path.read_text()) if path.exists() else {}
    key = f"{encoder or rows} {args.shards} {args.dimension} {args.k} {args.seeds} {way}"
    if key not in points:
        score = ScoreConfig(k=args.k, seeds=args.seeds)
        if encoder:
            places, config = texts(args.workdir, args.shards), EncoderConfig(encoder)
        else:
            places, config = made(args.workdir, rows, args.shards, args.dimension), None
        plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=config, score=score)
        work = args.workdir / "work"
        shutil.rmtree(work, ignore_errors=True)
        asked = {"way": way, "plan": plan.as_dict(), "work": str(work)}
        call = [sys.executable, __file__, "--one", json.dumps(asked)]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
        points[key] = json.loads(done.stdout.splitlines()[-1])
        shutil.rmtree(work, ignore_errors=True)
        text = json.dumps(points, indent=1)
        write_atomically(path, lambda stream: stream.write(text.encode()))
        print(f"{key}: {points[key]['total']:.0f} s, {points[key]['digest'][:12]}", file=sys.stderr, flush=True)
    return points[key]


def ways_table(found: list[dict[str, Any]]) -> list[str]:
    header = ["engine", *PASSES, "all", "driver, peak", "worker, peak", "digest"]
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    for one in found:
        kind, _, count = one["way"].partition(":")
        first = f"{count} parts, then {one['engine']}" if kind == "parts" else one["engine"]
        first += {"node-killed": "; a node killed", "killed": "; one killed", "worker-killed": "; one killed"}.get(
            kind, ""
        )
        seconds = [f"{one['seconds'][each]:.1f} s" for each in PASSES]
        memory = [f"{one[part] / 2**30:.2f} GiB" for part in ("driver_bytes", "worker_bytes")]
        whole = f"{one['total']:.0f} s"
        lines.append(f"| {' | '.join([first, *seconds, whole, *memory, one['digest'][:12]])} |")
    return lines


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
    if {"nodes:2", "node-killed:2"} <= by_way.keys():
        before, after = (by_way[way]["total"] for way in ("nodes:2", "node-killed:2"))
        lines.append(
            f"One of two nodes killed while texts are encoded: {after - before:+.0f} s ({after / before - 1:+.0%})."
        )
    return lines


def section(found: list[dict[str, Any]], what: str) -> list[str]:
    """A table of ways, after a sentence on what they did."""
    if any(("killed" in one["way"]) != bool(one["killed"]) for one in found):
        raise SystemExit("What was to be killed was not")
    digests = {one["digest"] for one in found}
    return [
        f"{what}, {found[0]['iterations']} iterations over all rows, MAUVE {found[0]['mauve']}. "
        f"{'All digests are equal.' if len(digests) == 1 else f'**{len(digests)} different digests.**'}",
        "",
        *ways_table(found),
        "",
        *overhead(found),
    ]


def scaling(found: list[tuple[int, dict[str, Any]]]) -> tuple[list[str], str]:
    """Table of exponents, and a plot of seconds and memory against rows."""
    rows = [n for n, _ in found]
    curves = {name: [one["seconds"][name] for _, one in found] for name in PASSES}
    memory = {name: [one[f"{name}_bytes"] / 2**30 for _, one in found] for name in ("driver", "worker")}
    lines = ["| | " + " | ".join(f"{n:,}" for n in rows) + " | exponent |", f"|{' --- |' * (len(rows) + 2)}"]
    for name, values, unit in [(n, v, "s") for n, v in curves.items()] + [(n, v, "GiB") for n, v in memory.items()]:
        b, error = slope(rows, values)
        cells = " | ".join(f"{value:.2f} {unit}" for value in values)
        lines.append(f"| {name} | {cells} | {b:.2f} ± {error:.2f} |")
    panels = [
        panel("seconds of each pass", "s", {n: list(zip(rows, v, strict=True)) for n, v in curves.items()},
              min(map(min, curves.values())), max(map(max, curves.values())), named=True),
        panel("peak memory", "GiB", {n: list(zip(rows, v, strict=True)) for n, v in memory.items()},
              min(map(min, memory.values())), max(map(max, memory.values())), named=True),
    ]  # fmt: skip
    return lines, figure("Corpora in shards, two workers", panels, ())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--k", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--texts", metavar="ENCODER[=WAYS]", nargs="+", default=[], help="the demo's texts in place of made-up rows"
    )
    parser.add_argument("--ways", default=WAYS)
    parser.add_argument("--sizes", default="100000,300000,1000000,3000000,10000000")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/shards.md"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        asked = json.loads(args.one)
        print(json.dumps(carried_out(asked["way"], Plan.from_dict(asked["plan"]), Path(asked["work"]))))
        return
    settings, given = f"in {args.shards} shards, k = {args.k}, {args.seeds} seeds", ""
    parts: list[str] = []
    for encoder, _, ways in (each.partition("=") for each in args.texts):
        found = [measured(args, args.rows, way, encoder) for way in (ways or args.ways).split()]
        parts += [f"## {encoder}", "", *section(found, f"Two sides of 512 texts of the demo {settings}"), ""]
        given += f' "{encoder}{"=" * bool(ways)}{ways}"'
    if args.texts:
        sizes, given = [], f"--texts{given}"
    else:
        given = f"--rows {args.rows} --dimension {args.dimension}"
        found = [measured(args, args.rows, way) for way in args.ways.split()]
        parts = [*section(found, f"{args.rows:,} rows of {args.dimension} columns {settings}"), ""]
        sizes = [(n, measured(args, n, "local:2")) for n in map(int, args.sizes.split(",") if args.sizes else ())]
    text = [
        "# Corpora in shards",
        "",
        f"Made by `python benchmarks/shards.py --workdir FOLDER {given} --shards {args.shards} --k {args.k} --seeds "
        f"{args.seeds}` on {platform.machine()} with {os.cpu_count()} cores, one way after the other. Other work on "
        "the machine lengthens seconds.",
        "",
        *parts[:-1],
    ]
    if len(sizes) > 2:
        lines, plot = scaling(sizes)
        plot_path = args.out.with_suffix(".svg")
        write_atomically(plot_path, lambda stream: stream.write(plot.encode()))
        text += [
            "",
            "## Against the number of rows",
            "",
            f"Two workers. ![Seconds and memory]({plot_path.name})",
            "",
            *lines,
        ]
    content = "\n".join(text) + "\n"
    write_atomically(args.out, lambda stream: stream.write(content.encode()))
    print(content)


if __name__ == "__main__":
    main()
