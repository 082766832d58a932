"""How far a score moves with the seed: mauve-text, one partition of ours, and our mean of several, on stored runs.

    python benchmarks/seed_spread.py [--seeds 20] [--out benchmarks/results/seed_spread.md] RUN [RUN ...]

All get the features that the run was made from, and k. The mean is of as many partitions as a run makes by default; no
two means share a seed. What each costs is told beside it.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import mauve
import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.clusters.k_means import tenth_of_texts
from mauve_core.runs import RunStore
from mauve_core.scoring.partitioning import grouped_partitions, measured
from mauve_core.stats.divergences import score_counts


@dataclass(frozen=True)
class Spreads:
    """MAUVE of one candidate under every seed; seconds a value."""

    peer: NDArray[np.float64]
    single: NDArray[np.float64]
    means: NDArray[np.float64]
    seconds: tuple[float, float, float]


def spreads(p: NDArray[np.float32], q: NDArray[np.float32], name: str, seeds: int, together: int) -> Spreads:
    k = tenth_of_texts(len(p), len(q))
    started = time.perf_counter()
    peer = [float(mauve.compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=s).mauve) for s in range(seeds)]
    peer_seconds = (time.perf_counter() - started) / seeds

    def ours(streams: list[np.random.SeedSequence]) -> list[float]:
        score = ScoreConfig(k=k)
        sides = measured({HUMAN: p, name: q}, score)
        found = grouped_partitions("pairwise", {name: sides}, {name: streams}, score, lambda: None)[name]
        return [float(score_counts(part.counts(HUMAN), part.counts(name))["mauve"]) for part in found]

    root = np.random.SeedSequence(0)
    started = time.perf_counter()
    single = [ours([stream])[0] for stream in root.spawn(seeds)]
    single_seconds = (time.perf_counter() - started) / seeds
    started = time.perf_counter()
    means = [np.mean(ours(root.spawn(together))) for _ in range(seeds)]
    mean_seconds = (time.perf_counter() - started) / seeds
    return Spreads(np.array(peer), np.array(single), np.array(means), (peer_seconds, single_seconds, mean_seconds))


def report(runs: list[str], seeds: int, command: str) -> str:
    together, store = ScoreConfig().seeds, RunStore()
    rows = []
    ratios = []
    for run_id in runs:
        run = store.load(run_id)
        p = np.array(run.features(HUMAN))
        for candidate in run.comparison.candidates:
            found = spreads(p, np.array(run.features(candidate.name)), candidate.name, seeds, together)
            deviations = [values.std(ddof=1) for values in (found.peer, found.single, found.means)]
            ratios.append(deviations[2] / deviations[0])
            cells = [
                f"{values.mean():.4f} ± {values.std(ddof=1):.4f}" for values in (found.peer, found.single, found.means)
            ]
            costs = [f"{found.seconds[place] / found.seconds[0]:.2f}" for place in (1, 2)]
            rows.append(
                f"| {run_id} | {candidate.name} | {' | '.join(cells)} | {ratios[-1]:.2f} | {' | '.join(costs)} |"
            )
    lines = "\n".join(rows)
    return f"""# Spread over seeds

    {command}

MAUVE under {seeds} seeds, mean ± standard deviation: one call of mauve-text, one partition of ours, and the mean of
{together} partitions, which is what a run reports. Costs are shares of the time of a call of mauve-text, on
{os.cpu_count()} cores.

| run | candidate | mauve-text | ours, 1 | ours, mean of {together} | spread, mean / peer | cost of 1 | of {together} |
| --- | --- | --- | --- | --- | --- | --- | --- |
{lines}

The spread of the mean is {np.median(ratios):.2f} of mauve-text's (median; {min(ratios):.2f} to {max(ratios):.2f}).
A standard deviation from {seeds} values is itself uncertain by {1 / np.sqrt(2 * (seeds - 1)):.0%}.

numpy {version("numpy")}, mauve-text {version("mauve-text")}, Python {platform.python_version()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = "" if options.out is None else f" --out {options.out}"
    command = f"python benchmarks/seed_spread.py --seeds {options.seeds}{out} {' '.join(options.runs)}"
    page = report(options.runs, options.seeds, command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
