"""Before long work on a run, a command says how much it is and, once it was done here, how long it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.jobs import estimates
from mauve_core.store import Run
from tests.synthetic import make_run

NAMES = ("distinct", "length")


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=60, seeds=2, projection=False)


def told(run: Run, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    measures = [part for name in NAMES for part in ("--measure", name)]
    assert main(["measure", run.id, "--again", *measures, *options]) == 0
    return capsys.readouterr().err


def test_work_that_is_done_is_remembered(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    texts = sum(source.n for source in run.comparison.sources)
    assert told(run, capsys).startswith(f"Measures of {run.id}: {texts:,} texts. ")
    assert estimates.is_known("measures")


def test_work_that_fails_is_not_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("fails")

    monkeypatch.setattr("mauve_core.tasks.measure.measure_run", refuse)
    assert main(["measure", run.id, "--again", "--measure", "distinct"]) == 1
    assert not estimates.is_known("measures")
