"""How often the test of two candidates' difference rejects, and who is told apart in real runs.

    python benchmarks/difference_test.py demo webtext --tables null --pairs 1000 --permutations 399 --out FILE
    python benchmarks/difference_test.py demo --tables power --draws 200 --out FILE
    python benchmarks/difference_test.py demo webtext --tables runs --out FILE

A table takes the place of an earlier one in the file.

*null*: two random halves of one candidate's texts (independent), or two candidates whose texts are exchanged at random
within each prompt (paired), each as two candidates against the human texts that a comparison would take. Partitions
are fitted anew for each pair, as in a comparison.

*power*: two decoders of the first run on random halves of its prompts, with the human texts of these. Halves overlap,
so the shares are those of this run's texts, and their standard error is over the choice of halves.

*runs*: every two candidates of a run.

Beside the test stands what told two candidates apart before there was one: two intervals without a common point, by
the plain bootstrap, which draws the texts of either side on their own; then the same with the intervals that a
leaderboard shows.
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

from mauve_core.base.config import HUMAN, SCORES, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.numerics.feature_space.reduction import reduce_features
from mauve_core.numerics.kmeans.clustering import kmeans, tenth_of_texts
from mauve_core.numerics.resampling.exchange import Draws, prompt_groups, separate_prompts
from mauve_core.numerics.resampling.permutation import draw_sides, sequential_p_value
from mauve_core.scoring.differences import PERMUTATIONS, STOP, Slots, joint_differences_of
from mauve_core.scoring.estimates import basis_of, basis_of_sides, estimates_of, two_sides
from mauve_core.scoring.replicates import CountSamples, TwoSides
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import TITLES
from mauve_core.scoring.ties import overlap
from mauve_core.store import Run, RunStore
from mauve_core.store.features import stored_features

PAIRS = (("top-k:k=50", "typical:tau=0.95"), ("top-k:k=50", "nucleus:p=0.95"))
"""Pairs whose power is measured. Chosen because the demo as a whole tells them apart."""

SEEDS = 5
ONE, OTHER = "one", "other"
ALPHA = 0.05
CONFIDENCE = ScoreConfig().confidence
TABLES = ("null", "power", "runs")
TITLE = "# The test of two candidates' difference\n"

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


def labelled(
    reduced: NDArray[np.float32], sizes: dict[str, int], k: int, rng: Generator, rows: NDArray[np.intp] | None = None
) -> tuple[Partition, ...]:
    """Partitions of sides whose reduced features, or these rows of them, follow each other; one per seed."""
    ends, parts = np.cumsum(list(sizes.values()))[:-1], []
    for index in range(SEEDS):
        seed = SeedSequence(int(rng.integers(2**63)))
        labels = kmeans(reduced if rows is None else reduced[rows], k, restarts=1, seed=seed).labels
        by_side = dict(zip(sizes, np.split(labels, ends), strict=True))
        parts.append(Partition("joint" if rows is None else "pairwise", index, k, 0.0, by_side))
    return tuple(parts)


def p_values(parts: tuple[Partition, ...], codes: NDArray[np.intp], permutations: int, rng: Generator) -> list[float]:
    """p-value of ``ONE`` and ``OTHER`` under every score, in joint partitions."""
    slots = Slots(ONE, OTHER, 1, 1, (np.arange(codes.size) >= parts[0].labels[ONE].size).astype(np.int32))
    drawn = np.concatenate([slots.own[np.newaxis], draw_sides(slots.own, codes, permutations, rng)])
    found = joint_differences_of(parts, slots, drawn, ScoreConfig().scale)
    return [sequential_p_value(found[score][1:], float(found[score][0]), STOP) for score in SCORES]


def null_p_values(run_id: str, paired: bool, permutations: int, seed: SeedSequence) -> list[float]:
    """p-value of one null pair under every score."""
    rng = np.random.default_rng(seed)
    human, one, other, codes = null_pair(run_id, paired, rng)
    reduced = reduce_features(np.concatenate([human, one, other])).array
    sizes = {HUMAN: len(human), ONE: len(one), OTHER: len(other)}
    return p_values(labelled(reduced, sizes, tenth_of_texts(len(human), len(one)), rng), codes, permutations, rng)


def power_draw(run_id: str, first: str, second: str, permutations: int, seed: SeedSequence) -> list[float]:
    """p-values on one half of the prompts, then whether plain intervals and a leaderboard's intervals are apart."""
    rng = np.random.default_rng(seed)
    features = features_of(run_id)
    n = len(features[HUMAN]) // 2
    half = rng.permutation(len(features[HUMAN]))[:n]  # the run's sides answer the same prompts in the same order
    reduced = reduce_features(np.concatenate([features[name][half] for name in (HUMAN, first, second)])).array
    k = tenth_of_texts(n, n)
    joint = labelled(reduced, dict.fromkeys((HUMAN, ONE, OTHER), n), k, rng)
    found = p_values(joint, np.tile(np.arange(n), 2), permutations, rng)
    drawn = SeedSequence(int(rng.integers(2**63)))
    groups, plain, shown = prompt_groups(np.arange(n), np.arange(n)), [], []
    for index, name in enumerate((ONE, OTHER), start=1):
        rows = np.r_[:n, index * n : (index + 1) * n]
        sides = TwoSides(name, labelled(reduced, {HUMAN: n, name: n}, k, rng, rows), groups, drawn)
        plain.append(plain_interval(sides))
        estimate = estimates_of(basis_of_sides(sides, ScoreConfig(), "none"), ScoreConfig().scale, CONFIDENCE)["mauve"]
        shown.append((estimate.low, estimate.high))
    return [*found, not overlap(*plain), not overlap(*shown)]


