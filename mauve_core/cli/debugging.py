"""``mauve-lens debug``: write what a developer needs to find a fault, without texts, names of files or keys."""

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
from mauve_core.base.files import home, write_atomically
from mauve_core.cli.options import write
from mauve_core.jobs import memory, queue
from mauve_core.store import RunStore

FILE = "mauve-lens-debug.json"

_PACKAGES = (
    "mauve-lens", "streamlit", "plotly", "umap-learn", "torch", "transformers", "tokenizers", "safetensors",
    "scikit-learn", "pandas", "numpy", "scipy", "pyarrow", "gguf",
)  # fmt: skip
_PREFIX, _LIMITS = "MAUVE_LENS_", "MAUVE_LENS_MAX_"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
