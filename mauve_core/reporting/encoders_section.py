"""Report blocks on encoders: whether the candidates' ranking depends on the encoder."""

from __future__ import annotations

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import NONE, correlation
from mauve_core.experiments.encoders import EncoderTable, references, stored_encoders
from mauve_core.experiments.encoders.positions import stored_positions
from mauve_core.figures import encoders as figures
from mauve_core.figures import positions
from mauve_core.figures.leaderboard import titled
from mauve_core.reporting.blocks import Block, Chart, Remarks, Table
from mauve_core.scoring.tables import HUMAN_VS_HUMAN, texts_interval
from mauve_core.store import Run

# The score that is reported, as published.
SCORE = SCORES[0]


def encoders_blocks(run: Run) -> tuple[Block, ...]:
    """In words, the grid of correlations and two tables, if computed; StorageError or InputError if damaged."""
    table = stored_encoders(run)
    if table is None:
        return positions_blocks(run)
    words, contradictions = figures.in_words(table, SCORE)
    chart = Chart(
        "encoders",
        figures.agreement_figure(table, SCORE),
        "Agreement of the encoders' rankings",
        "Spearman's correlation of the candidates' rankings: 1 is the same order, −1 the opposite one. It ignores the "
        "spread; pairs of candidates that two encoders tell apart in opposite orders are named above.",
        narrow=True,
    )
    blocks: list[Block] = [Remarks((words, *contradictions)), chart, _scores(table)]
    blocks += _references(run, table)
    described = zip(figures.encoder_names(table), table.titles, table.results, strict=True)
    about = [f"{title}: {figures.about_encoder(name, result)}" for name, title, result in described]
    return (*blocks, Remarks((*table.notes, *about)), *positions_blocks(run))


def positions_blocks(run: Run) -> tuple[Block, ...]:
    """Where in a text the encoders look, if computed; StorageError or InputError if damaged."""
    table = stored_positions(run)
    if table is None:
        return ()
    rows = tuple(map(tuple, positions.position_rows(table)))
    found = Table("Where in the text encoders look", positions.HEADER, rows, positions.about_positions(table))
    return Remarks((positions.positions_in_words(table), *table.notes)), found


def _numbered(table: EncoderTable) -> tuple[str, ...]:
    return tuple(f"{number} {title}" for number, title in enumerate(table.titles, start=1))


def _scores(table: EncoderTable) -> Table:
    intervals = figures.interval_cells(table, SCORE)
    rows = [
        (name, *(f"{cell}\n{low_high}" for cell, low_high in zip(cells, intervals[name], strict=True)))
        for name, cells in figures.score_cells(table, SCORE).items()
    ]
    if any(result.ceiling for result in table.results):
        rows.append((HUMAN_VS_HUMAN, *map("\n".join, figures.ceiling_cells(table, SCORE))))
    note = (
        "Mean ± standard deviation over k-means seeds; in parentheses the rank, = where no test tells it from the "
        f"first of its group; below, the {texts_interval()}. Pairwise partitions with the run's own "
        "settings; the first encoder is the run's own. Compare rankings, not scores, between encoders."
    )
    return Table(f"{titled(SCORE)} under each encoder", ("Candidate", *_numbered(table)), tuple(rows), note)


def _references(run: Run, table: EncoderTable) -> list[Block]:
    found, problem = references(run, table, SCORE)
    blocks: list[Block] = []
    if found:
        rows = tuple(
            (
                figures.reference_title(each),
                f"{each.n:,}",
                *(NONE if value is None else correlation(value, signed=True) for value in each.values),
            )
            for each in found
        )
        note = "+ is agreement on who is closer to people: with the gap of a text measure, or with ratings."
        columns = ("Spearman with", "n", *_numbered(table))
        blocks.append(Table("Agreement of the encoders with measures and people", columns, rows, note, folded=True))
    if problem:
        blocks.append(Remarks((f"Measures or ratings are missing here: {problem}",), weighty=True))
    return blocks
