"""How often the interval of a score covers the score's expectation, and how wide it is.

    python benchmarks/interval_coverage.py --simulations 300 --out benchmarks/results/interval_coverage.md

Each simulation draws n texts of P and n of Q from known distributions over k = n / 10 topics and scores them as a
comparison does. The distributions are the same, close, moderately far and far. Texts are independent, or each pair
answers one prompt and, with probability 0.8, comes from one random number. Clusters are the topics themselves, or
those of k-means on features around the topics' centers, fitted anew in each simulation.

Two candidates' difference is covered likewise: both are compared with the same texts of P, at the first n alone.

What must be covered is E[score] at this n and k, the mean over further draws. The correct width is that of the central
95 % of the scores of those draws. Beside it stands the plain bootstrap, which draws the texts of either side on their
own and exchanges none.
"""

from __future__ import annotations

import argparse
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.numerics.kmeans.clustering import kmeans
from mauve_core.numerics.resampling.exchange import Draws, PromptGroups, prompt_groups, separate_prompts
from mauve_core.scoring.differences import difference_interval
from mauve_core.scoring.estimates import SCORE_BOUNDS, Spread, basis_of, basis_of_sides, estimate_of, spreads_of
from mauve_core.scoring.replicates import CountSamples, TwoSides
from mauve_core.scoring.result import Partition

CASES = {"P = Q": 0.0, "close": 0.3, "moderate": 0.7, "far": 1.5}
"""Standard deviation of log(q / p) over the topics."""

