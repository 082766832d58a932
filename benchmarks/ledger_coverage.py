"""How often the interval of the costliest cluster's share covers, and how often texts of one writer get shares at all.

    python benchmarks/ledger_coverage.py --out benchmarks/results/ledger_coverage.md

**Coverage.** Each simulation draws n texts of P and n of Q from known distributions over k clusters, independently or
so that both answer the same prompts, and takes the intervals of a ledger (``mauve_core.findings.clusters``). The
cluster whose share is largest in these texts is looked at: picked because it is large, its share is too high on
average. What must be covered is its expected share at this n and k, the mean over further draws, in at least 95 % of
the simulations. The share in the distributions themselves, the limit for many texts, stands beside it; the intervals
are not made for it, because noise adds to every cluster's cost and so moves the shares of few texts together. "All"
counts simulations in which the intervals of all k clusters cover. Beside them stands the pointwise interval, the
central quantiles of the same resamples about their mean. The share that the model adds, over all clusters, has a
pointwise interval, because it is not picked.

**Nothing to explain.** The human texts of the demo run, with their stored features, are split into random halves, and
one half is compared with the other: clustering under every seed, then ``mauve_core.findings.clusters``. At level 0.01,
about one split in a hundred has a gap to explain; five or fewer of a hundred must.

**Few texts.** Two sides of 60 texts of the demo run under the encoder ``minilm``, with the range of all shares and of
the ends of their intervals, which the pages show if there is a gap to explain.

Needs the demo run (`mauve-lens demo`).
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.findings.clusters import (
    CONFIDENCE,
    DRAWS,
    LEVEL,
    added,
    cost_intervals,
    gap_test,
    gap_test_of,
    intervals_of,
    of_total,
    resampled_shares,
    signed_shares,
)
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import TwoSides
from mauve_core.scoring.partitioning import clustering_seeds, partitions
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import integral_terms
from mauve_core.stats.units import Units, each_alone, units_of
from mauve_core.texts import corpus_from_texts

# Standard deviation of log(q / p) over the clusters.
CASES = {"close": 0.3, "moderate": 0.7, "far": 1.5}

CLUSTERS = (20, 50)
TEXTS = 500
# With shared prompts, the probability that two texts of one prompt come from one random number.
COUPLING = 0.8

MODEL = "model"
FEW = 60


@dataclass(frozen=True)
class Cell:
    """One row of the table of coverage."""

    case: str
    k: int
    shared: bool

    def sources(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p and q, (k,); the same for every row of this k, up to the distance."""
        rng = np.random.default_rng(self.k)
        p = rng.dirichlet(np.full(self.k, 2.0))
        q = p * np.exp(CASES[self.case] * rng.standard_normal(self.k))
        return p, q / q.sum()

    def draw(self, rng: Generator) -> TwoSides:
        p, q = self.sources()
        prompts, own = rng.random((2, TEXTS))
        if self.shared:
            own = np.where(rng.random(TEXTS) < COUPLING, prompts, own)
        labels = {HUMAN: _clusters(p, prompts), MODEL: _clusters(q, own)}
        partition = Partition("pairwise", 0, self.k, 0.0, labels)
        return TwoSides(MODEL, (partition,), self.units(), SeedSequence(int(rng.integers(2**63))))

    def units(self) -> Units:
        if self.shared:
            return units_of(np.arange(TEXTS), np.arange(TEXTS))
        return each_alone(TEXTS, TEXTS)