def plain_interval(sides: TwoSides) -> tuple[float, float]:
    """MAUVE's interval by a bootstrap that draws the texts of either side on their own."""
    score, seeds = ScoreConfig(), sides.seed.spawn(1)
    groups = separate_prompts(sides.groups.n, sides.groups.m)
    draws = Draws(groups, score.bootstrap, np.random.default_rng(seeds[0]))
    counts = CountSamples(*sides.counts(), *sides.resampled(draws, 0.0))
    estimate = estimates_of(basis_of(counts, "none"), score.scale, CONFIDENCE)["mauve"]
    return estimate.low, estimate.high


def null_table(options: argparse.Namespace, pool: ProcessPoolExecutor) -> str:
    run_id, rows = options.runs[0], []
    for paired in (False, True):
        seeds = SeedSequence([len(run_id), paired]).spawn(options.pairs)
        jobs = [pool.submit(null_p_values, run_id, paired, options.permutations, seed) for seed in seeds]
        rates = (np.array([job.result() for job in jobs]) <= ALPHA).mean(axis=0)
        exchanged = "paired" if paired else "independent halves"
        shown = " | ".join(f"{rate:.3f}" for rate in rates)
        rows.append(f"| {run_id} | {exchanged} | {options.pairs:,} | {shown} |")
    return f"""## Where nothing differs: share of p-values of at most {ALPHA:g}

{_command(options, f"null --pairs {options.pairs} --permutations {options.permutations}", [run_id])}.

| run | exchange | pairs | {" | ".join(TITLES[score] for score in SCORES)} |
| --- | --- | ---: |{" ---: |" * len(SCORES)}
""" + "\n".join(rows)


