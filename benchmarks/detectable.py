"""Whether the deviation of a test falls as 1 / sqrt(n) at fixed n/k, so that 4 times as many texts halve what it finds.

    python benchmarks/detectable.py --out benchmarks/results/detectable.md

Normal features. Whether one of two candidates is closer: the deviation behind the printed interval. Probes, of one
split: that of MAUVE where texts are exchanged, and the drop that would be detected.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence
from scipy.stats import t

from mauve_core.analyses.probe_results import PERMUTATIONS, detectable_by, split_test
from mauve_core.base.config import CompareConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.scoring.compare import compare
from mauve_core.scoring.differences import FOLDS
from mauve_core.scoring.partitioning import partitions
from mauve_core.texts import corpus_from_texts

SIZES, DIMENSION = (250, 500, 1000), 8
# Distance of the means of both candidates from that of the human side; probes take the first.
SHIFTS = {"P = Q": (0.0, 0.0), "P and Q differ": (0.6, 0.8)}


def deviations(n: int, shifts: tuple[float, float], seed: int) -> tuple[float, float, float]:
    """Deviation of the difference of two candidates; that of the probe test's null, and the drop it detects."""
    rng, score = np.random.default_rng([n, seed]), ScoreConfig(k=n // 10, seeds=3, restarts=1, bootstrap=100, seed=seed)
    sides = {name: rng.normal(size=(n, DIMENSION)) for name in ("human", "a", "b")}
    for name, shift in zip(("a", "b"), shifts, strict=True):
        sides[name][:, 0] += shift
    features = {name: array.astype(np.float32) for name, array in sides.items()}
    corpora = {name: corpus_from_texts([f"{name} {i}" for i in range(n)], name=name) for name in sides}
    human = corpora.pop("human")
    found = compare(
        human, corpora, CompareConfig(encoder=None, score=score, projection=False), features=features, progress="none"
    )
    (test,) = (each for each in found.differences if each.score == "mauve")
    sd = (test.high - test.low) / 2 / t.isf((1 - score.confidence) / 2, FOLDS - 1)
    halves = {name: features[name] for name in ("human", "a")}
    parts = partitions("pairwise", halves, SeedSequence(seed).spawn(score.seeds), score, lambda: None)
    probe = split_test(parts, score.scale, PERMUTATIONS, seed)
    return float(sd), float(probe.null.std()), float(detectable_by([probe], score.scale, 1) or np.nan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for title, shifts in SHIFTS.items():
        table = np.array([[deviations(n, shifts, seed) for seed in range(options.repeats)] for n in SIZES])
        means = np.sqrt((table**2).mean(axis=1))
        for n, own in zip(SIZES, means, strict=True):
            cells = " | ".join(f"{value:.4f} ({value / first:.2f})" for value, first in zip(own, means[0], strict=True))
            rows.append(f"| {title} | {n:,} | {np.sqrt(SIZES[0] / n):.2f} | {cells} |")
    text = f"""# Deviations of tests at fixed n/k

`python benchmarks/detectable.py --repeats {options.repeats}`: {DIMENSION} dimensions, k = n/10, root mean squares of \
{options.repeats} repeats; in parentheses, the value over that of n = {SIZES[0]}.

| sides | n | 1 / sqrt(n) | which is closer: sd | probes: sd of the null | probes: detectable drop |
| --- | ---: | ---: | ---: | ---: | ---: |
"""
    text += "\n".join(rows) + "\n"
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
