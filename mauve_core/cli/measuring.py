"""``mauve-lens measure``: text measures of files, or of a stored run and saved with it."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mauve_core.base.config import HUMAN, MEASURE_NAMES, MEASURES_OVER_K
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, UNKNOWN, printable, with_named_spreads
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.words import TEXTS, Words
from mauve_core.cli.input_files import (
    TEXT_FILE,
    add_field_options,
    models_of,
    notes_of,
    read,
    refuse_fields,
    text_files,
)
from mauve_core.cli.options import (
    add_again_option,
    add_device_option,
    add_output_options,
    progress_of,
    require_device,
    results_only,
    show_result,
    stored_or_computed,
    write,
    write_json,
)
from mauve_core.runs import RunStore
from mauve_core.scoring.tables import aligned
from mauve_core.texts.kinds import common_kind, require_words

if TYPE_CHECKING:
    from mauve_core.analyses.measure_terms import Measurements, Value
    from mauve_core.analyses.measures_over_lengths import LengthTable
    from mauve_core.analyses.measures_over_neighbours import NeighbourTable
    from mauve_core.analyses.text_measures import MeasureStanding


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("measure")
    parser.add_argument("id", metavar="RUN", nargs="?", help="id of a stored run; the result is saved with it")
    parser.add_argument("--human", metavar="FILE", help=f"instead of a run: {TEXT_FILE}")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE", help="one per candidate")
    parser.add_argument(
        "--measure",
        action="append",
        metavar="NAME",
        help=f"one or more of {', '.join(MEASURE_NAMES)}; default: all that can be computed",
    )
    parser.add_argument(
        "--neighbors",
        metavar="K",
        help=f"numbers of neighbors, such as 1-25 or 1,5,10: {', '.join(MEASURES_OVER_K)} of a run at each of them",
    )
    parser.add_argument(
        "--lengths",
        metavar="L",
        help="lengths in tokens, such as 32,64,128: the measures, and the Fréchet distance (frechet), of a run with "
        "all texts cut to each of them",
    )
    parser.add_argument("--scorer", metavar="MODEL", help="a causal model for the measures that need one")
    add_device_option(parser, of="device of the scorer: auto, cpu, cuda, cuda:1 ...")
    add_again_option(parser)
    add_output_options(parser, table=True)
    add_field_options(parser, per_source=True)
    parser.set_defaults(run=_measure, reads_files=True)


def _measure(args: argparse.Namespace) -> int:
    if (args.id is None) == (args.human is None) or (args.human is None) != (not args.model):
        raise InputError("Give either a run or files to measure", allowed="RUN, or --human FILE with --model NAME=FILE")
    if args.id is not None:
        refuse_fields(args)
        RunStore().folder_of(args.id)  # raises InputError if unknown
        require_device(args.device)
    if args.neighbors is not None:
        return _over_neighbours(args)
    if args.lengths is not None:
        return _over_lengths(args)
    if args.id is None:
        with results_only():
            measurements, where = _of_files(args), ""
        words = TEXTS
    else:
        measurements, where = _of_run(args)
        words = RunStore().load(args.id).comparison.words
    if args.json:
        of_run = {} if args.id is None else {"run": args.id}
        write_json({**dataclass_to_json(measurements), **of_run}, "measure")
        return 0
    write(table(measurements, words))
    whose: dict[tuple[str, str], list[str]] = {}
    for row in measurements.rows:
        whose.setdefault((row.measure, row.note), []).append(row.candidate)
    everyone = len(measurements.candidates)
    for note in dict.fromkeys(measurements.notes):
        write(f"  {printable(note)}")
    for (measure, note), names in whose.items():
        if note:
            of = measure if len(names) == everyone else f"{measure} of {', '.join(names)}"
            write(f"  {printable(f'{of}: {note}')}")
    tests = "" if args.id is None else f"; for the tests of every pair, mauve-lens test {args.id} --measure NAME"
    write("\n" + " ".join(filter(None, [where, f"For intervals, add --json{tests}"])))
    return 0


def _of_run(args: argparse.Namespace) -> tuple[Measurements, str]:
    from mauve_core.analyses.text_measures import MeasureTask

    return stored_or_computed(args, MeasureTask(args.id, _names(args), args.scorer, args.device))


def _over_neighbours(args: argparse.Namespace) -> int:
    from mauve_core.analyses.measures_over_neighbours import NeighboursTask, numbers_of_neighbours

    if args.id is None or args.scorer is not None or args.lengths is not None:
        allowed = "RUN, without files, --scorer or --lengths"
        raise InputError("--neighbors measures the features of a stored run", allowed=allowed)
    task = NeighboursTask(args.id, numbers_of_neighbours(args.neighbors), _names(args))
    return show_result(args, "measure", task, neighbours_table, lambda found: found.notes, "Gaps and intervals")


def neighbours_table(found: NeighbourTable) -> str:
    """T(Q) of every candidate and T(P) at every k, a table per measure, with standard deviations."""
    from mauve_core.analyses.measures_over_neighbours import order_sentence
    from mauve_core.analyses.text_measures import MEASURES

    parts = []
    for name in found.measures:
        values = _values_over(found, name, "k", found.ks, "human halves")
        parts.append("\n".join(filter(None, [MEASURES[name].title, values, order_sentence(found, name)])))
    about = (
        f"Value \u00b1 standard deviation over texts (delete-a-group jackknife); {UNKNOWN} where it is unknown. Human "
        f"halves: T(P), between two random halves of the human texts. At k = {found.settings['own_neighbours']}, these "
        "are the numbers of mauve-lens measure. Each k has tests of its own."
    )
    return "\n\n".join([*parts, textwrap.fill(about, 110)])


def _over_lengths(args: argparse.Namespace) -> int:
    from mauve_core.analyses.measures_over_lengths import LengthsTask, lengths_in

    if args.id is None:
        raise InputError("--lengths cuts the texts of a stored run", allowed="RUN, without files")
    task = LengthsTask(args.id, lengths_in(args.lengths), _names(args), args.scorer, args.device)
    return show_result(args, "measure", task, lengths_table, lambda found: found.notes, "Intervals")


def lengths_table(found: LengthTable) -> str:
    """T(Q) of every candidate and T(P), and the gaps, at every length, by measure; with standard deviations."""
    from mauve_core.analyses.measures_over_lengths import length_measure_title, order_sentence

    parts = []
    for name in found.measures:
        parts += [length_measure_title(name), _values_over(found, name, "length", found.lengths, HUMAN)]
        if found.has_gaps(name):
            parts += ["", _gaps_over(found, name, "gap at", found.lengths)]
        parts += [*filter(None, [order_sentence(found, name)]), ""]
    about = (
        f"Value \u00b1 standard deviation over texts (delete-a-group jackknife); {UNKNOWN} where it is unknown, "
        f"{NONE} where the measure is not defined. Gap: |T(Q) \u2212 T(P)|. At a length that cuts no text, these are "
        "the numbers of mauve-lens measure, and of the Fréchet distance, those of mauve-lens methods. Each "
        "length has tests of its own."
    )
    return "\n".join([*parts, textwrap.fill(about, 110)])


def _values_over(
    found: NeighbourTable | LengthTable, measure: str, axis: str, places: Sequence[int], human: str
) -> str:
    """One measure of every candidate, and T(P) in a column called ``human``, a row per place."""
    lines = [found.line(measure, name) for name in found.candidates]
    cells = [[axis, human, *map(printable, found.candidates)]]
    for place, *rows in zip(places, *lines, strict=True):
        cells.append([str(place), _written(rows[0].human), *(_written(row.model) for row in rows)])
    return aligned(cells)


def _gaps_over(found: LengthTable, measure: str, axis: str, places: Sequence[int]) -> str:
    """One measure's gap of every candidate, a row per place."""
    lines = [found.line(measure, name) for name in found.candidates]
    cells = [[axis, *map(printable, found.candidates)]]
    for place, *rows in zip(places, *lines, strict=True):
        cells.append([str(place), *(_written(row.gap) for row in rows)])
    return aligned(cells)


