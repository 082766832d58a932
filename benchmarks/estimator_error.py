"""How far each estimator of the divergence frontier is from the truth, by sample size and dimension.

    python benchmarks/estimator_error.py --out benchmarks/results/estimator_error.md

Three pairs of Gaussians whose frontier is known. Equal: both N(0, I), every divergence 0. Shifted: P = N(e, I) and
Q = N(0, I), e of length 1, KL = 1/2 both ways; only one direction of the d matters. Scaled: P = N(0, I) and
Q = N(0, s^2 I), s such that the mid-point (Jensen-Shannon) is that of the shifted pair. log p / q is then a function of
one normal or chi-square variable, and the truth a sum over a fine grid of it. Errors are estimate minus truth, mean and
standard deviation over repetitions with fresh samples of n texts per side. Beside the page goes a figure of the same
name, SVG.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from mauve_core.base.files import write_atomically
from mauve_core.clusters.k_means import kmeans, tenth_of_texts
from mauve_core.estimators.ratio_estimators import classifier_ratios, gaussian_ratios, kde_ratios, knn_ratios
from mauve_core.estimators.ratios import EXPECTATIONS, LogRatios, ratio_frontier
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, Frontier, divergence_frontier, probabilities, trapezoid_area

Array = NDArray[np.float64]

PAIRS = ("equal", "shifted", "scaled")
# The constant c of MAUVE, one for all, since the truth it is held against is one.
SCALE = 5.0
MIDDLE = REFERENCE_WEIGHTS.size // 2

RATIOS: dict[str, Callable[[Array, Array, np.random.SeedSequence], LogRatios]] = {
    "neighbours": lambda x_p, x_q, _: knn_ratios(x_p, x_q, components=x_p.shape[1]),
    "kernel density": lambda x_p, x_q, _: kde_ratios(x_p, x_q, components=x_p.shape[1]),
    "classifier": lambda x_p, x_q, seed: classifier_ratios(x_p, x_q, seed=seed),
    "Gaussian": lambda x_p, x_q, seed: gaussian_ratios(x_p, x_q, components=x_p.shape[1], seed=seed),
}
NAMES = ("quantised", *RATIOS)
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7")
# Of a panel of the figure.
WIDTH, HEIGHT = 190, 170


def scale_of(d: int) -> float:
    """The s that gives the scaled pair the mid-point of the shifted one."""
    target = middle(truth("shifted", d))
    return float(brentq(lambda s: middle(truth("scaled", d, s)) - target, 1.0001, 50.0))


def truth(pair: str, d: int, s: float = 1.0) -> Frontier:
    """The frontier on the published weights, from the law of log p / q under P and under Q; "equal" has s = 1."""
    if pair == "shifted":
        z = np.linspace(-12, 12, 4001)
        share_p = share_q = norm.pdf(z) * (z[1] - z[0])
        at_p, at_q = 0.5 + z, -0.5 + z
    else:
        v = np.linspace(-40, 8, 20001)
        share_p = share_q = chi2.pdf(np.exp(v), d) * np.exp(v) * (v[1] - v[0])
        at_p = d * np.log(s) + (1 / s**2 - 1) / 2 * np.exp(v)
        at_q = d * np.log(s) + (1 - s**2) / 2 * np.exp(v)
    own, rest = np.log(REFERENCE_WEIGHTS)[:, None], np.log1p(-REFERENCE_WEIGHTS)[:, None]
    type_1 = -(share_q * np.logaddexp(own + at_q, rest)).sum(axis=1)
    type_2 = -(share_p * np.logaddexp(own, rest - at_p)).sum(axis=1)
    return Frontier(REFERENCE_WEIGHTS, type_1, type_2)


def middle(frontier: Frontier) -> float:
    return float(frontier.type_1[MIDDLE] + frontier.type_2[MIDDLE]) / 2


def area(frontier: Frontier) -> float:
    return float(trapezoid_area(*frontier.curve(SCALE)))


def draw(pair: str, n: int, d: int, s: float, rng: np.random.Generator) -> tuple[Array, Array]:
    x_p, x_q = rng.normal(size=(n, d)), s * rng.normal(size=(n, d))
    if pair == "shifted":
        x_p += np.full(d, d**-0.5)
    return x_p, x_q


def quantised(x_p: Array, x_q: Array, seed: np.random.SeedSequence) -> Frontier:
    """k-means with a tenth as many clusters as texts of a side, Krichevsky-Trofimov smoothing: the default, MAUVE*."""
    n, k = len(x_p), tenth_of_texts(len(x_p), len(x_q))
    labels = kmeans(np.concatenate([x_p, x_q]), k, seed=seed).labels
    p, q = (probabilities(np.bincount(side, minlength=k), "krichevsky-trofimov") for side in (labels[:n], labels[n:]))
    return divergence_frontier(p, q)


def measure(options: argparse.Namespace) -> dict[tuple[str, int, int, str], Array]:
    """(pair, d, n, name) -> (repetitions, 3) errors of the mid-point and of MAUVE, and processor seconds.

    The name is that of an estimator, or of one with an expectation other than the default behind a comma.
    """
    errors: dict[tuple[str, int, int, str], list[list[float]]] = {}
    settings = [(pair, d, n) for pair in PAIRS for d in options.dimensions for n in options.sizes]
    for (pair, d, n), stream in zip(settings, np.random.SeedSequence(options.seed).spawn(len(settings)), strict=True):
        s = scale_of(d) if pair == "scaled" else 1.0
        exact = truth(pair, d, s)
        for repetition in stream.spawn(options.repetitions):
            drawing, *seeds = repetition.spawn(1 + len(NAMES))
            x_p, x_q = draw(pair, n, d, s, np.random.default_rng(drawing))
            for name, seed in zip(NAMES, seeds, strict=True):
                started = time.process_time()
                if name == "quantised":
                    found = {name: quantised(x_p, x_q, seed)}
                    spent = time.process_time() - started
                else:
                    ratios = RATIOS[name](x_p, x_q, seed)
                    spent = time.process_time() - started
                    found = frontiers(name, ratios)
                for full_name, frontier in found.items():
                    row = [middle(frontier) - middle(exact), area(frontier) - area(exact), spent]
                    errors.setdefault((pair, d, n, full_name), []).append(row)
        print(f"{pair}, d = {d}, n = {n}", flush=True)
    return {key: np.array(rows) for key, rows in errors.items()}


def frontiers(name: str, ratios: LogRatios) -> dict[str, Frontier]:
    """The frontier by each expectation; ``own`` is left out where it is not defined."""
    found = {name: ratio_frontier(ratios)}
    for expectation in EXPECTATIONS[1:]:
        if expectation == "other" or (np.isfinite(ratios.at_p).all() and np.isfinite(ratios.at_q).all()):
            found[f"{name}, {expectation}"] = ratio_frontier(ratios, expectation=expectation)
    return found


def cell(values: Array | None, digits: int = 3) -> str:
    """``mean ± sd``, with the sign of an error."""
    if values is None:
        return "not defined"
    if not np.isfinite(values).all():
        return "infinite"
    return f"{values.mean():+.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def error_tables(errors: dict[tuple[str, int, int, str], Array], options: argparse.Namespace) -> str:
    parts = []
    for column, what in ((0, "the mid-point, nats"), (1, f"MAUVE with c = {SCALE:g}")):
        for pair in PAIRS:
            rows = [
                [str(d), f"{n:,}", *(cell(errors[pair, d, n, name][:, column]) for name in NAMES)]
                for d in options.dimensions
                for n in options.sizes
            ]
            parts.append(f"## Error of {what}: {pair} pair\n\n{table(['d', 'n', *NAMES], rows)}")
    return "\n\n".join(parts)


def expectation_table(errors: dict[tuple[str, int, int, str], Array], options: argparse.Namespace) -> str:
    n = options.sizes[-1]
    rows = []
    for pair in PAIRS:
        for d in sorted({options.dimensions[0], options.dimensions[-1]}):
            for name in RATIOS:
                keys = [name, *(f"{name}, {expectation}" for expectation in EXPECTATIONS[1:])]
                found = [errors.get((pair, d, n, key)) for key in keys]
                complete = [None if rows is None or len(rows) < options.repetitions else rows[:, 0] for rows in found]
                rows.append([pair, str(d), name, *map(cell, complete)])
    return table(["pair", "d", "estimator", *EXPECTATIONS], rows)


def seconds_table(errors: dict[tuple[str, int, int, str], Array], options: argparse.Namespace) -> str:
    rows = [
        [f"{n:,}", *(f"{np.mean([errors[pair, d, n, name][:, 2] for pair in PAIRS]):.2f}" for name in NAMES)]
        for d in options.dimensions[-1:]
        for n in options.sizes
    ]
    return table(["n", *NAMES], rows)


def figure(errors: dict[tuple[str, int, int, str], Array], options: argparse.Namespace) -> str:
    """Mean error of the mid-point by n, bars of one standard deviation; a row for each pair, a column for each d."""
    left, top, gap = 62, 46, 16
    middles = {key: values[:, 0] for key, values in errors.items() if key[3] in NAMES}
    reach = np.ceil(max(abs(values.mean()) + values.std(ddof=1) for values in middles.values()) * 20) / 20
    panels = []
    for row, pair in enumerate(PAIRS):
        for column, d in enumerate(options.dimensions):
            x, y = left + column * (WIDTH + gap), top + row * (HEIGHT + gap)
            lines = [[middles[pair, d, n, name] for n in options.sizes] for name in NAMES]
            inside = panel(f"{pair}, d = {d}", lines, options.sizes, reach, left=column == 0, foot=pair == PAIRS[-1])
            panels.append(f'<g transform="translate({x} {y})">{inside}</g>')
    foot = top + len(PAIRS) * (HEIGHT + gap) + 48
    keys = [f'<text x="{left}" y="{foot - 22}">texts per side, n</text>']
    for place, (name, colour) in enumerate(zip(NAMES, COLOURS, strict=True)):
        x = left + 125 * place
        line = f'<line x1="{x}" x2="{x + 18}" y1="{foot - 4}" y2="{foot - 4}" stroke="{colour}" stroke-width="3"/>'
        keys.append(f'{line}<text x="{x + 23}" y="{foot}">{name}</text>')
    wide, high = left + max(len(options.dimensions) * (WIDTH + gap), 125 * len(NAMES)), foot + 14
    title = f"Error of the mid-point (nats): mean ± standard deviation of {options.repetitions} samples"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">'
        f'<rect width="{wide}" height="{high}" fill="white"/><text x="{left}" y="22" font-size="14">{title}</text>'
        f"{''.join(panels)}{''.join(keys)}</svg>\n"
    )


def panel(
    title: str, lines: Sequence[Sequence[Array]], sizes: Sequence[int], reach: float, *, left: bool, foot: bool
) -> str:
    """One setting: a line for each estimator, moved a little aside so that bars do not cover each other."""
    places = np.log(sizes) - np.log(sizes[0])
    across = 14 + (WIDTH - 28) * places / max(places[-1], 1e-9)

    def down(error: float) -> float:
        return HEIGHT / 2 * (1 - error / reach)

    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/><text x="6" y="14">{title}</text>',
        f'<line x2="{WIDTH}" y1="{down(0)}" y2="{down(0)}" stroke="#999" stroke-dasharray="4 3"/>',
    ]
    for tick in (-reach / 2, 0.0, reach / 2) if left else ():
        parts.append(f'<text x="-6" y="{down(tick) + 4:.1f}" text-anchor="end">{tick:+.3g}</text>')
    for n, x in zip(sizes, across, strict=True) if foot else ():
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT + 15}" text-anchor="middle">{n}</text>')
    for place, (values, colour) in enumerate(zip(lines, COLOURS, strict=True)):
        means, spreads = [value.mean() for value in values], [value.std(ddof=1) for value in values]
        spots = list(zip(across + 2 * (place - 2), means, spreads, strict=True))
        points = " ".join(f"{x:.1f},{down(mean):.1f}" for x, mean, _ in spots)
        bars = "".join(f"M{x:.1f} {down(mean - spread):.1f}V{down(mean + spread):.1f}" for x, mean, spread in spots)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(f'<path d="{bars}" stroke="{colour}"/>')
    return "".join(parts)


def report(errors: dict[tuple[str, int, int, str], Array], options: argparse.Namespace) -> str:
    """The benchmark as a Markdown page."""
    exact = truth("shifted", 1)
    scales = ", ".join(f"{scale_of(d):.3f} for d = {d}" for d in options.dimensions)
    picture = f"\n![Error of the mid-point]({options.out.with_suffix('.svg').name})\n" if options.out else ""
    return f"""# Error of the estimators of the divergence frontier

    {options.command}

