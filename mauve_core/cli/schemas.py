"""``mauve-lens schema``: the JSON Schemas of what commands print with ``--json``."""

from __future__ import annotations

import argparse

from mauve_core.cli.options import write, write_json
from mauve_core.cli.outputs import FIELD, SHAPES, schema_of, shape_of
from mauve_core.scoring.tables import aligned


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "schema",
        description="Print the JSON Schema (draft 2020-12) of what a command prints with --json; without a command, "
        f"list the commands. An output names its schema and its version in the field {FIELD}, except where it is a "
        "list; the version is raised with every change of the shape.",
    )
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="a command with its action, such as runs show")
    parser.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    if args.command:
        write_json(schema_of(shape_of(" ".join(args.command))))
        return 0
    rows = [["Command", "Schema"], *([name, shape.id] for shape in SHAPES for name in shape.commands)]
    write(aligned(rows))
    return 0
