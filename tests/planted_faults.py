"""Plants one small wrong change at a time in a copy of the checkout, and says whether the fast tests notice it.

    python -m tests.planted_faults [NAME ...]

Each meets the test command of ``make quick`` with ``-x``: first on the tests that :mod:`tests.changed` finds nearest to
it, and where these let it pass, on all fast ones.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.changed import FAST, ROOT, nearest_tests


@dataclass(frozen=True)
class Fault:
    """``right`` stands once in ``file``, and becomes ``wrong``."""

    file: str
    right: str
    wrong: str


# At least one in each package.
FAULTS = {
    "base: a wrong default": Fault(
        "mauve_core/base/config.py", "Within(*SCALE_BOUNDS)] = 5.0", "Within(*SCALE_BOUNDS)] = 4.0"
    ),
    "stats: a sign in a divergence": Fault(
        "mauve_core/stats/divergences.py", "logarithm *= x\n", "logarithm *= -x\n"
    ),
    "clusters: an iteration of k-means too few": Fault(
        "mauve_core/clusters/lloyd.py", "in range(iterations)", "in range(iterations - 1)"
    ),
    "stats: a wrong constant of smoothing": Fault(
        "mauve_core/stats/divergences.py", 'trofimov": 0.5}', 'trofimov": 0.25}'
    ),
    "estimators: covariances are compared as they lie": Fault(
        "mauve_core/estimators/transport.py", "((a - b @ (w @ v)) ** 2)", "((a - b) ** 2)"
    ),
    "texts: empty texts are kept": Fault(
        "mauve_core/texts/entries.py", "kept if text.strip() else", "kept if text else"
    ),
    "images: checksums are not looked at": Fault(
        "mauve_core/images/decoding.py", "                unread.verify()\n", "                unread.close()\n"
    ),
    "molecules: as they were written": Fault(
        "mauve_core/molecules.py", "smiles = Chem.MolToSmiles(found)\n", "smiles = written\n"
    ),
    "encoders: the first token for the last": Fault(
        "mauve_core/encoders/pooling.py", "(positions * mask).argmax(dim=1)", "mask.argmax(dim=1)"
    ),
    "shards: an empty cluster loses its center": Fault(
        "mauve_core/shards/comparison.py", "filled = total.counts[place] > 0", "filled = total.counts[place] >= 0"
    ),
    "decoding: draws from the reversed distribution": Fault(
        "mauve_core/decoding/decoders.py", "cumulative = weights.cumsum", "cumulative = weights.flip(-1).cumsum"
    ),
    "analyses: a tie is a whole win": Fault(
        "mauve_core/analyses/human_ranking.py", "(tied + tied.T) / 2", "(tied + tied.T)"
    ),
    "scoring: labels in the wrong order": Fault(
        "mauve_core/scoring/partitioning.py", "np.split(labels,", "np.split(labels[::-1],"
    ),
    "runs: a run that is copied into its place": Fault(
        "mauve_core/runs/placing.py",
        "return move_folder(folder, final)",
        "return Path(shutil.copytree(folder, final))",
    ),
    "findings: what the model adds is what it misses": Fault(
        "mauve_core/findings/clusters.py", "[ADDS, MISSES], \"\")", "[MISSES, ADDS], \"\")"
    ),
    "analyses: weights of the cluster before": Fault(
        "mauve_core/analyses/gap.py", "[partition.labels[source]]", "[partition.labels[source] - 1]"
    ),
    "texts: the first half for the first third": Fault(
        "mauve_core/texts/perturbations.py", "len(words) / 3)", "len(words) / 2)"
    ),
    "analyses: the texts left out stay, and the others go": Fault(
        "mauve_core/analyses/comparison_task.py", "if each not in gone]", "if each in gone]"
    ),
    "jobs: a waiting job is not active": Fault("mauve_core/jobs/state.py", '("queued", "running")', '("running",)'),
    "figures: markup in a hover": Fault(
        "mauve_core/figures/measures.py", '"hovertext": as_label(row.note)', '"hovertext": row.note'
    ),
    "reporting: markup in a report": Fault(
        "mauve_core/reporting/html_report.py", "autoescape=True", "autoescape=False"
    ),
    "base: the end of a long password does not count": Fault(
        "mauve_core/base/sharing.py", " and len(data) <= MAX_PASSWORD_BYTES", ""
    ),
    "agents: a name stands in a sentence": Fault(
        "mauve_core/agents/answers.py", 'lambda name: f"[candidate {numbers[name]}]"', "str"
    ),
    "demo: a prompt ends with the next token": Fault(
        "mauve_core/demo/texts.py", "spans[prompt_tokens - 1][1],", "spans[prompt_tokens][1],"
    ),
    "cli: a wrong exit code": Fault("mauve_core/__main__.py", 'to resume.", INTERRUPTED)', 'to resume.", FAILED)'),
    "app: the least number is lost in the URL": Fault(
        "app/mauve_app/url/parameters.py", "if low <= value <= high", "if low < value <= high"
    ),
}  # fmt: skip


COMMAND = (
    sys.executable,
    *["-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "-q", "-x", "-m"],
    FAST,
)


def copy_checkout(folder: Path, root: Path = ROOT) -> None:
    """Every file that git knows, as it is now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)


def first_failure(folder: Path, tests: list[str]) -> str | None:
    """The first test of these (all, where none are named) that fails in the copy; None where all pass."""
    paths = os.pathsep.join((str(folder), str(folder / "app")))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CI": "true"}
    result = subprocess.run(
        [*COMMAND, "-p", "no:cacheprovider", "--basetemp", str(folder.parent / "pytest"), *tests],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode == 0:
        return None
    lines = result.stdout.splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "\n".join(lines[-20:]))


def main() -> int:
    """Print a line a fault; the exit code says whether all were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults whose names begin so; default all")
    names = tuple(parser.parse_args().names)
    chosen = {name: fault for name, fault in FAULTS.items() if not names or name.startswith(names)}
    passed = []
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "checkout")
        copy_checkout(folder)
        for name, fault in chosen.items():
            path, begun = folder / fault.file, time.monotonic()
            original = path.read_text(encoding="utf-8")
            if original.count(fault.right) != 1:
                raise SystemExit(f"{name}: {fault.file} does not hold {fault.right!r} just once")
            path.write_text(original.replace(fault.right, fault.wrong), encoding="utf-8")
            found = first_failure(folder, nearest_tests([fault.file], root=folder))
            found = found or first_failure(folder, [])
            path.write_text(original, encoding="utf-8")
            print(f"{name}: {found or 'NOT NOTICED'} ({time.monotonic() - begun:.0f} s)", flush=True)  # noqa: T201
            passed += [] if found else [name]
    print(f"{len(chosen) - len(passed)} of {len(chosen)} noticed")  # noqa: T201
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
