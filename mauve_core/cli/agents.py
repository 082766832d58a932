"""``mauve-lens mcp``: stored runs for language-model agents, over the Model Context Protocol."""

from __future__ import annotations

import argparse
from pathlib import Path

from mauve_core.agents.pages import page_text
from mauve_core.base.extras import require
from mauve_core.cli.options import write


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "mcp",
        description="Serve stored runs to an agent over standard input and output, which a client starts by itself. "
        "Read-only unless --allow-comparisons names a folder. See docs/mcp.md for how to register it in a client.",
    )
    parser.add_argument(
        "--allow-comparisons",
        metavar="FOLDER",
        type=Path,
        help="the agent may start comparisons of files in this folder, and so read their texts",
    )
    parser.add_argument("--skill", action="store_true", help="print how an agent should use the tools, and exit")
    parser.set_defaults(run=_mcp)


def _mcp(args: argparse.Namespace) -> int:
    if args.skill:
        write(page_text("skill").rstrip("\n"))
        return 0
    require("mcp")
    from mauve_core.agents.access import access_of
    from mauve_core.agents.server import build_server

    build_server(access_of(args.allow_comparisons)).run("stdio")
    return 0
