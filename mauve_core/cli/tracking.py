"""``mauve-lens log``: log a stored run to an experiment tracker."""

from __future__ import annotations

import argparse

from mauve_core.base.formatting import printable
from mauve_core.cli.options import of_run, write
from mauve_core.reporting.trackers.log_run import TRACKERS, log_run
from mauve_core.store import RunStore


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "log",
        description="Log a stored run's settings, scores with their spread, tables and figures to Weights & Biases or "
        "MLflow. Where it goes is up to the tracker's own settings, such as WANDB_MODE=offline and "
        "MLFLOW_TRACKING_URI. A run that is logged again stays one run of the tracker.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--to", choices=tuple(TRACKERS), required=True, help="the tracker")
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
