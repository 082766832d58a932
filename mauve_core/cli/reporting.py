"""``mauve-lens report`` and ``mauve-lens log``: a stored run as HTML, text for a paper, or in an experiment tracker."""

from __future__ import annotations

import argparse
from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.formatting import file_size, printable, with_plain_spaces
from mauve_core.cli.options import of_run, write
from mauve_core.reporting.trackers import TRACKERS, log_run
from mauve_core.runs import RunStore

# Plain-text formats; they go to standard output by default.
_TEXTS = ("latex", "markdown", "methods")


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("report")
    parser.add_argument("id", metavar="RUN")
    parser.add_argument(
        "--format",
        choices=("html", *_TEXTS),
        default="html",
        help="html (default), the leaderboard in latex or markdown, or a methods paragraph with BibTeX",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="output file; default: RUN.html for html, otherwise standard output"
    )
    parser.add_argument(
        "--candidate",
        action="append",
        default=[],
        metavar="NAME",
        help="candidate whose clusters and texts the HTML shows; may be repeated; default: all, up to a dozen",
    )
    parser.add_argument(
        "--partition", choices=("pairwise", "joint"), help="for the text formats; default: pairwise, as published"
    )
    parser.set_defaults(run=of_run(_report))
    _add_log(commands)


def _report(args: argparse.Namespace) -> int:
    from mauve_core.reporting.paper import latex_table, markdown_table, methods_text

    if args.format == "html" and args.partition is not None:
        raise InputError(
            "--partition applies only to the text formats", todo="Leave it out; the HTML names its partitions"
        )
    if args.format != "html" and args.candidate:
        raise InputError("--candidate applies only to HTML", todo="Leave it out; the tables have every candidate")
    run = RunStore().load(args.id)
    if args.format == "html":
        from mauve_core.reporting.html_report import html_report

        page = html_report(run, args.candidate)
        path = Path(args.out or f"{run.id}.html")
        _save(path, page)
        write(f"Wrote {path} ({with_plain_spaces(file_size(len(page)))}). It opens in a browser, even offline")
        return 0
    writers = {"latex": latex_table, "markdown": markdown_table, "methods": methods_text}
    text = writers[args.format](run.comparison, args.partition or "pairwise")
    if args.out is None:
        write(text.rstrip("\n"))
    else:
        _save(Path(args.out), text.encode("utf-8", errors="replace"))
        write(f"Wrote {args.out}")
    return 0


def _save(path: Path, content: bytes) -> None:
    write_atomically(path, lambda stream: stream.write(content))


def _add_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "log",
        description="Log a stored run's settings, scores with their spread, tables and figures to Weights & Biases or "
        "MLflow. Where it goes is up to the tracker's own settings, such as WANDB_MODE=offline and "
        "MLFLOW_TRACKING_URI. A run that is logged again stays one run of the tracker.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--to", choices=TRACKERS, required=True, help="the tracker")
    parser.add_argument(
        "--project",
        metavar="NAME",
        help="W&B project or MLflow experiment; default: that of the environment (WANDB_PROJECT, "
        "MLFLOW_EXPERIMENT_NAME), else mauve-lens",
    )
    parser.add_argument(
        "--texts",
        action="store_true",
        help="also log the texts, the clusters' names, which are words of them, and the report, which quotes them; "
        "they leave this machine if the tracker is on another one",
    )
    parser.set_defaults(run=of_run(_log))


def _log(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    write(printable(str(log_run(run, args.to, project=args.project, texts=args.texts))))
    return 0
