"""How often probes call something detected where nothing was perturbed, and how often they detect what was.

    python benchmarks/probe_detection.py demo --out benchmarks/results/probe_detection.md

Random halves of a run's human texts, as in a probe, at several sizes. Nothing perturbed: the compared half untouched,
or each of its texts replaced by another human text, the same one in every split. Perturbed: the features of the
standard probes, encoded if no probe of one split has done so; Holm's method corrects over them.
"""

from __future__ import annotations

import argparse
import dataclasses
import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.base.progress import silent
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.robustness import PAPER, SPLITS
from mauve_core.experiments.robustness.detection import LEVEL, combined_p_value, split_p_value
from mauve_core.experiments.robustness.experiment import Work
from mauve_core.experiments.robustness.halves import usable_rows
from mauve_core.experiments.sweeps.request import Request
from mauve_core.numerics.resampling.multiple_tests import holm
from mauve_core.scoring.partitioning import partitions
from mauve_core.store import Run, RunStore
from mauve_core.store.features import stored_features

PERMUTATIONS = 999

Features = NDArray[np.float32]


def perturbed_features(run: Run) -> tuple[Features, dict[str, Features]]:
    """Features of the compared half of the first split, and of the same texts after each standard perturbation."""
    request = Request(run, None, None, "auto", FeatureStore(), silent)
    work = Work(request, HUMAN, usable_rows(run.corpora[HUMAN], None), 1, None, len(PAPER))
    own = np.asarray(work.features[HUMAN])[work.splits[0].comparison]
    return own, {item.spec: work.treated(item).features[0] for item in PAPER}


def p_values(
    own: Features, other: Mapping[str, Features], score: ScoreConfig, splits: int, seed: SeedSequence
) -> dict[str, float]:
    """Combined p-value of each perturbation: the rows of ``other`` are those of ``own`` after it."""
    cuts, starts, exchanges = (child.spawn(splits) for child in seed.spawn(3))
    n = len(own) // 2
    found: dict[str, list[float]] = {name: [] for name in other}
    for cut, start, exchange in zip(cuts, starts, exchanges, strict=True):
        order = np.random.default_rng(cut).permutation(len(own))
        seeds = start.spawn(score.seeds)
        for name, array in other.items():
            sides = {"reference": own[order[:n]], "comparison": array[order[n : 2 * n]]}
            parts = partitions("pairwise", sides, seeds, score, lambda: None)
            found[name].append(split_p_value(parts, score.scale, PERMUTATIONS, exchange))
    return {name: combined_p_value(values) for name, values in found.items()}


def level_row(own: Features, n: int, splits: int, simulations: int, score: ScoreConfig) -> str:
    hits = {"untouched": 0, "replaced": 0}
    for seed in SeedSequence([n, splits]).spawn(simulations):
        drawn, rest = seed.spawn(2)
        rows = np.random.default_rng(drawn).permutation(len(own))[: 4 * n]
        x, replaced = own[rows[: 2 * n]], own[rows[2 * n :]]
        found = p_values(x, {"untouched": x, "replaced": replaced}, score, splits, rest)
        hits = {name: hits[name] + (found[name] <= LEVEL) for name in hits}
    return (
        f"| {n} | {splits} | {simulations} | " + " | ".join(f"{hit / simulations:.3f}" for hit in hits.values()) + " |"
    )


def power_row(own: Features, other: dict[str, Features], n: int, simulations: int, score: ScoreConfig) -> str:
    hits = dict.fromkeys(other, 0)
    for seed in SeedSequence([n, 0]).spawn(simulations):
        drawn, rest = seed.spawn(2)
        rows = np.random.default_rng(drawn).permutation(len(own))[: 2 * n]
        found = p_values(own[rows], {name: array[rows] for name, array in other.items()}, score, SPLITS, rest)
        adjusted = holm(list(found.values()))
        hits = {name: hits[name] + (p <= LEVEL) for name, p in zip(hits, adjusted, strict=True)}
    return f"| {n} | {simulations} | " + " | ".join(f"{hit / simulations:.2f}" for hit in hits.values()) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--nulls", type=int, default=400, help="simulations without a perturbation")
    parser.add_argument("--draws", type=int, default=50, help="simulations with the perturbations, for each size")
    parser.add_argument("--sizes", type=int, nargs="+", default=(64, 128), help="texts of a half")
    parser.add_argument("--seeds", type=int, default=2, help="k-means seeds")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    run = RunStore().load(options.run)
    own, other = perturbed_features(run)
    score = dataclasses.replace(run.comparison.config.score, seeds=options.seeds, k=None)
    human = np.asarray(stored_features(run)[HUMAN])
    level = [level_row(human, n, splits, options.nulls, score) for n in options.sizes for splits in (1, SPLITS)]
    power = [power_row(own, other, n, options.draws, score) for n in options.sizes]
    text = (
        f"""# Detection of perturbations

`python benchmarks/probe_detection.py {options.run} --nulls {options.nulls} --draws {options.draws} --sizes \
{" ".join(map(str, options.sizes))} --seeds {options.seeds}` on Python {platform.python_version()}.

## Where nothing is perturbed: share detected (p of at most {LEVEL:g})

| texts of a half | splits | simulations | untouched | each text replaced by another |
| ---: | ---: | ---: | ---: | ---: |
"""
        + "\n".join(level)
        + f"""

## Perturbed: share detected, {SPLITS} splits, corrected for {len(PAPER)} perturbations

| texts of a half | simulations | {" | ".join(other)} |
| ---: | ---: |{" ---: |" * len(other)}
"""
        + "\n".join(power)
        + "\n"
    )
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
