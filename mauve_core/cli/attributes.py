"""``mauve-lens attributes``: report what the clusters of a stored run capture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mauve_core.analysis.attributes import CATEGORICAL, NUMERIC, Attribute
from mauve_core.base.config import HUMAN
from mauve_core.cli.options import add_output_options, show_result
from mauve_core.experiments.attributes_over_k import ALL, SPLITS, AttributeTable
from mauve_core.scoring.tables import aligned, mean_and_spread, printable
from mauve_core.tasks.attributes import AttributesTask

_TITLES = {
    "accuracy": "accuracy",
    "baseline": "most frequent",
    "ami": "AMI",
    "v_measure": "V-measure",
    "purity": "purity",
    "r2": "R^2",
}


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "attributes",
        help="show what a stored run's clusters reveal about metadata, length, stop words and punctuation",
        description="Half of the texts label the clusters; the other half's values are predicted from their clusters.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument(
        "--column", action="append", metavar="NAME", help="a metadata column; default: all that can be evaluated"
    )
    parser.add_argument(
        "--k",
        action="append",
        type=int,
        metavar="N",
        help="number of clusters; default: from an eighth of the run's to four times it",
    )
    parser.add_argument(
        "--source", default=HUMAN, help=f"texts to use: {HUMAN}, a candidate or {ALL}; default: {HUMAN}"
    )
    parser.add_argument("--candidate", metavar="NAME", help="use its pairwise clusters; default: the joint ones")
    parser.add_argument(
        "--splits", type=int, default=SPLITS, metavar="N", help=f"splits into halves; default: {SPLITS}"
    )
    add_output_options(parser, table=True)
    parser.set_defaults(run=_attributes)


def _attributes(args: argparse.Namespace) -> int:
    columns, ks = (None if values is None else tuple(dict.fromkeys(values)) for values in (args.column, args.k))
    task = AttributesTask(args.id, columns, ks, args.source, args.candidate, args.splits)
    return show_result(args, task, tables, lambda found: found.notes, "All values, and purity by value")


def tables(found: AttributeTable) -> str:
    """Categories and numbers: one row per column and k."""
    categories = [row for row in found.rows if row.kind == "category"]
    numbers = [row for row in found.rows if row.kind != "category"]
    parts = [_table(rows, names) for rows, names in ((categories, CATEGORICAL), (numbers, NUMERIC)) if rows]
    seeds, splits = found.settings["seeds"], found.settings["splits"]
    parts.append(
        f"Mean \u00b1 standard deviation over {seeds} seeds and {splits} splits (most frequent: over splits; AMI, "
        "V-measure and purity: over seeds). Most frequent: accuracy without clusters. AMI: 0 if clusters carry no "
        "information about the column. Purity grows with k by itself. R^2: 0 or less if a cluster's mean is no better "
        "than the overall mean."
    )
    return "\n\n".join(parts)


def _table(rows: Sequence[Attribute], names: Sequence[str]) -> str:
    cells = [["Column", "k", "n", *(_TITLES[name] for name in names)]]
    for row in rows:
        scores = [mean_and_spread(row.scores[name]) for name in names]
        cells.append([printable(row.column), str(row.k), str(row.n), *scores])
    return aligned(cells)
