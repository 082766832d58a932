"""``mauve-lens measure``: text measures of files, or of a stored run and saved with it."""

from __future__ import annotations

import argparse
import dataclasses

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, UNKNOWN, with_spread
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.cli.options import (
    add_field_options,
    add_output_options,
    named,
    progress_of,
    results_only,
    source_fields,
    write,
    write_json,
)
from mauve_core.experiments.text_measures import MEASURES, MeasureContext, Measurements, Value, measure
from mauve_core.experiments.text_measures.stored import collection_of
from mauve_core.scoring.tables import aligned, printable
from mauve_core.tasks.comparison import TextFile
from mauve_core.tasks.measure import MeasureTask


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("measure", help="compute text measures of a run or of files: T(Q), T(P) and their gap")
    parser.add_argument("id", metavar="RUN", nargs="?", help="id of a stored run; the result is saved with it")
    parser.add_argument("--human", metavar="FILE", help="instead of a run: JSONL, CSV, TSV, Parquet or text (also .gz)")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE", help="one per candidate")
    parser.add_argument(
        "--measure",
        action="append",
        metavar="NAME",
        help=f"one or more of {', '.join(MEASURES)}; default: all that can be computed",
    )
    parser.add_argument("--scorer", metavar="MODEL", help="a causal model for the measures that need one")
    parser.add_argument(
        "--device", default="auto", help="device of the scorer: auto, cpu, cuda, cuda:1 ...; default: auto"
    )
    add_output_options(parser, table=True)
    add_field_options(parser, per_source=True)
    parser.set_defaults(run=_measure)


def _measure(args: argparse.Namespace) -> int:
    if (args.id is None) == (args.human is None) or (args.human is None) != (not args.model):
        raise InputError("Give either a run or files to measure", allowed="RUN, or --human FILE with --model NAME=FILE")
    with results_only():
        measurements = _of_run(args) if args.human is None else _of_files(args)
    if args.json:
        write_json({**dataclass_to_json(measurements), **({} if args.id is None else {"run": args.id})})
        return 0
    write(table(measurements))
    for note in dict.fromkeys(
        [*measurements.notes, *(f"{row.measure}: {row.note}" for row in measurements.rows if row.note)]
    ):
        write(f"  {printable(note)}")
    stored = "" if args.id is None else f"Saved with run {args.id}. "
    write(f"\n{stored}For intervals, add --json")
    return 0


def _of_run(args: argparse.Namespace) -> Measurements:
    return MeasureTask(args.id, _names(args), args.scorer, args.device).compute(progress_of(args))


def _of_files(args: argparse.Namespace) -> Measurements:
    models = named(args.model, "--model")
    if HUMAN in models:
        raise InputError(f"A model cannot be named {HUMAN!r}", todo="Choose another name: --model NAME=FILE")
    paths = {HUMAN: args.human, **models}
    files = {name: TextFile(path, **source_fields(args, name, list(paths))) for name, path in paths.items()}
    corpora = {name: file.read(name) for name, file in files.items()}
    sides = {name: collection_of(corpus, name) for name, corpus in corpora.items()}
    human, context = sides.pop(HUMAN), MeasureContext(args.scorer, device=args.device)
    measurements = measure(human, sides, _names(args), context=context, progress=progress_of(args))
    notes = (f"{name}: {note}" for name, corpus in corpora.items() for note in corpus.notes)
    return dataclasses.replace(measurements, notes=(*notes, *measurements.notes))


def _names(args: argparse.Namespace) -> tuple[str, ...] | None:
    return None if args.measure is None else tuple(args.measure)


def table(found: Measurements) -> str:
    """T(Q), T(P) and |T(Q) - T(P)| of every measure and candidate, with standard deviations."""
    rows = [["Measure", "Candidate", "T(Q)", "T(P)", "|T(Q) \u2212 T(P)|"]]
    for row in found.rows:
        values = map(_written, (row.model, row.human, row.gap))
        rows.append([MEASURES[row.measure].title, printable(row.candidate), *values])
    return (
        f"{aligned(rows)}\n\nValue \u00b1 standard deviation over texts (delete-a-group jackknife); {UNKNOWN} where "
        "it is unknown."
    )


def _written(value: Value | None) -> str:
    return NONE if value is None else with_spread(value.value, value.sd, missing=UNKNOWN)
