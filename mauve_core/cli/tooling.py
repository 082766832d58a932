"""``mauve-lens schema``, ``completion`` and ``debug``: for scripts, for shells and for reports of faults.

The JSON Schemas of what commands print with ``--json``. A script that completes commands, options and their values,
written by shtab from the parsers: it holds all of them, so that the shell starts no Python when the Tab key is pressed,
and is written anew after an update. And what a developer needs to find a fault, without texts, names of files or keys.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mauve_core.base import faults
from mauve_core.base.errors import MauveLensError
from mauve_core.base.extras import require
from mauve_core.base.files import home, write_atomically
from mauve_core.cli.options import FIELD, SHAPES, schema_of, shape_of, write, write_json
from mauve_core.jobs import memory, queue
from mauve_core.runs import RunStore
from mauve_core.scoring.tables import aligned


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_schema(commands)
    _add_completion(commands)
    _add_debug(commands)


def _add_schema(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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


SHELLS = ("bash", "zsh", "fish")


def _add_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "completion",
        description="Bash: mauve-lens completion bash > ~/.local/share/bash-completion/completions/mauve-lens. "
        "Zsh: mauve-lens completion zsh > FOLDER/_mauve-lens, with a folder of $fpath. "
        "Fish: mauve-lens completion fish > ~/.config/fish/completions/mauve-lens.fish.",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    require("shtab")
    import shtab

    from mauve_core.__main__ import build_parser  # which lists this command

    write(shtab.complete(build_parser(), args.shell).rstrip("\n"))
    return 0


FILE = "mauve-lens-debug.json"

_PACKAGES = (
    "mauve-lens", "streamlit", "plotly", "umap-learn", "torch", "transformers", "tokenizers", "safetensors",
    "scikit-learn", "pandas", "numpy", "scipy", "pyarrow", "gguf",
)  # fmt: skip
_PREFIX, _LIMITS = "MAUVE_LENS_", "MAUVE_LENS_MAX_"


def _add_debug(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("debug")
    parser.add_argument("--out", type=Path, default=Path(FILE), metavar="FILE", help=f"default: {FILE}; - prints it")
    parser.set_defaults(run=_debug)


def _debug(args: argparse.Namespace) -> int:
    text = json.dumps(described(), indent=1) + "\n"
    if str(args.out) == "-":
        sys.stdout.write(text)
        return 0
    write_atomically(args.out, lambda stream: stream.write(text.encode()))
    write(f"Wrote {args.out}. Read it before you send it: it holds versions, sizes, counts and the last faults.")
    return 0


def described() -> dict[str, Any]:
    """Versions, the machine, settings, counts of what the home holds, and the last faults."""
    folder = home()
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "cores": os.cpu_count(),
        "memory_limit_mb": _or_error(memory.limit_mb),
        "free_disk_mb": _or_error(lambda: shutil.disk_usage(folder).free >> 20),
        "settings": {
            name: value if name.startswith(_LIMITS) else "set"
            for name, value in sorted(os.environ.items())
            if name.startswith(_PREFIX)
        },
        "runs": _or_error(_runs),
        "jobs": _or_error(_jobs),
        "faults": faults.remembered(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _or_error(find: Callable[[], Any]) -> Any:
    """What it finds, or the type of what stands in its way: a report is wanted most where things are broken."""
    try:
        return find()
    except (MauveLensError, OSError) as error:
        return {"error": type(error).__name__}


def _runs() -> dict[str, Any]:
    store = RunStore()
    found = {"whole": len(store.list()), "damaged": len(store.damaged()), "deleted": len(store.deleted())}
    return {**found, "catalogue": "usable" if store.index_failure() is None else "unusable"}


def _jobs() -> dict[str, int]:
    return dict(Counter(f"{job.kind}: {job.status}" for job in queue.list()))
