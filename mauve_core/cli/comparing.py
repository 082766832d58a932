"""``mauve-lens compare``: score files as a leaderboard and store the run for the app."""

from __future__ import annotations

import argparse
from pathlib import Path

from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.cli.options import (
    ENCODER_OPTIONS,
    TEXT_FILE,
    add_encoder_options,
    add_field_options,
    add_normalize_option,
    add_output_options,
    add_score_options,
    encoder_config,
    make_run,
    name_default_encoder,
    named,
    normalize_steps,
    score_config,
    source_fields,
)
from mauve_core.corpus.folders import spelled_out
from mauve_core.store import Run
from mauve_core.tasks.comparison import ComparisonTask, TextFile


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("compare")
    parser.add_argument("--human", required=True, metavar="FILE", help=TEXT_FILE)
    parser.add_argument("--model", action="append", required=True, metavar="NAME=FILE", help="one per candidate")
    parser.add_argument("--out", metavar="RUN", help="name of the stored run; default: built from the file names")
    add_output_options(parser, table=True)
    add_field_options(parser, per_source=True)
    add_normalize_option(parser)
    add_encoder_options(parser)
    parser.add_argument(
        "--features",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help=f"use these features instead of an encoder; one for {HUMAN} and one per model",
    )
    add_score_options(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    task = task_of(args)
    if not args.features:
        name_default_encoder(args)
    return make_run(args, task, _where)


def _where(run: Run) -> str:
    return (
        f"Stored as run {run.id}. Show it again: mauve-lens runs show {run.id}\n"
        f"In the browser: mauve-lens app, then http://127.0.0.1:8501/?run={run.id}"
    )


def task_of(args: argparse.Namespace) -> ComparisonTask:
    """The comparison that the arguments describe; InputError if they contradict each other or repeat a name."""
    models = named(args.model, "--model")
    if HUMAN in models:
        raise InputError(f"A model cannot be named {HUMAN!r}", todo="Choose another name: --model NAME=FILE")
    paths = {HUMAN: args.human, **models}
    features = named(args.features, "--features")
    unknown = [name for name in features if name not in paths]
    if unknown:
        raise InputError(f"--features names unknown sources: {', '.join(unknown)}", allowed=", ".join(paths))
    encoder_given = [name for name in ENCODER_OPTIONS if getattr(args, name) is not None]
    if features and encoder_given:
        option = encoder_given[0].replace("_", "-")
        raise InputError(f"--features and --{option} cannot be combined", todo="Leave one of them out")
    files = {name: _file(args, name, path, features.get(name), list(paths)) for name, path in paths.items()}
    return ComparisonTask(
        name=f"{spelled_out(Path(args.human).stem)} vs {', '.join(models)}" if args.out is None else args.out,
        human=files[HUMAN],
        candidates={name: files[name] for name in models},
        config=CompareConfig(
            encoder=None if features else encoder_config(args),
            score=score_config(args),
            projection=not args.no_map,
        ),
        device=args.device,
        normalize=normalize_steps(args),
    )


def _file(args: argparse.Namespace, name: str, path: str, features: str | None, sources: list[str]) -> TextFile:
    return TextFile(path, **source_fields(args, name, sources), features=features)
