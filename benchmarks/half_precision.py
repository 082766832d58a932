"""What half precision of the features does to scores, held against what another k-means seed does.

    python benchmarks/half_precision.py [--pair P.npy Q.npy] [--seeds 10] [--out benchmarks/results/half_precision.md]

Each pair of float32 files, and one of made-up features, is clustered as it is and after rounding to float16.
"""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.scoring.partitioning import clustering_seeds, partitions
from mauve_core.stats.divergences import score_counts
from mauve_core.stats.scores import SCORES

Sides = dict[str, NDArray[np.floating]]


def made_up(seed: int, n: int = 2000, d: int = 768) -> Sides:
    """Two sides that share topics and differ in their weights; variances fall with the column."""
    rng = np.random.default_rng(seed)
    spread = (1 + np.arange(d)) ** -0.75
    centres = rng.normal(size=(40, d)) * spread + 2 * rng.normal(size=d) / np.sqrt(d)
    sides = [rng.choice(40, size=n, p=rng.dirichlet(np.full(40, 5.0))) for _ in range(2)]
    rows = [centres[topics] + spread * rng.normal(size=(n, d)) for topics in sides]
    return {HUMAN: rows[0].astype(np.float32), "q": rows[1].astype(np.float32)}


def scores(sides: Sides, seeds: int) -> NDArray[np.float64]:
    """(seeds, 4) values of SCORES."""
    score = ScoreConfig(seeds=seeds)
    parts = partitions("pairwise", sides, clustering_seeds(score)["pairwise"], score, lambda: None)
    counts = [score_counts(part.counts(HUMAN), part.counts("q")) for part in parts]
    return np.array([[float(found[name]) for name in SCORES] for found in counts])


def report(options: argparse.Namespace) -> str:
    pairs = {"made up": made_up(options.seed)}
    for first, second in options.pair or ():
        pairs[f"{first.stem} and {second.stem}"] = {HUMAN: np.load(first), "q": np.load(second)}
    rows = [["features", "n", "d", "score", "mean", "sd over seeds", "change by rounding", "change over sd"]]
    rows.append(["---"] * len(rows[0]))
    for name, sides in pairs.items():
        plain = scores(sides, options.seeds)
        half = scores({side: x.astype(np.float16) for side, x in sides.items()}, options.seeds)
        for column, score in enumerate(SCORES):
            values, change = plain[:, column], half[:, column].mean() - plain[:, column].mean()
            spread = values.std(ddof=1)
            cells = [f"{values.mean():.4f}", f"{spread:.4f}", f"{change:+.4f}", f"{abs(change) / spread:.2f}"]
            rows.append([name, f"{len(sides['q']):,}", str(sides["q"].shape[1]), score, *cells])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"""# Features in half precision

    {options.command}

The same features in float32 and rounded to float16, the default settings with {options.seeds} k-means seeds, the same
in both. Rounding moves a few texts across a boundary in the course of k-means, which then ends elsewhere: to a score
it is another draw of the start. The difference of two means over {options.seeds} seeds each has a standard deviation of
{np.sqrt(2 / options.seeds):.2f} standard deviations over seeds; that is what the last column is held against.

{table}

numpy {version("numpy")}, Python {platform.python_version()}, {platform.machine()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", nargs=2, type=Path, action="append", metavar=("P.npy", "Q.npy"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the made-up features")
    parser.add_argument("--out", type=Path, help="also write the page there")
    options = parser.parse_args()
    given = "".join(f" --pair {first.name} {second.name}" for first, second in options.pair or ())
    options.command = f"python benchmarks/half_precision.py{given} --seeds {options.seeds}"
    page = report(options)
    print(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
