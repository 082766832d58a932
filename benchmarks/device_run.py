"""A whole comparison from a cold start, for benchmarks/device.py: ``mauve-lens compare`` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from device_bench import Bench

SIDES = ("human", "first", "second", "third")


def run_from_files(bench: Bench) -> None:
    """Four files of texts, an encoder in GPT-2's shape, default settings: to the scores, and with the map."""
    count = bench.scale.texts_a_side
    files = {name: bench.scratch / f"{name}.jsonl" for name in SIDES}
    for side, file in enumerate(files.values()):
        texts = (bench.documents[(side + len(SIDES) * row) % len(bench.documents)] for row in range(count))
        file.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    for name, options in (("to the scores", ("--no-map",)), ("with the map", ())):
        with bench.way("run", f"{len(SIDES)} x {count} texts", name) as row:
            home = bench.scratch / f"home, {name}"
            started = time.perf_counter()
            found = _compare(bench, files, home, options)
            parts = {stage: f"{seconds:.3g} s" for stage, seconds in found.items()}
            bench.send(replace(row, cost=time.perf_counter() - started, cells=parts))


def _compare(bench: Bench, files: dict[str, Path], home: Path, options: tuple[str, ...]) -> dict[str, float]:
    """Seconds of each stage, by name, and until the scores were stored where no map has been written after them."""
    human, *candidates = files
    command = [sys.executable, "-m", "mauve_core", "compare", "--human", str(files[human])]
    for name in candidates:
        command += ["--model", f"{name}={files[name]}"]
    command += ["--encoder", str(bench.scratch / "small"), "--device", bench.device, "--quiet", *options]
    environment = os.environ | {"MAUVE_LENS_HOME": str(home)}
    began = time.time()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    (record,) = home.glob("runs/*/comparison.json")
    seconds: dict[str, float] = json.loads(record.read_text(encoding="utf-8"))["comparison"]["environment"]["seconds"]
    return seconds if "projection" in seconds else {"scores stored": record.stat().st_mtime - began} | seconds
