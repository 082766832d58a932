"""Before long work on a run, a command says how much it is and, once it was done here, how long it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.jobs import estimates
from mauve_core.store import Run
from mauve_core.tasks.measure import MeasureTask
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


@pytest.mark.trial
def test_the_first_time_is_announced_and_the_next_one_estimated(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    texts = sum(source.n for source in run.comparison.sources)
    first = told(run, capsys).splitlines()[0]
    assert first == (
        f"Measures of {run.id}: {texts:,} texts. How long this takes is not known before it was done here once. "
        "Ctrl-C stops it and keeps sources already scored by the model."
    )
    known = estimates.estimate("measures", MeasureTask(run.id, NAMES).amount(run))
    assert known is not None
    assert known.before.amount.size == texts
    assert told(run, capsys).startswith(f"Measures of {run.id}: {texts:,} texts. {known.text}. Ctrl-C")


@pytest.mark.trial
def test_a_quiet_command_says_nothing_but_is_remembered(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(run, capsys, "--quiet") == ""
    assert estimates.is_known("measures")


def test_work_that_fails_is_not_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("fails")

    monkeypatch.setattr("mauve_core.tasks.measure.measure_run", refuse)
    assert main(["measure", run.id, "--again", "--measure", "distinct"]) == 1
    assert not estimates.is_known("measures")
