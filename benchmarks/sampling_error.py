"""Measured error of the frontier integral beside its rates, and how well a sample predicts its own error.

    python benchmarks/sampling_error.py [--out benchmarks/results/sampling_error.md]

After JMLR 2023, section 7.8 and figure 21, on made-up distributions whose truth is known. Slopes are those of straight
lines through log error against log n or log k; ± is their standard error from the finite number of draws.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sampling_bounds import oracle_rate, uniform_rate

from mauve_core.base.files import write_atomically
from mauve_core.stats.sampling_error import (
    FRONTIER,
    errors_against_n,
    log_slope,
    measured_errors,
    merged,
    recommend_clusters,
    recommend_texts,
)

SIZES = [2**power for power in range(7, 15)]
BINS = [8, 16, 32, 64, 128, 256, 512]
POPULATIONS = ("none", "krichevsky-trofimov", "laplace", "good-turing")
# Texts drawn for each text at hand.
TIMES = (1, 4)
SMOOTHINGS = ("none", "krichevsky-trofimov")

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def zipf(k: int, power: float) -> NDArray[np.float64]:
    weights = np.arange(1, k + 1.0) ** -power
    return np.asarray(weights / weights.sum())


def moved(p: NDArray[np.float64], by: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """p with every logarithm moved by a normal number of that standard deviation."""
    weights = p * np.exp(by * rng.standard_normal(p.size))
    return np.asarray(weights / weights.sum())


def distributions(k: int, seed: int) -> Iterator[tuple[str, Pair]]:
    """Pairs P, Q over k bins by name."""
    rng = np.random.default_rng([seed, k])
    flat = np.full(k, 1 / k)
    yield "uniform, equal", (flat, flat)
    yield "Zipf(1), Q moved by 0.5", (zipf(k, 1), moved(zipf(k, 1), 0.5, rng))
    yield "Zipf(2), Q moved by 0.5", (zipf(k, 2), moved(zipf(k, 2), 0.5, rng))
    p = rng.dirichlet(np.full(k, 2.0))
    yield "Dirichlet(2), Q moved by 0.3", (p, moved(p, 0.3, rng))
    yield "Dirichlet(1/2), independent", (rng.dirichlet(np.full(k, 0.5)), rng.dirichlet(np.full(k, 0.5)))


def against_n(options: argparse.Namespace) -> str:
    lines = [
        "| P and Q | k | oracle rate | rate for any P, Q | measured | error at n = 1,024 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for k in (64, 1024):
        for name, (p, q) in distributions(k, options.seed):
            found = measured_errors([(p, q, n, n) for n in SIZES], replicates=options.draws, seed=options.seed)
            slope = log_slope(found.n, found.mean, found.standard_error)
            rates = [log_slope(SIZES, rate).value for rate in (oracle_rate(p, q, SIZES), uniform_rate(k, SIZES))]
            here = SIZES.index(1024)
            cells = [
                name,
                f"{k:,}",
                *(f"{rate:.2f}" for rate in rates),
                f"{slope.value:.3f} ± {slope.standard_error:.3f}",
                f"{found.mean[here]:.4f} ± {found.standard_error[here]:.4f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def against_k(options: argparse.Namespace) -> str:
    lines = ["| P and Q | oracle rate | rate for any P, Q | measured |", "| --- | --- | --- | --- |"]
    families = [dict(distributions(k, options.seed)) for k in BINS]
    for name in families[0]:
        pairs = [family[name] for family in families]
        found = measured_errors([(*pair, 1000, 1000) for pair in pairs], replicates=options.draws, seed=options.seed)
        slope = log_slope(found.k, found.mean, found.standard_error)
        oracle = log_slope(BINS, np.array([oracle_rate(*pair, 1000) for pair in pairs])).value
        uniform = log_slope(BINS, uniform_rate(BINS, 1000)).value
        lines.append(f"| {name} | {oracle:.2f} | {uniform:.2f} | {slope.value:.3f} ± {slope.standard_error:.3f} |")
    return "\n".join(lines)


def populations(options: argparse.Namespace) -> str:
    """How the error predicted from one sample's counts compares with the true one, by population."""
    lines = [
        "| estimate | population | texts drawn | predicted / true: geometric mean | typical factor | least | most |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rng = np.random.default_rng(options.seed)
    for smoothing in SMOOTHINGS:
        estimator = replace(FRONTIER, smoothing=smoothing)
        ratios: dict[tuple[str, int], list[NDArray[np.float64]]] = {}
        for n, k in ((500, 50), (1000, 200), (5000, 500), (2000, 50)):
            for _, (p, q) in distributions(k, options.seed):
                true = measured_errors(
                    [(p, q, n * times, n * times) for times in TIMES], estimator=estimator, replicates=options.draws
                )
                for _ in range(5):
                    counts = rng.multinomial(n, p), rng.multinomial(n, q)
                    for name in POPULATIONS:
                        sizes = [n * times for times in TIMES]
                        found = errors_against_n(*counts, sizes, population=name, estimator=estimator, replicates=100)
                        for times, ratio in zip(TIMES, found.mean / true.mean, strict=True):
                            ratios.setdefault((name, times), []).append(np.log(ratio))
        for (name, times), logs in ratios.items():
            found_logs = np.array(logs)
            figures = (found_logs.mean(), np.sqrt((found_logs**2).mean()), found_logs.min(), found_logs.max())
            cells = " | ".join(f"{np.exp(figure):.2f}" for figure in figures)
            lines.append(f"| {smoothing} | {name} | {times} x | {cells} |")
    return "\n".join(lines)


def advice(options: argparse.Namespace) -> str:
    """What is said about two samples, and how long it takes."""
    lines = []
    rng = np.random.default_rng(options.seed)
    for n, k in ((512, 51), (5000, 500)):
        p, q = dict(distributions(k, options.seed))["Zipf(1), Q moved by 0.5"]
        counts = rng.multinomial(n, p), rng.multinomial(n, q)
        started = time.process_time()
        texts = recommend_texts(*counts, replicates=options.draws, seed=options.seed)
        between = time.process_time()
        tried = sorted({k, *(size for size in (*BINS, 24, 48, 96, 192, 384) if size <= k)})
        clusters = recommend_clusters(
            [merged(*counts, size) for size in tried], replicates=options.draws, seed=options.seed
        )
        ended = time.process_time()
        lines += [f"- {texts.reason} ({between - started:.2f} s)", f"- {clusters.reason} ({ended - between:.2f} s)"]
    return "\n".join(lines)


def report(options: argparse.Namespace) -> str:
    """The benchmark as a Markdown page."""
    return f"""# Sampling error of the frontier integral

    {options.command}

Means of |estimate - truth| over {options.draws:,} draws of n texts per side, unless said otherwise.

## Slopes in n

From n = {SIZES[0]} to {SIZES[-1]:,}, plain histograms. The rates are the bounds (10) and (12) of JMLR 2023 without
constants, as in its figure 21.

{against_n(options)}

## Slopes in k

n = 1,000, k = {BINS[0]} to {BINS[-1]}.

{against_k(options)}

## Which population predicts the error of a sample

P and Q as above with n = 500, k = 50; n = 1,000, k = 200; n = 5,000, k = 500; n = 2,000, k = 50. Of each, five samples
of n texts per side; from a sample's counts alone the error at n and at 4 n is predicted (100 draws) and divided by the
true one. The typical factor between the two is the exponential of the root mean square of their log ratio.

{populations(options)}

## Advice

For samples of Zipf(1) and the same moved by 0.5, with the processor time that it took; fewer clusters by merging.

{advice(options)}

numpy {np.__version__}, Python {platform.python_version()}, {platform.machine()}, one thread of {os.cpu_count()} cores.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000, help="draws behind a mean error, default 1000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the page there")
    options = parser.parse_args()
    given = [f"--{name} {value}" for name, value in vars(options).items() if value != parser.get_default(name)]
    options.command = " ".join(["python benchmarks/sampling_error.py", *given])
    page = report(options)
    print(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
