"""``mauve-lens jobs``: list and control background jobs and read their logs."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, TypedDict

from mauve_core.base.formatting import printable
from mauve_core.base.json_codec import Count, Joined, NotNegative
from mauve_core.base.progress import format_seconds
from mauve_core.cli.options import write, write_json
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.scoring.tables import aligned


class _PaceJson(TypedDict):
    """A job and its progress.

    Attributes
    ----------
    jobs_before : int
        Jobs ahead of it, if it waits; otherwise 0.
    seconds_left : float or None
        Time left in this stage, at its pace so far; None if unknown.
    """

    jobs_before: Count
    seconds_left: NotNegative | None


class _LogJson(TypedDict):
    """A job, its progress and its log.

    Attributes
    ----------
    log : list of str
        The last lines.
    """

    log: list[str]


class JobsJson(TypedDict):
    """Background jobs.

    Attributes
    ----------
    jobs : list
        All that are there.
    """

    jobs: list[Annotated[dict[str, Any], Joined(JobState, _PaceJson)]]


LogJson: TypeAlias = Annotated[dict[str, Any], Joined(JobState, _PaceJson, _LogJson)]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("jobs")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.set_defaults(run=_list)
    actions = parser.add_subparsers(metavar="{log,cancel,resume,remove}")
    log = actions.add_parser("log", help="show the log of a job")
    log.add_argument("id", metavar="ID")
    log.add_argument("--lines", type=int, default=queue.LOG_LINES, metavar="N", help=f"default: {queue.LOG_LINES}")
    log.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object with the job's state"
    )
    log.set_defaults(run=_log)
    for name, does in (
        ("cancel", "ask a job to stop; finished work is kept"),
        ("resume", "continue a job that was cancelled, interrupted or failed"),
        ("remove", "remove a job that has ended; a run that it made is kept"),
    ):
        action = actions.add_parser(name, help=does)
        action.add_argument("id", metavar="ID")
        action.set_defaults(run=_act, action=name)


def _list(args: argparse.Namespace) -> int:
    jobs = queue.list()
    if args.json:
        write_json({"jobs": [_as_dict(job, jobs) for job in jobs]}, "jobs")
        return 0
    if not jobs:
        write(f"There are no jobs in {queue.jobs_folder()}. Jobs are started in the app")
        return 0
    rows = [["Job", "Name", "Kind", "Status", "Progress"]]
    for job in jobs:
        cells = [job.id, job.name, job.kind, job.status, _progress(job, jobs)]
        rows.append([printable(" ".join(cell.split())) for cell in cells])
    write(aligned(rows))
    return 0


def _log(args: argparse.Namespace) -> int:
    state, lines = queue.status(args.id), queue.log_lines(args.id, max(1, args.lines))
    if getattr(args, "json", False):
        write_json({**_as_dict(state, queue.list()), "log": list(lines)}, "jobs log")
        return 0
    for line in lines:
        write(printable(line))
    if not lines:
        sys.stderr.write("The job has not logged anything yet\n")
    return 0


def _act(args: argparse.Namespace) -> int:
    if args.action == "cancel" and not (state := queue.status(args.id)).active:
        write(f"Nothing to stop; the job is {state.status}: {args.id}")
        return 0
    messages = {"cancel": "Requested to stop", "resume": "Resumed", "remove": "Removed"}
    {"cancel": queue.cancel, "resume": queue.resume, "remove": queue.remove}[args.action](args.id)
    write(f"{messages[args.action]}: {args.id}")
    return 0


def _progress(job: JobState, jobs: Sequence[JobState]) -> str:
    stopping = ", stopping" if queue.is_stopping(job) else ""
    if job.status == "queued":
        return f"{queue.ahead_of(job.id, jobs)} ahead of it{stopping}"
    if job.status == "running":
        left = "" if job.seconds_left is None else f", about {format_seconds(job.seconds_left)} left"
        return f"{job.stage}: {job.done:,} of {job.total:,}{left}{stopping}"
    return job.message if job.run is None else f"run {job.run}"


def _as_dict(job: JobState, jobs: Sequence[JobState]) -> dict[str, object]:
    waiting = queue.ahead_of(job.id, jobs) if job.status == "queued" else 0
    return {**dataclasses.asdict(job), "jobs_before": waiting, "seconds_left": job.seconds_left}