def _of_files(args: argparse.Namespace) -> Measurements:
    files = text_files(args, {HUMAN: args.human, **models_of(args)}, quiet=args.quiet)
    corpora = read(files)
    from mauve_core.analyses.measure_inputs import MeasureContext
    from mauve_core.analyses.text_measures import collection_of, measure

    require_device(args.device)
    require_words(common_kind({name: corpus.kind for name, corpus in corpora.items()}).name, "Measuring files")
    sides = {name: collection_of(corpus, name) for name, corpus in corpora.items()}
    human, context = sides.pop(HUMAN), MeasureContext(args.scorer, device=args.device)
    measurements = measure(human, sides, _names(args), context=context, progress=progress_of(args))
    return dataclasses.replace(measurements, notes=(*notes_of(corpora), *measurements.notes))


def _names(args: argparse.Namespace) -> tuple[str, ...] | None:
    return None if args.measure is None else tuple(args.measure)


def table(found: Measurements, words: Words = TEXTS) -> str:
    """T(Q), T(P) and |T(Q) - T(P)| of every measure and candidate, with standard deviations and ranks by the gap."""
    from mauve_core.analyses.text_measures import MEASURES, closest_sentence, measure_standings, measure_tests_sentence

    rows = [["Measure", "Candidate", "T(Q)", "T(P)", "|T(Q) \u2212 T(P)|", "Rank"]]
    ranks = {
        (placed.row.measure, placed.row.candidate): placed
        for measure in found.measures
        for placed in measure_standings(found, measure, found.candidates)
    }
    for row in found.rows:
        values = map(_written, (row.model, row.human, row.gap))
        rank = _rank(ranks[row.measure, row.candidate])
        rows.append([MEASURES[row.measure].title, printable(row.candidate), *values, rank])
    sentences = [
        f"{MEASURES[measure].title}. {sentence}"
        for measure in found.measures
        if (sentence := closest_sentence(found, measure, found.candidates, words=words))
    ]
    repeated = any(value and value.generations for row in found.rows for value in (row.model, row.gap))
    generations = (
        "Of several generations, T is their mean, \u00b1 (texts) its standard deviation over texts, and \u00b1 "
        "(generations) that of T over generations. "
    )
    spread = (
        f"Value \u00b1 standard deviation over {words.items} (delete-a-group jackknife); {UNKNOWN} where it is "
        f"unknown. {generations if repeated else ''}Rank: by gap, = where candidates tie."
    )
    if sentences:
        spread += f" {measure_tests_sentence(found.differences, words)}"
    parts = [textwrap.fill(text, 110, subsequent_indent="  ") for text in sentences]
    return "\n\n".join(filter(None, [aligned(rows), textwrap.fill(spread, 110), "\n".join(parts)]))


def _rank(placed: MeasureStanding) -> str:
    if not placed.rank:
        return NONE
    return f"{placed.rank} =" if placed.tied else str(placed.rank)


def _written(value: Value | None) -> str:
    if value is None:
        return NONE
    count = len(value.generations or ())
    return with_named_spreads(value.value, value.sd, value.generations_sd, count, over="texts", missing=UNKNOWN)
