"""Which Python ``make`` takes, and which build of torch it installs unchecked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.supply.closure import ROOT

MAKE = shutil.which("make") or ""
pytestmark = [pytest.mark.integration, pytest.mark.skipif(not MAKE, reason="make is not installed")]


def fake(folder: Path, name: str, version: tuple[int, int] | None) -> None:
    """A command that says it is Python of that version; without one, it does not start."""
    code = "import sys; sys.version_info = {}; exec(sys.argv[1])"
    runs = "exit 127" if version is None else f"exec {sys.executable} -S -c '{code.format((*version, 0))}' \"$2\""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{runs}\n")
    (folder / name).chmod(0o755)


def made(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``make`` with what stands in ``tmp_path/bin`` as all of PATH, and one more target."""
    (tmp_path / "Makefile").write_text(f"include {ROOT / 'Makefile'}\nshow:; @:$(info $(PYTHON))\n")
    environment = {"PATH": str(tmp_path / "bin")}
    return subprocess.run([MAKE, "-s", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("found", "taken"),
    [
        ({"python3.11": (3, 11), "python3": (3, 11)}, "python3.11"),
        ({"python3.12": (3, 12), "python3.13": (3, 13), "python3.14": None}, "python3.13"),
        ({"python3.14": (3, 14), "python3.11": (3, 11)}, "python3.14"),
        ({"python3.10": (3, 10), "python3": (3, 13)}, "python3"),
        ({"python3": (3, 10), "python3.15": (3, 15)}, ""),
        ({"python3": (3, 15)}, ""),
        ({}, ""),
    ],
)
def test_make_takes_the_newest_supported_python_that_starts(
    found: dict[str, tuple[int, int] | None], taken: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name, version in found.items():
        fake(tmp_path / "bin", name, version)
    assert made(tmp_path, "show").stdout.strip() == taken
    assert made(tmp_path, "show", "PYTHON=/opt/python").stdout.strip() == "/opt/python"


def test_make_says_which_pythons_it_takes(tmp_path: Path) -> None:
    fake(tmp_path / "bin", "python3", (3, 10))
    for name in (
        "requirements.txt",
        "requirements-weights.txt",
        "requirements.lock",
        "constraints.txt",
        "pyproject.toml",
    ):
        (tmp_path / name).touch()
    assert "Python 3.11 to 3.14 is needed, and none is on PATH" in made(tmp_path, "setup").stdout
    assert "needed; this is python3:" in made(tmp_path, "setup", "PYTHON=python3").stdout


@pytest.mark.parametrize(
    ("wheel", "unchecked"),
    [
        ("torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl", False),
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", False),
        ("torch-2.13.0+cpu-cp313-cp313-manylinux_2_28_x86_64.whl", True),
        ("torch-2.13.0+rocm7-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl", True),
    ],
)
def test_make_says_of_which_torch_the_lock_has_no_digest(wheel: str, unchecked: bool, tmp_path: Path) -> None:
    fake_python = tmp_path / ".venv/bin/python"
    fake_python.parent.mkdir(parents=True)
    fake_python.write_text(
        f'#!/bin/sh\ncase "$*" in *download*) mkdir -p .venv/torch; : >.venv/torch/{wheel} ;; *) echo "$*" ;; esac\n'
    )
    fake_python.chmod(0o755)
    (tmp_path / "bin").mkdir()
    for name in ("rm", "mkdir", "sed"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    done = made(tmp_path, "locked")
    assert done.returncode == 0, done.stderr
    assert (f"has no digest of {wheel}: IT IS INSTALLED UNCHECKED" in done.stdout) == unchecked
    assert (f"--no-index .venv/torch/{wheel}" in done.stdout) == unchecked
    assert done.stdout.count("--require-hashes") == 2
