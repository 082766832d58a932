"""``mauve-lens compare``: score files as a leaderboard and store the run for the app."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable
from mauve_core.cli.input_files import (
    TEXT_FILE,
    add_field_options,
    file_of,
    models_of,
    named,
    source_fields,
    text_files,
)
from mauve_core.cli.options import (
    ENCODER_OPTIONS,
    add_encoder_options,
    add_name_option,
    add_normalize_option,
    add_output_options,
    add_score_options,
    add_skip_option,
    encoder_config,
    make_run,
    name_default_encoder,
    normalize_steps,
    require_device,
    score_config,
)
from mauve_core.cli.parser import QUOTE_PATTERNS
from mauve_core.cli.sharding import add_engine_options, compare_in_shards
from mauve_core.runs import Run
from mauve_core.texts import Table, read_table
from mauve_core.texts.building import guess_column, names_of, reference_among, source_columns, sources_of
from mauve_core.texts.streams import spelled_out
from mauve_core.texts.text_files import TextFile, look_at


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("compare")
    parser.add_argument("file", nargs="?", metavar="FILE", help="one file with the texts of all sources")
    parser.add_argument(
        "--by", metavar="FIELD", help="field of FILE that names the source of each row; guessed by default"
    )
    parser.add_argument("--reference", metavar="VALUE", help="value of that field for human texts; default: guessed")
    parser.add_argument("--human", metavar="FILE", help=TEXT_FILE)
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE", help="one per candidate")
    add_name_option(parser, "built from the file names")
    add_output_options(parser, table=True)
    add_field_options(parser, per_source=True)
    add_normalize_option(parser)
    parser.add_argument(
        "--equalize",
        action="store_true",
        help="draw as many texts of every side as the smallest has, with --seed; the same prompts where sides share "
        "them",
    )
    add_skip_option(parser)
    parser.add_argument(
        "--seen",
        metavar="FILE",
        help="texts that a candidate may have seen, such as those it was trained on: look for copies of them, too",
    )
    add_encoder_options(parser)
    parser.add_argument(
        "--features",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help=f"use these features instead of an encoder; one for {HUMAN} and one per model",
    )
    add_score_options(parser)
    add_engine_options(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    if args.engine is not None:
        return compare_in_shards(args)
    if args.estimate:
        raise InputError("--estimate is for corpora in shards", todo="Give it with --engine")
    task = task_of(args)
    tables = look_at(task.all_files)
    require_device(args.device)
    if not args.features:
        name_default_encoder(args, task.human.path, task.human.text_field)
    return make_run(args, task, _where, tables=tables)


def _where(run: Run) -> str:
    return (
        f"Stored as run {run.id}. Show it again: mauve-lens runs show {run.id}\n"
        f"In the browser: mauve-lens app, then http://127.0.0.1:8501/?run={run.id}"
    )


def task_of(args: argparse.Namespace) -> ComparisonTask:
    """The comparison that the arguments describe; InputError if they contradict each other or repeat a name."""
    alone = args.file is not None and args.human is None and not args.model
    texts = _parts_of(args) if alone or args.by is not None else _separate_files(args)
    features = named(args.features, "--features")
    unknown = [name for name in features if name not in texts]
    if unknown:
        raise InputError(f"--features names unknown sources: {', '.join(unknown)}", allowed=", ".join(texts))
    encoder_given = [name for name in ENCODER_OPTIONS if getattr(args, name) is not None]
    if features and encoder_given:
        option = encoder_given[0].replace("_", "-")
        raise InputError(f"--features and --{option} cannot be combined", todo="Leave one of them out")
    files = {name: replace(file, features=features.get(name)) for name, file in texts.items()}
    candidates = {name: file for name, file in files.items() if name != HUMAN}
    title = spelled_out(Path(files[HUMAN].path).stem)
    return ComparisonTask(
        name=f"{title} vs {', '.join(candidates)}" if args.name is None else args.name,
        human=files[HUMAN],
        candidates=candidates,
        config=CompareConfig(
            encoder=None if features else encoder_config(args, files[HUMAN].path, files[HUMAN].text_field),
            score=score_config(args),
            projection=not args.no_map,
        ),
        device=args.device,
        normalize=normalize_steps(args),
        equalize=args.equalize,
        skip_unencodable=args.skip_unencodable,
        seen=None if args.seen is None else TextFile(args.seen),
    )


def _separate_files(args: argparse.Namespace) -> dict[str, TextFile]:
    """Return the file of each source, ``human`` first."""
    if args.file is not None or args.reference is not None:
        raise InputError(
            "FILE, or --reference, was given together with --human or --model",
            allowed="FILE [--by FIELD] [--reference VALUE], or --human FILE --model NAME=FILE",
            todo=QUOTE_PATTERNS if args.file is not None and args.human is not None else "",
        )
    missing = [option for option, given in (("--human", args.human), ("--model", args.model)) if not given]
    if missing:
        raise InputError(
            f"These options are missing: {', '.join(missing)}",
            allowed="--human FILE --model NAME=FILE, or FILE --by FIELD",
        )
    return text_files(args, {HUMAN: args.human, **models_of(args)}, quiet=args.quiet)


def _parts_of(args: argparse.Namespace) -> dict[str, TextFile]:
    """Return the part of the file for each source, ``human`` first; a guessed or renamed source is reported."""
    if args.file is None or args.human is not None or args.model:
        raise InputError(
            "--by needs one file with the texts of all sources",
            allowed="FILE --by FIELD, without --human and --model",
        )
    path = file_of(args.file, quiet=args.quiet)
    table = read_table(path, "none" if args.quoting else None)
    by = _guessed_column(args, table) if args.by is None else args.by
    sources = sources_of(table, by)
    reference = reference_among(sources, args.reference)
    if args.reference is None:
        _note(args, f"Human texts: {reference!r}, guessed by its name among {sources}.")
    names = names_of(sources, reference, by)
    for source, name in names.items():
        if name not in (source, HUMAN):
            _note(args, f"The candidate {source!r} is called {name!r}, because {HUMAN!r} names the reference.")
    fields = {name: source_fields(args, name, list(names.values())) for name in names.values()}
    return {name: TextFile(path, by=by, source=source, **fields[name]) for source, name in names.items()}


def _guessed_column(args: argparse.Namespace, table: Table) -> str:
    """Return the field that names the sources, if one of its values is known to name human texts."""
    columns = source_columns(table)
    guessed = guess_column(columns)
    if guessed is None:
        raise InputError(
            f"Which field of {table.path} names the source of each text cannot be told",
            received="; ".join(f"{column}: {sources}" for column, sources in columns.items())
            or ", ".join(table.columns),
            todo="Name it: --by FIELD, and --reference VALUE for the human texts",
        )
    _note(args, f"Sources: the field {guessed!r}, guessed because a value of it names human texts.")
    return guessed


def _note(args: argparse.Namespace, text: str) -> None:
    if not args.quiet:
        sys.stderr.write(f"{printable(text)}\n")
