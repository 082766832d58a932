"""A command whose result is stored with the run prints it and computes nothing; ``--again`` computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.analyses import text_measures
from mauve_core.runs import Run, RunStore
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=60, seeds=2, projection=False)


@pytest.fixture
def printed(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints on the run."""

    def call(command: str, *options: str) -> str:
        capsys.readouterr()
        assert main([command, run.id, "--quiet", *options]) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def computes(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., bool]:
    """Whether a command on the run meets :func:`refuse`."""

    def call(command: str, *options: str) -> bool:
        assert main([command, run.id, "--quiet", *options]) == 1
        return "nothing is to be computed" in capsys.readouterr().err

    return call


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("nothing is to be computed")


def first_lines(text: str) -> str:
    return text.rpartition("\n\n")[0]


def test_measures_that_are_stored_are_printed(
    run: Run, printed: Callable[..., str], computes: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--measure", "length", "--measure", "diversity")
    computed = printed("measure", *asked)
    assert f"Saved with run {run.id}." in computed
    monkeypatch.setattr(text_measures, "measure_run", refuse)
    again = printed("measure", *asked)
    assert first_lines(again) == first_lines(computed)
    assert f"Stored with run {run.id} on {RunStore().load(run.id).attached_on('measures')}; --again" in again
    assert json.loads(printed("measure", "--measure", "length", "--json"))["run"] == run.id
    for other in (("--again", *asked), ("--measure", "density"), ("--measure", "length", "--measure", "density")):
        assert computes("measure", *other)
