"""How often the test of two candidates' difference is wrong where nothing differs, and who is told apart in real runs.

    python benchmarks/difference_test.py demo webtext --pairs 1000 --out benchmarks/results/difference_test.md

Nothing differs: two random halves of one candidate's texts (independent), or two candidates whose texts are exchanged
at random within each prompt (paired), each as two candidates against the human texts that a comparison would take.
Partitions are fitted anew for each pair, as in a comparison. Then the ties of each run: by overlapping intervals, as a
reader would guess, and by the test.
"""

from __future__ import annotations

import argparse
import platform
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.analysis.precomputed import run_differences
from mauve_core.base.config import HUMAN, SCORES, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.numerics.feature_space.reduction import reduce_features
from mauve_core.numerics.kmeans.clustering import kmeans, tenth_of_texts
from mauve_core.numerics.resampling.permutation import draw_sides, sequential_p_value
from mauve_core.scoring.differences import PERMUTATIONS, STOP, Slots, joint_differences_of
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import TITLES
from mauve_core.scoring.ties import overlap
from mauve_core.store import Run, RunStore
from mauve_core.store.features import stored_features

SEEDS = 5
ONE, OTHER = "one", "other"
ALPHA = 0.05

Features = NDArray[np.float32]


@cache
def features_of(run_id: str) -> dict[str, Features]:
    return {name: np.asarray(array) for name, array in stored_features(RunStore().load(run_id)).items()}


def null_pair(run_id: str, paired: bool, rng: Generator) -> tuple[Features, Features, Features, NDArray[np.intp]]:
    """Features of the human side and of two candidates that do not differ, and the blocks of the exchange."""
    features = features_of(run_id)
    names = sorted(name for name in features if name != HUMAN)
    if paired:
        first, second = (features[name] for name in rng.choice(names, 2, replace=False))
        n = min(len(first), len(second))
        swap = rng.random((n, 1)) < 0.5
        one, other = np.where(swap, second[:n], first[:n]), np.where(swap, first[:n], second[:n])
        return features[HUMAN], one, other, np.tile(np.arange(n), 2)
    texts = features[str(rng.choice(names))]
    order, half = rng.permutation(len(texts)), len(texts) // 2
    return features[HUMAN], texts[order[:half]], texts[order[half : 2 * half]], np.zeros(2 * half, dtype=np.intp)


def null_p_values(run_id: str, paired: bool, permutations: int, seed: SeedSequence) -> list[float]:
    """p-value of one null pair under every score."""
    rng = np.random.default_rng(seed)
    human, one, other, codes = null_pair(run_id, paired, rng)
    reduced = reduce_features(np.concatenate([human, one, other])).array
    k = tenth_of_texts(len(human), len(one))
    ends = np.cumsum([len(human), len(one)])
    parts = []
    for index in range(SEEDS):
        labels = kmeans(reduced, k, restarts=1, seed=SeedSequence(int(rng.integers(2**63)))).labels
        by_side = dict(zip((HUMAN, ONE, OTHER), np.split(labels, ends), strict=True))
        parts.append(Partition("joint", index, k, 0.0, by_side))
    slots = Slots(ONE, OTHER, 1, 1, (np.arange(codes.size) >= len(one)).astype(np.int32))
    drawn = np.concatenate([slots.own[np.newaxis], draw_sides(slots.own, codes, permutations, rng)])
    found = joint_differences_of(tuple(parts), slots, drawn, ScoreConfig().scale)
    return [sequential_p_value(found[score][1:], float(found[score][0]), STOP) for score in SCORES]


def null_row(run_id: str, paired: bool, pairs: int, permutations: int, pool: ProcessPoolExecutor) -> str:
    seeds = SeedSequence([len(run_id), paired]).spawn(pairs)
    jobs = [pool.submit(null_p_values, run_id, paired, permutations, seed) for seed in seeds]
    found = np.array([job.result() for job in jobs])
    rates = (found <= ALPHA).mean(axis=0)
    exchanged = "paired" if paired else "independent halves"
    return f"| {run_id} | {exchanged} | {pairs:,} | " + " | ".join(f"{rate:.3f}" for rate in rates) + " |"


def ties(run: Run) -> str:
    """Every pair of candidates by the test, and which pairs tests and intervals leave untold."""
    estimates = {each.name: each.scores["mauve"] for each in run.comparison.candidates}
    tested = [each for each in run_differences(run) if each.score == "mauve"]
    rows, overlapping = [], 0
    for each in sorted(tested, key=lambda each: each.p_value):
        found = each if each.difference >= 0 else each.seen_from(each.second)
        one, other = estimates[found.first], estimates[found.second]
        tied = overlap((one.low, one.high), (other.low, other.high))
        overlapping += tied
        rows.append(
            f"| {found.first} | {found.second} | {found.difference:.3f} [{found.low:.3f}, {found.high:.3f}] | "
            f"{found.p_value:.4f} | {found.p_adjusted:.4f} | {'yes' if found.told_apart else 'no'} | "
            f"{'no' if tied else 'yes'} |"
        )
    untold = sum(not each.told_apart for each in tested)
    exchanged = "within prompts" if all(each.paired for each in tested) else "without prompts"
    return f"""## {run.id}

{len(rows)} pairs, texts exchanged {exchanged}. Not told apart by the test: {untold}; by intervals that overlap:
{overlapping}.

| closer | other | MAUVE, difference | p | adjusted | told apart | intervals apart |
| --- | --- | --- | ---: | ---: | --- | --- |
""" + "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--pairs", type=int, default=1000, help="null pairs of each kind, from the first run")
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        rows = [
            null_row(options.runs[0], paired, options.pairs, options.permutations, pool) for paired in (False, True)
        ]
    titles = " | ".join(TITLES[score] for score in SCORES)
    text = f"""# The test of two candidates' difference

`python benchmarks/difference_test.py {" ".join(options.runs)} --pairs {options.pairs} --permutations \
{options.permutations}` on Python {platform.python_version()}.

## Where nothing differs: share of p-values of at most {ALPHA:g}

| run | exchange | pairs | {titles} |
| --- | --- | ---: |{" ---: |" * len(SCORES)}
""" + "\n".join(rows)
    text += "\n\n" + "\n\n".join(ties(RunStore().load(name)) for name in options.runs) + "\n"
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
