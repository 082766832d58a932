"""Install the program beside several versions of torch and transformers, test it there, and print a table.

    python -m tests.versions [--only NAME ...] [--keep]

Each environment is made anew in .cache/versions from the package index (4 GB for torch with its CUDA libraries, used on
the CPU), and removed before the next. Features of the bundled models must be those of this environment. Exit code 1 if
anything is not as it should be.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tests.supply.closure import ROOT
from tests.versions.environments import KEPT, Environment, Outcome, build_wheel, check

# What is there before the program, by the name of the row. The oldest are the lower bounds of pyproject.toml.
ROWS: Mapping[str, Mapping[str, str]] = {
    "oldest": {
        "torch": "2.6.0",
        "transformers": "4.57.1",
        "tokenizers": "0.22.0",
        "huggingface_hub": "0.34.0",
        "accelerate": "1.10.0",
        "gguf": "0.18.0",
        "sentencepiece": "0.2.1",
        "numpy": "2.1.0",
    },
    "middle": {"torch": "2.10.0", "transformers": "5.10.4"},
    "newest": {"torch": "2.14.1", "transformers": "5.24.0"},
}

FOLDER = ROOT / ".cache" / "versions"
HEAD = f"{'':24}  {'torch':>12}  {'transformers':>12}  {'numpy':>8}  install   tests  passed  failed  skipped  features"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=ROWS, default=[], help="these rows; all by default")
    parser.add_argument("--keep", action="store_true", help="leave the environments there")
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    _say("building the wheel and the features of this environment")
    wheel, reference = build_wheel(FOLDER), FOLDER / "reference.npz"
    subprocess.run([sys.executable, "-m", "tests.versions.features", str(reference)], check=True, cwd=ROOT)
    wrong = _here(wheel)
    table = [HEAD]
    for name in options.only or ROWS:
        _say(f"{name}: {', '.join(f'{package} {version}' for package, version in ROWS[name].items())}")
        environment = Environment(FOLDER / name.replace(" ", "-"), FOLDER / f"{name.replace(' ', '-')}.log")
        outcome = check(environment, ROWS[name], wheel, reference)
        table.append(_row(name, outcome))
        wrong += [f"{name}: {each}" for each in outcome.wrong]
        if not options.keep:
            shutil.rmtree(environment.folder)
    _say(*table, to=sys.stdout)
    for each in wrong:
        _say(f"*** {each} (see {FOLDER}/*.log) ***")
    return int(bool(wrong))


def _here(wheel: Path) -> list[str]:
    """Return what pip would change of this environment, whose torch may be a build of another index."""
    here = Environment(Path(sys.prefix), FOLDER / "here.log")
    listed = here.would_install(wheel, ROOT / "constraints.txt", FOLDER / "here.json")
    return [f"here: pip would change {name}" for name in KEPT if name in listed]


def _row(name: str, outcome: Outcome) -> str:
    torch, transformers, numpy = (
        outcome.versions[each] + (" CHANGED" if each in outcome.changed else "") for each in KEPT
    )
    return (
        f"{name:24}  {torch:>12}  {transformers:>12}  {numpy:>8}  {outcome.seconds['install']:5.0f} s  "
        f"{outcome.seconds['tests']:4.0f} s  {outcome.passed:6}  {outcome.failed:6}  {outcome.skipped:7}  "
        f"{outcome.difference:8.1e}"
    )


def _say(*lines: str, to: TextIO = sys.stderr) -> None:
    to.writelines(f"{line}\n" for line in lines)
    to.flush()


if __name__ == "__main__":
    sys.exit(main())
