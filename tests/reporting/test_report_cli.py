"""``mauve-lens report``: what is written where, and what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base.formatting import file_size, with_plain_spaces
from mauve_core.reporting.paper import latex_table, markdown_table, methods_text
from mauve_core.runs import Run
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("reported"), n=40, seeds=2, projection=False)


@pytest.fixture(autouse=True)
def here(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to write into, with the run's home."""
    monkeypatch.setenv("MAUVE_LENS_HOME", str(run.path.parent.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_report_is_written_beside_and_its_size_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "synthetic"]) == 0
    page = here / "synthetic.html"
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
    assert f"({with_plain_spaces(file_size(page.stat().st_size))})" in capsys.readouterr().out
    assert sorted(path.name for path in here.iterdir()) == ["synthetic.html"]


@pytest.mark.parametrize(
    ("name", "make"), [("latex", latex_table), ("markdown", markdown_table), ("methods", methods_text)]
)
def test_text_goes_to_standard_output_or_into_a_file(
    run: Run, here: Path, capsys: pytest.CaptureFixture[str], name: str, make: object
) -> None:
    assert callable(make)
    assert main(["report", "synthetic", "--format", name, "--partition", "joint"]) == 0
    assert capsys.readouterr().out == make(run.comparison, "joint")
    assert main(["report", "synthetic", "--format", name, "--out", "t.txt"]) == 0
    assert (here / "t.txt").read_text(encoding="utf-8") == make(run.comparison)
