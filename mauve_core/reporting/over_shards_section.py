"""The report block on corpora in shards: scores over all texts, of which the run holds a sample."""

from __future__ import annotations

from mauve_core.experiments.over_shards import (
    ABOUT,
    closest_over_all,
    over_all_rows,
    sample_sentence,
    stored_over_shards,
)
from mauve_core.reporting.blocks import Block, Remarks, Table
from mauve_core.store import Run

TITLE = "Over all texts"


def over_shards_blocks(run: Run) -> tuple[Block, ...]:
    """A sentence and the scores, if the run is a sample; StorageError or InputError if damaged."""
    found = stored_over_shards(run)
    if found is None:
        return ()
    columns, rows = over_all_rows(found)
    said = str(closest_over_all(found)), sample_sentence(run, found)
    return Remarks(said), Table("Scores over all texts", columns, tuple(rows), ABOUT)
