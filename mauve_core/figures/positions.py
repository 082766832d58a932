"""Where in a text encoders look, in a sentence and a table."""

from __future__ import annotations

from mauve_core.experiments.encoders.positions import EncoderPositions, PositionTable
from mauve_core.scoring.result import SeedSpread
from mauve_core.scoring.tables import mean_and_spread

# Columns of :func:`position_rows`.
HEADER = ("encoder", "untouched", "beginning shuffled", "end shuffled", "reads mostly the end")


def positions_in_words(table: PositionTable) -> str:
    """Say which encoders read mostly the end of a text."""
    ends = [title for title, each in zip(table.titles, table.results, strict=True) if each.reads_the_end]
    others = [title for title in table.titles if title not in ends]
    if not ends:
        return f"None of these encoders reads mostly the end of a text: {', '.join(others)}."
    said = (
        f"Shuffling the last 30% of the words moves texts farther than shuffling the first 70%, under every seed, for "
        f"{', '.join(ends)}: {'these read' if len(ends) > 1 else 'it reads'} mostly the end of a text and may miss "
        "what happens before."
    )
    return f"{said} No sign of that for {', '.join(others)}." if others else said


def position_rows(table: PositionTable) -> list[list[str]]:
    """One row per encoder, with the columns of ``HEADER``."""
    return [[title, *_cells(each)] for title, each in zip(table.titles, table.results, strict=True)]


def about_positions(table: PositionTable) -> str:
    """What the numbers are."""
    seeds = len(table.results[0].untouched.values)
    spread = f"mean ± standard deviation over {seeds} k-means seeds" if seeds > 1 else "one k-means seed"
    return (
        f"Jensen-Shannon divergence, in nats, of {table.n:,} human texts from {table.n:,} others: as they are, with "
        f"the first 70% of their words shuffled, and with the last 30%; {spread}. Yes: the shuffled end is farther "
        "under every seed, although shorter. One split says nothing about other texts. Compare columns, not rows."
    )


def _cells(found: EncoderPositions) -> list[str]:
    spreads: list[SeedSpread] = [found.untouched, found.beginning, found.end]
    return [*map(mean_and_spread, spreads), "yes" if found.reads_the_end else "no"]
