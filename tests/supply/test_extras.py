"""What the core is installed with and suffices for, what each extra adds, and how a missing package is asked for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mauve_core.__main__ import main
from mauve_core.base.extras import EXTRAS, SEPARATE, MissingPackageError, asking_for_packages, require
from mauve_core.cli.serving import AppCommand
from tests.supply.closure import ROOT

pytestmark = pytest.mark.integration

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# The beginning of a program in whose process no extra is installed.
WITHOUT = """
import importlib.util, sys
from mauve_core.base.extras import EXTRAS
ABSENT = {name for names in EXTRAS.values() for name in names}

class Absent:
    '''Stands first in the way of imports, so that packages are missing as they are where they are not installed.'''
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.partition('.')[0] in ABSENT else found(name, package)
sys.modules['mauve_core.base.extras'].find_spec = importlib.util.find_spec
sys.meta_path.insert(0, Absent())
"""

INPUTS = """
import numpy as np
rows = np.random.default_rng(0).normal(size=(2, 60, 8)).astype("f4")
for name, own in zip(("human", "model"), rows):
    np.save(f"{name}.npy", own)
    with open(f"{name}.txt", "w") as file:
        file.writelines(f"{name} text {i}\\n" for i in range(60))
"""

WITH_FEATURES = ["--features", "human=human.npy", "--features", "m=model.npy"]
COMPARE = ["compare", "--human", "human.txt", "--model", "m=model.txt", "--seeds", "1", "--bootstrap", "100"]
GATE_FILES = ["--reference", "human.txt", "--baseline", "model.txt", "--candidate", "model.txt"]
GATE_FEATURES = [
    *("--features", "reference=human.npy"),
    *("--features", "baseline=model.npy"),
    *("--features", "candidate=model.npy"),
]
WORKS = [
    [*COMPARE, *WITH_FEATURES, "--no-map", "--out", "r"],
    ["clusters", "r"],
    ["texts", "r", "--cluster", "0"],
    ["runs"],
    ["report", "r"],
    ["gate", *GATE_FILES, *GATE_FEATURES, "--seeds", "1"],
]
ASKS = {
    "models": [*COMPARE, "--no-map", "--device", "cuda"],
    "map": [*COMPARE, *WITH_FEATURES],
    "methods": ["methods", "r", "--method", "transport"],
}


# What works from Python without any extra, and what asks for one.
PYTHON = """
from mauve_core import compare, compute_mauve
from mauve_core.base.extras import MissingPackageError
assert 0 < compute_mauve(*rows, verbose=False).mauve <= 1
texts = [f"text {i}" for i in range(100)]
for work in (
    lambda: compute_mauve(p_text=texts, q_text=texts, featurize_model_name="smollm2-135m"),
    lambda: compare(texts, {"model": texts}, encoder="smollm2-135m", draw_map=False),
    lambda: compare(texts, {"model": texts}, encoder="smollm2-135m", draw_map=False, device="cuda"),
):
    try:
        work()
    except MissingPackageError as error:
        assert "[models]'" in str(error), error
    else:
        raise AssertionError("texts were encoded without torch")
