"""``mauve-lens encoders``: score a stored run's texts under several encoders, and show how far they agree."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import TYPE_CHECKING, Any

from mauve_core.base.config import POSITION_TEXTS, SCORES, USUAL_ENCODERS
from mauve_core.base.formatting import NONE, correlation, printable
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.cli.options import (
    LINE,
    add_again_option,
    add_device_option,
    add_output_options,
    of_run,
    show_result,
    stored_or_computed,
    write,
    write_json,
)
from mauve_core.scoring.tables import HIGHER_IS_CLOSER, HUMAN_VS_HUMAN, TITLES, aligned, texts_interval
from mauve_core.store import Run, RunStore

if TYPE_CHECKING:
    from mauve_core.experiments.encoders import EncoderTable, Reference
    from mauve_core.experiments.encoders.positions import PositionTable


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "encoders",
        description="An encoder is MODEL[:pooling=...,layer=...,max_tokens=...]. The run's own encoder is always "
        "compared, with the scores of its leaderboard. Texts that are encoded already are not encoded again.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="ENCODER",
        help="one or more: catalog name, Hugging Face id, local folder, GGUF file or LoRA adapter, or a file of "
        "word vectors; "
        f"default: {', '.join(USUAL_ENCODERS)}; of a run of other items, theirs on this machine",
    )
    parser.add_argument("--score", choices=SCORES, default=SCORES[0], help=f"score to print; default: {SCORES[0]}")
    add_device_option(parser)
    parser.add_argument(
        "--positions",
        action="store_true",
        help="only: where in the text each encoder looks, from human texts with their beginning or their end shuffled",
    )
    parser.add_argument(
        "--texts",
        type=int,
        default=POSITION_TEXTS,
        metavar="N",
        help=f"human texts for --positions; default: {POSITION_TEXTS}",
    )
    add_again_option(parser)
    add_output_options(parser, table=True)
    parser.set_defaults(run=of_run(_encoders))


def _encoders(args: argparse.Namespace) -> int:
    from mauve_core.experiments.encoders import references
    from mauve_core.figures import encoders as figures
    from mauve_core.tasks.compare_encoders import CompareEncodersTask
    from mauve_core.tasks.positions import PositionsTask

    if args.positions:
        positions = PositionsTask(args.id, tuple(args.encoder) or None, args.texts, args.device)
        return show_result(args, "encoders", positions, positions_table, lambda found: found.notes, "Every seed")
    task = CompareEncodersTask(args.id, tuple(args.encoder) or None, args.device)
    table, where = stored_or_computed(args, task)
    run = RunStore().load(args.id)
    if args.json:
        write_json(_json(run, table), "encoders")
        return 0
    found, problem = references(run, table, args.score)
    parts = [scores_table(table, args.score), agreement_table(table, args.score)]
    parts += [references_table(found, table)] if found else []
    write("\n\n".join(parts))
    words, contradictions = figures.in_words(table, args.score)
    notes = [f"{title}: {note}" for title, each in zip(table.titles, table.results, strict=True) for note in each.notes]
    for line in (words, *contradictions, *table.notes, *notes, *filter(None, [problem])):
        write(f"  {printable(line)}")
    write(f"\n{where} Every score, its interval and tests: add --json")
    return 0


def positions_table(table: PositionTable) -> str:
    """Where each encoder looks, in a sentence; one row per encoder."""
    from mauve_core.figures import positions as position_figures

    rows = [[printable(title), *cells] for title, *cells in position_figures.position_rows(table)]
    parts = [position_figures.positions_in_words(table), position_figures.about_positions(table)]
    words, about = ("\n".join(textwrap.wrap(printable(each), LINE)) for each in parts)
    return f"{words}\n\n{aligned([list(position_figures.HEADER), *rows])}\n\n{about}"


def scores_table(table: EncoderTable, score: str) -> str:
    """Two rows per candidate, one column per encoder: mean, standard deviation over seeds and rank; interval."""
    from mauve_core.figures import encoders as figures

    rows = [[f"Candidate, {TITLES[score]}", *map(printable, table.titles)]]
    intervals = figures.interval_cells(table, score)
    for name, cells in figures.score_cells(table, score).items():
        rows += [[printable(name), *cells], ["", *intervals[name]]]
    if any(each.ceiling for each in table.results):
        means, low_high = zip(*figures.ceiling_cells(table, score), strict=True)
        rows += [[HUMAN_VS_HUMAN, *means], ["", *low_high]]
    closer = "larger" if HIGHER_IS_CLOSER[score] else "smaller"
    return (
        f"{aligned(rows)}\n\nMean \u00b1 standard deviation over k-means seeds; below, the {texts_interval()}.\nIn "
        "parentheses the rank, = if no test tells it from the first of its group. "
        f"{closer.capitalize()} is closer to the human texts.\nScores of different encoders do not compare; their "
        "rankings do."
    )


def agreement_table(table: EncoderTable, score: str) -> str:
    """Spearman correlations between encoders; below the diagonal, pairs reversed and those told apart by both."""
    numbers = [str(index) for index in range(1, len(table.results) + 1)]
    rows = [["Spearman", *numbers]]
    for index, row in enumerate(table.agreement(score)):
        cells = [correlation(value) for value in row]
        for other in range(index):
            found = table.reversals(score, index, other)
            cells[other] = f"{len(found)} ({sum(each.told_apart for each in found)})"
        rows.append([f"{numbers[index]} {printable(table.titles[index])}", *cells])
    pairs = math.comb(len(table.candidates), 2)
    return (
        f"{aligned(rows)}\n\nBelow the diagonal: pairs of candidates, of {pairs}, in opposite orders; in parentheses "
        "those that both encoders tell apart."
    )


def references_table(found: tuple[Reference, ...], table: EncoderTable) -> str:
    """Spearman correlations with the text measures' gaps and with ratings: one row per measure or question."""
    from mauve_core.figures import encoders as figures

    rows = [["Spearman with", "n", *map(printable, table.titles)]]
    for each in found:
        values = (NONE if value is None else correlation(value, signed=True) for value in each.values)
        rows.append([figures.reference_title(each), str(each.n), *values])
    return f"{aligned(rows)}\n\n+: the encoder's score and the measure, or the raters, agree on who is closer."


def _json(run: Run, table: EncoderTable) -> dict[str, Any]:
    from mauve_core.experiments.encoders import references

    count = len(table.results)
    return {
        "run": run.id,
        "titles": list(table.titles),
        **dataclass_to_json(table),
        "agreement": {
            score: [[None if math.isnan(value) else value for value in row] for row in table.agreement(score).tolist()]
            for score in SCORES
        },
        "reversals": [
            {"score": score, "first": one, "second": other, **dataclass_to_json(item)}
            for score in SCORES
            for one in range(count)
            for other in range(one + 1, count)
            for item in table.reversals(score, one, other)
        ],
        "references": {
            score: [dataclass_to_json(each) for each in references(run, table, score)[0]] for score in SCORES
        },
    }
