"""Report blocks on what clusters capture: metadata columns and text properties against the number of clusters."""

from __future__ import annotations

from mauve_core.base.formatting import NONE
from mauve_core.experiments.attributes_over_k import AttributeTable, stored_attributes
from mauve_core.figures import attributes as figures
from mauve_core.reporting.blocks import Block, Chart, Remarks, Table
from mauve_core.store import Run

TITLE = "What clusters capture"

_READING = (
    "How well do clusters predict metadata columns and simple text properties as their number grows? If length alone "
    "explains the clusters, it may also explain the score. In half of the texts, each cluster is assigned its most "
    "frequent value; the other half is guessed."
)


def attributes_blocks(run: Run) -> tuple[Block, ...]:
    """Figures, table and notes of the run's attributes, if any; StorageError or InputError if the table is damaged."""
    table = stored_attributes(run)
    if table is None or not table.rows:
        return ()
    charts = tuple(_chart(part, table) for part in figures.PARTS if figures.lines_of(part, table))
    return (Remarks((_READING,)), *charts, _numbers(table), Remarks((figures.described(table), *table.notes)))


def _chart(part: str, table: AttributeTable) -> Chart:
    lines = figures.lines_of(part, table)
    drawn = lines[: figures.MOST_LINES]
    head, meaning = figures.PARTS[part]
    some = (
        f"{len(drawn)} of {len(lines)} columns are drawn; the table has them all. " if len(drawn) < len(lines) else ""
    )
    note = f"{some}Band: ± one standard deviation; vertical line: the run's own k."
    return Chart(f"attributes-{part}", figures.part_figure(part, table, drawn), f"{head}: {meaning}", note)


def _numbers(table: AttributeTable) -> Table:
    shown = figures.shown_table(table)
    rows = tuple(
        (str(column), f"{k:,}", f"{n:,}", *(cell or NONE for cell in cells))
        for column, k, n, *cells in shown.itertuples(index=False)
    )
    return Table(TITLE, tuple(map(str, shown.columns)), rows, folded=True)