def _clusters(of: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.searchsorted(np.cumsum(of), uniform).clip(max=of.size - 1).astype(np.int32)


def coverage_row(cell: Cell, simulations: int, truths: int, replicates: int) -> str:
    rng = np.random.default_rng(SeedSequence([list(CASES).index(cell.case), cell.k, cell.shared]))
    drawn = np.concatenate([signed_shares(*cell.draw(rng).counts()) for _ in range(truths)])
    expected, limit = np.abs(drawn).mean(axis=0), of_total(integral_terms(*cell.sources()))
    adds = float(added(drawn).mean())
    found = [_simulate(cell.draw(rng), replicates, expected, limit, adds) for _ in range(simulations)]
    means = np.mean(found, axis=0)
    prompts = "shared" if cell.shared else "independent"
    cells = " | ".join(f"{each:.3f}" for each in means)
    return f"| {cell.case} | {cell.k} | {prompts} | {expected.max():.3f} | {cells} |"


def _simulate(
    sides: TwoSides, replicates: int, expected: NDArray[np.float64], limit: NDArray[np.float64], adds: float
) -> list[float]:
    """Covered and width, for the columns of the table."""
    rate = sides.exchange_rate(replicates)
    found = intervals_of(sides, replicates, rate)
    shares = np.abs(signed_shares(*sides.counts())[0])
    picked = int(shares.argmax())
    drawn = np.abs(resampled_shares(sides, replicates, rate)[:, picked])
    tail = (1 - CONFIDENCE) / 2
    low, high = shares[picked] + np.quantile(drawn, [tail, 1 - tail]) - drawn.mean()
    inside = [(found.low <= truth) & (truth <= found.high) for truth in (expected, limit)]
    return [
        inside[0][picked],
        inside[1][picked],
        inside[0].all(),
        found.high[picked] - found.low[picked],
        low <= expected[picked] <= high,
        low <= limit[picked] <= high,
        high - low,
        found.adds[0] <= adds <= found.adds[1],
    ]


def explained_halves(run: Run, splits: int) -> tuple[int, list[float]]:
    """How many random splits of the human texts have a gap to explain, and the p-value of each."""
    human, score = stored_features(run)[HUMAN], run.comparison.config.score
    p_values, explained = [], 0
    for split in SeedSequence([score.seed, splits]).spawn(splits):
        order = np.random.default_rng(split).permutation(len(human))
        half = len(human) // 2
        sides = {HUMAN: human[order[:half]], MODEL: human[order[half : 2 * half]]}
        settings = ScoreConfig(seeds=score.seeds, seed=int(split.generate_state(1)[0]))
        found = partitions("pairwise", sides, clustering_seeds(settings)["pairwise"], settings, lambda: None)
        tested = gap_test_of(found, MODEL, None, seed=split.spawn(1)[0])
        p_values.append(tested.p_value)
        explained += tested.explains
    return explained, p_values


def few_texts(run: Run) -> str:
    """A line on each of two pairs of sides of ``FEW`` texts under ``minilm``, drawn at random."""
    candidate = run.comparison.candidates[0].name
    human, model = (run.corpora[name].texts for name in (HUMAN, candidate))
    order = np.random.default_rng(run.comparison.config.score.seed).permutation(len(human))
    own, others = order[:FEW], order[FEW : 2 * FEW]
    pairs = {
        "other human texts": [human[place] for place in others],
        f"texts of {candidate}": [model[place] for place in others],
    }
    return "\n".join(_few_line([human[place] for place in own], other, name) for name, other in pairs.items())


def _few_line(human: Sequence[str], model: Sequence[str], name: str) -> str:
    sides = (corpus_from_texts(texts, name=side) for side, texts in ((HUMAN, human), (MODEL, model)))
    config = CompareConfig(encoder=EncoderConfig(model="minilm"), projection=False)
    comparison = compare(next(sides), {MODEL: next(sides)}, config)
    seed = comparison.median_seed(MODEL)
    found, part = cost_intervals(comparison, "pairwise", MODEL, seed), comparison.partition("pairwise", MODEL, seed)
    shares = np.abs(signed_shares(part.counts(HUMAN), part.counts(MODEL)))
    tested = gap_test(comparison, "pairwise", MODEL)
    return (
        f"- {FEW} human texts and {FEW} {name}, k = {part.k}: shares from {shares.min():.1%} to {shares.max():.1%}, "
        f"ends of intervals from {found.low.min():.1%} to {found.high.max():.1%}; exchanged texts reach the gap in "
        f"{tested.reached} of {tested.draws} draws."
    )


COLUMNS = (
    "covers E[share]", "covers limit", "all cover", "width", "pointwise: covers E[share]", "covers limit", "width",
    "share added: covers",
)  # fmt: skip


def report(rows: Sequence[str], halves: str, few: str, command: str, options: argparse.Namespace) -> str:
    head = "| distance | k | prompts | largest E[share] | " + " | ".join(COLUMNS)
    return f"""# Coverage of the ledger's intervals

`{command}` on Python {platform.python_version()}: {options.simulations} simulations a row, {TEXTS} texts on either
side, {options.replicates} resamples, nominal {CONFIDENCE:.0%}, expectations from {options.truths:,} further draws.

The cluster is the one whose share of the frontier integral is largest in the simulation's own texts. Target: its
interval covers the expected share at this n and k in at least 95 % of the simulations. It is made for all clusters at
once, so a single one is covered more often. The limit is the share in the distributions themselves, for which the
interval is not made.

{head} |
| --- | ---: | --- | ---: |{" ---: |" * len(COLUMNS)}
{chr(10).join(rows)}

## Nothing to explain

{halves}

## Few texts

{few}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--truths", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=ScoreConfig().bootstrap)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    run = RunStore().load("demo")
    rows = []
    for each in product(CASES, CLUSTERS, (False, True)):
        rows.append(coverage_row(Cell(*each), options.simulations, options.truths, options.replicates))
        print(rows[-1], file=sys.stderr, flush=True)
    explained, p_values = explained_halves(run, options.splits)
    halves = (
        f"{options.splits} random splits of the demo's {len(run.corpora[HUMAN])} human texts into halves, clustered "
        f"under {run.comparison.config.score.seeds} seeds, {DRAWS} draws, level {LEVEL:g}: a gap to explain in "
        f"{explained}. p-values: smallest {min(p_values):.3f}, median {np.median(p_values):.2f}, at most 0.05 in "
        f"{sum(p <= 0.05 for p in p_values)}."
    )
    command = f"python benchmarks/ledger_coverage.py --simulations {options.simulations} --truths {options.truths}"
    text = report(rows, halves, few_texts(run), command, options)
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