Gaussians with a known frontier, estimate minus truth, mean ± standard deviation over {options.repetitions} fresh
samples of n texts per side. Equal: one source twice, mid-point 0 and MAUVE 1. Shifted: means one apart, KL = 1/2 both
ways, mid-point {middle(exact):.4f} nats, MAUVE with c = {SCALE:g} {area(exact):.4f}. Scaled: one middle, standard
deviations 1 and s with the same mid-point, s = {scales}.
Every estimator has its default settings, all d dimensions are kept, and ratios are averaged over the union; "quantised"
is k-means with n / 10 clusters and Krichevsky-Trofimov smoothing. The Gaussian estimator is told the right family, and
the classifier's family holds the shifted ratio but not the scaled one: real features favour neither.
{picture}
{error_tables(errors, options)}

## The three expectations

Error of the mid-point at n = {options.sizes[-1]:,} from the same ratios, fewest and most dimensions. Union: the mean
over both samples, the default. Other: over the sample of the side that a divergence is from, as the paper prints it
(JMLR 2023, equations 24 to 29 and 46). Own: over a side's own sample (section 7.3.3). "Not defined": a point has
probability 0 in its own sample, where the mean of logarithms does not exist. The one nearest to the truth is
not always the most trustworthy: ratios that hide part of a divergence and tails that add to it can cancel. What speaks
for the union is its spread, and that no single point can take it over.

{expectation_table(errors, options)}

## Processor seconds at d = {options.dimensions[-1]}

{seconds_table(errors, options)}

numpy {version("numpy")}, scikit-learn {version("scikit-learn")}, Python {platform.python_version()}, \
{platform.machine()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000, 2000], help="texts per side, growing")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--repetitions", type=int, default=5, help="fresh samples, 2 or more; default 5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the page there, and the figure beside it")
    options = parser.parse_args()
    given = [
        f"--{name} {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in vars(options).items()
        if value != parser.get_default(name)
    ]
    options.command = " ".join(["python benchmarks/estimator_error.py", *given])
    errors = measure(options)
    page = report(errors, options)
    print(page)
    if options.out is not None:
        picture = figure(errors, options)
        write_atomically(options.out, lambda stream: stream.write(page.encode()))
        write_atomically(options.out.with_suffix(".svg"), lambda stream: stream.write(picture.encode()))


if __name__ == "__main__":
    main()