COUPLING = 0.8
DIMENSION, NOISE = 10, 0.6
SHOWN = ("mauve", "frontier_integral")
MODEL = "model"

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
        p, q, centers = self.sources()
        prompts = rng.random(self.n)
        topics = [_topics(p, prompts), _topics(q, self.answers(prompts, rng))]
        if not self.fresh:
            return topics[0], topics[1]
        stacked = np.concatenate(topics)
        features = centers[stacked] + NOISE * rng.standard_normal((stacked.size, DIMENSION))
        seed = SeedSequence(int(rng.integers(2**63)))
        labels = kmeans(features.astype(np.float32), self.k, restarts=1, seed=seed).labels
        return labels[: self.n], labels[self.n :]

    def answers(self, prompts: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
        """Random numbers of the other side's texts, given those of P's."""
        own = rng.random(self.n)
        return np.where(rng.random(self.n) < COUPLING, prompts, own) if self.shared else own

    def groups(self) -> PromptGroups:
        return prompt_groups(np.arange(self.n), np.arange(self.n)) if self.shared else separate_prompts(self.n, self.n)


def _topics(of: NDArray[np.float64], uniform: NDArray[np.float64]) -> Labels:
    return np.searchsorted(np.cumsum(of), uniform).clip(max=of.size - 1).astype(np.int32)


def scores(cell: Cell, rng: Generator) -> list[float]:
    """The shown scores of one draw."""
    found = _observed(_sides(cell, *cell.draw(rng), SeedSequence(0)))
    return [found[name] for name in SHOWN]


def _observed(sides: TwoSides) -> dict[str, float]:
    p, q = sides.counts()
    found = spreads_of(basis_of(CountSamples(p, q, p[np.newaxis], q[np.newaxis]), "none"), ScoreConfig().scale)
    return {name: float(spread.values[0]) for name, spread in found.items()}


def intervals(cell: Cell, rng: Generator, score: ScoreConfig) -> list[tuple[float, float]]:
    """Low and high of each shown score by the comparison, then by the plain bootstrap."""
    sides = _sides(cell, *cell.draw(rng), SeedSequence(int(rng.integers(2**63))))
    exchanged = spreads_of(basis_of_sides(sides, score, "none"), score.scale)
    draws = Draws(separate_prompts(cell.n, cell.n), score.bootstrap, np.random.default_rng(sides.seed))
    plain = spreads_of(basis_of(CountSamples(*sides.counts(), *sides.resampled(draws, 0.0)), "none"), score.scale)
    return [_ends(spreads[name], name, score) for spreads in (exchanged, plain) for name in SHOWN]


def _ends(spread: Spread, name: str, score: ScoreConfig) -> tuple[float, float]:
    estimate = estimate_of(spread, score.confidence, SCORE_BOUNDS[name])
    return estimate.low, estimate.high


def _sides(cell: Cell, p: Labels, q: Labels, seed: SeedSequence) -> TwoSides:
    partition = Partition("pairwise", 0, cell.k, 0.0, {HUMAN: p, MODEL: q})
    return TwoSides(MODEL, (partition,), cell.groups(), seed)


def row(cell: Cell, simulations: int, truths: int, score: ScoreConfig) -> str:
    rng = np.random.default_rng(SeedSequence([cell.n, list(CASES).index(cell.case), cell.shared, cell.fresh]))
    drawn = np.array([scores(cell, rng) for _ in range(truths)])
    correct = np.quantile(drawn, 0.975, axis=0) - np.quantile(drawn, 0.025, axis=0)
    found = np.array([intervals(cell, rng, score) for _ in range(simulations)])
    truth = np.tile(drawn.mean(axis=0), 2)
    covered = ((found[..., 0] <= truth) & (truth <= found[..., 1])).mean(axis=0)
    ratio = (found[..., 1] - found[..., 0]).mean(axis=0) / np.tile(correct, 2)
    cells = [f"{coverage:.3f} | {width:.2f}" for coverage, width in zip(covered, ratio, strict=True)]
    texts, clusters = "shared" if cell.shared else "independent", "k-means" if cell.fresh else "fixed"
    return f"| {cell.case} | {texts} | {cell.n:,} | {clusters} | {truth[0]:.3f} | " + " | ".join(cells) + " |"


PAIRS = [("P = Q", "P = Q"), ("close", "close"), ("close", "moderate"), ("moderate", "far")]


def two_candidates(cells: tuple[Cell, Cell], rng: Generator) -> tuple[TwoSides, TwoSides]:
    """The same texts of P with the texts of two candidates, drawn as a comparison draws them."""
    seed, prompts = SeedSequence(int(rng.integers(2**63))), rng.random(cells[0].n)
    human = _topics(cells[0].sources()[0], prompts)
    found = [_sides(cell, human, _topics(cell.sources()[1], cell.answers(prompts, rng)), seed) for cell in cells]
    return found[0], found[1]


def difference_row(cells: tuple[Cell, Cell], simulations: int, truths: int, score: ScoreConfig) -> str:
    rng = np.random.default_rng(
        SeedSequence([cells[0].n, *(list(CASES).index(cell.case) for cell in cells), cells[0].shared])
    )
    drawn = []
    for _ in range(truths):
        both = [_observed(sides) for sides in two_candidates(cells, rng)]
        drawn.append([both[0][name] - both[1][name] for name in SHOWN])
    truth, correct = np.mean(drawn, axis=0), np.subtract(*np.quantile(drawn, [0.975, 0.025], axis=0))
    found = []
    for _ in range(simulations):
        spreads = [
            spreads_of(basis_of_sides(sides, score, "none"), score.scale) for sides in two_candidates(cells, rng)
        ]
        found.append(
            [difference_interval(spreads[0][name], spreads[1][name], name, score.confidence)[1:] for name in SHOWN]
        )
    low, high = np.moveaxis(np.array(found), -1, 0)
    covered, width = ((low <= truth) & (truth <= high)).mean(axis=0), (high - low).mean(axis=0) / correct
    shown = " | ".join(f"{each:.3f} | {ratio:.2f}" for each, ratio in zip(covered, width, strict=True))
    prompts = "shared" if cells[0].shared else "independent"
    return f"| {cells[0].case}, {cells[1].case} | {prompts} | {cells[0].n:,} | {truth[0]:.3f} | {shown} |"


def report(
    rows: list[str], differences: list[str], simulations: int, truths: int, score: ScoreConfig, command: str
) -> str:
    head = "| case | prompts | n | clusters | E[MAUVE] | " + " | ".join(
        f"{name}: covered | width"
        for name in ("MAUVE", "frontier integral", "plain, MAUVE", "plain, frontier integral")
    )
    return f"""# Coverage of the intervals

`{command}` on Python {platform.python_version()}: {simulations} simulations a row, {score.bootstrap} resamples,
nominal {score.confidence:.0%}, expectations and correct widths from {truths:,} further draws. Width is the mean width
over the correct one.

{head} |
| --- | --- | ---: | --- | ---: |{" ---: | ---: |" * 4}
{chr(10).join(rows)}

## Differences of two candidates

Fixed clusters; both candidates answer the prompts of P, or none.

| candidates | prompts | n | E[difference of MAUVE] | MAUVE: covered | width | frontier integral: covered | width |
| --- | --- | ---: | ---: |{" ---: |" * 4}
{chr(10).join(differences)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--truths", type=int, default=1000)
    parser.add_argument("--texts", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    score = ScoreConfig()
    cells = [Cell(*each) for each in product(CASES, (False, True), options.texts, (False, True))]
    with ProcessPoolExecutor(options.workers) as pool:
        pairs = [
            (Cell(one, shared, n, False), Cell(other, shared, n, False))
            for n, shared, (one, other) in product(options.texts[:1], (False, True), PAIRS)
        ]
        later = [pool.submit(difference_row, pair, options.simulations, options.truths, score) for pair in pairs]
        futures = [pool.submit(row, cell, options.simulations, options.truths, score) for cell in cells]
        rows: list[str] = []
        for future in futures:
            rows.append(future.result())
            print(rows[-1], file=sys.stderr, flush=True)
        differences = [future.result() for future in later]
    texts = " ".join(map(str, options.texts))
    command = (
        f"python benchmarks/interval_coverage.py --simulations {options.simulations} --truths {options.truths} "
        f"--texts {texts}"
    )
    text = report(rows, differences, options.simulations, options.truths, score, command)
    if options.out:
        write_atomically(options.out, lambda stream: stream.write(text.encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
