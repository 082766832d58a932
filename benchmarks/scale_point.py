"""One point of benchmarks/scale.py in a process of its own, so that its memory is its own: JSON on standard output.

python benchmarks/scale_point.py FOLDER '{"n": 10000, "k": 500, "d": 768, "repeats": 5}'
python benchmarks/scale_point.py FOLDER '{"compare": 100000, "k": 500, "d": 768}'
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.scoring.estimates import TwoSides, basis_of_sides, estimates_of
from mauve_core.scoring.result import Partition
from mauve_core.stats.units import each_alone
from mauve_core.texts.text_files import TextFile

# Lloyd iterations of the one k-means start, at every size the same work.
ITERATIONS = 20

RESAMPLES = 500
TOPICS, WORDS = 200, 60


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


def timed(work: Callable[..., Any], *values: Any, **options: Any) -> tuple[Any, dict[str, float]]:
    wall, processor = time.perf_counter(), time.process_time()
    found = work(*values, **options)
    return found, {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


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
        reduced, reduction = timed(reduce_features, Stacked(sides))
        found, clustering = timed(kmeans, reduced.array, k, restarts=1, max_iterations=ITERATIONS, seed=seed)
        values, scoring = timed(scores, found.labels, n, k, seed)
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
    run, spent = timed(task.make)
    estimate = run.comparison.candidates[0].scores["mauve_star"]
    return {
        "seconds": [{"whole": spent}],
        "stages": dict(run.comparison.environment["seconds"]),
        "fitted": run.comparison.map_fitted,
        "k": run.comparison.joint[0].k,
        "values": {"mauve_star": estimate.mean},
    }


def main() -> None:
    folder, point = Path(sys.argv[1]), json.loads(sys.argv[2])
    before = status("VmHWM")
    with Memory() as memory:
        if "compare" in point:
            found = whole_comparison(folder, point["compare"], point["k"], point["d"])
        else:
            found = stages(folder, point["n"], point["k"], point["d"], point["repeats"])
    found["memory"] = {"before": before, "peak": status("VmHWM"), **memory.peak}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
