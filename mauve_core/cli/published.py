"""``mauve-lens published``: recompute the papers' correlation tables from their printed figures."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from mauve_core.base.formatting import NONE, interval, written
from mauve_core.cli.options import write, write_json
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    from mauve_core.analyses.published import Agreement, ColumnAgreement

_WIDTH = 120

_HEADINGS = {
    "n": "number of settings (a model with a decoder) behind the correlation",
    "Plain": "Spearman correlation with the reference; 1: the measure ranks the settings as the reference does",
    "Worst": "the lowest correlation within one standard deviation; ~ if not all patterns were tried",
    "Paper": "the published number; compare (w), a worst case, with Worst, and others with Plain",
    "Diff.": "our number minus the published one",
    "Range": "possible values of the number, given that printed figures are rounded; not every value in it can occur",
}


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("published")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> int:
    from mauve_core.analyses import published

    if args.json:
        write_json(published.as_dict(), "published")
        return 0
    parts = [_table(paper) for paper in published.PAPERS]
    parts.append("Between columns of the tables (NeurIPS 2021, supplement)\n" + _columns())
    parts.append("\n".join(f"{heading}: {meaning}." for heading, meaning in _HEADINGS.items()))
    parts += [textwrap.fill(note, _WIDTH) for note in published.notes()]
    write("\n\n".join(parts))
    return 0


def _table(paper: str) -> str:
    from mauve_core.analyses import published

    rows = [["Domain", "Reference", "Measure", *_HEADINGS, "Outcome"]]
    for row in published.agreements():
        if row.paper == paper:
            names = [
                published.DOMAINS[row.domain].title,
                published.REFERENCES[row.reference].title,
                published.PUBLISHED_COLUMNS[row.measure].title,
            ]
            rows.append(
                [*names, str(row.n), written(row.plain, 3), _worst(row), *_beside(row), published.OUTCOMES[row.outcome]]
            )
    return f"{published.PAPERS[paper].title}\n{textwrap.fill(published.answer(paper), _WIDTH)}\n{aligned(rows)}"


def _columns() -> str:
    from mauve_core.analyses import published

    rows = [["Table", "First", "Second", "n", "Ours", "Paper", "Diff.", "Range", "Outcome"]]
    for row in published.column_agreements():
        names = [row.table, row.first, row.second, str(row.n), written(row.ours, 3)]
        rows.append([*names, *_beside(row), published.OUTCOMES[row.outcome]])
    return aligned(rows)


def _worst(row: Agreement) -> str:
    if row.worst is None:
        return NONE
    return f"{'' if row.worst.exact else '~'}{written(row.worst.value, 3)}"


def _beside(row: Agreement | ColumnAgreement) -> list[str]:
    from mauve_core.analyses.published import Agreement

    worst = isinstance(row, Agreement) and row.statistic == "worst-case"
    published = f"{written(row.published, 3)}{' (w)' if worst else ''}"
    return [published, written(row.difference, 3, signed=True), interval(row.low, row.high, 3)]
