"""Whether an estimate of MAUVE or of the frontier integral with less bias is a better estimate.

    python benchmarks/bias_reduction.py --simulations 500 --out benchmarks/results/bias_reduction.md

n independent texts of each side fall into k clusters with known probabilities. The
estimates are compared with the score of the probabilities themselves:

- *plain*: the score of the counts, as published;
- *Krichevsky-Trofimov*: the score of the counts with 1/2 added to each, for MAUVE MAUVE* (JMLR 2023, section 4.1);
- *bootstrap*: 2 S - the mean over ``REPLICATES`` multinomial resamples of both sides (Efron and Tibshirani, *An
  Introduction to the Bootstrap*, 1993, section 10.6);
- *frontier*: MAUVE of the frontier whose errors are corrected as the bootstrap corrects a score, none below 0
  (``mauve_core.stats.resampling``). The frontier integral is linear in the errors, so that this is
  its *bootstrap*;
- *jackknife*: G S - (G - 1) times the mean over G = 10 groups of the score without a group (the same, section 10.5);
- *halves*: 2 S - the mean score of halves, five random cuts: Richardson's extrapolation of a bias like 1 / n.

What is corrected is clipped to [0, 1]. Then the order of two candidates whose true MAUVE differs by ``GAPS``, both
compared with the same human texts. The other candidate differs from the human side *alike* (another random direction),
is *sharpened* (probabilities to a power above 1, as low temperatures do), or has *half the texts*. The last two are
once closer and once farther than the first candidate; a tie counts as half right.

Then the errors where k-means makes the clusters from the texts themselves. The true score is that of the sources on
these clusters, from ``FRESH`` further texts of either side.

Last, the interval of the *frontier* estimate as the method ``kmeans:correction=bootstrap`` computes it, value ± t x
standard deviation of the jackknife over ten groups of prompts, with fixed clusters: how often it covers the true score,
where the two sides are independent and where they answer the same prompts. ``--only-intervals`` prints this part.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from frame import arguments, page, table, write
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray
from scipy.optimize import brentq

from mauve_core.base.config import ScoreConfig
from mauve_core.clusters.k_means import kmeans
from mauve_core.scoring.estimates import CountSamples, ScoreBasis, basis_of, spreads_of
from mauve_core.stats.divergences import frontier_integral, mauve, trapezoid_area
from mauve_core.stats.resampling import REPLICATES as METHOD_REPLICATES
from mauve_core.stats.resampling import bias_reduced, corrected, jackknife_sd, t_interval
from mauve_core.stats.units import Units, each_alone, units_of

# Standard deviation of log(q / p) over the topics.
CASES = {"P = Q": 0.0, "close": 0.3, "moderate": 0.7, "far": 1.5}

COUPLING = 0.8
DIMENSION, NOISE, FRESH = 10, 0.6, 50_000
# Names of ``Cell.shared``.
PROMPTS = ("independent", "shared")

# n and k.
SIZES = ((500, 50), (2000, 200), (2000, 50))

# True difference of MAUVE between two candidates at n = 500; half of it at n = 2,000, and not over half of what the
# first candidate lacks to 1.
GAPS = {"P = Q": 0.02, "close": 0.02, "moderate": 0.04, "far": 0.04}

# Whether the two sides answer the same prompts, and n; k is n / 10.
INTERVALS = ((False, 500), (True, 500), (False, 2000))

GROUPS, REPLICATES, AT_ONCE = 10, 50, 100
# The frontier integral of equal probabilities is 0 but for rounding.
ROUNDING = 1e-9
HALVES = np.array([np.random.default_rng(cut).permutation(GROUPS) < GROUPS // 2 for cut in range(5)])
SCALE = ScoreConfig().scale
SCORES = {"mauve": "MAUVE", "frontier_integral": "frontier integral"}
ESTIMATORS = ("plain", "Krichevsky-Trofimov", "bootstrap", "frontier", "jackknife", "halves")
PAIRS = ("alike", "sharpened", "half the texts")
GROUPED = (("equally many texts", PAIRS[:2]), (PAIRS[2], PAIRS[2:]))

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Labels = NDArray[np.int32]
# Score -> estimator -> (simulations,).
Estimates = dict[str, dict[str, Array]]
Row = list[str]


@dataclass(frozen=True)
class Cell:
    """Two sources over n / 10 topics, whose texts are independent or answer the same prompts."""

    case: str
    shared: bool
    n: int

    @property
    def k(self) -> int:
        return self.n // 10

    def sources(self) -> tuple[Array, Array, Array]:
        """p and q (k,) and the centers of the topics (k, DIMENSION); the same for every cell of this k."""
        rng = np.random.default_rng(self.k)
        p = rng.dirichlet(np.full(self.k, 2.0))
        q = p * np.exp(CASES[self.case] * rng.standard_normal(self.k))
        return p, q / q.sum(), rng.standard_normal((self.k, DIMENSION))

    def draw(self, rng: Generator) -> tuple[Labels, Labels]:
        """Topics of n texts of P and of n texts of Q."""
        p, q, _ = self.sources()
        prompts, own = rng.random(self.n), rng.random(self.n)
        answers = np.where(rng.random(self.n) < COUPLING, prompts, own) if self.shared else own
        return topics_of(p, prompts), topics_of(q, answers)

    def units(self) -> Units:
        return units_of(np.arange(self.n), np.arange(self.n)) if self.shared else each_alone(self.n, self.n)


def topics_of(of: Array, uniform: Array) -> Labels:
    return np.searchsorted(np.cumsum(of), uniform).clip(max=of.size - 1).astype(np.int32)


def around(centers: Array, rng: Generator) -> NDArray[np.float32]:
    """Features of texts whose topics have these centers."""
    return (centers + NOISE * rng.standard_normal(centers.shape)).astype(np.float32)


def shares_on(means: Array, cell: Cell, rng: Generator) -> list[Array]:
    """Shares of P and of Q on the clusters with these means, from ``FRESH`` further texts of either side."""
    p, q, centers = cell.sources()
    found = []
    for side in (p, q):
        points = around(centers[topics_of(side, rng.random(FRESH))], rng)
        near = ((means**2).sum(axis=1) - 2 * points @ means.T.astype(np.float32)).argmin(axis=1)
        found.append(np.bincount(near, minlength=len(means)) / FRESH)
    return found


@dataclass(frozen=True)
class Other:
    """A second candidate: its probabilities and its texts."""

    pair: str
    q: Array
    n: int


def others(case: str, p: Array, q: Array, n: int) -> Iterator[Other]:
    """The second candidates of every pair; nothing is closer than P = Q."""
    direction = np.random.default_rng([p.size, list(CASES).index(case)]).standard_normal(p.size)

    def alike(size: float) -> Array:
        return _normed(p * np.exp(size * direction))

    def sharpened(size: float) -> Array:
        return _normed(p ** (1 + size))

    gap = GAPS[case] * (1 if n == SIZES[0][0] else 0.5)
    for farther in (True, False) if case != "P = Q" else (True,):
        own = float(mauve(p, q))
        target = own - gap if farther else own + min(gap, (1 - own) / 2)
        for pair, family in zip(PAIRS, (alike, sharpened, alike), strict=True):
            if farther or pair != "alike":
                yield Other(pair, _at(family, p, target), n // 2 if pair == PAIRS[2] else n)


def _normed(masses: Array) -> Array:
    return np.asarray(masses / masses.sum())


def _at(family: Callable[[float], Array], p: Array, target: float) -> Array:
    """The member of a family of distributions whose MAUVE is ``target``."""
    return family(float(brentq(lambda size: float(mauve(p, family(size))) - target, 0.0, 20.0)))


def drawn(probabilities: Array, n: int, simulations: int, rng: Generator) -> Counts:
    """(simulations, GROUPS, k) counts of n texts in groups of equal size."""
    return np.asarray(rng.multinomial(n // GROUPS, probabilities, size=(simulations, GROUPS)))


def replicates(groups: Counts, rng: Generator) -> Counts:
    """(simulations, REPLICATES, k) counts of resamples."""
    total = groups.sum(axis=1, keepdims=True)
    n = int(total[0].sum())
    return np.asarray(rng.multinomial(n, total / n, size=(len(groups), REPLICATES)))


def basis(p: Counts, q: Counts, smoothing: str = "none") -> ScoreBasis:
    """Of (simulations, histograms, k) counts, as the resamples of one histogram."""
    left, right = (counts.reshape(-1, 1, counts.shape[-1]) for counts in (p, q))
    return basis_of(CountSamples(left[0], right[0], left, right), smoothing)


def scores(of: ScoreBasis, simulations: int) -> dict[str, Array]:
    """(simulations, histograms) scores."""
    found = spreads_of(of, SCALE)
    return {name: found[name].resampled.reshape(simulations, -1) for name in SCORES}


def estimates(p: Counts, q: Counts, p_replicates: Counts, q_replicates: Counts) -> Estimates:
    """Every estimate from the groups of both sides and their resamples."""
    count = len(p)
    p_total, q_total = p.sum(axis=1, keepdims=True), q.sum(axis=1, keepdims=True)
    plain, again = scores(basis(p_total, q_total), count), scores(basis(p_replicates, q_replicates), count)
    smoothed = scores(basis(p_total, q_total, "krichevsky-trofimov"), count)
    without = scores(basis(p_total - p, q_total - q), count)
    cuts = np.concatenate([HALVES, ~HALVES]).astype(np.int64)
    half = scores(basis(*(np.einsum("hg,sgk->shk", cuts, side) for side in (p, q))), count)
    found: Estimates = {}
    for name in SCORES:
        own = plain[name][:, 0]
        changed = {
            "bootstrap": 2 * own - again[name].mean(axis=1),
            "jackknife": GROUPS * own - (GROUPS - 1) * without[name].mean(axis=1),
            "halves": 2 * own - half[name].mean(axis=1),
        }
        clipped = {each: np.clip(values, 0.0, 1.0) for each, values in changed.items()}
        found[name] = {"plain": own, "Krichevsky-Trofimov": smoothed[name][:, 0], **clipped}
    frontier = corrected(p_total[:, 0], q_total[:, 0], p_replicates, q_replicates).frontier
    found["mauve"]["frontier"] = trapezoid_area(*frontier.curve(SCALE))
    found["frontier_integral"]["frontier"] = found["frontier_integral"]["bootstrap"]
    return found


def simulated(case: str, n: int, k: int, simulations: int) -> tuple[list[Row], list[Row]]:
    """Rows of the table of errors, and of the table of orders, for one case."""
    p, q, _ = Cell(case, shared=False, n=10 * k).sources()
    rng = np.random.default_rng(SeedSequence([n, k, list(CASES).index(case)]))
    second = list(others(case, p, q, n))
    parts: list[list[Estimates]] = []
    for start in range(0, simulations, AT_ONCE):
        count = min(AT_ONCE, simulations - start)
        human = drawn(p, n, count, rng)
        human_again = replicates(human, rng)
        sides = [drawn(own, size, count, rng) for own, size in ((q, n), *((each.q, each.n) for each in second))]
        parts.append([estimates(human, side, human_again, replicates(side, rng)) for side in sides])
    joined = [
        {
            name: {each: np.concatenate([part[of][name][each] for part in parts]) for each in ESTIMATORS}
            for name in SCORES
        }
        for of in range(len(second) + 1)
    ]
    truth = true_scores(p, q)
    signs = [
        {name: float(np.sign(value - truth[name])) for name, value in true_scores(p, other.q).items()}
        for other in second
    ]
    head = [case, f"{n:,}", str(k)]
    return _errors(head, truth, joined[0]), _orders(head, second, signs, joined)


def true_scores(p: Array, q: Array) -> dict[str, float]:
    return {"mauve": float(mauve(p, q)), "frontier_integral": float(frontier_integral(p, q))}


def fitted(case: str, n: int, simulations: int) -> list[Row]:
    """Rows of the table of errors on clusters of the texts themselves, n / 10 of them."""
    cell = Cell(case, shared=False, n=n)
    p, q, centers = cell.sources()
    rng = np.random.default_rng(SeedSequence([n, list(CASES).index(case), 1]))
    errors: dict[str, dict[str, list[float]]] = {name: {each: [] for each in ESTIMATORS} for name in SCORES}
    truths = []
    for _ in range(simulations):
        points = [around(centers[topics_of(side, rng.random(n))], rng) for side in (p, q)]
        clustering = kmeans(np.concatenate(points), cell.k, restarts=1, seed=SeedSequence(int(rng.integers(2**63))))
        groups = [_grouped(labels, cell.k) for labels in (clustering.labels[:n], clustering.labels[n:])]
        found = estimates(*groups, *(replicates(each, rng) for each in groups))
        truths.append(true_scores(*shares_on(clustering.centers, cell, rng)))
        for name, each in product(SCORES, ESTIMATORS):
            errors[name][each].append(float(found[name][each][0]) - truths[-1][name])
    truth = {name: float(np.mean([each[name] for each in truths])) for name in SCORES}
    shown = {name: {each: truth[name] + np.array(values) for each, values in errors[name].items()} for name in SCORES}
    return _errors([case, f"{n:,}", str(cell.k)], truth, shown)


def _grouped(labels: NDArray[np.int32], k: int) -> Counts:
    """(1, GROUPS, k) counts of texts in groups of equal size, in the order of the texts, which is random."""
    group = np.repeat(np.arange(GROUPS), labels.size // GROUPS)
    return np.asarray(np.bincount(group * k + labels, minlength=GROUPS * k).reshape(1, GROUPS, k))


def _errors(head: Row, truth: dict[str, float], found: Estimates) -> list[Row]:
    rows = []
    for each in ESTIMATORS:
        cells = []
        for name in SCORES:
            error = found[name][each] - truth[name]
            rmse = np.sqrt((error**2).mean())
            se = (error**2).std() / (2 * rmse * np.sqrt(error.size)) if rmse else 0.0
            cells += [f"{error.mean():+.4f}", f"{error.std():.4f}", f"{rmse:.4f} ± {se:.4f}"]
        rows.append([*head, f"{truth['mauve']:.3f}", each, *cells])
    return rows


def _orders(head: Row, second: list[Other], signs: list[dict[str, float]], found: list[Estimates]) -> list[Row]:
    rows = []
    for pair, name in product(PAIRS, SCORES):
        cells, by_estimator = [], {}
        for each in ESTIMATORS:
            right = [
                (np.sign(own[name][each] - found[0][name][each]) * sign[name] + 1) / 2
                for other, sign, own in zip(second, signs, found[1:], strict=True)
                if other.pair == pair
            ]
            of_both = by_estimator[each] = np.mean(right, axis=0)  # both directions have the same human texts
            cells.append(f"{of_both.mean():.3f} ± {of_both.std() / np.sqrt(of_both.size):.3f}")
        gained = by_estimator["frontier"] - by_estimator["plain"]
        cells.append(f"{gained.mean():+.3f} ± {gained.std() / np.sqrt(gained.size):.3f}")
        rows.append([*head, pair, SCORES[name], *cells])
    return rows


def means(cells: list[Row]) -> list[Row]:
    """Rows of means over cases; standard errors as if the pairs of one case erred together, which is the worst."""
    rows = []
    for texts, pairs, by in ((*group, by) for group, by in product(GROUPED, SCORES.values())):
        some = [each for each in cells if each[3] in pairs and each[4] == by]
        values = np.array([[[float(part) for part in cell.split(" ± ")] for cell in each[5:]] for each in some])
        value, error = np.moveaxis(values.reshape(-1, len(pairs), *values.shape[1:]).mean(axis=1), -1, 0)
        errors = np.sqrt((error**2).sum(axis=0)) / len(error)
        shown = [f"{one:.3f} ± {other:.3f}" for one, other in zip(value.mean(axis=0), errors, strict=True)]
        shown[-1] = ("" if shown[-1].startswith("-") else "+") + shown[-1]
        rows.append(["all", "", "", texts, by, *shown])
    return rows


def interval_row(cell: Cell, simulations: int) -> Row:
    """Coverage of the true score and mean width of the intervals of both scores, for one case."""
    p, q, _ = cell.sources()
    truth = np.array(list(true_scores(p, q).values()))
    rng = np.random.default_rng(SeedSequence([cell.n, list(CASES).index(cell.case), cell.shared, 2]))
    found = np.array([jackknife_intervals(cell, rng) for _ in range(simulations)])
    low, high = np.moveaxis(found, -1, 0)
    covered = ((low <= truth + ROUNDING) & (truth - ROUNDING <= high)).mean(axis=0)
    cells = []
    for share, width in zip(covered, (high - low).mean(axis=0), strict=True):
        cells += [f"{share:.3f} ± {np.sqrt(share * (1 - share) / simulations):.3f}", f"{width:.4f}"]
    return [cell.case, PROMPTS[cell.shared], f"{cell.n:,}", str(cell.k), f"{truth[0]:.3f}", *cells]


def jackknife_intervals(cell: Cell, rng: Generator) -> list[tuple[float, float]]:
    """Low and high of MAUVE and of the frontier integral; a group has the same prompts on both sides."""
    p, q = cell.draw(rng)
    seed, group = SeedSequence(int(rng.integers(2**63))), np.arange(cell.n) * GROUPS // cell.n
    own, *left_out = (_reduced(p[kept], q[kept], cell, seed) for kept in (group != each for each in range(-1, GROUPS)))
    sizes = np.full(GROUPS, 2 * cell.n // GROUPS)
    sds = [jackknife_sd(value, others, sizes) for value, *others in zip(own, *left_out, strict=True)]
    return [t_interval(value, sd, GROUPS, bounds=(0.0, 1.0)) for value, sd in zip(own, sds, strict=True)]


def _reduced(p: Labels, q: Labels, cell: Cell, seed: SeedSequence) -> tuple[float, float]:
    units = replace(cell, n=p.size).units()
    found = bias_reduced(p, q, cell.k, units, seed=seed)
    return float(trapezoid_area(*found.frontier.curve(SCALE))), float(found.frontier_integral)


def intervals(simulations: int) -> list[str]:
    """Parts of the page."""
    rows = []
    for (shared, n), case in product(INTERVALS, CASES):
        rows.append(interval_row(Cell(case, shared, n), simulations))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    of_scores = [f"{name}{cell}" for name in SCORES.values() for cell in (": covered", ": width")]
    return [
        "## Intervals of the corrected frontier",
        f"""{simulations:,} simulations of each case, {METHOD_REPLICATES} resamples, fixed clusters; value ± t x
