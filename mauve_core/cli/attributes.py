"""``mauve-lens attributes``: report what the clusters of a stored run capture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mauve_core.analyses.cluster_attributes import CATEGORICAL, NUMERIC, Attribute
from mauve_core.base.config import ALL_SIDES, ATTRIBUTE_SPLITS, HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable
from mauve_core.cli.input_files import add_field_options, refuse_fields, text_file
from mauve_core.cli.options import add_device_option, add_output_options, show_result
from mauve_core.runs import RunStore
from mauve_core.scoring.tables import aligned, mean_and_spread
from mauve_core.texts.streams import refusals
from mauve_core.texts.text_files import TextFile

if TYPE_CHECKING:
    from mauve_core.analyses.attributes_over_k import AttributeTable

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
        "--source", default=HUMAN, help=f"texts to use: {HUMAN}, a candidate or {ALL_SIDES}; default: {HUMAN}"
    )
    parser.add_argument("--candidate", metavar="NAME", help="use its pairwise clusters; default: the joint ones")
    parser.add_argument(
        "--splits",
        type=int,
        default=ATTRIBUTE_SPLITS,
        metavar="N",
        help=f"splits into halves; default: {ATTRIBUTE_SPLITS}",
    )
    parser.add_argument(
        "--clusters-from",
        metavar="RUN_OR_FILE",
        help="judge clusters of other texts as well: the human texts of another run, or a file, encoded as this run's "
        "texts are",
    )
    add_device_option(parser, of="for encoding that file: auto, cpu, cuda, cuda:1 ...")
    add_field_options(parser)
    add_output_options(parser, table=True)
    parser.set_defaults(run=_attributes)


def _attributes(args: argparse.Namespace) -> int:
    columns, ks = (None if values is None else tuple(dict.fromkeys(values)) for values in (args.column, args.k))
    run, file = _other(args)
    RunStore().folder_of(args.id)  # raises InputError if unknown
    from mauve_core.analyses.attributes_over_k import AttributesTask

    task = AttributesTask(args.id, columns, ks, args.source, args.candidate, args.splits, run, file, args.device)
    return show_result(args, "attributes", task, tables, lambda found: found.notes, "All values, and purity by value")


def _other(args: argparse.Namespace) -> tuple[str | None, TextFile | None]:
    """The id of a stored run, or a file; InputError if the text names neither, or one of each."""
    text = args.clusters_from
    if text is None:
        refuse_fields(args)
        return None, None
    stored = any(summary.id == text for summary in RunStore().list())
    with refusals(Path(text)):
        exists = Path(text).exists()
    if stored == exists:
        wrong = "names a run and a file" if stored else "is neither a stored run nor a file"
        raise InputError(f"--clusters-from {wrong}", received=text, todo="Name a run of mauve-lens runs, or ./FILE")
    if stored:
        refuse_fields(args)
        return text, None
    return None, text_file(args, text, quiet=args.quiet)


def tables(found: AttributeTable) -> str:
    """Categories and numbers: one row per column and k."""
    parts = []
    for names, wanted in ((CATEGORICAL, True), (NUMERIC, False)):
        own, other = (
            [row for row in rows if (row.kind == "category") == wanted] for rows in (found.rows, found.other_rows)
        )
        if own:
            parts.append(_table(own, other, names, found.clusters_from))
    about = ""
    if found.clusters_from:
        texts = found.settings["clusters_from"]["n"]
        about = f" Clusters of {printable(found.clusters_from)}: learned on its {texts:,} texts alone."
    seeds, splits = found.settings["seeds"], found.settings["splits"]
    parts.append(
        f"Mean \u00b1 standard deviation over {seeds} seeds and {splits} splits (most frequent: over splits; AMI, "
        "V-measure and purity: over seeds). Most frequent: accuracy without clusters. AMI: 0 if clusters carry no "
        "information about the column. Purity grows with k by itself. R^2: 0 or less if a cluster's mean is no better "
        f"than the overall mean.{about}"
    )
    return "\n\n".join(parts)


def _table(own: Sequence[Attribute], other: Sequence[Attribute], names: Sequence[str], title: str) -> str:
    from mauve_core.analyses.attributes_over_k import OWN

    cells = [["Column", *(["clusters of"] if title else []), "k", "n", *(_TITLES[name] for name in names)]]
    for whose, rows in ((OWN, own), (title, other)):
        for row in rows:
            scores = [mean_and_spread(row.scores[name]) for name in names]
            clusters = [printable(whose)] if title else []
            cells.append([printable(row.column), *clusters, str(row.k), str(row.n), *scores])
    return aligned(cells)
