"""``mauve-lens debug`` writes what finds a fault, and nothing of what was worked on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base import faults
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.texts import limits
from tests.synthetic import make_run

SECRET = "xyzzy"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / f"home of {SECRET}"
    monkeypatch.setenv(HOME_VARIABLE, str(folder))
    monkeypatch.setenv("MAUVE_LENS_PASSWORD_HASH", SECRET)
    monkeypatch.setenv(limits.ROWS_VARIABLE, "77")
    return folder


def fail(text: str) -> None:
    try:
        int(text)
    except ValueError as error:
        raise KeyError(text) from error


def remember() -> None:
    try:
        fail(SECRET)
    except KeyError as error:
        faults.remember(error, "page map")


def test_a_fault_is_kept_with_its_frames_and_without_its_words() -> None:
    remember()
    (fault,) = faults.remembered()
    assert fault["during"] == "page map"
    assert [each["type"] for each in fault["errors"]] == ["builtins.KeyError", "builtins.ValueError"]
    assert fault["errors"][0]["frames"][-1].endswith(" fail")
    assert fault["errors"][0]["frames"][-1].startswith("test_debug.py:")
    assert SECRET not in json.dumps(fault)


def test_a_home_that_cannot_be_written_is_no_second_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "file"))
    remember()
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.slow
def test_the_file_holds_versions_counts_and_faults(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(home, name=SECRET, n=40, seeds=2, projection=False)
    make_run(home, name="other", n=40, seeds=2, projection=False)
    (home / "runs" / "other" / "comparison.json").write_text("{")
    remember()
    monkeypatch.chdir(tmp_path)
    assert main(["debug"]) == 0
    assert "mauve-lens-debug.json" in capsys.readouterr().out
    text = (tmp_path / "mauve-lens-debug.json").read_text()
    found = json.loads(text)
    assert SECRET not in text
    assert found["runs"] == {"whole": 1, "damaged": 1, "deleted": 0, "catalogue": "usable"}
    assert found["settings"][limits.ROWS_VARIABLE] == "77"
    assert found["settings"]["MAUVE_LENS_PASSWORD_HASH"] == "set"
    assert found["packages"]["numpy"]
    assert len(found["faults"]) == 1
    assert main(["debug", "--out", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["faults"] == found["faults"]


def test_the_file_is_written_where_things_are_broken(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    (home / "runs").write_text("no folder")
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "much")
    assert main(["debug", "--out", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == {"error": "StorageError"}
    assert found["memory_limit_mb"] == {"error": "InputError"}
    assert found["packages"]["numpy"]


def test_a_fault_of_a_command_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("mauve_core.runs.RunStore.list", lambda *_: fail(SECRET))
    assert main(["runs"]) == 1
    assert "mauve-lens debug" in capsys.readouterr().err
    (fault,) = faults.remembered()
    assert fault["during"] == "command line"
    assert any("mauve_core/cli/" in frame for frame in fault["errors"][0]["frames"])