"""


def own_extras() -> dict[str, list[Requirement]]:
    return {name: [*map(Requirement, lines)] for name, lines in PROJECT["optional-dependencies"].items()}


def test_each_extra_brings_the_packages_that_are_asked_for_under_its_name() -> None:
    listed = packages_distributions()
    for extra, names in (EXTRAS | SEPARATE).items():
        wanted = {canonicalize_name(each.name) for each in own_extras()[extra]}
        brought = {canonicalize_name(other) for name in names for other in listed.get(name, [name])}
        assert brought - {"safetensors"} == wanted, extra
    (everything,) = own_extras()["all"]
    assert (everything.name, everything.extras) == (PROJECT["name"], set(EXTRAS))


CLONE = "file:///home/a/clone"
SITE = {"url": "https://example.org/lens", "vcs_info": {"vcs": "git", "commit_id": "f00"}}


def installed(
    monkeypatch: pytest.MonkeyPatch, prefix: Path, mark: str, origin: dict[str, Any] | None, *packages: str
) -> None:
    """As if the program were installed from there, by the tool that leaves that file, beside those packages."""
    if mark:
        (prefix / mark).touch()
    written = SimpleNamespace(read_text=lambda _: None if origin is None else json.dumps(origin))
    monkeypatch.setattr("sys.prefix", str(prefix))
    monkeypatch.setattr("mauve_core.base.extras.distribution", lambda _: written)
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: True if name in packages else None)


@pytest.mark.parametrize(
    ("mark", "origin", "command"),
    [
        ("", None, "pip install 'mauve-lens[models]'"),
        ("", {"url": CLONE, "dir_info": {}}, f"pip install 'mauve-lens[models] @ {CLONE}'"),
        ("", {"url": CLONE, "dir_info": {"editable": True}}, "pip install --editable '/home/a/clone[models]'"),
        ("pipx_metadata.json", SITE, "pipx install --force 'mauve-lens[models] @ git+https://example.org/lens'"),
        ("uv-receipt.toml", None, "uv tool install --force 'mauve-lens[models]'"),
        ("uv-receipt.toml", {"url": CLONE}, f"uv tool install --force 'mauve-lens[models] @ {CLONE}'"),
    ],
)
def test_a_missing_package_is_asked_for_with_the_command_that_installs_it(
    mark: str, origin: dict[str, Any] | None, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, mark, origin)
    words = re.escape(f"needs the package torch, which is not installed. Install it: {command}")
    with pytest.raises(MissingPackageError, match=words):
        require("torch")
    with pytest.raises(MissingPackageError, match=words), asking_for_packages():
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")


def test_a_tool_made_anew_keeps_the_extras_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, tmp_path, "uv-receipt.toml", None, "umap", "mcp")
    with pytest.raises(MissingPackageError, match=r"mauve-lens\[map,mcp,models\]"):
        require("torch")


def test_the_app_starts_without_the_texts_of_the_demo_study(
    own_home: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []
    monkeypatch.setattr("mauve_core.demo.texts.importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("os.chdir", started.append)
    monkeypatch.setattr("os.execve", lambda program, *_: started.append(program))
    monkeypatch.setattr("mauve_core.cli.serving.app_command", lambda *_: AppCommand(("python",), Path("app"), {}))
    assert not main(["app"])
    assert len(started) == 2
    told = capsys.readouterr().err
    assert "The app starts without the demo study." in told
    assert "on 3.14, gensim has no wheel" in told
    assert main(["demo"]) == 2
    assert "on 3.14, gensim has no wheel" in capsys.readouterr().err


@pytest.mark.slow
def test_the_app_and_the_demo_need_nothing_but_the_core(own_home: Any) -> None:
    program = (
        "from mauve_app.server import serve\nserve.prepare()\nserve.application()\n"
        "from mauve_core.demo import texts\n"
        "assert sys.version_info >= (3, 14) or len(texts.demo_corpora()[1]) == 11\n"
        "assert ABSENT.isdisjoint(name.partition('.')[0] for name in sys.modules), 'one was imported'\n"
    )
    ended = subprocess.run([sys.executable, "-c", WITHOUT + program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.trial
def test_the_core_works_without_any_extra_and_asks_for_what_it_needs(tmp_path: Any, own_home: Any) -> None:
    script = (
        f"{WITHOUT}\n{INPUTS}\nimport contextlib, io\nfrom mauve_core.__main__ import main\n"
        f"for command in {WORKS!r}:\n"
        "    assert main(command) == 0, command\n"
        f"for extra, command in {ASKS!r}.items():\n"
        "    said = io.StringIO()\n"
        "    with contextlib.redirect_stderr(said):\n"
        "        assert main(command) == 2, (extra, said.getvalue())\n"
        '    assert f"[{extra}]\'" in said.getvalue(), (extra, said.getvalue())\n'
        f"{PYTHON}"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
