"""Many simulations of single cells of ``interval_coverage.py``, and what their intervals lack.

    python benchmarks/interval_cells.py close,shared,500,k-means --simulations 1000 --out FILE

adds a table to the end of the file, in the place of an earlier one. A cell is its case, prompts, n and clusters.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import numpy as np
from interval_coverage import CASES, CLUSTERS, PROMPTS, Cell, around, observed, row, sides_of, table, topics_of
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.stats.divergences import mauve

FRESH, PARTITIONS = 50_000, 200
HEADING = "## More simulations of single cells"


def cell_named(text: str) -> Cell:
    """The cell of a text such as ``close,shared,500,k-means``."""
    case, prompts, n, clusters = text.split(",")
    if case not in CASES or prompts not in PROMPTS or clusters not in CLUSTERS:
        raise ValueError(text)
    return Cell(case, prompts == PROMPTS[True], int(n), clusters == CLUSTERS[True])


def shares_on(means: NDArray[np.float64], cell: Cell, rng: Generator) -> list[NDArray[np.float64]]:
    """Shares of P and of Q on the clusters with these means, from ``FRESH`` further texts of either side."""
    p, q, centers = cell.sources()
    found = []
    for side in (p, q):
        points = around(centers[topics_of(side, rng.random(FRESH))], rng)
        near = ((means**2).sum(axis=1) - 2 * points @ means.T.astype(np.float32)).argmin(axis=1)
        found.append(np.bincount(near, minlength=len(means)) / FRESH)
    return found


def between_partitions(cell: Cell) -> float:
    """Share of MAUVE's variance that is the variance of the sources' own MAUVE between partitions fitted anew."""
    rng = np.random.default_rng(SeedSequence([cell.n, list(CASES).index(cell.case), cell.shared, 2]))
    found = []
    for _ in range(PARTITIONS):
        clustering = cell.clustered(cell.topics(rng), rng)
        sides = sides_of(cell, clustering.labels[: cell.n], clustering.labels[cell.n :], SeedSequence(0))
        p, q = shares_on(clustering.centers, cell, rng)
        found.append((observed(sides)["mauve"], float(mauve(p, q))))
    of_texts, of_sources = np.var(found, axis=0)
    return float(of_sources / of_texts)


def report(rows: list[str], cells: list[str], simulations: int, truths: int) -> str:
    level = ScoreConfig().confidence
    named = " ".join(f"'{each}'" if " " in each else each for each in cells)
    return f"""{HEADING}

`python benchmarks/interval_cells.py {named} --simulations {simulations} --truths {truths}` on Python \
{platform.python_version()}. The standard error of a coverage of {level:.0%} is \
{np.sqrt(level * (1 - level) / simulations):.1%}.

An interval keeps the clusters. *Between partitions* is what it lacks: the share of MAUVE's variance that is the
variance of the sources' own MAUVE, from {FRESH:,} further texts of either side, over {PARTITIONS} partitions fitted
anew.

{table(rows, "between partitions")}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cells", nargs="+", metavar="CASE,PROMPTS,N,CLUSTERS")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--truths", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for cell in [cell_named(text) for text in options.cells]:
        lacking = f"{between_partitions(cell):.2f}" if cell.fresh else "0"
        rows.append(f"{row(cell, options.simulations, options.truths, ScoreConfig())} {lacking} |")
        print(rows[-1], file=sys.stderr, flush=True)
    text = report(rows, options.cells, options.simulations, options.truths)
    if options.out:
        before = options.out.read_text().partition(HEADING)[0].rstrip() + "\n\n" if options.out.exists() else ""
        write_atomically(options.out, lambda stream: stream.write((before + text).encode()))
    else:
        print(text)


if __name__ == "__main__":
    main()
