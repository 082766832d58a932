"""The two commands; see the package."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.golden.differences import folder_differences

ROOT = Path(__file__).resolve().parents[2]
# What a folder was made from: the commit, and how much.
MADE = "made.txt"

# Differences of an item that are printed.
SHOWN = 6

ENVIRONMENT = {
    "COLUMNS": "120",
    "HF_HUB_OFFLINE": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}


def main() -> int:
    """0: made, or equal; 1: different; 2: it could not be made."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="See the docstring of tests.golden.")
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make", help="fill a folder with what a commit makes")
    comparing = actions.add_parser("compare", help="say in what the present tree differs from such a folder")
    for each, commit in ((making, "HEAD~1"), (comparing, None)):
        each.add_argument("folder", type=Path)
        each.add_argument("--commit", default=commit, help=f"default: {commit or 'the files as they are now'}")
    making.add_argument("--quick", action="store_true", help="without the demo")
    args = parser.parse_args()
    if args.action == "make":
        return make(args.folder.resolve(), args.commit, quick=args.quick)
    return compare(args.folder.resolve(), args.commit)


def make(folder: Path, commit: str | None, *, quick: bool) -> int:
    """Let the code of a commit, or that of the working tree, fill the folder."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as base:
        code = ROOT if commit is None else Path(base, "code")
        if commit is not None:
            _check_out(commit, code)
        paths = [str(code), str(code / "app"), str(ROOT)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAUVE_LENS")}
        environment |= {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "tests.golden.making", str(code), str(folder)]
        failed = subprocess.run(
            [*command, *(["--quick"] if quick else [])], cwd=base, env=environment, check=False
        ).returncode
    (folder / MADE).write_text(json.dumps({"commit": commit, "quick": quick}), encoding="utf-8")
    return 2 if failed else 0


def _check_out(commit: str, folder: Path) -> None:
    """The files of a commit, but its tests: what makes the items is always that of the present tree."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    shutil.rmtree(folder / "tests")


def compare(before: Path, commit: str | None) -> int:
    """Print what differs; each item is a file."""
    if not (before / MADE).is_file():
        raise SystemExit(f"{before} was not made by python -m tests.golden make")
    made = json.loads((before / MADE).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as base:
        after = Path(base, "after")
        failed = make(after, commit, quick=made["quick"])
        (after / MADE).write_bytes((before / MADE).read_bytes())
        found = folder_differences(before, after)
        items = sum(path.is_file() for path in before.rglob("*")) - 1
    for item, lines in found.items():
        print(item)  # noqa: T201
        for line in lines[:SHOWN]:
            print(f"    {line}")  # noqa: T201
        if len(lines) > SHOWN:
            print(f"    and {len(lines) - SHOWN} more")  # noqa: T201
    print(f"{len(found)} of {items} items differ from {made['commit']}")  # noqa: T201
    return failed or (1 if found else 0)


if __name__ == "__main__":
    sys.exit(main())
