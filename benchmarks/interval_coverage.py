"""How often the interval of a score covers the score's expectation, and how wide it is.

    python benchmarks/interval_coverage.py --simulations 300 --out benchmarks/results/interval_coverage.md

Each simulation draws n texts of P and n of Q from known distributions over k = n / 10 topics and scores them as a
comparison does. The distributions are the same, close, moderately far and far. Texts are independent, or each pair
answers one prompt and, with probability 0.8, comes from one random number. Clusters are the topics themselves, or
those of k-means on features around the topics' centers, fitted anew in each simulation.

    python benchmarks/interval_coverage.py --generations 5 --out benchmarks/results/generations_coverage.md

covers the mean over so many generations instead, each of n texts for the prompts of P, and beside it the score of the
first generation alone, in the same simulations.

What must be covered is E[score] at this n and k, the mean over further draws. The correct width is that of the central
95 % of the scores of those draws. Beside it stands the plain bootstrap, which draws the texts of either side on their
own and exchanges none.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.clusters.k_means import Clustering, kmeans
from mauve_core.scoring.estimates import (
    CountSamples,
    Spread,
    TwoSides,
    basis_of,
    basis_of_generations,
    basis_of_sides,
    estimate_of,
    spreads_of,
)
from mauve_core.scoring.result import Partition
from mauve_core.stats.scores import SCORES
from mauve_core.stats.units import Draws, Units, each_alone, units_of

# Standard deviation of log(q / p) over the topics.
CASES = {"P = Q": 0.0, "close": 0.3, "moderate": 0.7, "far": 1.5}

COUPLING = 0.8
DIMENSION, NOISE = 10, 0.6
SHOWN = ("mauve", "frontier_integral")
MODEL = "model"
# Names of ``Cell.shared`` and of ``Cell.fresh``.
PROMPTS, CLUSTERS = ("independent", "shared"), ("fixed", "k-means")

Labels = NDArray[np.int32]


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    case: str
    shared: bool
    n: int
    fresh: bool

    @property
    def k(self) -> int:
        return self.n // 10

    def sources(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """p and q (k,) and the centers of the topics (k, DIMENSION); the same for every cell of this k."""
        rng = np.random.default_rng(self.k)
        p = rng.dirichlet(np.full(self.k, 2.0))
        q = p * np.exp(CASES[self.case] * rng.standard_normal(self.k))
        return p, q / q.sum(), rng.standard_normal((self.k, DIMENSION))

    def draw(self, rng: Generator) -> tuple[Labels, Labels]:
        """Clusters of n texts of P and of n texts of Q."""
        topics = self.topics(rng)
        if not self.fresh:
            return topics[: self.n], topics[self.n :]
        labels = self.clustered(topics, rng).labels
        return labels[: self.n], labels[self.n :]

    def topics(self, rng: Generator) -> Labels:
        """Topics of n texts of P, then of n texts of Q."""
        p, q, _ = self.sources()
        prompts = rng.random(self.n)
        return np.concatenate([topics_of(p, prompts), topics_of(q, self.answers(prompts, rng))])

    def clustered(self, topics: Labels, rng: Generator) -> Clustering:
        """Clusters of k-means on features around the topics' centers."""
        points = around(self.sources()[2][topics], rng)
        return kmeans(points, self.k, restarts=1, seed=SeedSequence(int(rng.integers(2**63))))

    def answers(self, prompts: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
        """Random numbers of the other side's texts, given those of P's."""
        own = rng.random(self.n)
        return np.where(rng.random(self.n) < COUPLING, prompts, own) if self.shared else own

    def units(self) -> Units:
        return units_of(np.arange(self.n), np.arange(self.n)) if self.shared else each_alone(self.n, self.n)


def topics_of(of: NDArray[np.float64], uniform: NDArray[np.float64]) -> Labels:
    return np.searchsorted(np.cumsum(of), uniform).clip(max=of.size - 1).astype(np.int32)


def around(centers: NDArray[np.float64], rng: Generator) -> NDArray[np.float32]:
    """Features of texts whose topics have these centers."""
    return (centers + NOISE * rng.standard_normal(centers.shape)).astype(np.float32)


def scores(cell: Cell, rng: Generator) -> list[float]:
    """The shown scores of one draw."""
    found = observed(sides_of(cell, *cell.draw(rng), SeedSequence(0)))
    return [found[name] for name in SHOWN]


def observed(sides: TwoSides) -> dict[str, float]:
    p, q = sides.counts()
    found = spreads_of(basis_of(CountSamples(p, q, p[np.newaxis], q[np.newaxis]), "none"), ScoreConfig().scale)
    return {name: float(spread.values[0]) for name, spread in found.items()}


def intervals(cell: Cell, rng: Generator, score: ScoreConfig) -> list[tuple[float, float]]:
    """Low and high of each shown score by the comparison, then by the plain bootstrap."""
    sides = sides_of(cell, *cell.draw(rng), SeedSequence(int(rng.integers(2**63))))
    exchanged = spreads_of(basis_of_sides(sides, score, "none"), score.scale)
    draws = Draws(each_alone(cell.n, cell.n), score.bootstrap, np.random.default_rng(sides.seed))
    plain = spreads_of(basis_of(CountSamples(*sides.counts(), *sides.resampled(draws, 0.0)), "none"), score.scale)
    return [_ends(spreads[name], name, score) for spreads in (exchanged, plain) for name in SHOWN]


def _ends(spread: Spread, name: str, score: ScoreConfig) -> tuple[float, float]:
    estimate = estimate_of(spread, score.confidence, SCORES[name].bounds)
    return estimate.low, estimate.high


def sides_of(cell: Cell, p: Labels, q: Labels, seed: SeedSequence) -> TwoSides:
    partition = Partition("pairwise", 0, cell.k, 0.0, {HUMAN: p, MODEL: q})
    return TwoSides(MODEL, (partition,), cell.units(), seed)


def row(cell: Cell, simulations: int, truths: int, score: ScoreConfig) -> str:
    rng = np.random.default_rng(SeedSequence([cell.n, list(CASES).index(cell.case), cell.shared, cell.fresh]))
    drawn = np.array([scores(cell, rng) for _ in range(truths)])
    correct = np.quantile(drawn, 0.975, axis=0) - np.quantile(drawn, 0.025, axis=0)
    found = np.array([intervals(cell, rng, score) for _ in range(simulations)])
    truth = np.tile(drawn.mean(axis=0), 2)
    covered = ((found[..., 0] <= truth) & (truth <= found[..., 1])).mean(axis=0)
    ratio = (found[..., 1] - found[..., 0]).mean(axis=0) / np.tile(correct, 2)
    cells = [f"{coverage:.3f} | {width:.2f}" for coverage, width in zip(covered, ratio, strict=True)]
    texts, clusters = PROMPTS[cell.shared], CLUSTERS[cell.fresh]
    return f"| {cell.case} | {texts} | {cell.n:,} | {clusters} | {truth[0]:.3f} | " + " | ".join(cells) + " |"


def _covered(found: NDArray[np.float64], truth: NDArray[np.float64], correct: NDArray[np.float64]) -> str:
    """Cells of coverage and mean width over the correct one, from (simulations, quantities, 2) intervals."""
    low, high = np.moveaxis(found, -1, 0)
    covered, width = ((low <= truth) & (truth <= high)).mean(axis=0), (high - low).mean(axis=0) / correct
    return " | ".join(f"{each:.3f} | {ratio:.2f}" for each, ratio in zip(covered, width, strict=True))


def repeated(cell: Cell, count: int, rng: Generator) -> tuple[TwoSides, ...]:
    """The texts of P with those of each generation of one candidate, drawn as a comparison draws them."""
    seed, prompts = SeedSequence(int(rng.integers(2**63))), rng.random(cell.n)
    p, q, _ = cell.sources()
    human = topics_of(p, prompts)
    return tuple(sides_of(cell, human, topics_of(q, cell.answers(prompts, rng)), seed) for _ in range(count))


def generations_row(cell: Cell, count: int, simulations: int, truths: int, score: ScoreConfig) -> str:
    """Coverage of the mean over ``count`` generations, then of the first generation's score."""
    rng = np.random.default_rng(SeedSequence([cell.n, list(CASES).index(cell.case), cell.shared, count]))
    drawn = np.array(
        [[[observed(sides)[name] for name in SHOWN] for sides in repeated(cell, count, rng)] for _ in range(truths)]
    )
    values = np.concatenate([drawn.mean(axis=1), drawn[:, 0]], axis=1)
    correct = np.subtract(*np.quantile(values, [0.975, 0.025], axis=0))
    found = []
    for _ in range(simulations):
        sides = repeated(cell, count, rng)
        bases = [basis_of_generations(some, score, "none") for some in (sides, sides[:1])]
        found.append([_ends(spreads_of(basis, score.scale)[name], name, score) for basis in bases for name in SHOWN])
    truth = np.tile(drawn.mean(axis=(0, 1)), 2)  # every generation has the same expectation
    shown = _covered(np.array(found), truth, correct)
    prompts = PROMPTS[cell.shared]
    return f"| {cell.case} | {prompts} | {cell.n:,} | {truth[0]:.3f} | {shown} |"


def generations_report(rows: list[str], options: argparse.Namespace, score: ScoreConfig, command: str) -> str:
    one = options.generations
    return f"""# Coverage of the interval of a mean over generations

`{command}` on Python {platform.python_version()}: {options.simulations} simulations a row, {score.bootstrap} resamples,
nominal {score.confidence:.0%}, {one} generations, fixed clusters, expectations and correct widths from
{options.truths:,} further draws. Width is the mean width over the correct one.

| case | prompts | n | E[MAUVE] | MAUVE: covered | width | frontier integral: covered | width |{" "}\
one generation, MAUVE: covered | width | frontier integral: covered | width |
| --- | --- | ---: | ---: |{" ---: |" * 8}
{chr(10).join(rows)}
"""


def table(rows: list[str], *more: str) -> str:
    head = "| case | prompts | n | clusters | E[MAUVE] | " + " | ".join(
        f"{name}: covered | width"
        for name in ("MAUVE", "frontier integral", "plain, MAUVE", "plain, frontier integral")
    )
    columns = " | ".join([head, *more])
    return f"{columns} |\n| --- | --- | ---: | --- | ---: |{' ---: |' * (8 + len(more))}\n" + "\n".join(rows)


def report(rows: list[str], simulations: int, truths: int, score: ScoreConfig, command: str) -> str:
    return f"""# Coverage of the intervals

`{command}` on Python {platform.python_version()}: {simulations} simulations a row, {score.bootstrap} resamples,
nominal {score.confidence:.0%}, expectations and correct widths from {truths:,} further draws. Width is the mean width
over the correct one.

{table(rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--truths", type=int, default=1000)
    parser.add_argument("--texts", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--cases", nargs="+", default=[*CASES], choices=[*CASES])
    parser.add_argument("--generations", type=int, default=1, help="cover the mean over so many instead")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        text = (of_generations if options.generations > 1 else of_scores)(pool, options, _command(options, parser))
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


def _command(options: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """The command without what does not change the numbers or has its default."""
    given = ["python benchmarks/interval_coverage.py"]
    for name, value in vars(options).items():
        if name not in {"workers", "out"} and value != parser.get_default(name):
            each = " ".join(f"'{one}'" if " " in str(one) else str(one) for one in np.atleast_1d(value).tolist())
            given.append(f"--{name} {each}")
    return " ".join(given)


def of_scores(pool: ProcessPoolExecutor, options: argparse.Namespace, command: str) -> str:
    """The table of single scores."""
    score, counts = ScoreConfig(), (options.simulations, options.truths)
    cells = [Cell(*each) for each in product(options.cases, (False, True), options.texts, (False, True))]
    futures = [pool.submit(row, cell, *counts, score) for cell in cells]
    return report(_shown(futures), *counts, score, command)


def of_generations(pool: ProcessPoolExecutor, options: argparse.Namespace, command: str) -> str:
    """The table of means over generations."""
    score = ScoreConfig()
    cells = [Cell(*each, fresh=False) for each in product(options.cases, (False, True), options.texts)]
    futures = [
        pool.submit(generations_row, cell, options.generations, options.simulations, options.truths, score)
        for cell in cells
    ]
    return generations_report(_shown(futures), options, score, command)


def _shown(futures: Sequence[Future[str]]) -> list[str]:
    """The rows in order, each also written to standard error when it is there."""
    rows: list[str] = []
    for future in futures:
        rows.append(future.result())
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
