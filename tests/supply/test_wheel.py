"""The wheel holds all that the program reads of its own files, and works from a folder that has nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.supply.closure import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.trial]

PARTS = ("app", "data", "mauve_core", "LICENSE", "README.md", "pyproject.toml", "setup.py", "streamlit_config.toml")
MADE = {"__pycache__", ".build"}
# Files of ``data`` that are for readers of the repository.
UNREAD = {"README.md"}


def source_files(part: str) -> set[Path]:
    """Files of a part of the repository, without what is made when they run."""
    path = ROOT / part
    found = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return {each.relative_to(ROOT) for each in found if not MADE & set(each.relative_to(ROOT).parts)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel of a copy of the source puts into a folder of packages."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in {path for part in PARTS for path in source_files(part)}:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(built), str(source)], check=True, cwd=built)
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(built / "packages")
    return built / "packages"


def test_it_holds_every_file_of_the_packages_and_of_the_data(installed: Path) -> None:
    wanted = {installed / path for path in source_files("mauve_core")}
    wanted |= {installed / path.relative_to("app") for path in source_files("app")}
    wanted |= {installed / "mauve_core" / path for path in source_files("data") if path.name not in UNREAD}
    assert {path.relative_to(installed) for path in wanted if not path.is_file()} == set()
    settings = installed / "mauve_app" / ".streamlit" / "config.toml"
    assert settings.read_text(encoding="utf-8") == (ROOT / "streamlit_config.toml").read_text(encoding="utf-8")


def test_it_works_away_from_the_repository(installed: Path, tmp_path: Path) -> None:
    script = (
        "import mauve_core.demo.texts as demo, mauve_core.analyses.published as tables, mauve_app\n"
        "from mauve_core.__main__ import main\n"
        "from mauve_core.cli.serving import app_command\n"
        "print(demo.DATA, tables.DATA, app_command(8501).folder, sep='\\n')\n"
        "assert main(['published', '--json']) == 0"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed), "MAUVE_LENS_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    *folders, _ = done.stdout.split("\n", 3)
    assert [Path(folder) for folder in folders] == [
        installed / "mauve_core/data/demo",
        installed / "mauve_core/data/published",
        installed / "mauve_app",
    ]
