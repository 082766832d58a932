"""``mauve-lens runs``: list, show and delete stored runs; loads neither torch nor transformers."""

from __future__ import annotations

import argparse
import dataclasses

from mauve_core.cli import library
from mauve_core.cli.options import write, write_json
from mauve_core.report import aligned, printable, to_json, to_table
from mauve_core.store import RunStore


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("runs", help="list stored runs; runs show ID, runs delete ID")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.set_defaults(run=_list)
    actions = parser.add_subparsers(metavar="{show,delete,compare,again}")
    show = actions.add_parser("show", help="the leaderboard of a stored run")
    show.add_argument("id", metavar="ID")
    show.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    show.set_defaults(run=_show)
    delete = actions.add_parser("delete", help="remove a stored run; its features stay in the cache")
    delete.add_argument("id", metavar="ID")
    delete.set_defaults(run=_delete)
    library.add_actions(actions)


def _list(args: argparse.Namespace) -> int:
    store = RunStore()
    summaries = store.list()
    if args.json:
        write_json({"runs": [dataclasses.asdict(summary) for summary in summaries]})
        return 0
    if not summaries:
        write(f"No run is stored in {store.root}. Make one: mauve-lens compare, or mauve-lens demo")
        return 0
    rows = [["Run", "Name", "Created", "n", "Encoder", "Candidates", "Human texts"]]
    for summary in summaries:
        cells = [summary.id, summary.name, summary.created, str(summary.n), summary.encoder or "features given"]
        rows.append([printable(cell) for cell in [*cells, ", ".join(summary.candidates), summary.human]])
    write(aligned(rows))
    return 0


def _show(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    if args.json:
        write_json({**to_json(run.comparison), "run": run.id})
    else:
        write(f"Run {run.id} ({printable(run.name)}), {run.created}\n\n{to_table(run.comparison)}")
    return 0


def _delete(args: argparse.Namespace) -> int:
    RunStore().delete(args.id)
    write(f"Deleted the run {args.id}")
    return 0
