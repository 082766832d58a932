"""What the core is installed with, what each extra adds, and how a package that is missing is asked for."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mauve_core.__main__ import main
from mauve_core.base.extras import EXTRAS, SEPARATE, MissingPackageError, asking_for_packages, require
from tests.supply.closure import ROOT

pytestmark = pytest.mark.integration

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

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
"""The beginning of a program in whose process no extra is installed."""

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
    "app": ["app", "--no-demo"],
    "demo": ["demo"],
    "methods": ["methods", "r", "--method", "transport"],
}


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
        assert "mauve-lens[models]" in str(error), error
    else:
        raise AssertionError("texts were encoded without torch")
"""
"""What works from Python without any extra, and what asks for one."""


def own_extras() -> dict[str, list[Requirement]]:
    return {name: [*map(Requirement, lines)] for name, lines in PROJECT["optional-dependencies"].items()}


def test_each_extra_brings_the_packages_that_are_asked_for_under_its_name() -> None:
    listed = packages_distributions()
    for extra, names in (EXTRAS | SEPARATE).items():
        wanted = {canonicalize_name(each.name) for each in own_extras()[extra]}
        brought = {canonicalize_name(other) for name in names for other in listed.get(name, [name])}
        assert brought - {"safetensors"} == wanted, extra
    everything = own_extras()["all"]
    assert {each.name for each in everything} == {PROJECT["name"]}
    assert set().union(*(each.extras for each in everything)) == set(EXTRAS)
    (newest,) = (each for each in everything if each.marker is None or each.marker.evaluate({"python_version": "3.14"}))
    assert newest.extras == set(EXTRAS) - {"demo"}  # gensim is built from source there, which needs a compiler


def test_a_missing_package_is_asked_for_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: None)
    words = r"needs the package torch, which is not installed\. Install it: pip install 'mauve-lens\[models\]'"
    with pytest.raises(MissingPackageError, match=words):
        require("torch")
    with pytest.raises(MissingPackageError, match=words), asking_for_packages():
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")


def test_the_app_starts_without_the_texts_of_the_demo_study(
    own_home: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []

    def missing(**_: Any) -> str:
        raise ModuleNotFoundError("No module named 'gensim'", name="gensim")

    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: None if name == "gensim" else True)
    monkeypatch.setattr("mauve_core.demo.demo_run.prepare_demo", missing)
    monkeypatch.setattr("os.chdir", started.append)
    monkeypatch.setattr("os.execve", lambda program, *_: started.append(program))
    assert not main(["app"])
    assert len(started) == 2
    told = capsys.readouterr().err
    assert "The app starts without the demo study." in told
    assert "pip install 'mauve-lens[demo]'" in told


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
        "    assert f\"pip install 'mauve-lens[{extra}]'\" in said.getvalue(), (extra, said.getvalue())\n"
        f"{PYTHON}"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