def power_table(options: argparse.Namespace, pool: ProcessPoolExecutor) -> str:
    run_id, rows = options.runs[0], []
    for index, (first, second) in enumerate(PAIRS):
        seeds = SeedSequence([len(run_id), 2 + index]).spawn(options.draws)
        jobs = [pool.submit(power_draw, run_id, first, second, options.permutations, seed) for seed in seeds]
        found = np.array([job.result() for job in jobs])
        told = np.concatenate([found[:, : len(SCORES)] <= ALPHA, found[:, len(SCORES) :] == 1], axis=1)
        rates = told.mean(axis=0)
        errors = np.sqrt(rates * (1 - rates) / len(told))
        shown = " | ".join(f"{rate:.3f} ± {error:.3f}" for rate, error in zip(rates, errors, strict=True))
        rows.append(f"| {first} | {second} | {options.draws} | {shown} |")
    return f"""## Where two differ: share of random halves of {run_id} that tell them apart

{_command(options, f"power --draws {options.draws} --permutations {options.permutations}", [run_id])}. The test tells \
apart by p of at most {ALPHA:g}, two intervals by having no common point. ± is the standard error of the share.

| one | other | halves | {" | ".join(f"test, {TITLES[score]}" for score in SCORES)} | plain intervals, MAUVE | \
leaderboard's intervals, MAUVE |
| --- | --- | ---: |{" ---: |" * (len(SCORES) + 2)}
""" + "\n".join(rows)


def run_table(options: argparse.Namespace, run: Run) -> str:
    """Every pair of candidates by the test, and which pairs tests and intervals leave untold."""
    comparison = run.comparison
    estimates = {each.name: each.scores["mauve"] for each in comparison.candidates}
    intervals = {name: (each.low, each.high) for name, each in estimates.items()}
    plain = {name: plain_interval(two_sides(comparison, "pairwise", name)) for name in estimates}
    tested = [each for each in run.comparison.differences if each.score == "mauve"]
    rows, told = [], np.zeros(3, dtype=np.intp)
    for each in sorted(tested, key=lambda each: each.p_value):
        found = each if each.difference >= 0 else each.seen_from(each.second)
        one, other = found.first, found.second
        apart = (
            found.told_apart,
            not overlap(plain[one], plain[other]),
            not overlap(intervals[one], intervals[other]),
        )
        told += apart
        rows.append(
            f"| {one} | {other} | {found.difference:.3f} [{found.low:.3f}, {found.high:.3f}] | {found.p_value:.4f} | "
            f"{found.p_adjusted:.4f} | " + " | ".join("yes" if each else "no" for each in apart) + " |"
        )
    exchanged = "within prompts" if all(each.paired for each in tested) else "without prompts"
    return f"""## {run.id}

{_command(options, "runs", [run.id])}. {len(rows)} pairs, texts exchanged {exchanged}. Told apart by plain intervals: \
{told[1]}; by a leaderboard's intervals: {told[2]}; by the test, after Holm's correction: {told[0]}.

| closer | other | MAUVE, difference | p | adjusted | told apart | plain intervals apart | \
leaderboard's intervals apart |
| --- | --- | --- | ---: | ---: | --- | --- | --- |
""" + "\n".join(rows)


def _command(options: argparse.Namespace, table: str, runs: list[str]) -> str:
    named = " ".join(options.runs if table.startswith("runs") else runs)
    return f"`python benchmarks/difference_test.py {named} --tables {table}` on Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--pairs", type=int, default=1000, help="null pairs of each kind, from the first run")
    parser.add_argument("--draws", type=int, default=200, help="random halves of the first run's prompts")
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        made = [null_table(options, pool)] if "null" in options.tables else []
        made += [power_table(options, pool)] if "power" in options.tables else []
    if "runs" in options.tables:
        made += [run_table(options, RunStore().load(name)) for name in options.runs]
    kept = options.out.read_text() if options.out and options.out.exists() else TITLE
    text = with_tables(kept, made)
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


def with_tables(text: str, made: list[str]) -> str:
    """The text with tables in the place of those of the same heading, or at its end."""
    title, *sections = text.rstrip().split("\n\n## ")
    by_heading = {section.partition("\n")[0]: section for section in sections}
    by_heading |= {table[3:].partition("\n")[0]: table[3:] for table in made}
    return "\n\n## ".join([title, *by_heading.values()]) + "\n"


if __name__ == "__main__":
    main()