standard deviation of the jackknife over {GROUPS} groups of prompts, nominal 95%. Covered: the score of the true
probabilities. With shared prompts the topics of the two sides depend on each other.""",
        table(["case", "prompts", "n", "k", "true MAUVE", *of_scores], rows),
    ]


def estimated(simulations: int) -> list[str]:
    """Parts of the page."""
    errors, orders = [], []
    for (n, k), case in product(SIZES, CASES):
        rows = simulated(case, n, k, simulations)
        errors += rows[0]
        orders += rows[1]
    on_fitted = [row for case in CASES for row in fitted(case, SIZES[0][0], simulations)]
    head = ["case", "n", "k", "true MAUVE", "estimate"]
    head += [f"{name}: {each}" for name in SCORES.values() for each in ("bias", "sd", "RMSE")]
    return [
        f"""{simulations:,} simulations of each case, {REPLICATES} resamples.
± is a Monte Carlo standard error; that of a bias is sd / {np.sqrt(simulations):.1f}.""",
        "## Error against the score of the true probabilities",
        table(head, errors),
        "## Share of simulations with two candidates in the right order",
        table(
            ["case", "n", "k", "the other candidate", "by", *ESTIMATORS, "frontier less plain"],
            [*orders, *means(orders)],
        ),
        "## Error on clusters that k-means makes from the texts",
        f"True scores from {FRESH:,} further texts of either side.",
        table(head, on_fitted),
    ]


if __name__ == "__main__":
    parser = arguments(__doc__, simulations=500, interval_simulations=200)
    parser.add_argument("--only-intervals", action="store_true")
    options = parser.parse_args()
    parts = [] if options.only_intervals else estimated(options.simulations)
    write(page("Estimates with less bias", *parts, *intervals(options.interval_simulations)), options.out)
