"""Commands on a home whose disk is read-only or broken: one line and exit code 1, and all is well when it is back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base import faults
from mauve_core.runs import RunStore
from tests.files_on_disk import write_study
from tests.handmade import make_comparison, make_corpora
from tests.job_folders import job
from tests.refusing_disk import BROKEN, READ_ONLY, refusing

pytestmark = pytest.mark.integration

WORDS = {READ_ONLY: "Read-only file system", BROKEN: "Input/output error"}


@pytest.fixture(autouse=True)
def stored(own_home: Path) -> None:
    RunStore().save("earlier", make_comparison(), make_corpora())
    RunStore().list()
    with job(1, status="done", run="earlier"):
        pass


def compare(folder: Path) -> list[str]:
    human, *names = write_study(folder)
    arguments = ["compare", "--human", str(folder / f"{human}.jsonl"), "--out", "new"]
    arguments += [word for name in names for word in ("--model", f"{name}={folder / name}.jsonl")]
    arguments += [word for name in (human, *names) for word in ("--features", f"{name}={folder / name}.npy")]
    return [*arguments, "--seeds", "2", "--bootstrap", "100", "--no-map", "--quiet"]


def require_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    capsys.readouterr()
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("mauve-lens: ")
    assert said.err.count("\n") == 1, said.err
    assert words in said.err
    assert faults.REPORT not in said.err


@pytest.mark.slow
def test_a_comparison(own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = compare(tmp_path / "files")
    with refusing(own_home, READ_ONLY):
        require_one_line(capsys, arguments, WORDS[READ_ONLY])
    assert [line.id for line in RunStore().list()] == ["earlier"]
    assert list(RunStore().root.glob(".partial*")) == []
    assert main(arguments) == 0
    assert sorted(line.id for line in RunStore().list()) == ["earlier", "new"]


def test_runs_are_listed_where_nothing_can_be_written(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with refusing(own_home, READ_ONLY):
        for arguments in (["runs"], ["runs", "show", "earlier"], ["runs", "bin"], ["runs", "disk"], ["jobs"]):
            capsys.readouterr()
            assert main(arguments) == 0
            assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [["runs", "show", "earlier"], ["jobs"]],
    ids=str,
)
def test_runs_that_cannot_be_read(
    arguments: list[str], own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def served(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "execve", served)
    monkeypatch.setattr(os, "chdir", lambda _: None)
    with refusing(own_home, BROKEN):
        require_one_line(capsys, arguments, WORDS[BROKEN])
    assert main(arguments) == (130 if "app" in arguments else 0)


@pytest.mark.parametrize(
    "arguments",
    [["runs", "rename", "earlier", "x"], ["demo"]],
    ids=str,
)
def test_changes(
    arguments: list[str], own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "execve", pytest.fail)
    with refusing(own_home, BROKEN):
        require_one_line(capsys, arguments, WORDS[BROKEN])
    assert [(line.id, line.name) for line in RunStore().list()] == [("earlier", "earlier")]
